"""Looking deeply finds vectors of another length and stems of other words, whatever the checksums say."""

import numpy as np
import pytest
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store
from elt_llm_core.unsound_rows import unsound_rows
from elt_llm_core.verification import examine
from shelf import COLLECTION, Made, put, some_documents, writing


def _published(store: Store) -> tuple[CollectionRecord, GenerationRecord]:
    record = store.collections.get(COLLECTION)
    return record, store.generations.get(record.id, record.published or 0)


def test_sound_rows_are_not_complained_of(store: Store) -> None:
    put(store, some_documents(5))
    assert unsound_rows(store, *_published(store)) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0, 0.0])
def test_a_vector_that_is_not_of_length_one_is_named_by_its_node(store: Store, value: float) -> None:
    put(store, some_documents(5))
    vector = np.full(64, value, dtype="<f4").tobytes()
    store.database.execute("UPDATE vectors SET vector = ? WHERE id = 3", (vector,))
    [fault] = unsound_rows(store, *_published(store))
    assert "is not of length 1" in fault


def test_stems_of_other_words_are_named_by_their_node(store: Store) -> None:
    put(store, some_documents(5))
    store.database.execute("UPDATE nodes SET stems = 'other' WHERE id = 3")
    [fault] = unsound_rows(store, *_published(store))
    assert "not those of its text" in fault


def test_stems_of_another_version_of_the_tokeniser_are_no_fault(store: Store) -> None:
    put(store, some_documents(5))
    store.database.execute("UPDATE document_versions SET tokeniser = 'of long ago'")
    store.database.execute("UPDATE nodes SET stems = 'other'")
    assert unsound_rows(store, *_published(store)) == []


def test_older_generations_are_looked_at_only_when_looking_deeply(made: Made) -> None:
    with writing(made.data_dir) as store:
        put(store, some_documents(3))
        (store.folder(COLLECTION) / "1" / "vectors.npy").write_bytes(b"")
        assert examine(store, COLLECTION).damage == ()
        assert [it.generation for it in examine(store, COLLECTION, deep=True).damage] == [1]
