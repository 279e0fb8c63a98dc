"""The passport records how a generation was made and detects changed files."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.passport import PASSPORT_NAME, Passport, damaged_files, damaged_files_in, file_hashes
from elt_llm_core.models.fakes import FakeEmbedding


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "chroma").mkdir()
    (tmp_path / "ids.npy").write_bytes(b"ids")
    (tmp_path / "chroma" / "header.bin").write_bytes(b"header")
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"may change")
    (tmp_path / "pin").touch()
    (tmp_path / PASSPORT_NAME).write_text(_passport(tmp_path).to_json(), encoding="utf-8")
    return tmp_path


def _passport(directory: Path) -> Passport:
    return Passport(
        collection="library",
        number=3,
        nodes=2,
        fingerprint=FakeEmbedding().fingerprint,
        chroma={"space": "cosine", "ef_search": 100},
        exact=False,
        chunker="line-1",
        tokeniser="words",
        language="en",
        library_versions={"numpy": "2"},
        files=file_hashes(directory),
    )


def test_the_passport_file_of_a_generation_is_read_back_unchanged(directory: Path) -> None:
    passport = _passport(directory)
    assert Passport.from_json(passport.to_json()) == passport
    assert sorted(passport.files) == ["chroma/chroma.sqlite3", "chroma/header.bin", "ids.npy"]


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"format": 2}', '{"format": 1}', "not json"])
def test_a_file_that_is_not_a_passport_is_refused(text: str) -> None:
    with pytest.raises(CorruptIndex, match="passport"):
        Passport.from_json(text)


def test_an_unchanged_generation_has_no_damaged_files(directory: Path) -> None:
    assert damaged_files(directory, _passport(directory).to_json()) == []


def test_changed_missing_and_additional_files_of_a_generation_are_reported(directory: Path) -> None:
    text = _passport(directory).to_json()
    (directory / "ids.npy").unlink()
    (directory / "pin").unlink()
    (directory / "extra.npy").touch()
    (directory / "chroma" / "header.bin").write_bytes(b"heaDer")
    (directory / "chroma" / "chroma.sqlite3").write_bytes(b"changed")
    (directory / PASSPORT_NAME).write_text("{}", encoding="utf-8")
    assert damaged_files(directory, text) == [
        "passport.json: differs from the store",
        "pin: missing",
        "chroma/chroma.sqlite3: its bytes have changed",
        "chroma/header.bin: its bytes have changed",
        "extra.npy: not part of this generation",
        "ids.npy: missing",
    ]
    assert damaged_files_in(directory, "chroma", Passport.from_json(text)) == [
        "chroma/chroma.sqlite3: its bytes have changed",
        "chroma/header.bin: its bytes have changed",
    ]


def test_the_hash_of_a_chroma_database_ignores_only_the_table_that_opening_the_database_changes(
    directory: Path,
) -> None:
    path = directory / "chroma" / "chroma.sqlite3"
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE acquire_write (id INTEGER PRIMARY KEY)")
        database.execute("CREATE TABLE embeddings (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("INSERT INTO embeddings (name) VALUES ('a'), ('b')")
    passport = _passport(directory)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO acquire_write DEFAULT VALUES")
    assert damaged_files_in(directory, "chroma", passport) == []
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE embeddings SET name = 'c' WHERE id = 2")
    assert damaged_files_in(directory, "chroma", passport) == ["chroma/chroma.sqlite3: its bytes have changed"]


def test_every_file_of_a_missing_index_directory_is_reported_as_missing(directory: Path) -> None:
    assert damaged_files(directory / "gone", _passport(directory).to_json()) == [
        "passport.json: missing",
        "pin: missing",
        "chroma/chroma.sqlite3: missing",
        "chroma/header.bin: missing",
        "ids.npy: missing",
    ]


def test_a_changed_pin_file_of_a_generation_is_reported(directory: Path) -> None:
    (directory / "pin").write_bytes(b"x" * 64)
    assert damaged_files(directory, _passport(directory).to_json()) == ["pin: its bytes have changed"]
