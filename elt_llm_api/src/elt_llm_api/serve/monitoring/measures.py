"""The metrics of one question, and the counters and histograms of many questions."""

import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from elt_llm_core.results import QueryResult, RetrievedChunk, TraceStage
from pydantic import TypeAdapter

BUCKET_BOUNDS = tuple(0.1 * 1.2**step for step in range(88))
"""Upper bounds of the buckets in milliseconds, from 0.1 ms to about 13 minutes, each 1.2 times the previous one."""
_MOVING_WEIGHT = 0.1  # weight of the latest value in the moving average, which reflects about the last twenty values
_MOST_NAMES = 100  # distinct names in a group; to limit memory, any further name counts as "other"
_RETRIEVERS = {(True, True): "both", (True, False): "vector", (False, True): "keyword"}
"""The retriever by which a chunk is counted, by whether the dense and the keyword retriever have ranked the chunk."""
Kind = Literal["ask", "search"]
Outcome = Literal["answered", "refused", "found", "failed", "cancelled"]
Document = tuple[str, str, str]
"""The collection, id and hash of a document."""


@dataclass
class Histogram:
    """Durations in milliseconds, counted in buckets.

    A percentile is only known to be within a bucket, whose upper bound is 1.2 times its lower bound. Values above the
    last bound count in the last bucket.
    """

    count: int = 0
    total: float = 0.0
    moving: float = 0.0
    """Exponentially weighted moving average."""
    buckets: dict[int, int] = field(default_factory=dict)
    """The number of values by index of the bucket, without empty buckets."""

    def add(self, milliseconds: float) -> None:
        """Count one duration, which is 0 or more."""
        index = min(bisect_left(BUCKET_BOUNDS, milliseconds), len(BUCKET_BOUNDS) - 1)
        self.buckets[index] = self.buckets.get(index, 0) + 1
        change = _MOVING_WEIGHT * (milliseconds - self.moving)
        self.moving = self.moving + change if self.count else milliseconds
        self.count += 1
        self.total += milliseconds

    def merge(self, later: "Histogram") -> None:
        """Add the values of a later histogram. The moving average is approximate: a histogram lacks their order."""
        for index, count in later.buckets.items():
            self.buckets[index] = self.buckets.get(index, 0) + count
        if later.count:
            kept: float = (1 - _MOVING_WEIGHT) ** later.count if self.count else 0.0
            self.moving = kept * self.moving + (1 - kept) * later.moving
        self.count += later.count
        self.total += later.total

    def percentile(self, share: float) -> float:
        """Return the duration in milliseconds below which `share` (0 to 1) of the values are; 0 without values."""
        wanted, counted = share * self.count, 0
        for index in sorted(self.buckets):
            count = self.buckets[index]
            if counted + count >= wanted:
                low = BUCKET_BOUNDS[index - 1] if index else 0.0
                return low + (BUCKET_BOUNDS[index] - low) * max(0.0, wanted - counted) / count
            counted += count
        return 0.0

    def summary(self) -> dict[str, float]:
        """Return count, mean, percentiles and moving average, in milliseconds."""
        return {
            "count": self.count,
            "mean_ms": round(self.total / self.count, 3) if self.count else 0.0,
            "p50_ms": round(self.percentile(0.5), 3),
            "p95_ms": round(self.percentile(0.95), 3),
            "moving_ms": round(self.moving, 3),
        }


@dataclass(frozen=True)
class QuestionObservation:
    """One question and its outcome. `error` is the type of the error of a failed question."""

    kind: Kind
    profile: str
    principal: str
    outcome: Outcome
    error: str = ""
    took_ms: float = 0.0
    confidence: float | None = None
    stages: tuple[TraceStage, ...] = ()
    caches: Mapping[str, bool] = field(default_factory=dict)
    """Whether each used cache had a hit."""
    chunk_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of chunks by retriever: `vector`, `keyword` or `both`."""
    generations: Mapping[str, int] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    question: str = ""
    answer: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def found_by(self) -> str:
        """The retrievers that found the chunks: `vector`, `keyword`, `hybrid`, or `none`."""
        retrievers = {name for name, count in self.chunk_counts.items() if count}
        if not retrievers:
            return "none"
        return retrievers.pop() if retrievers in ({"vector"}, {"keyword"}) else "hybrid"


def answer_fields(result: QueryResult) -> dict[str, object]:
    """Return those fields of a QuestionObservation that describe an answer, such as its confidence."""
    outcome = "cancelled" if not result.complete else "answered" if result.answered else "refused"
    cached = result.metadata.get("cached")
    caches = {} if cached is None else {"answers": bool(cached)}
    return {
        **chunk_fields(result.chunks, result.trace.stages),
        "outcome": outcome,
        "confidence": result.confidence if result.answered else None,
        "caches": caches if cached else {**caches, **cache_hits(result.trace.stages)},
        "generations": dict(result.metadata.get("generations", {})),
        "answer": result.answer,
    }


def chunk_fields(chunks: Sequence[RetrievedChunk], stages: Sequence[TraceStage]) -> dict[str, object]:
    """Return those fields of a QuestionObservation that describe a search, such as its number of chunks."""
    found = ((chunk.dense_rank is not None, chunk.keyword_rank is not None) for chunk in chunks)
    counts = Counter(_RETRIEVERS[ranked] for ranked in found if any(ranked))
    return {
        "outcome": "found",
        "stages": tuple(stages),
        "caches": cache_hits(stages),
        "chunk_counts": dict(counts),
        "documents": tuple(dict.fromkeys((one.collection, one.source_id, one.document_hash) for one in chunks)),
    }


def cache_hits(stages: Sequence[TraceStage]) -> dict[str, bool]:
    """Return `{"results": HIT}`, whether the chunks came from the result cache; empty if no stage reports this."""
    for stage in stages:
        cache = stage.details.get("cache")
        if stage.name == "understand" and isinstance(cache, Mapping):
            return {"results": bool(cache.get("hit"))}
    return {}


@dataclass
class QuestionMeasures:
    """Counters and histograms of many questions.

    `counts` has groups such as `outcome`. A group maps names, such as `answered`, to counts.
    """

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    confidence: float = 0.0
    """The sum of the confidence of all answers."""
    times: dict[str, Histogram] = field(default_factory=dict)
    """Durations by kind of question, such as `ask`, and by stage, such as `stage:retrieve`."""

    def add(self, observation: QuestionObservation) -> None:
        """Count one question. The group names used here are part of the stored format."""
        self._count("kind", observation.kind)
        self._count("outcome", observation.outcome)
        if observation.error:
            self._count("failure", observation.error)
        for cache, hit in observation.caches.items():
            self._count("cache", f"{cache}:{'hit' if hit else 'miss'}")
        if observation.outcome in {"answered", "refused", "found"}:
            self._count("found_by", observation.found_by)
            self._add_time(observation.kind, observation.took_ms)
        for retriever, count in observation.chunk_counts.items():
            self._count("passages", retriever, count)
        if observation.outcome == "answered":
            self.confidence += observation.confidence or 0.0
        for stage in observation.stages:
            if stage.took_ms > 0:  # a stage from the cache takes no time
                self._add_time(f"stage:{stage.name}", stage.took_ms)

    def merge(self, later: "QuestionMeasures") -> None:
        """Add the counts and durations of another object, whose questions came later."""
        for group, counts in later.counts.items():
            self.counts.setdefault(group, Counter()).update(counts)
        self.confidence += later.confidence
        for name, times in later.times.items():
            self.times.setdefault(name, Histogram()).merge(times)

    def of(self, group: str, name: str | None = None) -> int:
        """Return a count such as that of `answered` in the group `outcome`, or without a name the sum of the group."""
        counts = self.counts.get(group, Counter())
        return sum(counts.values()) if name is None else counts[name]

    def summary(self) -> dict[str, Any]:
        """Return all counts, the mean confidence, and the durations in milliseconds, as JSON values."""
        answered, refused = self.of("outcome", "answered"), self.of("outcome", "refused")
        caches: dict[str, dict[str, int]] = {}
        for name, count in self.counts.get("cache", {}).items():
            cache, _, result = name.partition(":")
            caches.setdefault(cache, {"hit": 0, "miss": 0})[result] = count
        return {
            "questions": self.of("kind"),
            "by_kind": dict(self.counts.get("kind", {})),
            "succeeded": answered + refused + self.of("outcome", "found"),
            "failed": self.of("outcome", "failed"),
            "cancelled": self.of("outcome", "cancelled"),
            "failures": dict(self.counts.get("failure", {})),
            "answered": answered,
            "refused": refused,
            "mean_confidence": round(self.confidence / answered, 4) if answered else None,
            "cache": caches,
            "found_by": dict(self.counts.get("found_by", {})),
            "chunks": dict(self.counts.get("passages", {})),
            "times": {name: times.summary() for name, times in sorted(self.times.items())},
        }

    def _count(self, group: str, name: str, by: int = 1) -> None:
        counts = self.counts.setdefault(group, Counter())
        counts[name if name in counts or len(counts) < _MOST_NAMES else "other"] += by

    def _add_time(self, name: str, milliseconds: float) -> None:
        known = name in self.times or len(self.times) < _MOST_NAMES
        self.times.setdefault(name if known else "stage:other", Histogram()).add(milliseconds)


MEASURES = TypeAdapter(QuestionMeasures)
"""Converts QuestionMeasures to the JSON that is stored, and back."""
