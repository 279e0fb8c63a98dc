"""A PostgreSQL database: its locks, its lost connections, and the errors for a database that cannot be used."""

import select
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from elt_llm_core.errors import EltError, LockHeld, SettingsError, StoreError, StoreUnavailable
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.store.conditions import DocumentCondition
from elt_llm_core.store.database import SqliteDatabase
from elt_llm_core.store.generations import is_unpinned
from elt_llm_core.store.lock import lock_holder, writer_lock
from elt_llm_core.store.postgres import (
    CALLER_ROLE,
    STORE_SCHEMA,
    PostgresDatabase,
    _connect_error,
    check_row_security,
    check_server_version,
    check_session_locks,
    describe_server,
)
from elt_llm_core.store.store import has_store, open_store
from stored.shelf import COLLECTION, put, some_documents, writing

if TYPE_CHECKING:
    from stored.postgres import PostgresServer


@pytest.fixture
def shared(postgres: "PostgresServer", tmp_path: Path) -> Workspace:
    """An empty workspace with a separate database."""
    return postgres.workspace(tmp_path / "shared")


@pytest.fixture
def session(shared: Workspace) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(shared, STORE_SCHEMA)) as database:
        yield database


def _with_dsn(workspace: Workspace, change: Callable[[str], str]) -> Workspace:
    assert workspace.dsn_file is not None
    changed = workspace.folder / "changed-dsn"
    changed.write_text(change(workspace.dsn_file.read_text(encoding="utf-8")), encoding="utf-8")
    return replace(workspace, dsn_file=changed)


def _cut(postgres: "PostgresServer", database: PostgresDatabase) -> None:
    [(pid,)] = database.rows("SELECT pg_backend_pid()")
    postgres.execute(f"SELECT pg_terminate_backend({pid}, 5000)")


def test_sqlite_and_postgresql_have_the_same_tables_and_columns(shared: Workspace, tmp_path: Path) -> None:
    with open_store(shared, for_writing=True) as store, closing(open_state(shared)) as state:
        statement = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        )
        theirs = {row for database in (store.database, state) for row in database.rows(statement)}
    with open_store(tmp_path / "local", for_writing=True) as store, closing(open_state(tmp_path / "local")) as state:
        ours = set()
        for database in (store.database, state):
            assert isinstance(database, SqliteDatabase)
            for (table,) in database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
                ours |= {(table, row[1]) for row in database.rows(f"PRAGMA table_info({table})")}
    ours = {(table, column) for table, column in ours if not table.startswith("sqlite") and column != "row_checksum"}
    of_the_server = {("schema_version", "version"), ("schema_version", "workspace"), ("queued_jobs", "rowid")}
    assert theirs - of_the_server == ours


def test_a_second_writer_is_refused_at_once_and_the_error_names_the_first_writer(shared: Workspace) -> None:
    assert lock_holder(shared) is None
    with writer_lock(shared, "elt-llm ingest"):
        began = time.monotonic()
        with (
            pytest.raises(LockHeld, match=r"process \d+ on .* \(ingest, since 20"),
            writer_lock(shared, "elt-llm purge"),
        ):
            pass
        assert time.monotonic() - began < 2
        holder = lock_holder(shared)
        assert holder is not None
        assert holder.command == "ingest"
        assert holder.host
    assert lock_holder(shared) is None


def test_a_store_that_is_open_for_writing_cannot_be_opened_for_writing_again(shared: Workspace) -> None:
    with open_store(shared, for_writing=True), pytest.raises(LockHeld):
        open_store(shared, for_writing=True)


def test_each_batch_job_has_its_own_lock(shared: Workspace) -> None:
    with writer_lock(shared, "job", "jobs/a"), writer_lock(shared, "job", "jobs/b"), writer_lock(shared, "ingest"):
        assert lock_holder(shared, "jobs/a") is not None
        assert lock_holder(shared, "jobs/c") is None


def test_a_writer_whose_connection_is_cut_stores_nothing_more(shared: Workspace, postgres: "PostgresServer") -> None:
    def cut_in_a_transaction(database: PostgresDatabase) -> None:
        with database.transaction():
            database.execute("UPDATE collections SET last_number = 7")
            _cut(postgres, database)

    with writing(shared) as store:
        assert isinstance(store.database, PostgresDatabase)
        store.collections.create("before")
        with pytest.raises(StoreError, match="lost, with all its locks"):
            cut_in_a_transaction(store.database)
    with open_store(shared) as store:
        assert [(record.name, record.last_number) for record in store.collections.all()] == [("before", 0)]


def test_a_writer_whose_connection_was_cut_is_not_reconnected(shared: Workspace, postgres: "PostgresServer") -> None:
    with writing(shared) as store:
        assert isinstance(store.database, PostgresDatabase)
        _cut(postgres, store.database)
        for _ in range(2):
            with pytest.raises(StoreError, match="lost"):
                store.collections.create("after")
        with open_store(shared, for_writing=True) as next_writer:
            next_writer.collections.create("next")
    with open_store(shared) as store:
        assert [record.name for record in store.collections.all()] == ["next"]


def test_a_read_that_a_lost_connection_interrupts_is_repeated_once(
    shared: Workspace, postgres: "PostgresServer"
) -> None:
    with writing(shared) as store:
        store.collections.create("library")
    with open_store(shared) as reader:
        assert isinstance(reader.database, PostgresDatabase)
        assert reader.database.try_lock(5, shared=True)
        _cut(postgres, reader.database)
        assert [record.name for record in reader.collections.all()] == ["library"]
        assert reader.database.holds(5), "a pin is taken again"
        with closing(PostgresDatabase(shared, STORE_SCHEMA)) as collector:
            assert not collector.try_lock(5)
            reader.database.unlock(5, shared=True)
            assert collector.try_lock(5)


def test_a_transaction_begins_again_on_a_new_connection(shared: Workspace, postgres: "PostgresServer") -> None:
    with closing(open_state(shared)) as state:
        assert isinstance(state, PostgresDatabase)
        _cut(postgres, state)
        with state.transaction():
            state.execute("INSERT INTO measures VALUES ('day', '2026', '{}')")
        assert state.rows("SELECT count(*) FROM measures") == [(1,)]


def test_a_pin_is_not_restored_on_reconnection_if_its_generation_was_deleted(
    shared: Workspace, postgres: "PostgresServer"
) -> None:
    with writing(shared) as store:
        put(store, some_documents(1))
        put(store, some_documents(1), name="other")
    with open_store(shared) as reader, closing(PostgresDatabase(shared, STORE_SCHEMA)) as collector:
        assert isinstance(reader.database, PostgresDatabase)
        pinned, kept = (reader.pin_published(record) for record in reader.collections.all())
        assert pinned is not None
        assert kept is not None
        _cut(postgres, reader.database)
        collector.execute("DELETE FROM generations WHERE collection = 1")
        with pytest.raises(StoreUnavailable, match="an open generation was deleted meanwhile"):
            reader.collections.all()
        assert len(reader.collections.all()) == 2
        assert is_unpinned(collector, 2, 1) is False, "the other pin was taken again"
        for pin in (pinned, kept):
            pin.release()
        assert is_unpinned(collector, 2, 1)


def test_a_connection_that_is_cut_at_its_start_is_reported_as_lost(
    shared: Workspace, postgres: "PostgresServer"
) -> None:
    with _cut_after_login(postgres.port) as port:
        cut = _with_dsn(shared, lambda dsn: dsn.replace(str(postgres.port), str(port)))
        with pytest.raises(StoreUnavailable, match="connection to PostgreSQL was lost"):
            PostgresDatabase(cut, STORE_SCHEMA)


@contextmanager
def _cut_after_login(port: int) -> Iterator[int]:
    """Yield a port that relays a login to the server, and then closes the connection at the first statement."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = threading.Thread(target=_relay_login, args=(listener, port))
        relay.start()
        yield listener.getsockname()[1]
        relay.join()


def _relay_login(listener: socket.socket, port: int) -> None:
    client = listener.accept()[0]
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        while True:
            for ready in select.select([client, server], [], [])[0]:
                received = ready.recv(1 << 16)
                (server if ready is client else client).sendall(received)
                if ready is server and received.endswith(b"Z\0\0\0\5I"):  # ReadyForQuery
                    client.recv(1 << 16)
                    return


def test_transactions_of_the_same_schema_run_one_after_the_other(session: PostgresDatabase, shared: Workspace) -> None:
    session.execute("CREATE TABLE public.counter (n BIGINT)")
    session.execute("INSERT INTO public.counter VALUES (0)")

    def count() -> None:
        with closing(PostgresDatabase(shared, STORE_SCHEMA)) as database:
            for _ in range(20):
                with database.transaction():
                    [(n,)] = database.rows("SELECT n FROM public.counter")
                    database.execute("UPDATE public.counter SET n = ?", (n + 1,))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.rows("SELECT n FROM public.counter") == [(60,)]


def test_numbered_placeholders_are_translated_for_postgresql(session: PostgresDatabase) -> None:
    assert session.rows("SELECT ?2 || ?1 || ?2 || '%'", ("a", "b")) == [("bab%",)]
    assert sorted(session.rows("SELECT value FROM " + session.EACH_NUMBER + " AS v", ("[3, 1]",))) == [(1,), (3,)]  # noqa: S608


def test_postgresql_orders_text_by_its_bytes(shared: Workspace) -> None:
    with writing(shared) as store:
        for name in ("b", "a-c", "a_b", "ab"):
            store.collections.create(name)
        assert [record.name for record in store.collections.all()] == sorted(["b", "a-c", "a_b", "ab"])


def test_a_workspace_folder_cannot_be_used_with_a_second_database(
    shared: Workspace, postgres: "PostgresServer"
) -> None:
    with writing(shared):
        pass
    with pytest.raises(StoreError, match="belongs to a PostgreSQL database"):
        open_store(shared.folder, for_writing=True)
    other = postgres.workspace(shared.folder)
    with pytest.raises(StoreError, match="contains files of another"), writing(other):
        pass


def test_a_folder_with_an_sqlite_store_is_refused_and_left_unchanged(shared: Workspace) -> None:
    with writing(shared.folder) as store:
        put(store, some_documents(1))
    for for_writing in (True, False):
        with pytest.raises(StoreError, match="contains an SQLite store") as caught:
            open_store(shared, for_writing=for_writing)
        assert "elt-llm migrate --to postgres" in caught.value.hint
    with open_store(shared.folder) as store:
        assert store.generation_names() == {COLLECTION: {"1"}}
    assert not has_store(shared)


def _refusal(workspace: Workspace) -> EltError:
    with pytest.raises(EltError) as caught:
        open_store(workspace, for_writing=True)
    assert "correct" not in str(caught.value), "a message never has the password"
    assert "horse" not in f"{caught.value} {caught.value.hint}"
    return caught.value


def test_an_unusable_connection_string_is_reported_but_never_printed(shared: Workspace) -> None:
    changes: list[tuple[Callable[[str], str], str]] = [
        (lambda _: "postgresql://user:correct horse@[::1", "cannot be parsed"),
        (lambda _: "host=127.0.0.1 nonsense=horse", "cannot be parsed"),
        (lambda _: " ", "is empty"),
        (lambda dsn: dsn.replace("horse", "house"), "refused the password"),
        (lambda dsn: dsn.replace("/test_", "/absent_"), "no such database"),
        (lambda _: "postgresql://postgres@127.0.0.1:1/x", "cannot be reached"),
    ]
    for change, expected in changes:
        error = _refusal(_with_dsn(shared, change))
        assert expected in str(error)
        assert error.hint
    missing = replace(shared, dsn_file=shared.folder / "absent")
    assert "cannot be read" in str(_refusal(missing))


def test_the_error_for_a_role_without_privileges_names_the_privilege_to_grant(
    shared: Workspace, postgres: "PostgresServer"
) -> None:
    role = f"reader_{uuid.uuid4().hex}"
    postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'plain'")
    limited = _with_dsn(shared, lambda dsn: dsn.replace("postgres:correct%20horse", f"{role}:plain"))
    error = _refusal(limited)
    assert "permission denied" in str(error)
    assert "GRANT CREATE" in error.hint
    with pytest.raises(StoreError, match="may not create tables"):
        describe_server(limited)


def test_the_error_for_a_statement_that_times_out_names_the_setting(session: PostgresDatabase) -> None:
    session.execute("SET statement_timeout = 50")
    with pytest.raises(StoreError, match="timeout") as caught:
        session.rows("SELECT pg_sleep(5)")
    assert "statement_timeout" in caught.value.hint
    assert session.rows("SELECT 1") == [(1,)]


def test_sessions_have_timeouts_that_detect_a_machine_that_has_died(
    shared: Workspace, session: PostgresDatabase
) -> None:
    names = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")
    assert [session.rows("SELECT current_setting(?)", (name,)) for name in names] == [[("30",)], [("10",)], [("3",)]]
    with closing(open_state(shared)) as state:
        assert state.rows("SHOW idle_in_transaction_session_timeout") == [("1min",)]
        assert state.rows("SHOW lock_timeout") == [("20s",)]


def test_a_state_transaction_that_waited_too_long_for_a_lock_can_be_repeated(shared: Workspace) -> None:
    with closing(open_state(shared)) as first, closing(open_state(shared)) as second:
        second.execute("SET lock_timeout = 50")
        with first.transaction(), pytest.raises(StoreUnavailable, match="lock timeout"), second.transaction():
            pass
        with second.transaction():
            assert second.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize("statement", ["SELECT CAST(? AS text)", "SELECT CAST(? AS json) ->> 0"])
def test_a_text_with_a_nul_character_is_refused_with_a_hint(session: PostgresDatabase, statement: str) -> None:
    with pytest.raises(StoreError) as caught:
        session.rows(statement, ('["a\\u0000b"]' if "json" in statement else "a\0b",))
    assert "no NUL character" in caught.value.hint


def test_a_server_that_is_too_old_is_refused() -> None:
    with pytest.raises(StoreError, match="PostgreSQL 13, but 14"):
        check_server_version(130_014)


def test_a_connection_pooler_that_mixes_sessions_is_detected(shared: Workspace, session: PostgresDatabase) -> None:
    class Pooled(PostgresDatabase):
        """A session behind a pooler in transaction mode: some statements run in another session of the server."""

        def holds(self, key: int) -> bool:
            with closing(PostgresDatabase(shared, STORE_SCHEMA)) as elsewhere:
                return elsewhere.holds(key)

    with closing(Pooled(shared, STORE_SCHEMA)) as pooled:
        assert pooled.try_lock(7)
        with pytest.raises(StoreError, match="pooler in transaction mode"):
            check_session_locks(pooled, session, 7)


def test_a_lock_can_be_taken_while_another_session_is_in_a_transaction(shared: Workspace) -> None:
    hasty = _with_dsn(shared, lambda dsn: f"{dsn}?options=-c%20statement_timeout%3D2000")
    with (
        open_store(shared, for_writing=True) as store,
        store.database.transaction(),
        writer_lock(hasty, "job", "jobs/a"),
    ):
        assert lock_holder(shared, "jobs/a") is not None


def test_the_doctor_command_describes_a_database_server_and_changes_nothing(shared: Workspace) -> None:
    assert "version 18." in describe_server(shared)
    assert not has_store(shared)


def test_the_doctor_command_reports_why_row_level_security_is_not_in_force(tmp_path: Path) -> None:
    from stored.postgres import new_server

    with new_server() as server:
        shared = server.workspace(tmp_path)
        name = shared.connection_string().rpartition("/")[2]
        for statement in ("CREATE ROLE elt LOGIN PASSWORD 'plain'", f"GRANT CREATE ON DATABASE {name} TO elt"):
            server.execute(statement)
        (tmp_path / "dsn").write_text(server.dsn(name, "elt", "plain"))
        with writing(shared) as store:
            put(store, some_documents(1), FakeEmbedding())
        changes = {
            "": f"no role {CALLER_ROLE}",
            f"CREATE ROLE {CALLER_ROLE} NOLOGIN": "may not act as",
            f"GRANT {CALLER_ROLE} TO elt": "may not read the tables yet",
            f"ALTER ROLE {CALLER_ROLE} BYPASSRLS": "bypasses row-level security",
        }
        for statement, fault in changes.items():
            if statement:
                server.execute(statement)
            assert fault in check_row_security(shared)
            with open_store(shared) as store:
                assert store.seen_by((DocumentCondition("tenant_id", ("x",)),)) is store
        server.execute(f"ALTER ROLE {CALLER_ROLE} NOBYPASSRLS")
        open_store(shared, for_writing=True).close()
        assert check_row_security(shared) == ""
        server.execute("ALTER TABLE elt_llm.texts DISABLE ROW LEVEL SECURITY", name)
        assert "texts have no row-level policy" in check_row_security(shared)


def test_a_workspace_never_shows_its_connection_string(shared: Workspace) -> None:
    assert "horse" not in repr(shared)
    with closing(psycopg.connect(shared.connection_string())):
        pass


def test_the_error_for_a_missing_connection_string_names_the_environment_variable(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ELT_LLM_DSN is empty"):
        open_store(Workspace(tmp_path, "postgres"))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("connection failed: FATAL:  the database system is starting up", "the server is starting"),
        ("connection failed: FATAL:  sorry, too many clients already", "no free connection"),
        ('connection failed: FATAL:  role "ann" does not exist', "does not know the user"),
        ('connection failed: FATAL:  no pg_hba.conf entry for host "10.0.0.1"', "no connection from here"),
        ("connection failed: SSL error: certificate verify failed", "encrypted connection failed"),
        ("connection failed: could not translate host name", "cannot be reached"),
    ],
)
def test_errors_of_libpq_for_failed_connections_are_reworded_without_the_server_address(said: str, shown: str) -> None:
    error = _connect_error(said, "ELT_LLM_DSN")
    assert shown in str(error)
    assert "10.0.0.1" not in f"{error} {error.hint}"
    assert error.hint
