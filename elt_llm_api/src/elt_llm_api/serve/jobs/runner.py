"""Run the queued jobs in two lanes: one for jobs that write, one for jobs that read. A lane runs one job at a time.

Each job has a process of its own, forked from a fork server of `multiprocessing` that has already imported the modules
an ingest needs. A new process takes two to four seconds to import them.
"""

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from threading import Event, Thread, Timer

from elt_llm_core.errors import EltError
from elt_llm_core.settings.loader import INDEX_KEY_FILE_VARIABLE, INDEX_KEY_VARIABLE, LoadedSettings
from elt_llm_core.settings.workspace import DSN_VARIABLE
from elt_llm_core.state.jobs import JobQueue, QueuedJob
from elt_llm_core.store.uploads import machine_id
from elt_llm_core.utilities import FAILPOINT_VARIABLE

from elt_llm_api.serve.jobs.child import DONE, LOCK_HELD_EXIT, STOPPED, run_in_child
from elt_llm_api.serve.jobs.handover import delete_claim, is_claimed
from elt_llm_api.serve.jobs.kinds import READING_KINDS, WRITING_KINDS, kept_uploads

SettingsSource = Callable[[], LoadedSettings]
"""A function that returns the current settings, with which each job starts."""
_POLL_SECONDS, _RECOVERY_SECONDS = 0.25, 5.0
_SECONDS_TO_STOP, _SECONDS_AFTER_FAULTS = 10.0, 10.0
_MAX_DELAY, _SECONDS_BEFORE_PREPARATION = 30.0, 5.0  # seconds
_STARTED_EXIT_CODES = (DONE, LOCK_HELD_EXIT, STOPPED)
_MAX_ATTEMPTS = 3
_PRELOADED = ("elt_llm_api.serve.jobs.child", "elt_llm_api.serve.jobs.kinds", "elt_llm_ingest.jobs.runner", "chromadb")
_KEPT = frozenset({FAILPOINT_VARIABLE, DSN_VARIABLE, INDEX_KEY_VARIABLE, INDEX_KEY_FILE_VARIABLE})
_log = logging.getLogger(__name__)


class JobLane:
    """Runs the jobs of some kinds, one at a time, until `stop` is set."""

    def __init__(self, queue: JobQueue, current_settings: SettingsSource, kinds: tuple[str, ...], stop: Event) -> None:
        self._queue, self._current_settings, self._kinds, self._stop = queue, current_settings, kinds, stop
        self._delays: dict[str, tuple[int, float]] = {}
        """Number of failed starts by job id, and the monotonic time in seconds before which the job does not start."""
        self._recovered_at = -_RECOVERY_SECONDS
        self._machine = machine_id(current_settings().workspace)

    def run(self) -> None:
        """Run jobs until the stop event is set. While the database cannot be written, wait and try again."""
        while not self._stop.is_set():
            try:
                job = self._next()
                if job is not None:
                    self._run_job(job)
                    continue
            except (EltError, OSError) as error:
                _log.warning("Jobs wait, because the job queue failed: %s", error)
                self._stop.wait(_SECONDS_AFTER_FAULTS)
            self._stop.wait(_POLL_SECONDS)

    def _next(self) -> QueuedJob | None:
        now = time.monotonic()
        if now - self._recovered_at >= _RECOVERY_SECONDS:
            self._recovered_at = now
            self._recover()
        delayed = {identity for identity, (_, until) in self._delays.items() if until > now}
        return self._queue.next(self._kinds, delayed, self._machine)

    def _recover(self) -> None:
        """Queue jobs again that are still marked as running although their process was killed."""
        workspace = self._current_settings().workspace
        for job in self._queue.all(("running",)):
            if job.kind in self._kinds and not is_claimed(workspace, job.id):
                self._queue.abandoned(job.id, self._with_uploads("The process of the job was killed.", job))
                self._update_delay(job.id)

    def _run_job(self, job: QueuedJob) -> None:
        process = _start_child(job, self._current_settings())
        code = self._exit_code(job, process)
        exit_reason = f"signal {-code}" if code < 0 else f"exit code {code}"
        status = self._queue.get(job.id).status
        if status == "running" and not is_claimed(self._current_settings().workspace, job.id):
            reason = self._with_uploads(f"The process of the job ended with {exit_reason}.", job)
            self._queue.abandoned(job.id, reason)
        if status == "queued" and code not in _STARTED_EXIT_CODES and self._attempts(job.id) >= _MAX_ATTEMPTS - 1:
            reason = self._with_uploads(f"The process of the job does not start: {exit_reason}.", job)
            self._queue.end(job.id, "failed", {}, reason)
        self._update_delay(job.id)

    def _with_uploads(self, reason: str, job: QueuedJob) -> str:
        return f"{reason} {kept_uploads(self._current_settings().data_dir, job.arguments)}".strip()

    def _attempts(self, identity: str) -> int:
        return self._delays.get(identity, (0, 0.0))[0]

    def _update_delay(self, identity: str) -> None:
        """Delay a job that must run again: by 1 s, then each time twice as long. Delete the lock of an ended job."""
        if self._queue.get(identity).has_ended:
            self._delays.pop(identity, None)
            delete_claim(self._current_settings().workspace, identity)
        else:
            attempts = self._attempts(identity)
            self._delays[identity] = attempts + 1, time.monotonic() + min(_MAX_DELAY, 2.0**attempts)

    def _exit_code(self, job: QueuedJob, process: BaseProcess) -> int:
        """Wait for the process and return its exit code. Stop it when the job is cancelled or the server stops."""
        deadline = 0.0
        while process.exitcode is None:
            if not deadline and (self._stop.is_set() or self._queue.get(job.id).status == "cancelled"):
                process.terminate()
                deadline = time.monotonic() + _SECONDS_TO_STOP
            if deadline and time.monotonic() > deadline and process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            process.join(_POLL_SECONDS)
        return process.exitcode


def _start_child(job: QueuedJob, loaded: LoadedSettings) -> BaseProcess:
    # The child gets the settings as an argument, not these variables, which may contain the server's token.
    environment = {it: value for it, value in os.environ.items() if it in _KEPT or not it.startswith("ELT_LLM_")}
    process = _start_fork_server().Process(
        target=run_in_child, args=(job.id, loaded, environment), name=f"job-{job.id}"
    )
    process.start()
    return process


def _start_fork_server() -> ForkServerContext:
    """Start the fork server unless it runs already, and return the context that creates processes in it.

    The calling thread no longer receives Ctrl-C, and nor does the fork server, which would print a traceback.
    """
    resource_tracker.ensure_running()  # it unblocks the signal after its start
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    forkserver.ensure_running()
    return context


_DAYS_KEPT = 30


@contextmanager
def run_queued_jobs(queue: JobQueue, current_settings: SettingsSource, *, prepare: bool = False) -> Iterator[None]:
    """Run queued jobs, and jobs that a killed server left unfinished, one writing and one reading job at a time.

    Several servers may run the queue of one data directory, because the process that runs a job holds the job's lock.
    When the block ends, running jobs are queued again. Jobs that ended long ago are deleted first. With `prepare`, the
    fork server starts a few seconds later, so that the first job need not wait for it.
    """
    queue.forget_ended((datetime.now(UTC) - timedelta(days=_DAYS_KEPT)).isoformat(timespec="seconds"))
    stop = Event()
    lanes = [JobLane(queue, current_settings, tuple(kinds), stop) for kinds in (WRITING_KINDS, READING_KINDS)]
    threads = [Thread(target=lane.run, name=f"jobs-{number}") for number, lane in enumerate(lanes)]
    preparation = Timer(_SECONDS_BEFORE_PREPARATION, _start_fork_server)
    if prepare:
        preparation.start()
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        preparation.cancel()
        for thread in threads:
            thread.join()
