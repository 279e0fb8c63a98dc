"""Deep verification finds vectors of the wrong length and wrong stems even where checksums match."""

import numpy as np
import pytest
from elt_llm_core.collection.verification import find_unsound_rows, verify_collection
from elt_llm_core.store.records import CollectionRecord, GenerationRecord
from elt_llm_core.store.store import Store
from stored.shelf import COLLECTION, StoredLibrary, put, some_documents, writing


def _published(store: Store) -> tuple[CollectionRecord, GenerationRecord]:
    record = store.collections.get(COLLECTION)
    return record, store.generations.get(record.id, record.published or 0)


def test_verification_does_not_report_undamaged_rows(store: Store) -> None:
    put(store, some_documents(5))
    assert find_unsound_rows(store, *_published(store)) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0, 0.0])
def test_a_stored_vector_whose_norm_is_not_one_is_reported_with_its_node(store: Store, value: float) -> None:
    put(store, some_documents(5))
    vector = np.full(64, value, dtype="<f4").tobytes()
    store.database.execute("UPDATE vectors SET vector = ? WHERE id = 3", (vector,))
    [fault] = find_unsound_rows(store, *_published(store))
    assert "is not normalised" in fault


def test_stored_stems_that_do_not_match_the_text_are_reported_with_their_node(store: Store) -> None:
    put(store, some_documents(5))
    store.database.execute("UPDATE nodes SET stems = 'other' WHERE id = 3")
    [fault] = find_unsound_rows(store, *_published(store))
    assert "do not match its text" in fault


def test_stored_stems_of_another_tokeniser_version_are_not_reported_as_damage(store: Store) -> None:
    put(store, some_documents(5))
    store.database.execute("UPDATE document_versions SET tokeniser = 'of long ago'")
    store.database.execute("UPDATE nodes SET stems = 'other'")
    assert find_unsound_rows(store, *_published(store)) == []


def test_older_generations_are_verified_only_by_deep_verification(made: StoredLibrary) -> None:
    with writing(made.data_dir) as store:
        put(store, some_documents(3))
        (store.folder(COLLECTION) / "1" / "vectors.npy").write_bytes(b"")
        assert verify_collection(store, COLLECTION).damage == ()
        assert [it.generation for it in verify_collection(store, COLLECTION, deep=True).damage] == [1]
