"""Run one job in its own process, forked from the fork server that `serve.jobs.runner` starts.

When the server ends, the process stops as on SIGTERM, so that no job runs without a server and no job runs twice.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import NoReturn

from elt_llm_core.errors import EltError, LockHeld
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue

from elt_llm_api.serve.jobs.handover import AllPartsFailed, QueueProgress, claim_job, delete_claim

DONE, FAILED, STOPPED = 0, 1, 128 + signal.SIGTERM
LOCK_HELD_EXIT = LockHeld.exit_code
"""Exit code if another process holds a lock. The job is queued again."""
_SECONDS_TO_STOP = 10.0
_NICENESS = 10  # questions have priority over jobs


class StopRequested(BaseException):
    """A request to stop the process. Like KeyboardInterrupt it is not an Exception, so no error handler catches it."""


def run_in_child(identity: str, loaded: LoadedSettings, environment: Mapping[str, str]) -> NoReturn:
    """Run a queued job with these environment variables, and exit with its code."""
    os.setsid()  # the server handles Ctrl-C, and stops this process itself
    os.nice(_NICENESS)
    os.environ.clear()
    os.environ.update(environment)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    threading.Thread(target=_stop_with_server, name="server-watch", daemon=True).start()
    signal.signal(signal.SIGTERM, _request_stop)
    try:
        sys.exit(run_job(identity, loaded))
    except StopRequested:  # before the job started
        sys.exit(STOPPED)


def run_job(identity: str, loaded: LoadedSettings) -> int:
    """Run a queued job unless another process runs it, record its outcome, and return an exit code."""
    with closing(open_state(loaded.workspace)) as state:
        queue = JobQueue(state)
        try:
            with claim_job(loaded.workspace, identity):
                try:
                    code = _run_and_record(queue, identity, loaded) if queue.begin(identity, os.getpid()) else DONE
                except StopRequested:
                    queue.wait_again(identity, counted=False)
                    code = STOPPED
                if queue.get(identity).has_ended:
                    delete_claim(loaded.workspace, identity)
        except LockHeld:
            return LOCK_HELD_EXIT
    return code


def _run_and_record(queue: JobQueue, identity: str, loaded: LoadedSettings) -> int:
    from elt_llm_api.serve.jobs.kinds import kept_uploads, run_kind

    job = queue.get(identity)
    progress = QueueProgress(queue, identity)
    try:
        result = run_kind(job.kind, job.arguments, loaded, progress)
    except LockHeld as error:
        progress.note(str(error))
        progress.write()
        queue.wait_again(identity, counted=False)
        return LOCK_HELD_EXIT
    except (EltError, OSError) as error:
        hint = getattr(error, "hint", "")
        result = dict(error.result) if isinstance(error, AllPartsFailed) else {}
        kept = "" if result else kept_uploads(loaded.data_dir, job.arguments)
        queue.end(identity, "failed", result, " ".join(filter(None, (str(error), hint, kept))))
        return FAILED
    progress.write()
    queue.end(identity, "done", result)
    return DONE


def _stop_with_server() -> None:
    """Wait until the server has ended, then stop the process, by force if it takes too long."""
    server = multiprocessing.parent_process()
    if server is None:
        return
    server.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_STOP)
    os.kill(os.getpid(), signal.SIGKILL)


def _request_stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise StopRequested
