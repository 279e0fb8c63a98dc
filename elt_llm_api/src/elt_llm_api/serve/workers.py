"""Where questions are worked on: a bounded number of threads, a bounded queue before them, and a clear no beyond."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError

T = TypeVar("T")
RETRY_AFTER = 2  # seconds: what a short queue takes to empty


class Overloaded(EltError):
    """Every place is taken and the queue is full; trying again later helps."""

    retryable = True


class Workers(Closeable):
    """Runs blocking work beside the event loop: `places` at once, `queue` waiting; more is refused at once."""

    def __init__(self, places: int, queue: int) -> None:
        self._threads = ThreadPoolExecutor(places, thread_name_prefix="question")
        self._free = places + queue

    @property
    def is_full(self) -> bool:
        """Whether the next piece of work would be refused."""
        return self._free <= 0

    async def run(self, work: Callable[[Event], T]) -> T:
        """The result of `work`, which is given an event that is set when nobody waits for it any more.

        Raises Overloaded, and what the work raises. To be called in one event loop alone.
        """
        if self.is_full:
            raise Overloaded("The server has as many questions as it can take.", hint=f"Try again in {RETRY_AFTER} s.")
        self._free -= 1
        gone = Event()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, work, gone)
        future.add_done_callback(lambda _: self._give_back())
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            gone.set()  # the place is given back when the work has noticed, not before: it still takes a thread
            raise

    def close(self) -> None:
        """Take no more work, drop what waits, and wait for what is being done."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _give_back(self) -> None:
        self._free += 1
