"""Texts without a vector are embedded in batches, and finished batches are kept."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.lifecycle import publish
from elt_llm_core.errors import ModelError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.store import Store
from elt_llm_ingest.run.versions import EmbeddingCounts, embed_missing
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import running_model_server
from model_servers.settings import open_embedding, settings_of
from numpy.typing import NDArray
from stored.shelf import COLLECTION, new_document, recipe_of, some_documents, writing


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
    """An embedding model that fails at its third batch."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.calls == 2:
            raise KeyboardInterrupt
        return super().embed_texts(texts)


def test_an_interrupted_ingest_keeps_the_finished_embedding_batches(store: Store) -> None:
    versions = _versions(store, some_documents(3))
    with pytest.raises(KeyboardInterrupt):
        embed_missing(store, versions, Failing(), 4, SilentListener())
    assert embed_missing(store, versions, FakeEmbedding(), 4, SilentListener()) == EmbeddingCounts(new=4, reused=8)


class CountingBackend(ScriptedBackend):
    """An embedding server that waits until `expected` requests are in progress, and records the most at one time."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.most = 0
        self._expected, self._active, self._changed = expected, 0, threading.Condition()

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Embed texts. A request with several texts waits for other requests, one with a single text does not."""
        with self._changed:
            if len(texts) > 1:
                self._active += 1
                self.most = max(self.most, self._active)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self.most >= self._expected, timeout=5)
                self._active -= 1
        return super().embed(texts)


def _embed_with(data_dir: Path, provider: str, concurrency: int, expected: int) -> tuple[int, NDArray[np.float32]]:
    """Embed twelve texts in batches of two, and return the most simultaneous requests and the stored vectors."""
    backend = CountingBackend(expected)
    with running_model_server(backend) as server, writing(data_dir) as store:
        settings = settings_of(provider, server, embedding={"concurrency": concurrency})
        with open_embedding(settings) as embedding:
            versions = _versions(store, some_documents(3))
            counts = embed_missing(store, versions, embedding, 2, SilentListener())
            hashes = list(store.nodes.to_embed(versions))
            fingerprint = embedding.fingerprint
        assert counts == EmbeddingCounts(new=12, reused=0)
        return backend.most, store.vectors.matrix(fingerprint.key, hashes, fingerprint.dimension)


@pytest.mark.network
@pytest.mark.parametrize("provider", ["ollama", "openai_like"])
def test_an_embedding_server_gets_as_many_requests_at_a_time_as_configured_and_vectors_stay_in_order(
    provider: str, tmp_path: Path
) -> None:
    one, expected = _embed_with(tmp_path / "one", provider, concurrency=1, expected=1)
    several, vectors = _embed_with(tmp_path / "several", provider, concurrency=4, expected=4)
    assert (one, several) == (1, 4)
    assert np.array_equal(vectors, expected)


@pytest.mark.network
def test_batches_before_a_failing_request_are_stored_and_no_further_request_is_sent(tmp_path: Path) -> None:
    with running_model_server(ScriptedBackend()) as server, writing(tmp_path) as store:
        versions = _versions(store, some_documents(10))
        with open_embedding(settings_of("ollama", server, embedding={"concurrency": 2})) as embedding:
            server.faults.plan("/api/embed", *[Fault.NONE] * 6)
            server.faults.always("/api/embed", Fault.NOT_A_NUMBER)
            with pytest.raises(ModelError):
                embed_missing(store, versions, embedding, 2, SilentListener())
            sent = len(server.bodies("/api/embed"))
            server.faults.clear()
            counts = embed_missing(store, versions, embedding, 2, SilentListener())
    assert sent <= 12
    assert counts.reused >= 4
    assert counts.new + counts.reused == 40


def test_a_duplicate_is_embedded_when_the_document_indexed_in_its_place_is_removed(store: Store) -> None:
    """Identical files can have different texts to embed, for example with the file's name in the context."""
    record, embedding = store.collections.create(COLLECTION), FakeEmbedding()
    first = new_document("a.md", ["The harbour opens at six."])
    nodes = (replace(first.nodes[0], context="copy"),)
    copy = replace(new_document("b.txt", ["The harbour opens at six."]), content_hash=first.content_hash, nodes=nodes)
    versions = [store.documents.add(record.id, document) for document in (first, copy)]
    for these in (versions, versions[1:]):
        embed_missing(store, these, embedding, 10, SilentListener())
        published = publish(store, COLLECTION, these, recipe_of(embedding), SilentListener())
        assert published.nodes == 1
