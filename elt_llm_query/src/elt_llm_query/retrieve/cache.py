"""Caches of vectors, search results, answers and document texts, with size and time limits."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel, WrappedEmbedding, check_unit_vectors
from elt_llm_core.results import QueryResult, RetrievedChunk
from elt_llm_core.text.outline import Outline
from numpy.typing import NDArray
from pydantic import PrivateAttr

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Clock = Callable[[], float]
_KEPT_DOCUMENTS = 16
_KEPT_SENTENCES = 8000  # vectors; about 12 MB at 384 numbers each


@dataclass(frozen=True)
class CacheCounts:
    """A cache's number of hits and misses, and the number of values in it."""

    hits: int
    misses: int
    held: int


class LruCache(Generic[Key, Value]):
    """A cache of at most `size` values that evicts the least recently used value.

    Values older than `ttl` seconds are dropped; with a `ttl` of None, values do not expire. A cache of size 0 stores
    nothing. `now` returns monotonic seconds. Many threads may use one cache. Two threads that miss the same key at once
    both compute its value.
    """

    def __init__(self, size: int, ttl: float | None = None, *, now: Clock = time.monotonic) -> None:
        self._size, self._ttl, self._now = size, ttl, now
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._lock = Lock()
        self._hits = self._misses = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of this key, or None, and count a hit or a miss unless the size is 0."""
        if not self._size:
            return None
        with self._lock:
            kept = self._values.get(key)
            if kept is not None and self._ttl is not None and self._now() - kept[0] >= self._ttl:
                del self._values[key]
                kept = None
            if kept is None:
                self._misses += 1
                return None
            self._hits += 1
            self._values.move_to_end(key)
            return kept[1]

    def put(self, key: Key, value: Value) -> None:
        """Store a value, and evict the least recently used value if the cache is full."""
        if not self._size:
            return
        with self._lock:
            self._values[key] = (self._now(), value)
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)

    @property
    def counts(self) -> CacheCounts:
        """The hits, misses and size of the cache."""
        with self._lock:
            return CacheCounts(self._hits, self._misses, len(self._values))


VectorCache = LruCache[tuple[bytes, str], NDArray[np.float32]]
"""Cached vectors, by embedding model (its fingerprint's key) and text."""


class CachingEmbedding(WrappedEmbedding):
    """Wraps an embedding model, and embeds only texts whose vectors are not cached. Many threads may use it."""

    _kept: VectorCache = PrivateAttr()

    def __init__(self, model: EmbeddingModel, kept: VectorCache) -> None:
        super().__init__(model)
        self._kept = kept

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the texts, shape (len(texts), dimension). Raises the errors of the model."""
        key = self.fingerprint.key
        found = {text: self._kept.get((key, text)) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        if len(new) == len(texts):
            return self._keep(key, new)
        if new:
            found.update(zip(new, self._keep(key, new), strict=True))
        return np.stack([vector for text in texts if (vector := found[text]) is not None])

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (dimension,), which is not cached. Raises the errors of the model."""
        return _embed_question(self._model, text)

    def _keep(self, key: bytes, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = check_unit_vectors(self._model, self._model.embed_texts(texts), len(texts))
        for text, vector in zip(texts, vectors, strict=True):
            self._kept.put((key, text), vector.copy())
        return vectors


def _embed_question(model: EmbeddingModel, text: str) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = check_unit_vectors(model, np.atleast_2d(model.embed_question(text)), 1)[0]
    return vector


class QueryCaches(Generic[Value]):
    """The caches of vectors, search results and answers. Several engines may share one object."""

    def __init__(self, size: int, ttl: float, *, now: Clock = time.monotonic) -> None:
        # Vectors do not expire, because a text always has the same vector.
        self._vectors: VectorCache = LruCache(size)
        self.sentences: VectorCache = LruCache(_KEPT_SENTENCES if size else 0)
        self.results: LruCache[Hashable, Value] = LruCache(size, ttl, now=now)
        self.answers: LruCache[Hashable, QueryResult] = LruCache(size, ttl, now=now)

    def embed(self, embedding: EmbeddingModel, question: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (dimension,), read-only. Raises the errors of the embedding model."""
        key = embedding.fingerprint.key, question
        vector = self._vectors.get(key)
        if vector is None:
            vector = _embed_question(embedding, question).copy()
            vector.setflags(write=False)
            self._vectors.put(key, vector)
        return vector

    @property
    def counts(self) -> dict[str, CacheCounts]:
        """The counts of each cache, by cache name."""
        return {"embeddings": self._vectors.counts, "results": self.results.counts, "answers": self.answers.counts}


class DocumentTexts:
    """Reads the text and the outline of a chunk's document, and caches both for the most recently used documents."""

    def __init__(self, generations: Sequence[Searchable]) -> None:
        self._generations = {generation.collection: generation for generation in generations}
        self._kept: LruCache[tuple[str, str], tuple[str, Outline]] = LruCache(_KEPT_DOCUMENTS)

    def __call__(self, chunk: RetrievedChunk) -> tuple[str, Outline]:
        """Return the text and the outline of the document of this chunk."""
        key = chunk.collection, chunk.source_id
        known = self._kept.get(key)
        if known is None:
            generation, wanted = self._generations[chunk.collection], [chunk.source_id]
            known = generation.texts(wanted)[chunk.source_id], generation.outlines(wanted)[chunk.source_id]
            self._kept.put(key, known)
        return known
