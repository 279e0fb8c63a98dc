"""The SQLite file `store.sqlite3`: crash-safe transactions, schema migrations, and the backups made before them."""

import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as sqlite

from elt_llm_core.errors import StoreError
from elt_llm_core.store.disk import require_space, sync_file
from elt_llm_core.utilities import Failpoint, failpoint

STORE_VERSION = 2
"""The number of schema steps in the folder `schema`."""
STORE_NAME = "store.sqlite3"
MIN_SQLITE = (3, 51, 3)  # older versions can corrupt a write-ahead log
Row = tuple[Any, ...]

_BUSY_MILLISECONDS = 20_000
_BATCH_SIZE = 500  # values in one SQL statement
_ROOM_TO_WRITE = 1 << 20  # bytes that a small change needs in the write-ahead log


def sqlite_version() -> tuple[int, int, int]:
    """Return the version of the SQLite library in use, not of its Python module."""
    major, minor, patch = sqlite.sqlite_version_info
    return (major, minor, patch)


class Database:
    """A connection that threads can share. Outside `transaction`, each statement commits by itself.

    Rows are always fetched completely, so that no statement leaves a read transaction open.
    """

    def __init__(self, path: Path, *, for_writing: bool) -> None:
        """Open the file, or create it if `for_writing`. Raises StoreError if the file cannot be opened."""
        if for_writing and sqlite_version() < MIN_SQLITE:
            raise StoreError(
                f"SQLite {sqlite.sqlite_version} can corrupt a write-ahead log; {MIN_SQLITE} or newer is needed.",
                hint="Run: uv sync --reinstall-package pysqlite3",
            )
        self.path = path
        self._mutex = threading.RLock()
        try:
            self._connection = _connect(path, for_writing)
        except sqlite.Error as error:
            raise StoreError(f"{path} cannot be opened: {error}.", hint="Run: elt-llm doctor") from error

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one statement. Raises StoreError if the statement fails."""
        with self._mutex, self._named_errors():
            found: list[Row] = self._connection.execute(statement, parameters).fetchall()
            return found

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        """Return the first row of one statement, or None."""
        found = self.rows(statement, parameters)
        return found[0] if found else None

    def rows_in(self, statement: str, values: Sequence[Any], *leading: Any) -> Iterator[Row]:
        """Run a statement with `IN ({})` for batches of `values`, after `leading` parameters, and yield the rows."""
        for start in range(0, len(values), _BATCH_SIZE):
            batch = values[start : start + _BATCH_SIZE]
            yield from self.rows(statement.format(placeholders(batch)), (*leading, *batch))

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Run one statement and return the id of the inserted row, or 0."""
        with self._mutex, self._named_errors():
            return int(self._connection.execute(statement, parameters).lastrowid or 0)

    def execute_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run one SQL statement once for each of `parameters`."""
        with self._mutex, self._named_errors():
            self._connection.executemany(statement, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements of the block atomically. Transactions cannot be nested."""
        with self._mutex:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")  # COMMIT fails on a full disk and leaves the transaction open
            except BaseException:
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    def size(self) -> int:
        """Return the size of the database in bytes, without its write-ahead log."""
        [(pages,)], [(size,)] = self.rows("PRAGMA page_count"), self.rows("PRAGMA page_size")
        return int(pages) * int(size)

    def backup_to(self, target: Path) -> None:
        """Write a consistent copy of the whole database, even while another process writes."""
        with self._mutex, self._named_errors(), closing(sqlite.connect(target)) as other:
            self._connection.backup(other)

    def close(self) -> None:
        """Close the connection. Further use raises StoreError."""
        with self._mutex:
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite.SQLITE_FULL:
                free = shutil.disk_usage(self.path.parent).free
                raise StoreError(
                    f"{self.path} has too little space: {_ROOM_TO_WRITE} bytes or more are needed, {free} are free.",
                    hint="Readers keep the published generation. Free space on that disk, then run the same command"
                    " again.",
                ) from error
            # SQLite's message can quote a whole document, which must not appear in a terminal or log.
            what = str(error).partition(" with text ")[0]
            raise StoreError(f"The database {self.path} cannot be used: {what}.", hint="Run: elt-llm doctor") from None


class DatabaseTable:
    """The base of all tables: rows of one kind in a database, which threads and processes can use concurrently."""

    def __init__(self, database: Database) -> None:
        self._database = database


def placeholders(values: Sequence[object]) -> str:
    """Return the placeholders of an SQL statement: one question mark per value, separated by commas."""
    return ", ".join("?" * len(values))


def _connect(path: Path, for_writing: bool) -> Any:
    # On a read-only disk, SQLite cannot write the index of the write-ahead log, so the file is opened as immutable.
    is_writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    mode = "mode=rwc" if for_writing else "mode=rw" if is_writable else "immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
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


BACKUPS_FOLDER = "backups"
_MAX_BACKUPS = 2
_UNFINISHED = ".tmp"


def back_up(database: Database, schema: int) -> Path:
    """Copy the store durably to `backups/store-schema-N-TIME.sqlite3` and return the path. Raises StoreError."""
    folder = database.path.parent / BACKUPS_FOLDER
    target = folder / f"store-schema-{schema}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sqlite3"
    with failpoint(Failpoint.BACKUP):
        require_space(folder, database.size(), "a backup of the store")
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            for left in folder.glob(f"*{_UNFINISHED}*"):  # an interrupted backup left this file
                left.unlink()
            unfinished = target.with_name(target.name + _UNFINISHED)
            database.backup_to(unfinished)
            unfinished.chmod(0o600)
            sync_file(unfinished)
            unfinished.rename(target)
            sync_file(folder)
            sync_file(folder.parent)
        except OSError as error:
            raise StoreError(
                f"{target} cannot be written: {error}.",
                hint="Free space on that disk, then run the same command again.",
            ) from error
    for superseded in list_backups(database.path.parent)[:-_MAX_BACKUPS]:
        superseded.unlink()
    return target


def list_backups(data_dir: Path) -> list[Path]:
    """Return the complete backups of a data directory, oldest first."""
    # The last 24 characters of a name are its time and `.sqlite3`.
    return sorted((data_dir / BACKUPS_FOLDER).glob("store-schema-*.sqlite3"), key=lambda path: path.name[-24:])


def backup_faults(data_dir: Path) -> list[str]:
    """Return the faults of the backups, each as 'path: fault'."""
    found = []
    for path in list_backups(data_dir):
        try:
            with closing(Database(path, for_writing=False)) as database:
                faults = [str(row[0]) for row in database.rows("PRAGMA quick_check")]
        except StoreError as error:
            faults = [str(error)]
        found += [f"{path}: {fault}" for fault in faults if fault != "ok"]
    return found


def schema_version(database: Database) -> int:
    """Return the schema version of the database, or 0 for an empty file."""
    row = database.row("PRAGMA user_version")
    return int(row[0]) if row else 0


def migrate(database: Database) -> None:
    """Migrate the store to the current schema, with one transaction per schema step.

    A store with data is backed up first. Raises StoreError if the store is newer or there is no space for the backup.
    """
    check_not_newer(database)
    present = schema_version(database)
    if 0 < present < STORE_VERSION:
        back_up(database, present)
    for version in range(present + 1, STORE_VERSION + 1):
        with failpoint(Failpoint.MIGRATE), database.transaction():
            apply_schema_step(database, "elt_llm_core.store", version)


def apply_schema_step(database: Database, package: str, version: int) -> None:
    """Run `schema/<version>.sql` of a package and set the schema version. The caller opens the transaction."""
    step = (resources.files(package) / "schema" / f"{version}.sql").read_text(encoding="utf-8")
    for statement in filter(None, map(str.strip, step.split(";\n"))):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {version}")


def check_not_newer(database: Database) -> None:
    """Raise StoreError if a newer program wrote this store."""
    if schema_version(database) > STORE_VERSION:
        raise StoreError(
            f"{database.path} has schema {schema_version(database)}, but this program supports schemas up to"
            f" {STORE_VERSION}.",
            hint="Use the newer version of elt-llm that wrote the store.",
        )
