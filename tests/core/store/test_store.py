"""Writers create and migrate a data directory, and unreadable data directories are refused."""

from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.database import STORE_NAME, STORE_VERSION, SqliteDatabase
from elt_llm_core.store.migrations import migrate
from elt_llm_core.store.store import open_store


def test_the_error_for_an_empty_data_directory_names_the_command_to_run_first(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no data") as caught:
        open_store(tmp_path)
    assert "elt-llm ingest PATH -c NAME" in caught.value.hint


def test_a_new_store_has_the_latest_schema_and_is_accessible_only_to_its_owner(tmp_path: Path) -> None:
    with open_store(tmp_path / "data", for_writing=True) as store:
        assert store.database.schema_version() == STORE_VERSION
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_migrating_a_store_a_second_time_changes_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path, for_writing=True) as store:
        store.collections.create("library")
        assert isinstance(store.database, SqliteDatabase)
        migrate(store.database)
        assert [record.name for record in store.collections.all()] == ["library"]


@pytest.mark.parametrize("for_writing", [True, False])
def test_a_store_of_a_newer_program_version_is_refused(workspace: Workspace, for_writing: bool) -> None:
    with open_store(workspace, for_writing=True) as store:
        newer = store.database.schema_version() + 1
        store.database.set_schema_version(newer)
    with pytest.raises(StoreError, match=f"schema {newer}") as caught:
        open_store(workspace, for_writing=for_writing)
    assert "newer version" in caught.value.hint


def test_an_interrupted_creation_of_a_store_is_finished_by_the_next_writer(tmp_path: Path) -> None:
    SqliteDatabase(tmp_path / STORE_NAME, for_writing=True).close()
    with pytest.raises(StoreError, match="no data"):
        open_store(tmp_path)
    with open_store(tmp_path, for_writing=True) as store:
        assert store.collections.all() == []


def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    with open_store(tmp_path, for_writing=True) as store:
        store.collections.create("library")
    content = bytearray((tmp_path / STORE_NAME).read_bytes())
    content[:100] = bytes(100)
    (tmp_path / STORE_NAME).write_bytes(content)
    with pytest.raises(StoreError, match=STORE_NAME):
        open_store(tmp_path)


@pytest.mark.parametrize("for_writing", [True, False])
@pytest.mark.parametrize("left", [b"", None])
def test_a_missing_store_database_beside_collection_folders_is_not_treated_as_a_new_store(
    tmp_path: Path, left: bytes | None, for_writing: bool
) -> None:
    (tmp_path / "collections" / "library" / "3").mkdir(parents=True)
    if left is not None:
        (tmp_path / STORE_NAME).write_bytes(left)
    with pytest.raises(StoreError, match="is missing or empty although there are collections") as caught:
        open_store(tmp_path, for_writing=for_writing)
    assert "backup" in caught.value.hint
    assert (tmp_path / "collections" / "library" / "3").is_dir()
