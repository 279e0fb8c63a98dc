"""Vectors are stored by the fingerprint of their embedding model."""

from collections.abc import Iterator

import numpy as np
import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import Store, open_store
from stored.shelf import put, some_documents, stored_versions

ONE, TWO = b"fingerprint one", b"fingerprint two"


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with open_store(workspace, for_writing=True) as opened:
        yield opened


def test_stored_vectors_are_read_back_unchanged_in_any_order_and_number(store: Store) -> None:
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    store.vectors.add(ONE, [b"a", b"b", b"c"], vectors)
    assert np.array_equal(store.vectors.matrix(ONE, [b"c", b"a", b"c"], 4), vectors[[2, 0, 2]])
    assert store.vectors.matrix(ONE, [], 4).shape == (0, 4)


def test_a_vector_is_found_only_with_the_fingerprint_of_its_embedding_model(store: Store) -> None:
    store.vectors.add(ONE, [b"a"], np.ones((1, 2), dtype=np.float32))
    assert store.vectors.missing(TWO, [b"a", b"b"]) == [b"a", b"b"]
    assert store.vectors.missing(ONE, [b"a", b"b"]) == [b"b"]
    with pytest.raises(StoreError, match="1 vectors"):
        store.vectors.matrix(TWO, [b"a"], 2)


def test_an_existing_vector_is_not_overwritten(store: Store) -> None:
    store.vectors.add(ONE, [b"a"], np.ones((1, 2), dtype=np.float32))
    store.vectors.add(ONE, [b"a", b"b"], np.zeros((2, 2), dtype=np.float32))
    assert store.vectors.matrix(ONE, [b"a", b"b"], 2).tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_more_vectors_than_fit_into_one_statement_are_found(store: Store) -> None:
    hashes = [number.to_bytes(4, "big") for number in range(1201)]
    vectors = np.arange(1201, dtype=np.float32).reshape(-1, 1)
    store.vectors.add(ONE, hashes, vectors)
    assert store.vectors.missing(ONE, [*hashes, b"none"]) == [b"none"]
    assert np.array_equal(store.vectors.matrix(ONE, hashes[::-1], 1), vectors[::-1])


def test_a_text_that_occurs_several_times_is_embedded_only_once(store: Store) -> None:
    embedding = FakeEmbedding()
    put(store, some_documents(3), embedding)
    assert embedding.texts_embedded == 12
    put(store, some_documents(4), embedding)
    assert embedding.texts_embedded == 16
    stored_versions(store, {"copy.md": some_documents(1)["page-000.md"]}, embedding)
    assert embedding.texts_embedded == 16
