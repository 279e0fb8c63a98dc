"""Copies of the store are made once a day, and the latest are kept."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.backups import BACKUPS_FOLDER, backup_age, backup_faults, list_backups, rotate_backups
from elt_llm_core.store.database import SqliteDatabase
from stored.shelf import put, some_documents, writing


def test_a_copy_of_the_store_is_made_once_a_day(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        assert backup_age(tmp_path) is None
        put(store, some_documents(2))
        copy = rotate_backups(store.database, keep=1)
        assert rotate_backups(store.database, keep=1) is None
    assert list_backups(tmp_path) == [copy]
    assert copy is not None
    assert copy.stat().st_mode & 0o777 == 0o600
    assert backup_faults(tmp_path) == []
    age = backup_age(tmp_path)
    assert age is not None
    assert timedelta(0) <= age < timedelta(minutes=10)
    with closing(SqliteDatabase(copy, for_writing=False)) as database:
        assert database.rows("SELECT count(*) FROM nodes") == [(8,)]


@pytest.mark.parametrize(("keep", "left"), [(0, 0), (1, 1), (2, 2), (9, 4)])
def test_only_the_latest_copies_of_the_store_are_kept(tmp_path: Path, keep: int, left: int) -> None:
    (tmp_path / BACKUPS_FOLDER).mkdir()
    for day in (1, 2, 3):
        (tmp_path / BACKUPS_FOLDER / f"store-copy-2020010{day}T000000Z.sqlite3").touch()
    with writing(tmp_path) as store:
        made = rotate_backups(store.database, keep)
    kept = list_backups(tmp_path)
    assert len(kept) == left
    assert kept[-1:] == ([made] if made else [])


def test_copies_do_not_displace_the_backups_made_before_migrations(tmp_path: Path) -> None:
    (tmp_path / BACKUPS_FOLDER).mkdir()
    before_migration = tmp_path / BACKUPS_FOLDER / "store-schema-1-20200101T000000Z.sqlite3"
    before_migration.touch()
    with writing(tmp_path) as store:
        rotate_backups(store.database, keep=1)
    assert before_migration in list_backups(tmp_path)


def test_a_copy_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        (tmp_path / BACKUPS_FOLDER).write_text("a file where the folder should be")
        with pytest.raises(StoreError, match="backups"):
            rotate_backups(store.database, keep=1)
