"""How far a job is, kept where whoever waits for it looks: not more often than anybody would notice."""

import logging
import time
from collections.abc import Callable

from elt_llm_core.errors import StoreError
from elt_llm_core.state.job_queue import JobQueue

_SECONDS = 0.5
_MOST_NOTES, _LONGEST = 20, 300  # notes kept, characters of one and of what names the present unit
_log = logging.getLogger(__name__)


class QueueProgress:
    """A listener that writes into the queue at most twice a second, and whenever a stage begins.

    What it keeps: `stage`, `done` and `total` units of it (`total` 0: unknown), `detail` that names the present one,
    `notes` in sentences.
    """

    def __init__(self, queue: JobQueue, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue, self._identity, self._clock = queue, identity, clock
        self._stage, self._done, self._total, self._detail = "", 0, 0, ""
        self._notes: list[str] = []
        self._said = clock() - _SECONDS

    def stage(self, name: str, total: int) -> None:
        """Say at once that a stage begins."""
        self._stage, self._done, self._total, self._detail = name, 0, total, ""
        self.say()

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count, and say so if that is not too soon."""
        self._done, self._detail = self._done + amount, detail[:_LONGEST]
        if self._clock() - self._said >= _SECONDS or self._done == self._total:
            self.say()

    def note(self, message: str) -> None:
        """Keep a sentence; the latest ones stay."""
        self._notes = [*self._notes, message[:_LONGEST]][-_MOST_NOTES:]

    def say(self) -> None:
        """Write it down. A disk that is full for a moment costs the job nothing but this."""
        self._said = self._clock()
        told = {
            "stage": self._stage,
            "done": self._done,
            "total": self._total,
            "detail": self._detail,
            "notes": self._notes,
        }
        try:
            self._queue.report(self._identity, told)
        except StoreError as error:
            _log.warning("Progress of job %s was not kept: %s", self._identity, error)
