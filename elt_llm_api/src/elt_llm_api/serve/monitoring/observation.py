"""What is worth knowing of one question, read from what it gave."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from elt_llm_core.results import QueryResult, RetrievedChunk, TraceStage

Kind = Literal["ask", "search"]
Outcome = Literal["answered", "refused", "found", "failed", "cancelled"]
Document = tuple[str, str, str]
"""Collection, document id and hash."""


@dataclass(frozen=True)
class Observation:
    """One question that was asked, and what became of it. `error` is the type of what it failed of."""

    kind: Kind
    profile: str
    principal: str
    outcome: Outcome
    error: str = ""
    took_ms: float = 0.0
    confidence: float | None = None
    stages: tuple[TraceStage, ...] = ()
    caches: Mapping[str, bool] = field(default_factory=dict)
    """By cache, whether it had what was asked for; caches that were not asked are left out."""
    legs: Mapping[str, int] = field(default_factory=dict)
    """Passages by what found them: `vector`, `keyword` or `both`."""
    generations: Mapping[str, int] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    question: str = ""
    answer: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def found_by(self) -> str:
        """What found the passages together: `vector`, `keyword`, `hybrid`, or `none`."""
        by = {leg for leg, count in self.legs.items() if count}
        if not by:
            return "none"
        return "vector" if by == {"vector"} else "keyword" if by == {"keyword"} else "hybrid"

    @property
    def succeeded(self) -> bool:
        """Whether there was an answer, an honest refusal, or passages."""
        return self.outcome in {"answered", "refused", "found"}


def of_answer(result: QueryResult) -> dict[str, object]:
    """What a result tells, as fields of an observation."""
    outcome = "cancelled" if not result.complete else "answered" if result.answered else "refused"
    told_again = result.metadata.get("cached")
    caches = {} if told_again is None else {"answers": bool(told_again)}
    return {
        **of_passages(result.contexts, result.trace.stages),
        "outcome": outcome,
        "confidence": result.confidence if result.answered else None,
        "caches": {**caches, **cache_hits(result.trace.stages)} if not told_again else caches,
        "generations": dict(result.metadata.get("generations", {})),
        "answer": result.answer,
    }


def of_passages(chunks: Sequence[RetrievedChunk], stages: Sequence[TraceStage]) -> dict[str, object]:
    """What passages and stages tell, as fields of an observation."""
    return {
        "outcome": "found",
        "stages": tuple(stages),
        "caches": cache_hits(stages),
        "legs": legs_of(chunks),
        "documents": tuple(dict.fromkeys((one.collection, one.source_id, one.document_hash) for one in chunks)),
    }


def legs_of(chunks: Sequence[RetrievedChunk]) -> dict[str, int]:
    """How many passages the vector leg alone, the keyword leg alone, and both brought."""
    found = {"vector": 0, "keyword": 0, "both": 0}
    for chunk in chunks:
        if chunk.dense_rank is not None and chunk.keyword_rank is not None:
            found["both"] += 1
        elif chunk.dense_rank is not None:
            found["vector"] += 1
        elif chunk.keyword_rank is not None:
            found["keyword"] += 1
    return {leg: count for leg, count in found.items() if count}


def cache_hits(stages: Sequence[TraceStage]) -> dict[str, bool]:
    """Whether the passages were kept from an earlier question, as the first stage tells."""
    for stage in stages:
        cache = stage.details.get("cache")
        if stage.name == "understand" and isinstance(cache, Mapping):
            return {"results": bool(cache.get("hit"))}
    return {}
