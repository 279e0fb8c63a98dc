"""Caches of question vectors, search results and answers, with size and time limits."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.tree import QuerySettings
from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Clock = Callable[[], float]


@dataclass(frozen=True)
class CacheCounts:
    """How often a cache had the value and how often not, and how many values it holds."""

    hits: int
    misses: int
    held: int

    def as_dict(self) -> dict[str, int]:
        """The counts by name, for traces."""
        return asdict(self)


class LruCache(Generic[Key, Value]):
    """At most `size` values, evicting the least recently used; values older than `ttl` seconds are dropped.

    A size of 0 keeps nothing; a `ttl` of None keeps values of any age. `now` returns monotonic seconds. Safe to use
    from many threads; two that miss the same key at once both compute it.
    """

    def __init__(self, size: int, ttl: float | None = None, *, now: Clock = time.monotonic) -> None:
        self._size, self._ttl, self._now = size, ttl, now
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()
        self._lock = Lock()
        self._hits = self._misses = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of this key, or None; counted as a hit or a miss unless the size is 0."""
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
        """Store a value, evicting the least recently used if there are too many."""
        if not self._size:
            return
        with self._lock:
            self._values[key] = (self._now(), value)
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)

    @property
    def counts(self) -> CacheCounts:
        """The counts so far."""
        with self._lock:
            return CacheCounts(self._hits, self._misses, len(self._values))


class QuestionVectors:
    """Vectors of questions by embedding model; they do not expire, because a text always has the same vector."""

    def __init__(self, size: int) -> None:
        self._cache: LruCache[tuple[bytes, str], NDArray[np.float32]] = LruCache(size)

    def embed(self, embedding: EmbeddingModel, question: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dimension,), read-only. Raises what the model raises."""
        key = embedding.fingerprint.key, question
        vector = self._cache.get(key)
        if vector is None:
            vector = embedding.embed_question(question).copy()
            vector.setflags(write=False)
            self._cache.put(key, vector)
        return vector

    @property
    def counts(self) -> CacheCounts:
        """The counts so far."""
        return self._cache.counts


class QueryCaches(Generic[Value]):
    """The caches for questions; one object may serve several engines, one after the other or at once."""

    def __init__(self, size: int, ttl: float, *, now: Clock = time.monotonic) -> None:
        self.vectors = QuestionVectors(size)
        self.results: LruCache[Hashable, Value] = LruCache(size, ttl, now=now)
        self.answers: LruCache[Hashable, QueryResult] = LruCache(size, ttl, now=now)

    @property
    def counts(self) -> dict[str, CacheCounts]:
        """The counts of each cache by its name."""
        return {"embeddings": self.vectors.counts, "results": self.results.counts, "answers": self.answers.counts}


def create_caches(query: QuerySettings) -> QueryCaches[Value]:
    """Build the caches as configured."""
    return QueryCaches(query.cache_size, query.cache_ttl)
