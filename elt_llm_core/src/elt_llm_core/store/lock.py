"""The writer's lock: one `flock` per data directory, held by the process that builds, publishes or collects."""

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
_PATIENCE_SECONDS = 0.5  # lock_holder() may hold the lock for a moment


@dataclass(frozen=True)
class LockHolder:
    """The process that holds the lock, as it describes itself."""

    pid: int
    started_at: str
    command: str

    def __str__(self) -> str:
        """The name in messages."""
        return f"process {self.pid} ({self.command}, since {self.started_at})"


@contextmanager
def writer_lock(data_dir: Path, command: str) -> Iterator[None]:
    """Hold the lock of `data_dir`, creating the folder if needed (mode 0700).

    Raises LockHeld with the name of the holder, in about half a second.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(data_dir / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _take(descriptor, fcntl.LOCK_EX):
            raise _held_error(data_dir, _read_holder(descriptor))
        _write_holder(descriptor, LockHolder(os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"), command))
        yield
    finally:
        os.close(descriptor)


def lock_holder(data_dir: Path) -> LockHolder | None:
    """The process that is writing to `data_dir` now, or None."""
    try:
        descriptor = os.open(data_dir / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if _try(descriptor, fcntl.LOCK_SH):
            return None
        return _read_holder(descriptor) or LockHolder(0, "unknown", "unknown command")
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


def _write_holder(descriptor: int, present: LockHolder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(present)).encode(), 0)


def _read_holder(descriptor: int) -> LockHolder | None:
    try:
        return LockHolder(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):  # empty or incomplete
        return None


def _held_error(data_dir: Path, present: LockHolder | None) -> LockHeld:
    return LockHeld(
        f"{data_dir} is being written by {present or 'another process'}.",
        hint="Questions are still answered. Run this again when that process has ended.",
    )
