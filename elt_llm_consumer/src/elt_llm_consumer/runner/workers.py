"""Run work in daemon threads, which the caller can stop at any time."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_JOIN_TIMEOUT = 0.5  # seconds to wait for unfinished threads before they are abandoned


class WorkOutcome(Generic[Item, Result]):
    """The outcome of the work on one item. `value` returns the result, or raises the error if the work failed.

    `done` is a list with the result, and is empty if the work failed. A `with` block stores any error in the outcome,
    so that failures in threads are not lost.
    """

    def __init__(self, item: Item) -> None:
        self.item = item
        self.error: BaseException | None = None
        self.done: list[Result] = []

    def value(self) -> Result:
        """Return the result, or raise the error of the work."""
        if self.error is not None:
            raise self.error
        return self.done[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


def in_parallel(
    items: Sequence[Item], work: Callable[[Item], Result], at_once: int, over: threading.Event
) -> Generator[WorkOutcome[Item, Result], None, None]:
    """Run `work` on the items in order, at most `at_once` at a time, and yield each outcome when it is ready.

    When the caller stops iterating or is interrupted, the event `over` is set. Then no further item is started, and
    work that is unfinished after half a second is abandoned. The threads do not keep the process alive.
    """
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    finished: queue.SimpleQueue[WorkOutcome[Item, Result]] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    threads = [
        threading.Thread(target=_worker, args=(waiting, finished, work, over), name="row", daemon=True)
        for _ in range(min(at_once, len(items)))
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in items:
            yield finished.get()
    finally:
        over.set()
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _worker(
    waiting: "queue.SimpleQueue[Item]",
    finished: "queue.SimpleQueue[WorkOutcome[Item, Result]]",
    work: Callable[[Item], Result],
    over: threading.Event,
) -> None:
    while not over.is_set():
        try:
            item = waiting.get_nowait()
        except queue.Empty:
            return
        outcome: WorkOutcome[Item, Result] = WorkOutcome(item)
        with outcome:
            outcome.done.append(work(item))
        finished.put(outcome)
