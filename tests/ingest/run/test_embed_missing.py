"""Texts without a vector are embedded in batches, and finished batches are kept."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.store import Store
from elt_llm_ingest.run.versions import EmbeddingCounts, embed_missing
from numpy.typing import NDArray
from stored.shelf import COLLECTION, new_document, some_documents, writing


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with writing(tmp_path) as opened:
        yield opened


def _versions(store: Store, documents: dict[str, list[str]]) -> list[int]:
    record = store.collections.create(COLLECTION)
    return [store.documents.add(record.id, new_document(path, texts)) for path, texts in documents.items()]


@pytest.mark.parametrize(("batch_size", "calls"), [(1, 12), (5, 3), (12, 1), (1000, 1)])
def test_texts_are_embedded_in_batches_of_the_given_size(store: Store, batch_size: int, calls: int) -> None:
    versions, embedding = _versions(store, some_documents(3)), FakeEmbedding()
    assert embed_missing(store, versions, embedding, batch_size, SilentListener()) == EmbeddingCounts(new=12, reused=0)
    assert embedding.calls == calls
    assert embed_missing(store, versions, embedding, batch_size, SilentListener()) == EmbeddingCounts(new=0, reused=12)
    assert embedding.calls == calls


def test_several_equal_texts_are_embedded_once(store: Store) -> None:
    versions, embedding = _versions(store, {"a.md": ["Same.", "Other."], "b.md": ["Same."]}), FakeEmbedding()
    assert embed_missing(store, versions, embedding, 10, SilentListener()) == EmbeddingCounts(new=2, reused=0)


class Failing(FakeEmbedding):
    """Fails at its third batch."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.calls == 2:
            raise KeyboardInterrupt
        return super().embed_texts(texts)


def test_an_interrupted_ingest_keeps_the_finished_embedding_batches(store: Store) -> None:
    versions = _versions(store, some_documents(3))
    with pytest.raises(KeyboardInterrupt):
        embed_missing(store, versions, Failing(), 4, SilentListener())
    assert embed_missing(store, versions, FakeEmbedding(), 4, SilentListener()) == EmbeddingCounts(new=4, reused=8)
