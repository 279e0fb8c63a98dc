"""Reads a stream in a thread of its own, so that whoever waits for a piece can give up at any moment."""

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from elt_llm_core.models.letting_go import Line

Piece = TypeVar("Piece")
_GLANCE = 0.1  # seconds between two looks at whether to go on


class TookTooLong(TimeoutError):
    """The moment came until which the stream was to be read."""


class StreamPump(Generic[Piece]):
    """Pieces of the stream that `start` opens; opening it may block as well and is done in the same thread.

    A server that says nothing cannot hold up who reads: its connection is ended, and the thread with it; where that
    cannot be, the thread is left behind, and ends with the next piece or with the timeout of its connection. At most
    `_AHEAD` pieces are read ahead of who takes them.
    """

    _AHEAD = 64

    def __init__(self, start: Callable[[], Iterator[Piece]]) -> None:
        self._start = start
        self._given_up = threading.Event()
        self._line = Line()
        self._pieces: queue.Queue[Piece | BaseException | None] = queue.Queue(self._AHEAD)

    def pieces(self, deadline: float, cancelled: Callable[[], bool]) -> Iterator[Piece]:
        """The pieces in order, until the end or until `cancelled`; `deadline` is a moment of `time.monotonic`.

        Raises TookTooLong after the deadline, and whatever the stream raised.
        """
        if cancelled():
            return  # nothing is asked of a server for nobody
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._line.carry, self._read), name="model", daemon=True)
        thread.start()
        try:
            while (piece := self._next(deadline, cancelled)) is not None:
                yield piece
        finally:
            self._given_up.set()
            if thread.is_alive():
                self._line.hang_up()
            # Python ends with a crash where it ends while such a thread is at work; one that only waits is no matter.
            thread.join(_GLANCE * 3)

    def _next(self, deadline: float, cancelled: Callable[[], bool]) -> Piece | None:
        while not cancelled():
            if time.monotonic() >= deadline:
                raise TookTooLong
            try:
                piece = self._pieces.get(timeout=_GLANCE)
            except queue.Empty:
                continue
            if isinstance(piece, BaseException):
                raise piece
            return piece
        return None

    def _read(self) -> None:
        with _Kept() as kept:
            stream = self._start()
            for piece in stream:
                if not self._put(piece):
                    break
            if close := getattr(stream, "close", None):
                close()  # of a stream left early: its connection is let go at once
        self._put(kept.error)

    def _put(self, piece: Piece | BaseException | None) -> bool:
        while not self._given_up.is_set():
            try:
                self._pieces.put(piece, timeout=_GLANCE)
            except queue.Full:
                continue
            return True
        return False


class _Kept:
    """Keeps whatever is raised, to be raised again in the thread that waits: no failure may end in a thread unseen."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True
