"""What became of each candidate, and what nearly came; read from the stages of a trace alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.results import RetrievedChunk, TraceStage

Key = tuple[str, str]
"""Collection and node id."""

READ = "read"
UNTOLD = "not told"
NOT_RANKED = "not in the last ranking"  # a strategy that searches several times need not take all that it finds
NEAR = 5  # passages that nearly came; who wants more has them in the ranking
# The reasons that stages tell, in the order in which they come into force.
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
# What these words are of is read all the same, in another passage.
_READ_ELSEWHERE = {"same text as another", "same parent as another", "merged with one it touches"}


@dataclass(frozen=True)
class Outcome:
    """`reason` is READ or why it was left out; `instead` the node that is read in its place.

    `place` is that among the passages that are read, from 1.
    """

    reason: str
    instead: str | None = None
    place: int | None = None


def candidates_of(stages: Iterable[TraceStage]) -> list[Key]:
    """Every candidate, the ranked ones first and in their order, each once."""
    keys: dict[Key, None] = {}
    told = list(stages)
    for stage in told:
        if "parts" in stage.details:
            keys |= dict.fromkeys((parts["collection"], node_id) for node_id, parts in stage.details["parts"])
    for stage in told:
        if stage.name == "retrieve":
            keys |= dict.fromkeys(_brought(stage.details["collections"]))
    return list(keys)


def _brought(collections: Mapping[str, Any]) -> Iterator[Key]:
    for collection, legs in collections.items():
        for name in ("dense", "keyword"):
            yield from ((collection, node_id) for node_id, _ in legs[name])


def outcomes_of(stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk]) -> dict[Key, Outcome]:
    """What became of every candidate: each is read, or left out for the first reason that was told of it."""
    read = {
        (chunk.collection, chunk.node_id): Outcome(READ, place=place) for place, chunk in enumerate(chunks, start=1)
    }
    told = _told(stages)
    ranked = {key for key, _ in _ranked(stages)}
    return {
        key: read.get(key) or told.get(key[1]) or Outcome(UNTOLD if key in ranked else NOT_RANKED)
        for key in candidates_of(stages)
    }


def _told(stages: Sequence[TraceStage]) -> dict[str, Outcome]:
    told: dict[str, Outcome] = {}
    # The last first: what one search left out another may have ranked.
    for details in (stage.details for stage in reversed(stages) if stage.name in ("rerank", "shape")):
        for reason in REASONS:
            left_out = details.get(reason, ())
            instead = left_out if isinstance(left_out, Mapping) else {}
            for node_id in left_out:
                told.setdefault(node_id, Outcome(reason, instead.get(node_id)))
    return told


def near_misses(stages: Sequence[TraceStage], outcomes: Mapping[Key, Outcome]) -> list[dict[str, Any]]:
    """The best few that are not read, best first, with the reason and the score they lacked.

    `lacked` is what was missing to the last that was read or, below the least relevance, to that; None where no
    score would have helped.
    """
    ranked = _ranked(stages)
    read = [score for key, score in ranked if outcomes[key].reason == READ]
    minimum = next((stage.details.get("min_relevance_score") for stage in stages if stage.name == "shape"), None)
    wanted = {"beyond top_k": min(read, default=None), "below min_relevance_score": minimum}
    missed = []
    for key, score in ranked:
        reason = outcomes[key].reason
        if reason == READ or reason in _READ_ELSEWHERE:
            continue
        least = wanted.get(reason)
        lacked = None if least is None or least < score else least - score
        missed.append({"collection": key[0], "node_id": key[1], "score": score, "reason": reason, "lacked": lacked})
    return missed[:NEAR]


def _ranked(stages: Sequence[TraceStage]) -> list[tuple[Key, float]]:
    """The last ranking with its scores, which brings together what a strategy searched for several times."""
    for details in (stage.details for stage in reversed(stages) if "parts" in stage.details):
        collections = [parts["collection"] for _, parts in details["parts"]]
        return [
            ((collection, node_id), score)
            for collection, (node_id, score) in zip(collections, details["ranking"], strict=True)
        ]
    return []
