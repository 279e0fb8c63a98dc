"""Makes an iterator of a function that hands its pieces to a callback."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

Chunk = dict[str, Any]
Taking = Callable[[Chunk], bool]
"""Given each piece; says whether to stop."""


class NothingCame(Exception):
    """No piece came in the time allowed."""


def chunks_of(run: Callable[[Taking], object], timeout: float) -> Iterator[Chunk]:
    """The pieces that `run` hands out, as they come. `run` goes on in a thread of its own.

    Raises NothingCame if `timeout` seconds pass without a piece. Where the iterator is left early, `run` is told to
    stop with its next piece.
    """
    pieces: queue.Queue[Chunk | None] = queue.Queue()
    left = threading.Event()

    def take(chunk: Chunk | list[Chunk]) -> bool:
        for piece in chunk if isinstance(chunk, list) else [chunk]:
            pieces.put(piece)
        return left.is_set()

    def work() -> None:
        try:
            run(take)
        except (RuntimeError, ValueError, TypeError) as error:
            pieces.put({"error": {"code": 500, "message": str(error)}})
        finally:
            pieces.put(None)

    # No daemon: a program that ends while its thread computes in native code is aborted. It stops at its next word.
    threading.Thread(target=work, name="llama.cpp", daemon=False).start()
    try:
        while (piece := _next(pieces, timeout)) is not None:
            yield piece
    finally:
        left.set()


def _next(pieces: "queue.Queue[Chunk | None]", timeout: float) -> Chunk | None:
    try:
        return pieces.get(timeout=timeout)
    except queue.Empty as error:
        raise NothingCame from error
