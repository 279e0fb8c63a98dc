"""Work on many things at the same time, from which somebody may walk away at any moment."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")
_PATIENCE = 0.5  # seconds that threads are waited for when the work is over


class Outcome(Generic[Item, Done]):
    """What became of one thing: `done`, or the error that `value` raises."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.error: BaseException | None = None
        self.done: list[Done] = []

    def value(self) -> Done:
        """What came of it; raises what the work raised."""
        if self.error is not None:
            raise self.error
        return self.done[0]


def in_parallel(
    items: Sequence[Item], work: Callable[[Item], Done], at_once: int, over: threading.Event
) -> Generator[Outcome[Item, Done], None, None]:
    """Outcomes as they come, of at most `at_once` things at a time, begun in their order.

    When the caller stops taking outcomes, by an interruption too, `over` is set: nothing more is begun, and what is
    still at work half a second later is left behind. Its threads do not keep the process alive.
    """
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    finished: queue.SimpleQueue[Outcome[Item, Done]] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    threads = [
        threading.Thread(target=_work, args=(waiting, finished, work, over), name="row", daemon=True)
        for _ in range(min(at_once, len(items)))
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in items:
            yield finished.get()
    finally:
        over.set()
        deadline = time.monotonic() + _PATIENCE
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _work(
    waiting: "queue.SimpleQueue[Item]",
    finished: "queue.SimpleQueue[Outcome[Item, Done]]",
    work: Callable[[Item], Done],
    over: threading.Event,
) -> None:
    while not over.is_set():
        try:
            item = waiting.get_nowait()
        except queue.Empty:
            return
        outcome: Outcome[Item, Done] = Outcome(item)
        with _Kept(outcome):
            outcome.done.append(work(item))
        finished.put(outcome)


class _Kept:
    """Keeps whatever is raised for who takes the outcome: no failure may end in a thread unseen."""

    def __init__(self, outcome: "Outcome[Item, Done]") -> None:
        self._outcome = outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._outcome.error = error
        return True
