"""Run blocking work in a bounded number of threads with a bounded queue; reject further work."""

import asyncio
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import BoundedSemaphore, Event, Lock
from typing import TypeVar

from elt_llm_core.errors import EltError
from elt_llm_core.utilities import Closeable

T = TypeVar("T")
_RETRY_AFTER = range(1, 5)  # seconds after which a short queue is empty
COMPUTE_THREADS = 2
"""Number of threads that may compute at once. Python runs one of them at a time; more would delay all requests."""
_POLL_SECONDS = 0.2


class ServerOverloaded(EltError):
    """Every thread is busy and the queue is full. Trying again later helps."""

    retryable = True


class Workers(Closeable):
    """Runs blocking work in `threads` threads. Up to `queue` further calls wait, and more calls are rejected."""

    def __init__(self, threads: int, queue: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="question")
        self.free = threads + queue
        """The number of further calls of `run` that would be accepted now, to run at once or to wait."""
        self._lock = Lock()
        self._computing = BoundedSemaphore(COMPUTE_THREADS)

    async def run(self, work: Callable[[Event], T]) -> T:
        """Run `work` in a thread and return its result. `work` gets an event that is set when the caller is cancelled.

        If the caller is cancelled before the work starts, the work never starts. Raises ServerOverloaded, and the
        errors of the work.
        """
        with self._lock:
            if self.free <= 0:
                message = "The server has as many questions as it can take."
                raise ServerOverloaded(message, hint="Try again in a few seconds.")
            self.free -= 1
        abandoned = Event()
        running = self._threads.submit(work, abandoned)
        running.add_done_callback(self._release)
        result = asyncio.wrap_future(running)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            abandoned.set()  # the thread stays busy until the work notices this
            result.add_done_callback(_ignore_result)
            running.cancel()  # this does not stop work that has started
            raise

    @contextmanager
    def computing(self, abandoned: Event) -> Iterator[None]:
        """Wait for one of the `COMPUTE_THREADS` slots, and hold it during the block. `abandoned` ends the wait.

        Work that only waits for a model server needs no slot.
        """
        acquired = False
        while not acquired and not abandoned.is_set():
            acquired = self._computing.acquire(timeout=_POLL_SECONDS)
        try:
            yield
        finally:
            if acquired:
                self._computing.release()

    def close(self) -> None:
        """Accept no more work, drop waiting work, and wait for running work."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _release(self, _: Future[T]) -> None:
        with self._lock:
            self.free += 1


def retry_after_seconds() -> int:
    """Return a random delay, so that clients that were rejected together do not return together."""
    return random.choice(_RETRY_AFTER)  # noqa: S311 - it only spreads the requests


def _ignore_result(ended: "asyncio.Future[T]") -> None:
    """Retrieve the exception of abandoned work, so that asyncio does not log it."""
    if not ended.cancelled():
        ended.exception()
