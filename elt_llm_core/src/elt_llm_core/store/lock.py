"""The writer's lock of a workspace: a `flock` in its folder, or an advisory lock in its PostgreSQL database."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from elt_llm_core.errors import LockHeld
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.records import utc_now

LOCK_NAME = "lock"
_PATIENCE_SECONDS = 0.5  # lock_holder() may hold the lock briefly


@dataclass(frozen=True)
class LockHolder:
    """The process that holds the writer's lock. `host` is the machine on which it runs, or "" for this machine."""

    pid: int
    started_at: str
    command: str
    host: str = ""

    def __str__(self) -> str:
        """Return a text such as "process 71 on host-b (elt-llm ingest, since 2026-05-01T14:00:00+00:00)"."""
        return f"process {self.pid}{' on ' if self.host else ''}{self.host} ({self.command}, since {self.started_at})"


@contextmanager
def writer_lock(place: Path | Workspace, command: str, part: str = "") -> Iterator[None]:
    """Hold the writer's lock of a workspace, or of the job whose subfolder is `part`, during the block.

    A missing folder is created with mode 0700. If another process holds the lock for half a second, raises LockHeld,
    which names that process. With PostgreSQL, raises StoreError if locks do not stay with a connection.
    """
    workspace = as_workspace(place)
    if workspace.is_shared:
        with _advisory_lock(workspace, command, part):
            yield
        return
    folder = workspace.folder / part
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise LockHeld(
                    f"{folder} is being written by {_read_holder(descriptor) or 'another process'}.",
                    hint="Questions are still answered. Run this command again when that process has ended.",
                )
            time.sleep(0.05)
        present = LockHolder(os.getpid(), utc_now(), command)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(present)).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def lock_holder(place: Path | Workspace, part: str = "") -> LockHolder | None:
    """Return the process that is writing to a workspace, or to its subfolder `part`, or None if there is none."""
    workspace = as_workspace(place)
    if workspace.is_shared:
        return _advisory_holder(workspace, part)
    try:
        descriptor = os.open(workspace.folder / part / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if try_lock(descriptor, fcntl.LOCK_SH):
            return None
        return _read_holder(descriptor) or LockHolder(0, "unknown", "unknown command")
    finally:
        os.close(descriptor)


@contextmanager
def _advisory_lock(workspace: Workspace, command: str, part: str) -> Iterator[None]:
    from elt_llm_core.store.postgres import STORE_SCHEMA, PostgresDatabase, check_session_locks, take_lock, writer_key

    workspace.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(PostgresDatabase(workspace, STORE_SCHEMA, command)) as session:
        take_lock(session, writer_key(part), f"{session.name}{': ' if part else ''}{part}")
        with closing(PostgresDatabase(workspace, STORE_SCHEMA, command)) as other:
            check_session_locks(session, other, writer_key(part))
        yield


def _advisory_holder(workspace: Workspace, part: str) -> LockHolder | None:
    from elt_llm_core.store.postgres import STORE_SCHEMA, PostgresDatabase, session_of, writer_key

    with closing(PostgresDatabase(workspace, STORE_SCHEMA)) as session:
        found = session_of(session, writer_key(part))
    return LockHolder(found[1], found[3], found[2], found[0]) if found else None


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
