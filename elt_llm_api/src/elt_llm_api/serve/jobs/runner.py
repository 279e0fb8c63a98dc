"""What has the jobs done: for each kind of work a thread that starts one child process after the other."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import IO, cast

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError
from elt_llm_core.failpoints import FAILPOINT_VARIABLE
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.job_queue import JobQueue, QueuedJob

from elt_llm_api.serve.jobs.child import DONE, STOPPED, WAITS
from elt_llm_api.serve.jobs.claim import forget_claim, is_claimed
from elt_llm_api.serve.jobs.kinds import READING, WRITING
from elt_llm_api.serve.jobs.order import order_of

LoadNow = Callable[[], LoadedSettings]
"""The settings as they are now: a job that begins has the latest."""
_SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_RECOVERIES = 0.25, 5.0
_SECONDS_TO_STOP, _SECONDS_AFTER_FAULTS = 10.0, 10.0
_LONGEST_REST = 30.0
_BEGAN = (DONE, WAITS, STOPPED)
_MOST_STARTS = 3
_log = logging.getLogger(__name__)


class JobRunner(Closeable):
    """Does the jobs of a queue until it is closed: those that write one by one, and beside them those that read.

    Several servers may do this over one data directory: who is at work on a job holds its lock.
    """

    def __init__(self, queue: JobQueue, load_now: LoadNow) -> None:
        self._stop = Event()
        self._lanes = [Lane(queue, load_now, kinds, self._stop) for kinds in (tuple(WRITING), tuple(READING))]
        self._threads = [Thread(target=lane.work, name=f"jobs-{number}") for number, lane in enumerate(self._lanes)]

    def start(self) -> None:
        """Begin with what is queued, and with what a server left that was killed."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop: what is being done is queued again, and goes on from there when somebody runs the queue."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()


@dataclass
class _Rests:
    """Jobs that could not begin, by id: how often that was, and until when they are left alone (monotonic seconds)."""

    until: dict[str, tuple[int, float]] = field(default_factory=dict)

    def resting(self) -> Collection[str]:
        """The ids of those that are left alone now."""
        moment = time.monotonic()
        return {identity for identity, (_, until) in self.until.items() if until > moment}

    def put(self, identity: str) -> None:
        """Leave one alone: a second at first, twice as long each time."""
        times, _ = self.until.get(identity, (0, 0.0))
        self.until[identity] = times + 1, time.monotonic() + min(_LONGEST_REST, 2.0**times)

    def times(self, identity: str) -> int:
        """How often one could not begin."""
        return self.until.get(identity, (0, 0.0))[0]

    def forget(self, identity: str) -> None:
        """It could begin."""
        self.until.pop(identity, None)


class Lane:
    """Does the jobs of some kinds, one at a time, until `stop` is set."""

    def __init__(self, queue: JobQueue, load_now: LoadNow, kinds: tuple[str, ...], stop: Event) -> None:
        self._queue, self._load_now, self._kinds, self._stop = queue, load_now, kinds, stop
        self._rests = _Rests()
        self._recovered = -_SECONDS_BETWEEN_RECOVERIES

    def work(self) -> None:
        """Until it is told to stop; a database that cannot be written for a while is waited for."""
        while not self._stop.is_set():
            try:
                job = self._next()
                if job is not None:
                    self._do(job)
                    continue
            except (EltError, OSError) as error:
                _log.warning("Jobs wait: %s", error)
                self._stop.wait(_SECONDS_AFTER_FAULTS)
            self._stop.wait(_SECONDS_BETWEEN_LOOKS)

    def _next(self) -> QueuedJob | None:
        if time.monotonic() - self._recovered >= _SECONDS_BETWEEN_RECOVERIES:
            self._recovered = time.monotonic()
            self._recover()
        return self._queue.next(self._kinds, self._rests.resting())

    def _recover(self) -> None:
        """Queue again what is marked as running though nobody is at it: its process was killed."""
        data_dir = self._load_now().data_dir
        for job in self._queue.all(("running",)):
            if job.kind in self._kinds and not is_claimed(data_dir, job.id):
                self._queue.abandoned(job.id, "The process that did it was killed.")
                self._after(job.id)

    def _do(self, job: QueuedJob) -> None:
        process = _started(job, self._load_now())
        try:
            self._attend(job, process)
        finally:
            cast(IO[bytes], process.stdin).close()
        status = self._queue.get(job.id).status
        if status == "running" and not is_claimed(self._load_now().data_dir, job.id):
            self._queue.abandoned(job.id, f"Its process ended with {_how(process.returncode)}.")
        if status == "queued" and process.returncode not in _BEGAN:
            self._refuse_after_some(job, process.returncode)
        self._after(job.id)

    def _refuse_after_some(self, job: QueuedJob, code: int | None) -> None:
        """End a job whose process does not come so far as to begin it."""
        if self._rests.times(job.id) >= _MOST_STARTS - 1:
            self._queue.end(job.id, "failed", {}, f"Its process does not start: it ended with {_how(code)}.")

    def _after(self, identity: str) -> None:
        """Leave a job alone for a while that is to be done again, and keep nothing of one that has ended."""
        if self._queue.get(identity).has_ended:
            self._rests.forget(identity)
            forget_claim(self._load_now().data_dir, identity)
        else:
            self._rests.put(identity)

    def _attend(self, job: QueuedJob, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the process; end it when the job is cancelled, or the server stops."""
        deadline = 0.0
        while process.poll() is None:
            if not deadline and (self._stop.is_set() or self._queue.get(job.id).status == "cancelled"):
                process.terminate()
                deadline = time.monotonic() + _SECONDS_TO_STOP
            if deadline and time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
            try:
                process.wait(_SECONDS_BETWEEN_LOOKS)
            except subprocess.TimeoutExpired:
                continue


def _started(job: QueuedJob, loaded: LoadedSettings) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(  # noqa: S603 - this interpreter, on a module of this package
        [sys.executable, "-m", "elt_llm_api.serve.jobs.child", job.id],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is for the server, which stops this in its own time
        bufsize=0,
    )
    try:
        cast(IO[bytes], process.stdin).write(order_of(loaded))
    except BrokenPipeError:
        _log.warning("The process of job %s ended at once.", job.id)
    return process


def _environment() -> dict[str, str]:
    """That of the server but for its settings, which are told, and what it may have been given as its own key."""
    kept = {FAILPOINT_VARIABLE}
    return {name: value for name, value in os.environ.items() if not name.startswith("ELT_LLM_") or name in kept}


def _how(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
