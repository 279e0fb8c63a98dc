"""The one place where questions are recorded: counted at once, written down and sent on beside them."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, Full, Queue
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError, StoreError
from elt_llm_core.results import QueryResult

from elt_llm_api.serve.monitoring.observation import Kind, Observation, of_answer, of_passages
from elt_llm_api.serve.monitoring.series import Series

if TYPE_CHECKING:
    from elt_llm_query.retrieve.pipeline import Found

Sink = Callable[[Observation], None]
"""Writes a question down or sends it on; raises OSError if it cannot."""
SAVE_EVERY = 300.0  # seconds
_MOST_WAITING = 10_000
_log = logging.getLogger(__name__)


class Recorder(Closeable):
    """Counts questions, and hands each to the `sinks` in a thread of its own. Safe to use from many threads.

    What was counted is saved every `save_every` seconds and when it is closed.
    """

    def __init__(self, series: Series, sinks: Sequence[Sink] = (), *, save_every: float = SAVE_EVERY) -> None:
        self.series = series
        self._sinks, self._save_every = tuple(sinks), save_every
        self._waiting: Queue[Observation | None] = Queue(_MOST_WAITING)
        self._lost = 0
        self._thread = Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def watch(self, kind: Kind, principal: str, question: str, profile: str, *, request_id: str = "") -> "Watch":
        """Record what becomes of a question within a `with` block; its id is that of the request, where it has one."""
        asked = {"kind": kind, "principal": principal, "question": question, "profile": profile}
        return Watch(self, {**asked, "id": request_id} if request_id else asked)

    def record(self, seen: Observation) -> None:
        """Count a question, and have it written down soon. Never waits."""
        self.series.add(seen)
        try:
            self._waiting.put_nowait(seen)
        except Full:
            self._lost += 1

    @property
    def lost(self) -> int:
        """Questions that were counted but not written down, because the disk or the network was too slow."""
        return self._lost

    def close(self) -> None:
        """Write down and save what is left."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _work(self) -> None:
        due, goes_on = time.monotonic() + self._save_every, True
        while goes_on:
            goes_on = self._take(max(0.0, due - time.monotonic()))
            if not goes_on or time.monotonic() >= due:
                self._save()
                due = time.monotonic() + self._save_every

    def _take(self, timeout: float) -> bool:
        """Hand on one question, if one comes in time; False at the end."""
        try:
            seen = self._waiting.get(timeout=timeout)
        except Empty:
            return True
        if seen is not None:
            self._tell(seen)
        return seen is not None

    def _tell(self, seen: Observation) -> None:
        for sink in self._sinks:
            try:
                sink(seen)
            except OSError as error:
                _log.warning("A trace was not written: %s", error.strerror or type(error).__name__)

    def _save(self) -> None:
        try:
            self.series.save()
        except StoreError as error:
            _log.warning("The measures were not saved, and will be tried again: %s", error)


class Watch:
    """One question while it is asked; how the block ends says what became of it where nothing else was told."""

    def __init__(self, recorder: Recorder, asked: Mapping[str, Any]) -> None:
        self._recorder, self._asked = recorder, asked
        self._started = time.perf_counter()
        self._done = False

    def answered(self, result: QueryResult) -> QueryResult:
        """Record an answer, and give it back."""
        self._record(of_answer(result))
        return result

    def found(self, found: "Found") -> "Found":
        """Record passages, and give them back."""
        self._record(of_passages(found.chunks, found.stages))
        return found

    def __enter__(self) -> Self:
        """Begin; the time counts from when the watch was made."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record a failure by its type; a question that was given up is no failure."""
        if self._done or kind is None:
            return
        failed = issubclass(kind, Exception)
        name = kind.__name__ if issubclass(kind, EltError) else "Unexpected"
        self._record({"outcome": "failed", "error": name} if failed else {"outcome": "cancelled"})

    def _record(self, told: dict[str, Any]) -> None:
        if not self._done:
            self._done = True
            took_ms = (time.perf_counter() - self._started) * 1000
            self._recorder.record(Observation(**self._asked, **told, took_ms=took_ms))
