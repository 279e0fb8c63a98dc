"""The writer's lock of a workspace: a `flock` in its folder, or an advisory lock in its PostgreSQL database."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from elt_llm_core.errors import LockHeld
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.postgres import (
    STORE_SCHEMA,
    PostgresDatabase,
    check_session_locks,
    session_of,
    take_lock,
    writer_key,
)
from elt_llm_core.store.records import LockHolder, utc_now

LOCK_NAME = "lock"
_PATIENCE_SECONDS = 0.5  # lock_holder() may hold the lock briefly


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
        with closing(PostgresDatabase(workspace, STORE_SCHEMA)) as session:
            return session_of(session, writer_key(part))
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
    workspace.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(PostgresDatabase(workspace, STORE_SCHEMA, command)) as session:
        take_lock(session, writer_key(part), f"{session.name}{': ' if part else ''}{part}")
        with closing(PostgresDatabase(workspace, STORE_SCHEMA, command)) as other:
            check_session_locks(session, other, writer_key(part))
        yield


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
