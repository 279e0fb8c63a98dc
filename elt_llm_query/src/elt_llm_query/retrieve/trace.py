"""The trace of one question: timed stages, and one record of details for each kind of stage.

A stage is stored as `TraceStage`, whose details are plain JSON. Code that runs a stage fills in a `StageDetails`
record; code that reads a trace restores the record with `of`, `last` or `all`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NotRequired, Self, TypedDict

from elt_llm_core.results import TraceStage

Ranking = Sequence[tuple[str, float]]  # node ids with their scores, best first
LeftOut = Sequence[str] | Mapping[str, str]  # ids of nodes left out; in a mapping, each with the node read instead

# The reasons for leaving a candidate out, in the order in which they are applied.
REASONS = (
    "beyond the reranker's budget",
    "below min_relevance_score",
    "same text as another",
    "same parent as another",
    "nearly the same as another",
    "beyond max_per_source",
    "merged with one it touches",
    "beyond llm.max_context_tokens",
    "beyond top_k",
)


class RetrieverHits(TypedDict):
    """The rankings of both retrievers in one collection."""

    dense: Ranking
    keyword: Ranking


class ScoreParts(TypedDict):
    """The collection of a candidate and the metrics from which its score is computed."""

    collection: str
    cosine: float | None
    keyword_score: float | None
    coverage: float | None
    order: float | None


class PoolScale(TypedDict):
    """What determines how the scores of one collection's candidates are scaled.

    `candidates` is their number, `attainable` the greatest keyword score that the question could have, and `embedding`
    the fingerprint of the embedding model. `attainable` or `embedding` is None if keywords or vectors are not used.
    `weight` is the weight of cosines relative to keyword scores if it differs from that of the stage: for a question in
    another language than the collection, a text that is not English, or a multilingual embedding model.
    """

    candidates: int
    attainable: float | None
    embedding: str | None
    weight: NotRequired[float]


def _keyed(key: str) -> Any:
    """Declare a field that has the name `key` in the JSON, and that the JSON omits if its value is None."""
    return field(default=None, metadata={"key": key, "optional": True})


@dataclass(frozen=True, kw_only=True)
class StageDetails:
    """The details that are recorded for one kind of stage. `stage` is the name of this kind in the trace."""

    stage: ClassVar[str] = ""

    @classmethod
    def of(cls, stage: TraceStage) -> Self:
        """Read the details of a stage. Details that are missing get their default values."""
        keys = {item.metadata.get("key", item.name): item.name for item in fields(cls)}
        return cls(**{keys[key]: value for key, value in stage.details.items() if key in keys})

    @classmethod
    def all(cls, stages: Sequence[TraceStage]) -> list[Self]:
        """Read the details of every stage of this kind, in order."""
        return [cls.of(stage) for stage in stages if stage.name == cls.stage]

    @classmethod
    def last(cls, stages: Sequence[TraceStage]) -> Self:
        """Read the details of the last stage of this kind; without such a stage, return the default values."""
        return next((cls.of(stage) for stage in reversed(stages) if stage.name == cls.stage), cls())

    def as_json(self) -> dict[str, Any]:
        """Return the details as JSON values, by their names in the trace."""
        values = ((item, getattr(self, item.name)) for item in fields(self))
        return {
            item.metadata.get("key", item.name): value
            for item, value in values
            if value is not None or not item.metadata.get("optional")
        }


@dataclass(frozen=True, kw_only=True)
class UnderstandDetails(StageDetails):
    """The analysis of the question."""

    stage: ClassVar[str] = "understand"
    language: str = ""
    intent: str = ""
    expects: str = ""
    entities: Sequence[str] = ()
    years: Sequence[str] = ()
    dates: Sequence[str] = ()
    numbers: Sequence[str] = ()
    keyword_likeness: float = field(default=0.0, metadata={"key": "keyword likeness"})
    corrected: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    suggested: Sequence[str] = field(default=(), metadata={"key": "could be narrowed with --where"})
    question: str = ""
    strategy: str = ""
    cache: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FilterDetails(StageDetails):
    """The filter conditions and, for each collection, how many nodes they allow (`left`) out of all (`of_all`)."""

    stage: ClassVar[str] = "filter"
    where: Sequence[str] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    of_all: Mapping[str, int] = field(default_factory=dict, metadata={"key": "of"})


@dataclass(frozen=True, kw_only=True)
class ChooseDetails(StageDetails):
    """The strategy that `auto` chose, and the reason."""

    stage: ClassVar[str] = "choose"
    strategy: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RouteDetails(StageDetails):
    """The score of each collection for the question, and whether the collection is searched."""

    stage: ClassVar[str] = "route"
    question: str = ""
    keywords: str = ""
    collections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    common_names: Sequence[str] = field(default=(), metadata={"key": "names in too many"})


@dataclass(frozen=True, kw_only=True)
class EmbedDetails(StageDetails):
    """The texts that were embedded for one query variant."""

    stage: ClassVar[str] = "embed"
    question: str = ""
    hypothetical_answers: Sequence[str] = field(default=(), metadata={"key": "hypothetical answers"})
    cache: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RetrieveDetails(StageDetails):
    """For each collection, what both retrievers found, and how many candidates each was allowed to return."""

    stage: ClassVar[str] = "retrieve"
    keywords: str = ""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    budget: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    collections: Mapping[str, RetrieverHits] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FuseDetails(StageDetails):
    """The fused ranking of each collection. `weights` is None if only one retriever was used."""

    stage: ClassVar[str] = "fuse"
    method: str = ""
    weights: Mapping[str, float] | None = None
    collections: Mapping[str, Ranking] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RankingDetails(StageDetails):
    """A ranking over all collections. `parts` has the metrics behind each score, in the same order."""

    ranking: Ranking = ()
    parts: Sequence[tuple[str, ScoreParts]] = ()


@dataclass(frozen=True, kw_only=True)
class RerankDetails(RankingDetails):
    """One reranking. The last three fields are set only by rerankers that call a model."""

    stage: ClassVar[str] = "rerank"
    question: str = ""
    method: str = ""
    weight: float = 0.0
    collections: Mapping[str, PoolScale] = field(default_factory=dict)
    budget: Mapping[str, Mapping[str, int]] | None = _keyed("budget")
    beyond_budget: Sequence[str] | None = _keyed("beyond the reranker's budget")
    model_scores: Sequence[tuple[str, float | None]] | None = _keyed("model scores")


@dataclass(frozen=True, kw_only=True)
class CombineDetails(RankingDetails):
    """The combined ranking of all search passes for a question, and the queries of the passes after the first."""

    stage: ClassVar[str] = "combine"
    variants: Sequence[str] | None = _keyed("variants")
    follow_ups: Sequence[Mapping[str, str]] | None = _keyed("follow-ups")


@dataclass(frozen=True, kw_only=True)
class ShapeDetails(StageDetails):
    """The final ranking, and the nodes that were left out of it, grouped by reason."""

    stage: ClassVar[str] = "shape"
    top_k: int = 0
    min_relevance_score: float = 0.0
    ranking: Ranking = ()
    read_whole: Sequence[str] | None = _keyed("read whole")
    read_wider: Mapping[str, Sequence[int]] | None = _keyed("read wider")
    lowered_minimum: float | None = _keyed("lowered min_relevance_score")
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the details by their names in the trace; each reason in `left_out` becomes an entry of its own."""
        details = super().as_json()
        del details["left_out"]
        return {**details, **self.left_out}


@dataclass(frozen=True, kw_only=True)
class ExplainDetails(StageDetails):
    """The words of the question and the outcome of every candidate, per collection."""

    stage: ClassVar[str] = "explain"
    terms: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    chunks: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    near_misses: Sequence[Mapping[str, Any]] = field(default=(), metadata={"key": "near misses"})


def last_ranking(stages: Sequence[TraceStage]) -> RankingDetails:
    """Return the last ranking over all collections; an empty ranking if the trace has none."""
    return next((RankingDetails.of(stage) for stage in reversed(stages) if "parts" in stage.details), RankingDetails())


def left_out_by_reason(stage: TraceStage) -> dict[str, LeftOut]:
    """Return the nodes that a stage left out, by reason."""
    return {reason: stage.details[reason] for reason in REASONS if reason in stage.details}


def traced_budget(stages: Sequence[TraceStage]) -> dict[str, dict[str, int]]:
    """Return how many candidates each collection may and did contribute, by collection name.

    Each entry is like {"of each retriever": 100, "nodes": 540, "brought": 163}: the limit of each retriever, the number
    of searchable nodes, and the number of candidates. A reranker that calls a model adds "read", how many it read. The
    values are those of the last search pass.
    """
    budgets: dict[str, dict[str, int]] = {}
    for stage in stages:
        for name, budget in stage.details.get("budget", {}).items():
            budgets.setdefault(name, {}).update(budget)
    return budgets


@dataclass
class OpenStage:
    """A stage of the search that is still running."""

    kept: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    def record(self, kept: int, details: StageDetails) -> None:
        """Set the number of items that the stage kept, and its details."""
        self.kept, self.details = kept, details.as_json()


class StageLog:
    """The stages of one question, in order."""

    def __init__(self) -> None:
        self._stages: list[TraceStage] = []

    @contextmanager
    def stage(self, name: str, started: float | None = None) -> Iterator[OpenStage]:
        """Time the block, and append a stage unless it raises an error. Time counts from `started` (perf_counter)."""
        since, current = time.perf_counter() if started is None else started, OpenStage()
        yield current
        took_ms = (time.perf_counter() - since) * 1000
        self._stages.append(TraceStage(name=name, took_ms=took_ms, kept=current.kept, details=current.details))

    @property
    def stages(self) -> tuple[TraceStage, ...]:
        """The finished stages."""
        return tuple(self._stages)
