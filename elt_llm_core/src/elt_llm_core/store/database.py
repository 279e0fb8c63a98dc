"""The interface to a database, its implementation for an SQLite file, and the steps of a schema."""

import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import pysqlite3.dbapi2 as sqlite

from elt_llm_core.errors import StoreError
from elt_llm_core.store.disk import require_space

STORE_VERSION = 3
"""The number of the latest schema step, the file `schema/3.sql`."""
STORE_NAME = "store.sqlite3"
UPLOADS_FOLDER = "uploads"
MIN_SQLITE = (3, 51, 3)  # older versions can corrupt a write-ahead log
Row = tuple[Any, ...]

# SQLite's own messages may quote damaged text, which cannot be decoded.
_FAILURES = (sqlite.Error, UnicodeDecodeError)
_BUSY_MILLISECONDS = 20_000
_BATCH_SIZE = 500  # values in one SQL statement
_ATTEMPTS = 3  # to empty the write-ahead log
_ROOM_TO_WRITE = 1 << 20  # bytes that a small change needs in the write-ahead log


RECOVER_HINT = "Run: elt-llm recover   (it saves every undamaged row, and reads lost documents from their files again)"


def sqlite_version() -> tuple[int, int, int]:
    """Return the version of the SQLite library in use, not of its Python module."""
    major, minor, patch = sqlite.sqlite_version_info
    return (major, minor, patch)


class Database(Protocol):
    """A connection that threads can share. Outside `transaction`, each statement commits by itself.

    The same statement is valid in every implementation: its placeholders are `?` or `?1`, and `{}` in `rows_in`.
    Rows are always fetched completely, so that no statement leaves a read transaction open.
    """

    EACH_NUMBER: ClassVar[str]
    """SQL for a table with one column, `value`, whose rows are the numbers in a JSON list, the only parameter."""
    schema_folder: ClassVar[str]
    """The folder within a package that contains its schema steps."""

    @property
    def name(self) -> str:
        """The name shown in messages: a path, or the host and the database without a password."""

    @property
    def folder(self) -> Path:
        """The folder of the workspace on this machine."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one statement. Raises StoreError if the statement fails."""

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        """Return the first row of one statement, or None."""
        found = self.rows(statement, parameters)
        return found[0] if found else None

    def rows_in(self, statement: str, values: Sequence[Any], *leading: Any) -> Iterator[Row]:
        """Yield the rows of a statement, whose `IN ({})` gets `values` in batches. `leading` parameters come first."""
        for start in range(0, len(values), _BATCH_SIZE):
            batch = values[start : start + _BATCH_SIZE]
            yield from self.rows(statement.format(placeholders(batch)), (*leading, *batch))

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement that returns no rows."""

    def insert(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Insert one row and return its column `id`."""
        [(number,)] = self.rows(f"{statement} RETURNING id", parameters)
        return int(number)

    def execute_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run one statement with each list of parameters."""

    def transaction(self) -> AbstractContextManager[None]:
        """Run the statements in the `with` block atomically. Other transactions wait. Transactions cannot be nested."""

    def whole(self, table: str, row: str) -> str:
        """Return an SQL condition that checks a row: it is true, but if the row is damaged, the statement fails."""

    def schema_version(self) -> int:
        """Return the number of the last schema step, or 0 for an empty database."""

    def set_schema_version(self, version: int) -> None:
        """Store the number of the last schema step."""

    def schema_contains(self, text: str) -> bool:
        """Return whether the definition of a table or index contains `text`."""

    def change_mark(self) -> object:
        """Return a value that differs from an earlier one, after a second at most, if others changed the database."""

    def size(self) -> int:
        """Return the size of the database in bytes."""

    def erase_deleted(self) -> None:
        """Rewrite the database without the bytes of deleted rows. Raises StoreError if that is not possible now."""

    def close(self) -> None:
        """Close the connection. Further use raises StoreError."""


class SqliteDatabase(Database):
    """A connection to one SQLite file."""

    EACH_NUMBER = "(SELECT value FROM json_each(?))"
    schema_folder = "schema"

    def __init__(self, path: Path, *, for_writing: bool) -> None:
        """Open the file, or create it if `for_writing`. Raises StoreError if the file cannot be opened."""
        if for_writing and sqlite_version() < MIN_SQLITE:
            raise StoreError(
                f"SQLite {sqlite.sqlite_version} can corrupt a write-ahead log;"
                f" {'.'.join(map(str, MIN_SQLITE))} or newer is needed.",
                hint="Run: uv sync --reinstall-package pysqlite3",
            )
        self.path = path
        self._mutex = threading.RLock()
        self._damaged_row = ""
        try:
            self._connection = _connect(path, for_writing)
            self._connection.create_function("refuse_row", 2, self._refuse_row)
        except _FAILURES as error:
            hint = RECOVER_HINT if _is_damage(error) else "Run: elt-llm doctor"
            raise StoreError(f"{path} cannot be opened: {_described(error)}.", hint=hint) from None

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one statement. Raises StoreError if the statement fails."""
        with self._mutex, self._named_errors():
            found: list[Row] = self._connection.execute(statement, parameters).fetchall()
            return found

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement that returns no rows."""
        with self._mutex, self._named_errors():
            self._connection.execute(statement, parameters)

    def execute_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run one statement with each list of parameters."""
        with self._mutex, self._named_errors():
            self._connection.executemany(statement, parameters)

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements in the `with` block atomically. Transactions cannot be nested."""
        with self._mutex:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")  # COMMIT fails on a full disk and leaves the transaction open
            except BaseException:
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    def whole(self, table: str, row: str) -> str:
        """Return an SQL condition that is true, but makes the statement fail if the row does not match its checksum."""
        return self.checked_tables[table].condition(row)

    def schema_version(self) -> int:
        """Return the schema version in the header of the file, or 0 for an empty file."""
        row = self.row("PRAGMA user_version")
        return int(row[0]) if row else 0

    def set_schema_version(self, version: int) -> None:
        """Store the schema version in the header of the file."""
        self.execute(f"PRAGMA user_version = {version}")

    def schema_contains(self, text: str) -> bool:
        """Return whether the definition of a table or index contains a text."""
        return self.row("SELECT 1 FROM sqlite_schema WHERE instr(sql, ?) LIMIT 1", (text,)) is not None

    def change_mark(self) -> object:
        """Return a value that differs after others wrote (https://www.sqlite.org/pragma.html#pragma_data_version)."""
        return self.row("PRAGMA data_version")

    @cached_property
    def checked_tables(self) -> "dict[str, CheckedTable]":
        """The tables of the current schema that have checksums, by name."""
        return read_checked_tables(self)

    def size(self) -> int:
        """Return the size of the database in bytes, without its write-ahead log."""
        [(pages,)], [(size,)] = self.rows("PRAGMA page_count"), self.rows("PRAGMA page_size")
        return int(pages) * int(size)

    def erase_deleted(self) -> None:
        """Rewrite the file without deleted rows and empty its write-ahead log.

        Raises StoreError if there is too little space, or if a reader keeps the log open.
        """
        # SQLite's temporary file has no name, so nothing of it is left after a crash.
        named = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR")
        choices = (*([named] if named else []), "/var/tmp", "/usr/tmp", "/tmp")  # noqa: S108 - SQLite's list
        temporary = next((Path(it) for it in choices if Path(it).is_dir()), Path())
        for folder in (self.folder, temporary):
            require_space(folder, self.size(), "rewriting the store")
        self.execute("PRAGMA secure_delete = ON")
        self.execute("VACUUM")
        for _ in range(_ATTEMPTS):
            [(busy, *_)] = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
            if not busy:
                return
        raise StoreError(
            f"A process that reads {self.path} keeps its write-ahead log open.",
            hint="Run the same command again when the reader has ended.",
        )

    def backup_to(self, target: Path) -> None:
        """Write a consistent copy of the whole database, even while another process writes."""
        with self._mutex, self._named_errors(), closing(sqlite.connect(target)) as other:
            self._connection.backup(other)

    def close(self) -> None:
        """Close the connection. Further use raises StoreError."""
        with self._mutex:
            self._connection.close()

    def _refuse_row(self, table: str, key: object) -> int:
        """Make the statement fail because a row does not match its checksum. SQL calls this as `refuse_row`."""
        self._damaged_row = f"row {key} of {table} has changed since it was stored"
        raise ValueError(self._damaged_row)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            if self._damaged_row:
                what, self._damaged_row = self._damaged_row, ""
                raise StoreError(f"{self.path} is damaged: {what}.", hint=RECOVER_HINT) from None
            if getattr(error, "sqlite_errorcode", None) == sqlite.SQLITE_FULL:
                free = shutil.disk_usage(self.path.parent).free
                raise StoreError(
                    f"{self.path} has too little space: {_ROOM_TO_WRITE} bytes or more are needed, {free} are free.",
                    hint="Readers keep the published generation. Free space on that disk, then run the same command"
                    " again.",
                ) from error
            hint = RECOVER_HINT if _is_damage(error) else "Run: elt-llm doctor"
            raise StoreError(f"The database {self.path} cannot be used: {_described(error)}.", hint=hint) from None


def _is_damage(error: Exception) -> bool:
    """Return whether the error means that the file is malformed or contains a text that is not UTF-8."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return isinstance(error, UnicodeDecodeError) or "UTF-8" in str(error)
    return code & 0xFF in (sqlite.SQLITE_CORRUPT, sqlite.SQLITE_NOTADB) or "malformed JSON" in str(error)


def _described(error: Exception) -> str:
    """Describe the error without quoting a document's text, which must not appear in a terminal or log."""
    if isinstance(error, UnicodeDecodeError):
        return "a text in its schema is not UTF-8"
    return str(error).partition(" with text ")[0]


class DatabaseTable:
    """The base class for tables of a database. Several threads and processes can use them at the same time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _whole(self, table: str, row: str) -> str:
        """Return an SQL condition that checks a row: it is true, but if the row is damaged, the statement fails."""
        return self._database.whole(table, row)


# SQLite notices damage to the structure of a page, but not to the values in a row. Therefore a writer stores a checksum
# with each row, and checks compare them.
CHECKSUM_COLUMN = "row_checksum"
_MAX_FAULTS = 100  # faults that one check lists


class CheckedTable(NamedTuple):
    """A table with row checksums. `key` is its primary key, `blobs` are its BLOB columns, `values` all others."""

    name: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    blobs: tuple[str, ...]

    def checksum(self, row: str) -> str:
        """Return an SQL expression for the CRC-32 of the row with the alias `row`."""
        values = ", ".join(f"{row}.{column}" for column in self.values)
        found = f"crc32(CAST(concat_ws(char(31), {values}) AS BLOB))"
        for column in self.blobs:
            found = f"crc32(CAST(ifnull({row}.{column}, '') AS BLOB), {found})"
        return found

    def condition(self, row: str) -> str:
        """Return an SQL condition that is true, but makes the statement fail if the row does not match its checksum."""
        refused = f"refuse_row('{self.name}', {row}.{self.key[-1]})"
        return f"CASE WHEN {row}.{CHECKSUM_COLUMN} IS {self.checksum(row)} THEN 1 ELSE {refused} END"


def read_checked_tables(database: SqliteDatabase) -> dict[str, CheckedTable]:
    """Return the tables that have checksums, by name. A store with an older schema has none."""
    found = {}
    for (name,) in database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"):
        columns = database.rows(f"PRAGMA table_info({name})")
        if CHECKSUM_COLUMN in {column for _, column, *_ in columns}:
            others = [(column, kind) for _, column, kind, *_ in columns if column != CHECKSUM_COLUMN]
            found[name] = CheckedTable(
                name=name,
                key=tuple(column for _, column, _, _, _, key in columns if key),
                values=tuple(column for column, kind in others if kind != "BLOB"),
                blobs=tuple(column for column, kind in others if kind == "BLOB"),
            )
    return found


def keep_checksums(database: SqliteDatabase) -> None:
    """Add temporary triggers, so that this connection stores a checksum with every row that it adds or changes."""
    for table in read_checked_tables(database).values():
        same = " AND ".join(f"{column} = NEW.{column}" for column in table.key)
        columns = ", ".join(table.values + table.blobs)
        for name, event in (("added", "INSERT"), ("changed", f"UPDATE OF {columns}")):
            database.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {table.name}_{name} AFTER {event} ON {table.name} BEGIN"
                f" UPDATE {table.name} SET {CHECKSUM_COLUMN} = {table.checksum('NEW')} WHERE {same}; END"
            )


def fill_checksums(database: SqliteDatabase) -> None:
    """Store the checksum of every row, after a migration. The caller opens the transaction."""
    for table in read_checked_tables(database).values():
        database.execute(f"UPDATE {table.name} SET {CHECKSUM_COLUMN} = {table.checksum(table.name)}")


def find_damage(database: Database) -> list[str]:
    """Return the faults of a database as phrases. Rows are compared with their checksums only if its pages are sound.

    The list is empty for a database server, which checks its pages itself whenever it reads them.
    """
    if not isinstance(database, SqliteDatabase):
        return []
    try:
        found = [str(row[0]) for row in database.rows(f"PRAGMA integrity_check({_MAX_FAULTS})") if row[0] != "ok"]
        return found or _changed_rows(database)
    except StoreError as error:
        return [str(error)]


def find_damage_in_file(path: Path) -> list[str]:
    """Return the faults of an SQLite database that may be too damaged to be opened."""
    try:
        with closing(SqliteDatabase(path, for_writing=False)) as database:
            return find_damage(database)
    except StoreError as error:
        return [str(error)]


def check_truth(database: SqliteDatabase) -> None:
    """Raise StoreError if the database is damaged. A writer calls this first, so that it never copies damaged rows."""
    if faults := find_damage(database):
        more = f" ({len(faults) - 1} more faults were found)" if len(faults) > 1 else ""
        raise StoreError(
            f"{database.path} is damaged: {faults[0].rstrip('.')}{more}.", hint=f"Nothing was changed. {RECOVER_HINT}"
        )


def _changed_rows(database: SqliteDatabase) -> list[str]:
    found: list[str] = []
    for table in read_checked_tables(database).values():
        key = ", ".join(f"CAST(r.{column} AS BLOB)" for column in table.key)  # a damaged text may not be UTF-8
        rows = database.rows(
            f"SELECT {key} FROM {table.name} r WHERE r.{CHECKSUM_COLUMN} IS NOT {table.checksum('r')}"
            f" LIMIT {_MAX_FAULTS}"
        )
        for row in rows:
            place = ", ".join(bytes(part or b"").decode(errors="replace") for part in row)
            found.append(f"row {place} of {table.name} has changed since it was stored")
    return found


def replacing(columns: str) -> str:
    """Return the assignments that overwrite a row on conflict: "a, b" -> "a = excluded.a, b = excluded.b"."""
    return ", ".join(f"{column} = excluded.{column}" for column in columns.split(", "))


def placeholders(values: Sequence[object]) -> str:
    """Return one SQL placeholder per value: [7, 8, 9] -> "?, ?, ?"."""
    return ", ".join("?" * len(values))


def _mode(path: Path, for_writing: bool) -> str:
    """Return how SQLite opens the file. Raises StoreError if a read-only disk does not allow that.

    There, SQLite reads the write-ahead log only if its index exists; without a log, the file is opened as immutable.
    """
    existing = path if path.exists() else path.parent
    if os.access(existing, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rwc" if for_writing else "mode=rw"
    if for_writing:
        raise StoreError(
            f"{path} cannot be written: it or its folder is read-only.",
            hint="Make both writable, or use a copy of the data directory: --data-dir DIR",
        )
    log, index = path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")
    if log.exists() and index.exists():
        return "mode=ro"
    if log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} cannot be read: its latest changes are in {log.name}, which is readable only if the folder is"
            " writable.",
            hint="Make the folder writable, or use a writable copy of the data directory: --data-dir DIR",
        )
    return "immutable=1"


def _connect(path: Path, for_writing: bool) -> Any:
    mode = _mode(path, for_writing)
    uri = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    # A function in C: during a Python function, KeyboardInterrupt could be raised, and SQLite would swallow it.
    connection.create_function("crc32", -1, zlib.crc32, deterministic=True)
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
