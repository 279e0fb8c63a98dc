"""The one way to `store.sqlite3`: a connection whose transactions survive a crash or did not happen."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pysqlite3.dbapi2 as sqlite

from elt_llm_core.errors import StoreError

STORE_NAME = "store.sqlite3"
MINIMUM_SQLITE = (3, 51, 3)  # fixes a corruption of write-ahead logs that older ones can meet
Row = tuple[Any, ...]

T = TypeVar("T")

_BUSY_MILLISECONDS = 20_000
_BATCH = 500
_ROOM_TO_WRITE = 1 << 20  # bytes of log that a small change may take


def sqlite_version() -> tuple[int, int, int]:
    """Version of the SQLite library in use, not of the Python module."""
    major, minor, patch = sqlite.sqlite_version_info
    return (major, minor, patch)


class Database:
    """A connection that threads may share. Outside `transaction` each statement stands alone.

    No statement leaves a read transaction open behind it: rows are always fetched whole.
    """

    def __init__(self, path: Path, *, for_writing: bool) -> None:
        """Open `path`; create it if `for_writing`. Raises StoreError if it cannot be opened."""
        if for_writing and sqlite_version() < MINIMUM_SQLITE:
            raise StoreError(
                f"SQLite {sqlite.sqlite_version} can corrupt a write-ahead log; {MINIMUM_SQLITE} or newer is needed.",
                hint="Run: uv sync --reinstall-package pysqlite3",
            )
        self.path = path
        self._mutex = threading.RLock()
        try:
            self._connection = _connect(path, for_writing)
        except sqlite.Error as error:
            raise StoreError(f"{path} cannot be opened: {error}.", hint="Run: elt-llm doctor") from error

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of one statement. Raises StoreError if the file is damaged or full."""
        with self._mutex, self._named_errors():
            found: list[Row] = self._connection.execute(statement, parameters).fetchall()
            return found

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        """The first row of one statement, or None."""
        found = self.rows(statement, parameters)
        return found[0] if found else None

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement; returns the id of the row it inserted, if it did."""
        with self._mutex, self._named_errors():
            return int(self._connection.execute(statement, parameters).lastrowid or 0)

    def execute_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of `parameters`."""
        with self._mutex, self._named_errors():
            self._connection.executemany(statement, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements within happen, or none. Not nested."""
        with self._mutex:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")  # fails on a full disk, and then leaves the transaction open
            except BaseException:
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    def backup_to(self, target: Path) -> None:
        """A consistent copy of the whole file, also while others write."""
        with self._mutex, self._named_errors():
            other = sqlite.connect(target)
            try:
                self._connection.backup(other)
            finally:
                other.close()

    def close(self) -> None:
        """Close the connection; further use raises StoreError."""
        with self._mutex:
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite.SQLITE_FULL:
                raise _full(self.path) from error
            # Of bytes that are no text SQLite quotes all: a whole document, in a terminal or a log.
            what = str(error).partition(" with text ")[0]
            raise StoreError(f"{self.path}: {what}.", hint="Run: elt-llm doctor") from None


def _full(path: Path) -> StoreError:
    free = shutil.disk_usage(path.parent).free
    return StoreError(
        f"{path} has too little room: {_ROOM_TO_WRITE} bytes or more are needed, {free} are free.",
        hint="Readers keep what is published. Make room on that disk, then run the same command again.",
    )


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Slices small enough for one statement's parameters."""
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


def marks(values: Sequence[object]) -> str:
    """One question mark a value, for IN (...)."""
    return ", ".join("?" * len(values))


def _connect(path: Path, for_writing: bool) -> Any:
    mode = "rwc" if for_writing else _reading_mode(path)
    connection = sqlite.connect(
        f"file:{_quoted(path)}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    if for_writing:
        connection.execute("PRAGMA journal_mode = WAL")
        path.chmod(0o600)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    return connection


def _reading_mode(path: Path) -> str:
    """A reader of a write-ahead log needs to write its index; on a read-only disk nobody else can write either."""
    return "rw" if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else "immutable"


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
