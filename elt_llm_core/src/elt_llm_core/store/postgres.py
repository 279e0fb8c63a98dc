"""A PostgreSQL database: its connections, its transactions, which run one after the other, and its advisory locks.

This is the only module that imports psycopg. No message contains the connection string, the user or the password.
"""

import hashlib
import json
import os
import platform
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from elt_llm_core.errors import LockHeld, SettingsError, StoreError, StoreUnavailable
from elt_llm_core.settings.workspace import DSN_VARIABLE, Workspace
from elt_llm_core.store.conditions import DocumentCondition, DocumentConditions, owner_folders
from elt_llm_core.store.database import Database, Row
from elt_llm_core.store.records import OWNER_FIELDS, LockHolder

if TYPE_CHECKING:
    import psycopg

STORE_SCHEMA = "elt_llm"
STATE_SCHEMA = "elt_llm_state"
POINTS_SCHEMA = "elt_llm_points"
"""The schema of vectors that are searched in the database."""
CALLER_ROLE = "elt_llm_caller"
"""The role of transactions that read for a caller with conditions. It is restricted by the tables' policies."""
_READ_FOR_CALLERS = ("document_versions", "generation_documents", "nodes", "texts", "artefacts", "roots", "files")
MIN_SERVER = 140_000  # PostgreSQL 14, in the form of `server_version_num`
_CONNECT = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# With these settings, the server notices within about a minute that a client died, and releases the client's locks.
_SESSION = {f"tcp_{name}": str(number) for name, number in _CONNECT.items() if name != "connect_timeout"}
_SESSION_OF_STATE = {"lock_timeout": "20s", "idle_in_transaction_session_timeout": "60s"}
_PATIENCE_SECONDS = 0.5
_MAX_NAME = 63  # bytes of `application_name` that the server keeps
_PLACEHOLDER = re.compile(r"\?(\d*)")
_AGAIN = "Run the same command again."
_Result = TypeVar("_Result")


def lock_key(*names: str | int) -> int:
    """Return the number that identifies an advisory lock, computed from `names`: a signed integer of 64 bits."""
    digest = hashlib.sha256("\0".join(("elt-llm", *map(str, names))).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def writer_key(part: str = "") -> int:
    """Return the number of a workspace's writer lock, or of the lock of the job whose subfolder is `part`."""
    return lock_key("writer", part)


class PostgresDatabase(Database):
    """One session of a PostgreSQL server, which uses the tables of one schema.

    A lost connection is replaced before the next statement, and the shared locks that it held are taken again. An
    interrupted read or start of a transaction is repeated once. The writer's connection is never replaced, because the
    writer's lock is lost with it.
    """

    EACH_NUMBER = "(SELECT CAST(each.value AS bigint) FROM json_array_elements_text(CAST(? AS json)) AS each (value))"
    schema_folder = "schema/postgres"

    def __init__(self, workspace: Workspace, schema: str, command: str = "", *, is_writer: bool = False) -> None:
        """Connect. `command` is shown to processes that wait for a lock. If `is_writer`, also take the writer's lock.

        Raises StoreError, LockHeld if another session writes, or SettingsError if the connection string is not valid.
        """
        self._workspace, self._schema, self._command, self._is_writer = workspace, schema, command, is_writer
        self._mutex = threading.RLock()
        self._shared: Counter[int] = Counter()
        self._guarded: dict[int, str] = {}
        self._lost: list[int] = []
        self._is_closed = False
        self._connection = self._connect()
        if is_writer:
            try:
                take_lock(self, lock_key("store"), self.name)
            except StoreError:
                self.close()
                raise

    @property
    def name(self) -> str:
        """The name in messages, such as "PostgreSQL db.example:5432/elt"."""
        info = self._connection.info
        return "PostgreSQL" if self._connection.closed else f"PostgreSQL {info.host}:{info.port}/{info.dbname}"

    @property
    def folder(self) -> Path:
        """The folder of the workspace on this machine."""
        return self._workspace.folder

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of one statement. Raises StoreError if the statement fails."""
        text, order = _translated(statement)
        values = [parameters[place] for place in order]
        is_read = statement.lstrip().startswith("SELECT")
        return self._run(lambda: self._connection.execute(text.encode(), values).fetchall(), is_repeatable=is_read)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run one statement that returns no rows."""
        text, order = _translated(statement)
        values = [parameters[place] for place in order]
        self._run(lambda: self._connection.execute(text.encode(), values))

    def execute_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run one statement with each list of parameters, without a round trip for each."""
        text, order = _translated(statement)
        values = [[row[place] for place in order] for row in parameters]
        self._run(lambda: self._connection.cursor().executemany(text.encode(), values))

    def copy_rows(self, table: str, rows_of: "Callable[[list[str]], Iterable[Sequence[Any]]]") -> int:
        """Add rows to a table by COPY and return their number. `rows_of` receives the column names and returns rows.

        In boolean columns, 0 and 1 are converted. Rows that are inserted later get higher ids than these rows.
        """
        found = self.rows(
            "SELECT column_name, data_type, is_identity FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND table_name = ?"
            " AND identity_generation IS DISTINCT FROM 'ALWAYS' ORDER BY ordinal_position",
            (table,),
        )
        names = [name for name, _, _ in found]
        flags = [place for place, (_, kind, _) in enumerate(found) if kind == "boolean"]
        target = ", ".join(f'"{name}"' for name in names)
        count = 0

        def copy() -> None:
            nonlocal count
            with self._connection.cursor().copy(f"COPY {table} ({target}) FROM STDIN".encode()) as stream:
                for row in rows_of(names):
                    values = list(row)
                    for place in flags:
                        values[place] = bool(values[place])
                    stream.write_row(values)
                    count += 1

        self._run(copy)
        for name in (name for name, _, is_identity in found if is_identity == "YES"):
            self.rows(
                f"SELECT setval(pg_get_serial_sequence(?, ?), (SELECT max({name}) FROM {table}))",
                (f"{self._schema}.{table}", name),
            )
        return count

    def copy_binary(self, table: str, columns: str, rows: Iterable[Sequence[bytes]]) -> None:
        """Add rows to a table by COPY. Each value is in the binary form of its column."""

        def copy() -> None:
            statement = f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)"
            with self._connection.cursor().copy(statement.encode()) as stream:
                for row in rows:
                    stream.write_row(row)

        self._run(copy)

    def rows_with(self, settings: Mapping[str, str], statement: str, many: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """Run a statement once for each parameter list in `many`, and return the rows of each run.

        The statement runs in a read-only transaction with these server settings. The transaction cannot be nested.
        """
        text, order = _translated(statement)
        quoted = (f"SET LOCAL {name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items())
        begin = "; ".join(["START TRANSACTION READ ONLY", *quoted])

        def read() -> list[list[Row]]:
            self._connection.execute(begin.encode())
            try:
                return [
                    self._connection.execute(text.encode(), [values[place] for place in order]).fetchall()
                    for values in many
                ]
            finally:
                self._connection.execute(b"ROLLBACK")

        return self._run(read, is_repeatable=True)

    @cached_property
    def restricts_callers(self) -> bool:
        """Whether row-level security restricts reads for callers with conditions. Determined once, at first use."""
        return not row_security_fault(self)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements in the `with` block atomically, after every earlier transaction in the same schema.

        As with SQLite, a transaction therefore never sees or overwrites the partial changes of another one.
        """
        with self._mutex:
            try:
                begin = f"BEGIN; SELECT pg_advisory_xact_lock({lock_key('transaction', self._schema)})".encode()
                self._run(lambda: self._connection.execute(begin), is_repeatable=True)
                yield
                self.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def whole(self, table: str, row: str) -> str:
        """Return "TRUE", an SQL condition that checks nothing, because the server finds damaged pages itself."""
        return "TRUE"

    def schema_version(self) -> int:
        """Return the number of the last schema step, or 0 if the database is empty."""
        if not self.has_table(f"{self._schema}.schema_version"):
            return 0
        return int(self.rows(f"SELECT coalesce(max(version), 0) FROM {self._schema}.schema_version")[0][0])

    def set_schema_version(self, version: int) -> None:
        """Store the number of the last schema step."""
        self.execute("INSERT INTO schema_version (version) VALUES (?)", (version,))

    def prepare(self) -> None:
        """Create the schema, if needed. Raises StoreError if the role has no right to do so."""
        if self.has_table(f"{self._schema}.schema_version"):
            return
        with self.transaction():
            self.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            self.execute(
                f"CREATE TABLE IF NOT EXISTS {self._schema}.schema_version"
                " (version BIGINT PRIMARY KEY, workspace UUID NOT NULL DEFAULT gen_random_uuid())"
            )

    def has_table(self, name: str) -> bool:
        """Return whether a table exists, given its name with its schema."""
        return self.rows("SELECT to_regclass(?)", (name,)) != [(None,)]

    def identity(self) -> str:
        """Return a random text that identifies this database. It was generated when the database was created."""
        return str(self.rows("SELECT workspace FROM schema_version ORDER BY version LIMIT 1")[0][0])

    def schema_contains(self, text: str) -> bool:
        """Return False, because the server's catalogue is not searched."""
        return False

    def change_mark(self) -> object:
        """Return a value that changes every second, since another session may have changed the database."""
        return int(time.monotonic())

    def size(self) -> int:
        """Return the size of the database in bytes."""
        return int(self.rows("SELECT pg_database_size(current_database())")[0][0])

    def erase_deleted(self) -> None:
        """Rewrite the tables without deleted rows. The operator must erase write-ahead logs, replicas and backups."""
        tables = self.rows(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN (?, ?) ORDER BY 1, 2",
            (self._schema, POINTS_SCHEMA if self._schema == STORE_SCHEMA else ""),
        )
        for schema, table in tables:
            self.execute(f"VACUUM (FULL) {schema}.{table}")

    def try_lock(self, key: int, *, shared: bool = False, guarded: str = "") -> bool:
        """Take a lock in this session without waiting, and return whether it was free.

        If the connection is lost, a shared lock is taken again on the next one. `guarded` is a query for the row that
        the lock protects, such as the row of an open generation. If it then finds no row, the lock is not held, and the
        next statement raises StoreUnavailable.
        """
        with self._mutex:
            [(taken,)] = self.rows(f"SELECT pg_try_advisory_lock{'_shared' if shared else ''}(?)", (key,))
            if taken and shared:
                self._shared[key] += 1
                self._guarded[key] = guarded
            return bool(taken)

    def unlock(self, key: int, *, shared: bool = False) -> None:
        """Release a lock of this session. Does nothing if the lock was lost."""
        with self._mutex:
            self._shared[key] -= int(shared and self._shared[key] > 0)
            if not self._is_closed:
                self.rows(f"SELECT pg_advisory_unlock{'_shared' if shared else ''}(?)", (key,))

    def holds(self, key: int) -> bool:
        """Return whether this session still holds a lock. Behind a pooler that mixes sessions, it may have lost it."""
        return bool(self.rows(f"SELECT 1 FROM pg_locks WHERE {_OF_LOCK} AND pid = pg_backend_pid()", _halves(key)))

    def server_version(self) -> int:
        """Return the version of the server, such as 180006."""
        return self._connection.info.server_version

    def close(self) -> None:
        """Close the connection, which releases its locks. Further use raises StoreError."""
        with self._mutex:
            self._is_closed = True
            self._connection.close()

    def _connect(self) -> "psycopg.Connection[Row]":
        import psycopg

        connection = connect(self._workspace, self._command)
        try:
            check_server_version(connection.info.server_version)
            chosen = _SESSION | (_SESSION_OF_STATE if self._schema == STATE_SCHEMA else {})
            named = json.dumps({"search_path": self._schema, "client_min_messages": "warning", **chosen})
            connection.execute("SELECT set_config(key, value, false) FROM json_each_text(CAST(%s AS json))", (named,))
            self._lost = [key for key in +self._shared if not self._take_again(connection, key)]
        except (StoreError, psycopg.Error) as error:
            connection.close()
            raise (error if isinstance(error, StoreError) else _connection_lost()) from None
        return connection

    def _take_again(self, connection: "psycopg.Connection[Row]", key: int) -> bool:
        for _ in range(self._shared[key]):
            if connection.execute("SELECT pg_try_advisory_lock_shared(%s)", (key,)).fetchone() != (True,):
                return False
        return not (row := self._guarded[key]) or connection.execute(row.encode()).fetchone() is not None

    def _run(self, work: "Callable[[], _Result]", *, is_repeatable: bool = False) -> _Result:
        import psycopg

        with self._mutex:
            if self._is_closed:
                raise StoreError("The connection to PostgreSQL is closed.", hint=_AGAIN)
            self._replace_lost_connection()
            within = self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            try:
                return work()
            except psycopg.Error as error:
                if not self._connection.closed or not is_repeatable or within or self._is_writer:
                    raise self._named(error) from None
                self._replace_lost_connection()
            try:
                return work()
            except psycopg.Error as error:
                raise self._named(error) from None

    def _replace_lost_connection(self) -> None:
        if not self._connection.closed:
            return
        if self._is_writer:
            raise _connection_lost()
        self._connection = self._connect()
        for key in self._lost:
            del self._shared[key]
        if self._lost:
            raise StoreUnavailable(
                "The connection to PostgreSQL was lost, and an open generation was deleted meanwhile.", hint=_AGAIN
            )

    def _roll_back(self) -> None:
        import psycopg

        if self._connection.closed:
            return
        if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
                return
            self._connection.close()  # the server ends what it cannot roll back

    def _named(self, error: "psycopg.Error") -> StoreError:
        """Convert a psycopg error to a StoreError, without the server's details, which may quote a document."""
        import psycopg

        code = error.sqlstate or ("22021" if isinstance(error, psycopg.DataError) else "")
        if self._connection.closed or code.startswith(("57P", "08")):
            self._connection.close()
            return _connection_lost()
        said = error.diag.message_primary or type(error).__name__
        message = f"The database {self.name} cannot be used: {said}."
        kind = StoreUnavailable if code == "55P03" else StoreError
        return kind(message, hint=_HINTS.get(code, "Run: elt-llm doctor"))


def has_database(workspace: Workspace, file_name: str, schema: str) -> bool:
    """Return whether a workspace has this SQLite file or, with PostgreSQL, tables in this schema."""
    if not workspace.is_shared:
        return (workspace.folder / file_name).exists()
    with closing(PostgresDatabase(workspace, schema)) as database:
        return bool(database.schema_version())


def as_server(database: Database) -> PostgresDatabase:
    """Return `database`, typed as a PostgresDatabase. Raises TypeError if it is an SQLite database."""
    if not isinstance(database, PostgresDatabase):
        raise TypeError("Only a database server has locks and COPY.")
    return database


def caller_settings(conditions: DocumentConditions) -> dict[str, str]:
    """Return the server settings of a transaction that reads for a caller with these conditions, by name."""
    values = {one.field: list(one.values) for one in conditions}
    folders = {field: [owner_folders({field: value})[0] for value in of_field] for field, of_field in values.items()}
    return {"role": CALLER_ROLE, "elt_llm.conditions": json.dumps(values), "elt_llm.folders": json.dumps(folders)}


class CallerDatabase(PostgresDatabase):
    """A view of an open database with only the rows that a caller may read. The server's row policies enforce this."""

    def __init__(self, database: PostgresDatabase, conditions: DocumentConditions) -> None:
        self._database, self._settings = database, caller_settings(conditions)

    @property
    def name(self) -> str:
        """The name in messages, such as "PostgreSQL db.example:5432/elt"."""
        return self._database.name

    @property
    def folder(self) -> Path:
        """The folder of the workspace on this machine."""
        return self._database.folder

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one statement that the caller may read. Raises StoreError if the statement writes."""
        return self._database.rows_with(self._settings, statement, [parameters])[0]

    def close(self) -> None:
        """Do nothing, because others use the same connection."""

    def _run(self, work: "Callable[[], _Result]", *, is_repeatable: bool = False) -> _Result:
        raise StoreError("A caller with conditions may only read: nothing is written, and no lock is taken.")


def admit_callers(database: PostgresDatabase) -> None:
    """Grant the role for callers read access to documents and vectors. Create the role if this session may do so.

    If there is no such role, only this program restricts callers, as `elt-llm doctor` then reports.
    """
    [(is_missing, may_create)] = database.rows(
        "SELECT to_regrole(?) IS NULL, rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user",
        (CALLER_ROLE,),
    )
    if is_missing and may_create:
        for statement in (f"CREATE ROLE {CALLER_ROLE} NOLOGIN", f"GRANT {CALLER_ROLE} TO CURRENT_USER"):
            with suppress(StoreError):  # another writer was faster, or the service refuses
                database.execute(statement)
    known = database.row(
        "SELECT has_table_privilege(oid, ?, 'SELECT') FROM pg_roles WHERE rolname = ?",
        (f"{STORE_SCHEMA}.{_READ_FOR_CALLERS[-1]}", CALLER_ROLE),
    )
    if known == (False,):
        database.execute(f"GRANT USAGE ON SCHEMA {STORE_SCHEMA} TO {CALLER_ROLE}")
        database.execute(f"GRANT SELECT ON {', '.join(_READ_FOR_CALLERS)} TO {CALLER_ROLE}")
        points = database.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (POINTS_SCHEMA,))
        for (table,) in points:
            grant_points(database, f"{POINTS_SCHEMA}.{table}")


def grant_points(database: PostgresDatabase, table: str) -> None:
    """Grant the role for callers, if it exists, read access to a table of vectors."""
    if database.rows("SELECT to_regrole(?)", (CALLER_ROLE,)) != [(None,)]:
        database.execute(f"GRANT USAGE ON SCHEMA {POINTS_SCHEMA} TO {CALLER_ROLE}")
        database.execute(f"GRANT SELECT ON {table} TO {CALLER_ROLE}")


def row_security_fault(database: PostgresDatabase) -> str:
    """Return why row-level security does not restrict callers with conditions ("there is no role ..."), or ""."""
    row = database.row(
        "SELECT rolsuper OR rolbypassrls, pg_has_role(oid, 'MEMBER'),"
        " has_table_privilege(oid, to_regclass(?), 'SELECT') FROM pg_roles WHERE rolname = ?",
        (f"{STORE_SCHEMA}.{_READ_FOR_CALLERS[-1]}", CALLER_ROLE),
    )
    if row is None:
        return f"there is no role {CALLER_ROLE}"
    bypasses, is_member, may_read = row
    if bypasses:
        return f"the role {CALLER_ROLE} bypasses row-level security"
    if not is_member:
        return f"the role of the connection may not act as {CALLER_ROLE}"
    if not may_read:
        return f"the role {CALLER_ROLE} may not read the tables yet"
    nobody = CallerDatabase(
        database, tuple(DocumentCondition(field, (secrets.token_hex(8),)) for field in OWNER_FIELDS)
    )
    seen = [table for table in _READ_FOR_CALLERS if nobody.rows(f"SELECT 1 FROM {table} LIMIT 1")]
    return f"the tables {', '.join(seen)} have no row-level policy" if seen else ""


_NO_NUL = "PostgreSQL stores no NUL character. Exclude the document, or use storage.backend: sqlite."
_HINTS = {
    "57014": "The server's statement_timeout is too short. Run: ALTER ROLE ... SET statement_timeout = '10min'",
    "55P03": _AGAIN,
    "53100": "The disk of the server is full, and nothing was changed. Free space on it, then run the command again.",
    "53300": "The server has no free connection. Raise max_connections, or stop programs that use connections.",
    "42501": "Let the database's owner run: GRANT CREATE ON DATABASE ... TO ...   (and make the role own the schemas"
    " elt_llm and elt_llm_state)",
    "25006": "The server is a read-only replica. Name the primary server in the connection string.",
    "22021": _NO_NUL,
    "22P05": _NO_NUL,
}


def _connection_lost() -> StoreError:
    return StoreUnavailable(
        "The connection to PostgreSQL was lost, with all its locks. Nothing was published after that.", hint=_AGAIN
    )


@lru_cache(maxsize=512)
def _translated(statement: str) -> tuple[str, tuple[int, ...]]:
    """Replace `?` and `?2` by psycopg's `%s`. Return the statement and, for each `%s`, the index of its parameter."""
    order: list[int] = []

    def placed(found: re.Match[str]) -> str:
        order.append(int(found[1]) - 1 if found[1] else len(order))
        return "%s"

    text = _PLACEHOLDER.sub(placed, statement.replace("%", "%%"))
    # CROSS JOIN fixes the order in which SQLite reads tables; here it would not allow a condition.
    return text.replace("CROSS JOIN", "JOIN"), tuple(order)


def connect(workspace: Workspace, command: str = "") -> "psycopg.Connection[Row]":
    """Connect to a workspace's server. Raises SettingsError for a bad connection string, StoreError if that fails."""
    try:
        import psycopg
    except ImportError as error:
        raise SettingsError(
            "storage.backend is postgres, but its package is not installed.",
            hint="Run: uv sync --extra postgres   (or: pip install 'elt-llm[postgres]')",
        ) from error

    source = "the file of storage.dsn_file" if workspace.dsn_file else DSN_VARIABLE
    dsn = workspace.connection_string()
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise SettingsError(
            f"The connection string in {source} cannot be parsed.",
            hint="Write postgresql://USER:PASSWORD@HOST:5432/DATABASE; replace @ : / % in the password by %40 %3A"
            " %2F %25.",
        ) from None
    name = f"elt-llm|{platform.node()}|{os.getpid()}|{command.removeprefix('elt-llm ')}"
    short = name.encode("ascii", "replace")[:_MAX_NAME].decode("ascii")
    try:
        return psycopg.connect(dsn, autocommit=True, application_name=short, **_CONNECT)  # type: ignore[arg-type]
    except psycopg.OperationalError as error:
        raise _connect_error(str(error), source) from None


def _connect_error(said: str, source: str) -> StoreError:
    """Recognise the cause of a failed connection in libpq's message, which itself may contain the host and user."""
    passing = {"too many": "has no free connection", "starting up": "is starting", "recovery": "is recovering"}
    causes = {
        "password": ("the server refused the password", f"Correct the password in {source}."),
        "no pg_hba.conf entry": ("the server accepts no connection from here", "Add this machine to pg_hba.conf."),
        'role "': ("the server does not know the user", f"Correct the user in {source}, or run: CREATE ROLE ... LOGIN"),
        'database "': ("there is no such database", f"Run: createdb ...   (or correct its name in {source})"),
        "SSL": ("the encrypted connection failed", f"Check sslmode and the certificates in {source}."),
    }
    about = said.partition("FATAL:")[2] or (said if "SSL" in said else "")
    for word, what in passing.items():
        if word in about:
            return StoreUnavailable(f"PostgreSQL cannot be used: the server {what}.", hint=_AGAIN)
    for word, (what, hint) in causes.items():
        if word in about:
            return StoreError(f"PostgreSQL cannot be used: {what}.", hint=hint)
    hint = f"Start the server, or correct host and port in {source}. Then run: elt-llm doctor"
    return StoreUnavailable("PostgreSQL cannot be reached.", hint=hint)


def check_server_version(version: int) -> None:
    """Raise StoreError if the server is too old. `version` is a number such as 180006."""
    if version < MIN_SERVER:
        raise StoreError(
            f"The server is PostgreSQL {version // 10_000}, but {MIN_SERVER // 10_000} or newer is needed.",
            hint="Use a newer server; pg_upgrade or pg_dump moves a database.",
        )


_OF_LOCK = (
    "locktype = 'advisory' AND classid::bigint = ? AND objid::bigint = ? AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def _halves(key: int) -> tuple[int, int]:
    unsigned = key & 0xFFFF_FFFF_FFFF_FFFF
    return unsigned >> 32, unsigned & 0xFFFF_FFFF


def session_of(database: PostgresDatabase, key: int) -> LockHolder | None:
    """Return the process whose session holds a lock, or None if the lock is free."""
    row = database.row(
        "SELECT a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS+00:00')"
        f" FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE {_OF_LOCK}",
        _halves(key),
    )
    if row is None:
        return None
    _, host, pid, command = (*str(row[0] or "").split("|", 3), "", "", "", "")[:4]
    number = int(pid) if pid.isdecimal() else 0
    return LockHolder(number, str(row[1] or "unknown"), command or "unknown", host or "an unknown host")


def take_lock(database: PostgresDatabase, key: int, what: str) -> None:
    """Take a lock in a session. Raises LockHeld, which names the holder, if it is not free within half a second."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not database.try_lock(key):
        if time.monotonic() > deadline:
            raise LockHeld(
                f"{what} is being written by {session_of(database, key) or 'another process'}.",
                hint="Questions are still answered. Run this command again when that process has ended.",
            )
        time.sleep(0.05)


def check_session_locks(database: PostgresDatabase, other: PostgresDatabase, key: int) -> None:
    """Raise StoreError if the session `database` loses its lock while the session `other` is in a transaction.

    That happens behind a connection pooler in transaction mode, which lets clients share the server's sessions.
    """
    other.execute("BEGIN")  # not `transaction`, which would wait for a writer's lock
    try:
        stays = database.holds(key)
    finally:
        other.execute("ROLLBACK")
    if not stays:
        raise StoreError(
            "Locks do not stay with a connection: a pooler in transaction mode is in front of PostgreSQL.",
            hint="Name the server itself in the connection string, or a pooler with pool_mode = session.",
        )


def check_row_security(workspace: Workspace) -> str:
    """Return why row-level security does not restrict a workspace's callers ("there is no role ..."), or ""."""
    with closing(PostgresDatabase(workspace, STORE_SCHEMA)) as database:
        return row_security_fault(database)


def describe_server(workspace: Workspace) -> str:
    """Check that a server can be used and return its version, host and database.

    Raises StoreError if the server is too old, if the role can neither use nor create the schemas, or if a session
    loses its locks to other clients, as behind a connection pooler in transaction mode.
    """
    key = lock_key("doctor", os.getpid(), time.monotonic_ns())
    with (
        closing(PostgresDatabase(workspace, STORE_SCHEMA)) as session,
        closing(PostgresDatabase(workspace, STORE_SCHEMA)) as other,
    ):
        session.try_lock(key)
        check_session_locks(session, other, key)
        for schema in (STORE_SCHEMA, STATE_SCHEMA):
            [(may,)] = session.rows(
                "SELECT CASE WHEN to_regnamespace(?) IS NULL THEN"
                " has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege(?, 'CREATE') END",
                (schema, schema),
            )
            if not may:
                raise StoreError(f"The role may not create tables in the schema {schema}.", hint=_HINTS["42501"])
        version = session.server_version()
        return f"{session.name}, version {version // 10_000}.{version % 10_000}, locks stay with a session"
