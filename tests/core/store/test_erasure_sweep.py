"""The garbage collection of rows (the sweep) removes only rows that no kept generation refers to."""

from collections.abc import Iterator

import pytest
from elt_llm_core.collection.lifecycle import collect_garbage, open_generation, roll_back
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.erasure import erase_unpublished_rows, sweep
from elt_llm_core.store.store import Store
from stored.shelf import COLLECTION, put, some_documents, stored_versions, writing


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with writing(workspace) as opened:
        yield opened


def _count(store: Store, table: str) -> int:
    return int(store.database.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - a name from below


def test_a_sweep_removes_stored_rows_that_no_generation_contains(store: Store) -> None:
    put(store, some_documents(2))
    stored_versions(store, some_documents(3, first=10), FakeEmbedding())
    swept = sweep(store.database)
    assert (swept.versions, swept.vectors) == (3, 12)
    assert (_count(store, "document_versions"), _count(store, "texts"), _count(store, "vectors")) == (2, 2, 8)
    assert sweep(store.database).versions == 0


def test_a_sweep_keeps_vectors_and_texts_of_every_kept_generation(store: Store) -> None:
    put(store, some_documents(2))
    put(store, some_documents(2, first=10))
    put(store, some_documents(1), name="other")
    collect_garbage(store, keep=2)
    assert _count(store, "vectors") == 16
    roll_back(store, COLLECTION)
    with open_generation(store, COLLECTION) as generation:
        assert len(generation.nodes(generation.ids)) == 8


def test_vectors_of_the_same_text_with_two_fingerprints_are_removed_separately(store: Store) -> None:
    put(store, some_documents(2), FakeEmbedding(version="1"))
    put(store, some_documents(2), FakeEmbedding(version="2"), name="other")
    assert _count(store, "vectors") == 16
    put(store, some_documents(2, first=10), FakeEmbedding(version="2"), name="other")
    put(store, some_documents(2, first=20), FakeEmbedding(version="2"), name="other")
    collect_garbage(store, keep=2)
    assert _count(store, "vectors") == 8 + 16


def test_a_sweep_removes_nothing_while_an_ingest_of_the_collection_is_unfinished(store: Store) -> None:
    put(store, some_documents(1))
    record = store.collections.get(COLLECTION)
    store.collections.begin_run(record.id, "elt-llm ingest books")
    stored_versions(store, some_documents(3, first=10), FakeEmbedding())
    collect_garbage(store, keep=2)
    assert _count(store, "vectors") == 16
    store.collections.finish_run(record.id, "{}")
    collect_garbage(store, keep=2)
    assert _count(store, "vectors") == 4


def test_a_sweep_keeps_only_the_rows_of_an_interrupted_ingest_of_another_collection(store: Store) -> None:
    for first in (0, 10, 20):
        put(store, some_documents(2, first=first))
    put(store, some_documents(1, first=50), name="other")
    store.collections.begin_run(store.collections.get("other").id, "elt-llm ingest other")
    stored_versions(store, some_documents(1, first=60), FakeEmbedding(), name="other")
    stored_versions(store, some_documents(1, first=70), FakeEmbedding(version="2"), name="other")
    collect_garbage(store, keep=2)
    assert _count(store, "document_versions") == 4 + 3
    assert _count(store, "vectors") == 16 + 4 + 4 + 4


@pytest.mark.parametrize("is_collected", [False, True])
def test_an_erasure_also_removes_vectors_that_an_interrupted_run_made_with_another_model(
    store: Store, is_collected: bool
) -> None:
    put(store, some_documents(2))
    put(store, some_documents(1, first=50), name="other")
    store.collections.begin_run(store.collections.get("other").id, "elt-llm ingest other")
    stored_versions(store, some_documents(1, first=60), FakeEmbedding(), name="other")
    [doomed] = stored_versions(store, some_documents(1, first=70), FakeEmbedding(version="2"))
    if is_collected:
        collect_garbage(store, keep=2)
        assert _count(store, "vectors") == 8 + 4 + 4 + 4
    erase_unpublished_rows(store, store.collections.get(COLLECTION), [] if is_collected else [doomed])
    assert _count(store, "vectors") == 8 + 4 + 4


def test_a_sweep_keeps_the_vector_of_a_text_that_an_interrupted_ingest_also_contains(store: Store) -> None:
    for first in (0, 10, 20):
        put(store, some_documents(1, first=first))
    record = store.collections.create("other")
    store.collections.begin_run(record.id, "elt-llm ingest other")
    stored_versions(store, some_documents(1), FakeEmbedding(), name="other")
    collect_garbage(store, keep=2)
    assert _count(store, "vectors") == 8 + 4
