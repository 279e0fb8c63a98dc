"""Where questions are worked on: a bounded number of threads, a bounded queue before them, and a clear no beyond."""

import asyncio
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import BoundedSemaphore, Event, Lock
from typing import TypeVar

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError

T = TypeVar("T")
_RETRY_AFTER = range(1, 5)  # seconds: what a short queue takes to empty
COMPUTING = 2  # threads: of Python one runs at a time; with more, whoever is to be refused waits for all of them
_SECONDS_BETWEEN_LOOKS = 0.2


class Overloaded(EltError):
    """Every place is taken and the queue is full; trying again later helps."""

    retryable = True


class Workers(Closeable):
    """Runs blocking work beside the event loop: `places` at once, `queue` waiting; more is refused at once."""

    def __init__(self, places: int, queue: int) -> None:
        self._threads = ThreadPoolExecutor(places, thread_name_prefix="question")
        self._free = places + queue
        self._lock = Lock()
        self._computing = BoundedSemaphore(COMPUTING)

    @property
    def is_full(self) -> bool:
        """Whether the next piece of work would be refused."""
        return self._free <= 0

    @property
    def free(self) -> int:
        """How many pieces of work would be taken now, to be done at once or to wait."""
        return self._free

    async def run(self, work: Callable[[Event], T]) -> T:
        """The result of `work`, which is given an event that is set when nobody waits for it any more.

        Raises Overloaded, and what the work raises. Work that nobody waits for before it was begun is never begun.
        """
        self._take()
        gone = Event()
        running = self._threads.submit(work, gone)
        running.add_done_callback(self._give_back)
        waited_for = asyncio.wrap_future(running)
        try:
            return await asyncio.shield(waited_for)
        except asyncio.CancelledError:
            gone.set()  # the place is given back when the work has noticed, not before: it still takes a thread
            waited_for.add_done_callback(_unheard)
            running.cancel()  # does nothing to work that was begun
            raise

    @contextmanager
    def computing(self, gone: Event) -> Iterator[None]:
        """A turn for work that computes all the time, waited for unless `gone` is set meanwhile.

        Work that waits for a model needs none: it would keep the turn from others and not use it.
        """
        taken = False
        while not taken and not gone.is_set():
            taken = self._computing.acquire(timeout=_SECONDS_BETWEEN_LOOKS)
        try:
            yield
        finally:
            if taken:
                self._computing.release()

    def close(self) -> None:
        """Take no more work, drop what waits, and wait for what is being done."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _take(self) -> None:
        with self._lock:
            if self._free <= 0:
                raise Overloaded("The server has as many questions as it can take.", hint="Try again in a few seconds.")
            self._free -= 1

    def _give_back(self, _: Future[T]) -> None:
        with self._lock:
            self._free += 1


def retry_after() -> int:
    """After how many seconds to try again: not the same for all, or whoever is refused together comes back together."""
    return random.choice(_RETRY_AFTER)  # noqa: S311 - to spread them is all it is for


def _unheard(ended: "asyncio.Future[T]") -> None:
    """How work ended that nobody waited for is no news to anybody, the log included."""
    if not ended.cancelled():
        ended.exception()
