"""The lock, the progress and the failure of a job, as the server and the child process of the job share them."""

import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elt_llm_core.errors import EltError, StoreError
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.store.lock import lock_holder, writer_lock

_FOLDER = Path("jobs") / "queue"


@contextmanager
def claim_job(workspace: Workspace, identity: str) -> Iterator[None]:
    """Hold the lock of a queued job. Raises LockHeld if another process of this or another server runs the job."""
    folder = workspace.folder / _FOLDER
    for private in (workspace.folder, folder.parent, folder):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    with writer_lock(workspace, f"job {identity}", _part(identity)):
        yield


def is_claimed(workspace: Workspace, identity: str) -> bool:
    """Return whether a running process holds the lock of a job."""
    return lock_holder(workspace, _part(identity)) is not None


def delete_claim(workspace: Workspace, identity: str) -> None:
    """Delete the lock of a finished job."""
    shutil.rmtree(workspace.folder / _part(identity), ignore_errors=True)


def _part(identity: str) -> str:
    return (_FOLDER / identity).as_posix()


_SECONDS = 0.5
_MAX_NOTES, _MAX_TEXT = 20, 300  # number of kept notes; characters of a note and of the detail
_log = logging.getLogger(__name__)


class QueueProgress:
    """Stores the progress of a job in the queue, at most twice a second and at the start of each stage.

    Progress consists of `stage`, the units `done` of `total` (0: unknown), `detail`, which names the current unit, and
    `notes`, a list of sentences.
    """

    def __init__(self, queue: JobQueue, identity: str) -> None:
        self._queue, self._identity = queue, identity
        self._progress: dict[str, Any] = {"stage": "", "done": 0, "total": 0, "detail": "", "notes": []}
        self._written_at = time.monotonic() - _SECONDS

    def stage(self, name: str, total: int) -> None:
        """Start a stage and write the progress at once."""
        self._progress |= {"stage": name, "done": 0, "total": total, "detail": ""}
        self.write()

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count units, and write the progress unless the last write was less than half a second ago."""
        done = self._progress["done"] + amount
        self._progress |= {"done": done, "detail": detail[:_MAX_TEXT]}
        if time.monotonic() - self._written_at >= _SECONDS or done == self._progress["total"]:
            self.write()

    def note(self, message: str) -> None:
        """Add a sentence to the notes. Only the latest 20 notes are kept."""
        self._progress["notes"] = [*self._progress["notes"], message[:_MAX_TEXT]][-_MAX_NOTES:]

    def write(self) -> None:
        """Write the progress. The job continues if the disk is full."""
        self._written_at = time.monotonic()
        try:
            self._queue.report(self._identity, self._progress)
        except StoreError as error:
            _log.warning("Progress of job %s was not stored: %s", self._identity, error)


class AllPartsFailed(EltError):
    """Every part of a job failed, such as every file of an ingest. `result` reports each part, and is stored."""

    def __init__(self, message: str, result: Mapping[str, Any], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.result = result
