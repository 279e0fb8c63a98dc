"""A workspace moves from SQLite to PostgreSQL with equal contents, without embedding, and repeatably."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.migrating import migrate_to_server
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import StoreError
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.state.sessions import SessionTable
from elt_llm_core.store.database import STORE_NAME, SqliteDatabase
from elt_llm_core.store.store import CACHE_OF, open_store
from stored.shelf import COLLECTION, StoredLibrary, put, some_documents, writing

if TYPE_CHECKING:
    from stored.postgres import PostgresServer


@pytest.fixture
def target(postgres: "PostgresServer", made: StoredLibrary) -> Workspace:
    """An empty database for a workspace with two generations, keys, jobs and a conversation."""
    with closing(open_state(made.data_dir)) as state:
        KeyTable(state).create("reader", ["*"], [], administers=True)
        SessionTable(state).create([COLLECTION])
        for number in range(3):
            JobQueue(state).submit("ingest", {"n": number}, "local")
    return postgres.workspace(made.data_dir)


def test_a_migration_copies_the_whole_workspace_and_keeps_using_the_index_files(
    target: Workspace, made: StoredLibrary
) -> None:
    report = migrate_to_server(target, SilentListener())
    assert report.hashes == {COLLECTION: made.hashes[1]}
    assert not report.was_done
    with open_store(target) as store, closing(open_state(target)) as state:
        with open_generation(store, COLLECTION) as generation:
            assert generation.notes == ()
            assert len(generation.nodes(list(generation.ids))) == 44
        assert not (target.folder / "providing").exists(), "no files were built"
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        [key] = KeyTable(state).all()
        assert key.administers
        assert len(SessionTable(state).all()) == 1
        assert [job.arguments["n"] for job in JobQueue(state).all()] == [2, 1, 0]


def test_after_a_migration_the_copy_can_be_written_but_the_original_cannot_be_opened(target: Workspace) -> None:
    migrate_to_server(target, SilentListener())
    with writing(target) as store:
        assert put(store, some_documents(12)).number == 3
    with pytest.raises(StoreError, match="belongs to a PostgreSQL database"):
        open_store(target.folder)


def test_a_second_migration_changes_nothing(target: Workspace) -> None:
    first = migrate_to_server(target, SilentListener())
    second = migrate_to_server(target, SilentListener())
    assert second.was_done
    assert second.hashes == first.hashes


def test_a_database_with_other_collections_is_refused(target: Workspace, made: StoredLibrary, tmp_path: Path) -> None:
    elsewhere = Workspace(tmp_path / "elsewhere", "postgres", target.dsn_file)
    with writing(elsewhere) as store:
        put(store, some_documents(1), name="others")
    with pytest.raises(StoreError, match="already contains other collections"):
        migrate_to_server(target, SilentListener())
    with open_store(made.data_dir) as store:
        assert [record.name for record in store.collections.all()] == [COLLECTION]


def test_a_damaged_store_is_not_migrated_and_can_still_be_opened(target: Workspace, made: StoredLibrary) -> None:
    with closing(SqliteDatabase(made.data_dir / STORE_NAME, for_writing=True)) as database:
        database.execute("UPDATE nodes SET text = 'Changed.' WHERE id = 3")
    with pytest.raises(StoreError, match="row 3 of nodes has changed"):
        migrate_to_server(target, SilentListener())
    with open_store(made.data_dir) as store:
        assert store.collections.all()


class _InterruptedVerification(SilentListener):
    def stage(self, name: str, total: int) -> None:
        if name == "verify":
            raise KeyboardInterrupt


def test_an_interrupted_migration_leaves_the_original_usable_and_can_be_repeated(
    target: Workspace, made: StoredLibrary
) -> None:
    with pytest.raises(KeyboardInterrupt):
        migrate_to_server(target, _InterruptedVerification())
    with open_store(made.data_dir) as store:
        assert store.collections.all()
    with pytest.raises(StoreError, match="contains an SQLite store"):
        open_store(target, for_writing=True)
    assert not migrate_to_server(target, SilentListener()).was_done


def test_a_database_with_other_conversations_keys_or_jobs_is_refused(target: Workspace, made: StoredLibrary) -> None:
    with closing(open_state(target)) as state:
        KeyTable(state).create("server", ["*"], [])
    with pytest.raises(StoreError, match="other conversations, keys or jobs"):
        migrate_to_server(target, SilentListener())
    with open_store(made.data_dir) as store:
        assert store.collections.all()


def test_state_that_an_earlier_migration_copied_is_not_copied_again(target: Workspace) -> None:
    assert "api_keys" in migrate_to_server(target, SilentListener()).rows
    (target.folder / CACHE_OF).unlink()  # as if the process had been killed before it claimed the folder
    assert migrate_to_server(target, SilentListener()).was_done
    with closing(open_state(target)) as state:
        KeyTable(state).create("later", ["*"], [])
    assert migrate_to_server(target, SilentListener()).was_done


def test_migrating_an_empty_workspace_copies_no_rows_and_gives_an_empty_database(
    postgres: "PostgresServer", tmp_path: Path
) -> None:
    with writing(tmp_path / "empty"):
        pass
    target = postgres.workspace(tmp_path / "empty")
    report = migrate_to_server(target, SilentListener())
    assert report.was_done
    with open_store(target) as store:
        assert store.collections.all() == []
