"""A database has atomic transactions, and its file can have any name."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import MIN_SQLITE, SqliteDatabase, sqlite_version


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "store.sqlite3", for_writing=True)
    opened.execute("CREATE TABLE things (name TEXT NOT NULL UNIQUE) STRICT")
    yield opened
    opened.close()


def _names(database: SqliteDatabase) -> list[str]:
    return [name for (name,) in database.rows("SELECT name FROM things ORDER BY name")]


def test_a_failed_transaction_stores_nothing(database: SqliteDatabase) -> None:
    def insert_twice() -> None:
        with database.transaction():
            database.execute("INSERT INTO things VALUES ('a')")
            database.execute("INSERT INTO things VALUES ('a')")

    with pytest.raises(StoreError, match="UNIQUE"):
        insert_twice()
    assert _names(database) == []


def test_an_interrupted_transaction_stores_nothing_and_the_next_transaction_works(database: SqliteDatabase) -> None:
    def interrupted() -> None:
        with database.transaction():
            database.execute("INSERT INTO things VALUES ('a')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with database.transaction():
        database.execute("INSERT INTO things VALUES ('b')")
    assert _names(database) == ["b"]


def test_a_transaction_whose_commit_fails_is_rolled_back(database: SqliteDatabase) -> None:
    database.execute("CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT")
    database.execute("CREATE TABLE children (p INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED) STRICT")
    with pytest.raises(StoreError, match="FOREIGN KEY"), database.transaction():
        database.execute("INSERT INTO children VALUES (1)")
    with database.transaction():
        database.execute("INSERT INTO things VALUES ('after')")
    assert database.rows("SELECT * FROM children") == []
    assert _names(database) == ["after"]


def test_readers_never_see_an_unfinished_transaction(database: SqliteDatabase) -> None:
    reader = SqliteDatabase(database.path, for_writing=False)
    with database.transaction():
        database.execute("INSERT INTO things VALUES ('a')")
        assert _names(reader) == []
    assert _names(reader) == ["a"]
    reader.close()


def test_a_read_only_database_connection_cannot_write(database: SqliteDatabase) -> None:
    reader = SqliteDatabase(database.path, for_writing=False)
    with pytest.raises(StoreError, match="readonly"):
        reader.execute("INSERT INTO things VALUES ('a')")
    reader.close()


def test_several_threads_can_share_a_database_connection(database: SqliteDatabase) -> None:
    def insert(start: int) -> None:
        for number in range(start, start + 25):
            with database.transaction():
                database.execute("INSERT INTO things VALUES (?)", (f"{number:03}",))

    threads = [threading.Thread(target=insert, args=(start,)) for start in (0, 25, 50, 75)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _names(database) == [f"{number:03}" for number in range(100)]


@pytest.mark.parametrize("name", ["a b", "100%", "what?", "#1", "naïve-データ", "quo'te"])
def test_a_database_can_be_in_a_folder_with_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    written = SqliteDatabase(tmp_path / name / "store.sqlite3", for_writing=True)
    written.execute("CREATE TABLE things (name TEXT)")
    written.close()
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["store.sqlite3"]
    read = SqliteDatabase(tmp_path / name / "store.sqlite3", for_writing=False)
    assert _names(read) == []
    read.close()


def test_the_database_flushes_every_commit_to_disk_and_is_accessible_only_to_its_owner(
    database: SqliteDatabase,
) -> None:
    assert database.row("PRAGMA synchronous") == (2,)
    assert database.row("PRAGMA journal_mode") == ("wal",)
    assert database.row("PRAGMA foreign_keys") == (1,)
    for path in database.path.parent.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite3").write_bytes(b"this is not a database at all" * 50)
    with pytest.raises(StoreError, match=r"store\.sqlite3 cannot be opened: file is not a database"):
        SqliteDatabase(tmp_path / "store.sqlite3", for_writing=False)


def test_a_copy_of_a_database_is_complete_and_has_no_journal(database: SqliteDatabase, tmp_path: Path) -> None:
    database.execute("INSERT INTO things VALUES ('a')")
    database.backup_to(tmp_path / "copy.sqlite3")
    copy = SqliteDatabase(tmp_path / "copy.sqlite3", for_writing=False)
    assert _names(copy) == ["a"]
    copy.close()


def test_the_installed_sqlite_version_is_new_enough_to_write_to_a_store() -> None:
    assert sqlite_version() >= MIN_SQLITE


def test_the_method_rows_in_returns_each_of_many_values_once(database: SqliteDatabase) -> None:
    names = [f"{number:04}" for number in range(1234)]
    database.execute_many("INSERT INTO things VALUES (?)", [(name,) for name in names])
    found = database.rows_in("SELECT name FROM things WHERE name > ? AND name IN ({})", names, "0009")
    assert [name for (name,) in found] == names[10:]
