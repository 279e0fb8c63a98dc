"""The writer's lock: one `flock` per data directory, held by the process that writes to the directory."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from elt_llm_core.errors import LockHeld
from elt_llm_core.store.records import utc_now

LOCK_NAME = "lock"
_PATIENCE_SECONDS = 0.5  # lock_holder() may hold the lock briefly


@dataclass(frozen=True)
class LockHolder:
    """The process that holds the lock, as recorded in the lock file."""

    pid: int
    started_at: str
    command: str

    def __str__(self) -> str:
        """Return id, command and start time of the process, for error messages."""
        return f"process {self.pid} ({self.command}, since {self.started_at})"


@contextmanager
def writer_lock(data_dir: Path, command: str) -> Iterator[None]:
    """Hold the writer's lock of `data_dir` during the block. A missing folder is created with mode 0700.

    Raises LockHeld, which names the process that holds the lock, after half a second.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(data_dir / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise LockHeld(
                    f"{data_dir} is being written by {_read_holder(descriptor) or 'another process'}.",
                    hint="Questions are still answered. Run this command again when that process has ended.",
                )
            time.sleep(0.05)
        present = LockHolder(os.getpid(), utc_now(), command)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(present)).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def lock_holder(data_dir: Path) -> LockHolder | None:
    """Return the process that is writing to `data_dir` now, or None."""
    try:
        descriptor = os.open(data_dir / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if try_lock(descriptor, fcntl.LOCK_SH):
            return None
        return _read_holder(descriptor) or LockHolder(0, "unknown", "unknown command")
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, kind: int) -> bool:
    """Lock an open file with `flock` without waiting. Return False if another process holds the lock."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_holder(descriptor: int) -> LockHolder | None:
    try:
        return LockHolder(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):  # the lock file is empty or incomplete
        return None
