"""Every row has a checksum. Writers check all rows before they change anything, and readers check the rows they use."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import STORE_NAME, find_damage
from elt_llm_core.store.store import open_store
from stored.shelf import COLLECTION, put, some_documents, store_faults, writing

CHANGES = [
    "UPDATE nodes SET text = 'X' || substr(text, 2) WHERE id = 5",
    "UPDATE nodes SET metadata = '{\"year\":1999}' WHERE id = 5",
    "UPDATE nodes SET page = 3 WHERE id = 5",
    "UPDATE nodes SET stems = stems || ' more' WHERE id = 5",
    "UPDATE vectors SET vector = zeroblob(256) WHERE id = 5",
    "UPDATE texts SET text = text || ' And more.' WHERE id = 2",
    "UPDATE document_versions SET title = 'Another' WHERE id = 2",
    "UPDATE document_versions SET modified_at = '1999-01-01' WHERE id = 2",
    "UPDATE collections SET published = 1",
    "UPDATE generations SET passport = replace(passport, 'line-1', 'line-2')",
    "UPDATE generation_documents SET version = 1 WHERE version = 2 AND generation = 2",
]
SEEN_BY_READERS = [CHANGES[0], CHANGES[1], CHANGES[2], CHANGES[3], *CHANGES[6:10]]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a data directory with two generations, each with a document that the other lacks."""
    with writing(tmp_path) as store:
        put(store, some_documents(3))
        put(store, some_documents(4))
        store.database.execute("DELETE FROM generation_documents WHERE generation = 2 AND version = 1")
    return tmp_path


def change(data_dir: Path, statement: str) -> None:
    """Change a row without updating its checksum, as damage to the disk would."""
    with closing(sqlite3.connect(data_dir / STORE_NAME)) as damaged, damaged:
        damaged.execute(statement)


def test_the_checksum_of_a_row_is_updated_with_each_change_of_the_row(data_dir: Path) -> None:
    with writing(data_dir) as store:
        for statement in CHANGES[:-1]:
            store.database.execute(statement)
        assert find_damage(store.database) == []
    with open_store(data_dir) as store:
        assert store_faults(store) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("statement", CHANGES)
def test_a_writer_refuses_a_store_with_a_damaged_row_and_names_the_table_and_the_repair_command(
    data_dir: Path, statement: str
) -> None:
    change(data_dir, statement)
    with pytest.raises(StoreError, match="has changed since it was stored") as refused, writing(data_dir):
        pytest.fail("the damaged store was opened for writing")
    assert statement.split()[1] in str(refused.value)
    assert str(data_dir / STORE_NAME) in str(refused.value)
    assert "elt-llm recover" in refused.value.hint


@pytest.mark.sampled(3)
@pytest.mark.parametrize("statement", SEEN_BY_READERS)
def test_a_reader_refuses_a_damaged_row_instead_of_showing_it(data_dir: Path, statement: str) -> None:
    change(data_dir, statement)
    with (
        open_store(data_dir) as store,
        pytest.raises(StoreError, match="has changed since it was stored") as refused,
        open_generation(store, COLLECTION) as generation,
    ):
        generation.nodes(generation.ids)
    assert "elt-llm recover" in refused.value.hint


def test_a_reader_refuses_the_changed_text_of_a_document(data_dir: Path) -> None:
    change(data_dir, CHANGES[5])
    with open_store(data_dir) as store, pytest.raises(StoreError, match="row 2 of texts has changed"):
        store.documents.text(2)
    with open_store(data_dir) as store:
        assert store.documents.text(3)
