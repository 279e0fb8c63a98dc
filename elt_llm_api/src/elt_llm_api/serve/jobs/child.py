"""One job in a process of its own: `python -m elt_llm_api.serve.jobs.child JOB`, the settings on standard input.

Standard input stays open as long as the server lives. When it ends, this process stops as if it was told to, so that no
job is left at work without a server, and none is done twice.
"""

import os
import signal
import sys
import threading
import time
from contextlib import closing
from types import FrameType
from typing import NoReturn

from elt_llm_core.errors import EltError, LockHeld
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.job_queue import JobQueue

from elt_llm_api.serve.jobs.claim import claimed, forget_claim
from elt_llm_api.serve.jobs.nothing_done import NothingDone
from elt_llm_api.serve.jobs.order import loaded_of
from elt_llm_api.serve.jobs.queue_progress import QueueProgress

DONE, FAILED, STOPPED = 0, 1, 128 + signal.SIGTERM
WAITS = LockHeld.exit_code
"""Exit code of a process that found a lock held: the job itself is queued again."""
_SECONDS_TO_STOP = 10.0
_NICENESS = 10  # questions go before jobs


class Stopped(BaseException):
    """The process was told to end; passes every handler of errors, like KeyboardInterrupt."""


def main() -> NoReturn:
    """Do the job named on the command line."""
    os.nice(_NICENESS)
    loaded = loaded_of(sys.stdin.buffer.readline())
    threading.Thread(target=_stop_with_server, name="server-watch", daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who stops the server stops this by it
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(do_job(sys.argv[1], loaded))
    except Stopped:  # before the job was begun
        sys.exit(STOPPED)


def do_job(identity: str, loaded: LoadedSettings) -> int:
    """Do a job unless another process is at it, and keep how it ended. Returns an exit code."""
    with closing(open_state(loaded.data_dir)) as state:
        queue = JobQueue(state)
        try:
            with claimed(loaded.data_dir, identity):
                code = _begun(queue, identity, loaded)
                if queue.get(identity).has_ended:
                    forget_claim(loaded.data_dir, identity)
        except LockHeld:
            return WAITS
    return code


def _begun(queue: JobQueue, identity: str, loaded: LoadedSettings) -> int:
    """Do the job if it still waits; stopped at whatever moment, it waits again."""
    try:
        return _done(queue, identity, loaded) if queue.begin(identity, os.getpid()) else DONE
    except Stopped:
        queue.wait_again(identity, counted=False)
        return STOPPED


def _done(queue: JobQueue, identity: str, loaded: LoadedSettings) -> int:
    from elt_llm_api.serve.jobs.kinds import run_kind

    job = queue.get(identity)
    progress = QueueProgress(queue, identity)
    try:
        result = run_kind(job.kind, job.arguments, loaded, progress)
    except LockHeld as error:
        progress.note(str(error))
        progress.say()
        queue.wait_again(identity, counted=False)
        return WAITS
    except (EltError, OSError) as error:
        hint = getattr(error, "hint", "")
        result = dict(error.result) if isinstance(error, NothingDone) else {}
        queue.end(identity, "failed", result, f"{error} {hint}".strip())
        return FAILED
    progress.say()
    queue.end(identity, "done", result)
    return DONE


def _stop_with_server() -> None:
    """Wait until the server is gone, then stop; by force if that takes too long."""
    # Not by sys.stdin, whose lock this thread would hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_STOP)
    os.kill(os.getpid(), signal.SIGKILL)


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


if __name__ == "__main__":
    main()
