"""The writer's lock: one `flock` per data directory, held by the process that builds, publishes or collects.

Needs only the standard library, so that a second writer is refused before anything heavy is imported.
The kernel releases the lock when its holder dies, however it dies: there are no stale locks to clean up.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from elt_llm_core.errors import LockHeld

LOCK_NAME = "lock"
_PATIENCE_SECONDS = 0.5  # a glance by holder() may be in the way for a moment


@dataclass(frozen=True)
class Holder:
    """Who holds the lock, by its own account."""

    pid: int
    started_at: str
    command: str

    def __str__(self) -> str:
        """How messages name it."""
        return f"process {self.pid} ({self.command}, since {self.started_at})"


@contextmanager
def writer_lock(data_dir: Path, command: str) -> Iterator[None]:
    """Hold the lock of `data_dir`, which is created if need be (mode 0700).

    Raises LockHeld, naming the holder, in about half a second if another process has it.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(data_dir / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _take(descriptor, fcntl.LOCK_EX):
            raise _held_error(data_dir, _read_holder(descriptor))
        _write_holder(descriptor, Holder(os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"), command))
        yield
    finally:
        os.close(descriptor)


def holder(data_dir: Path) -> Holder | None:
    """Who is writing to `data_dir` now; None if nobody is."""
    try:
        descriptor = os.open(data_dir / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if _try(descriptor, fcntl.LOCK_SH):
            return None
        return _read_holder(descriptor) or Holder(0, "unknown", "unknown command")
    finally:
        os.close(descriptor)


def _take(descriptor: int, kind: int) -> bool:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not _try(descriptor, kind):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_holder(descriptor: int, present: Holder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(present)).encode(), 0)


def _read_holder(descriptor: int) -> Holder | None:
    try:
        return Holder(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):  # written by nobody yet, or half written
        return None


def _held_error(data_dir: Path, present: Holder | None) -> LockHeld:
    return LockHeld(
        f"{data_dir} is being written by {present or 'another process'}.",
        hint="Asking goes on meanwhile. Run this again when that process has ended.",
    )
