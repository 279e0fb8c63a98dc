"""Who is at work on a job: told by a lock that ends with its process, never by a process id that may be another's."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elt_llm_core.store.lock import holder, writer_lock

_FOLDER = Path("jobs") / "queue"


@contextmanager
def claimed(data_dir: Path, identity: str) -> Iterator[None]:
    """Hold the lock of one queued job. Raises LockHeld if another process is at it, of this server or another one."""
    folder = _folder(data_dir, identity)
    for private in (data_dir, folder.parent.parent, folder.parent):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    with writer_lock(folder, f"job {identity}"):
        yield


def is_claimed(data_dir: Path, identity: str) -> bool:
    """Whether a living process is at work on a job."""
    return holder(_folder(data_dir, identity)) is not None


def forget_claim(data_dir: Path, identity: str) -> None:
    """Delete the lock of a job that has ended: nobody begins it any more."""
    shutil.rmtree(_folder(data_dir, identity), ignore_errors=True)


def _folder(data_dir: Path, identity: str) -> Path:
    return data_dir / _FOLDER / identity
