"""Explain a search: the outcome of each candidate, and the words of the question that the candidate matched."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.store.records import StoredNode
from elt_llm_core.text.normalise import split_words

from elt_llm_query.rerank.reranker import QuestionMatcher
from elt_llm_query.retrieve.fusion import NodeKey
from elt_llm_query.retrieve.query_variant import AlternativeNames, replace_alternatives, term_weights
from elt_llm_query.retrieve.trace import (
    ExplainDetails,
    RerankDetails,
    RetrieveDetails,
    ShapeDetails,
    StageLog,
    last_ranking,
    left_out_by_reason,
)

READ = "read"  # one of the final chunks, which the search returns
UNKNOWN_REASON = "not recorded"
NOT_RANKED = "not in the last ranking"  # a strategy with several passes may drop candidates
NEAR = 5  # chunks that are listed as near misses
# Reasons for leaving out a chunk whose text is still returned, as part of another chunk.
_READ_ELSEWHERE = {"same text as another", "same parent as another", "merged with one it touches"}


@dataclass(frozen=True)
class CandidateOutcome:
    """What happened to a candidate. `reason` is READ for one of the final chunks, else the reason why it was left out.

    `place` is the rank of a final chunk, from 1. `instead` is the id of the node that was kept in place of a candidate.
    """

    reason: str
    instead: str | None = None
    place: int | None = None


def traced_candidates(stages: Sequence[TraceStage]) -> list[NodeKey]:
    """Return every candidate in the trace once: those that were ranked, in their order, then all others."""
    found = [(parts["collection"], node_id) for stage in stages for node_id, parts in stage.details.get("parts", ())]
    for details in RetrieveDetails.all(stages):
        for collection, hits in details.collections.items():
            found += [(collection, node_id) for node_id, _ in (*hits["dense"], *hits["keyword"])]
    return list(dict.fromkeys(found))


def trace_outcomes(stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk]) -> dict[NodeKey, CandidateOutcome]:
    """Return the outcome of every candidate: READ for the final chunks, `chunks`, else the reason why it was left out.

    If the trace records no reason, it is UNKNOWN_REASON or, for a candidate that the last ranking lacks, NOT_RANKED.
    """
    read = {(one.collection, one.node_id): CandidateOutcome(READ, place=place) for place, one in enumerate(chunks, 1)}
    recorded: dict[str, CandidateOutcome] = {}
    # The last stage counts, because a later pass may have ranked a candidate that an earlier pass left out.
    for stage in reversed(stages):
        if stage.name in (RerankDetails.stage, ShapeDetails.stage):
            for reason, left_out in left_out_by_reason(stage).items():
                instead = left_out if isinstance(left_out, Mapping) else {}
                for node_id in left_out:
                    recorded.setdefault(node_id, CandidateOutcome(reason, instead.get(node_id)))
    ranked = {key for key, _ in _ranked(stages)}
    return {
        key: read.get(key) or recorded.get(key[1]) or CandidateOutcome(UNKNOWN_REASON if key in ranked else NOT_RANKED)
        for key in traced_candidates(stages)
    }


def near_misses(stages: Sequence[TraceStage], outcomes: Mapping[NodeKey, CandidateOutcome]) -> list[dict[str, Any]]:
    """Return the best candidates whose text is in no final chunk, best first, with the reason and a score difference.

    The difference, `lacked`, is how far the candidate's score is below the score that it needed: the lowest score of a
    final chunk, or the minimum relevance. It is None if the reason does not depend on the score.
    """
    ranked = _ranked(stages)
    read = [score for key, score in ranked if outcomes[key].reason == READ]
    shaped = any(stage.name == ShapeDetails.stage for stage in stages)
    minimum = ShapeDetails.last(stages).min_relevance_score if shaped else None
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


def _ranked(stages: Sequence[TraceStage]) -> list[tuple[NodeKey, float]]:
    details = last_ranking(stages)
    return [
        ((parts["collection"], node_id), score)
        for (_, parts), (node_id, score) in zip(details.parts, details.ranking, strict=True)
    ]


@dataclass(frozen=True)
class MatchedTerms:
    """The question's words in a chunk. Those in `within` match by another name, or as a part of a longer word."""

    words: tuple[str, ...]
    within: tuple[str, ...]


class QuestionTerms:
    """A question's words, weighted for one collection. `names` are names in the question, each with its other names."""

    def __init__(self, question: str, generation: Searchable, names: Sequence[AlternativeNames] = ()) -> None:
        tokeniser = generation.tokeniser
        stems = tokeniser.stems(question)
        written: dict[str, str] = {}
        for word in split_words(question):
            for stem in tokeniser.stems(word):
                written.setdefault(stem, word)
        weights = term_weights(stems, generation)
        frequencies = generation.frequencies(tuple(weights))
        self.terms: list[dict[str, Any]] = [
            {"written": written.get(stem, stem), "stem": stem, "weight": weight, "nodes": frequencies[stem]}
            for stem, weight in weights.items()
        ]
        """For each distinct stem: the word as written, the stem, its weight (0 or more), and how many nodes have it."""
        self._matcher = QuestionMatcher(stems, weights)
        self._names, self._generation = tuple(names), generation

    def matched(self, stems: Sequence[str]) -> MatchedTerms:
        """Return the words of the question that occur in a chunk with these stems."""
        named = replace_alternatives(stems, self._names, self._generation) if self._names else stems
        matched, present = self._matcher.matched([*stems, *named]), set(stems)
        words = tuple(dict.fromkeys(term["written"] for term in self.terms if term["stem"] in present))
        within = dict.fromkeys(term["written"] for term in self.terms if term["stem"] in matched - present)
        return MatchedTerms(words, tuple(word for word in within if word not in words))


_EXCERPT = 120  # characters of a chunk, enough to recognise the chunk


def explain_stage(
    stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk], generations: Sequence[Searchable]
) -> TraceStage:
    """Build a stage that explains the other stages; `chunks` are the result of the search.

    Its details contain the question's words for each collection (`terms`), a description and the outcome of every
    candidate (`chunks`), the number of candidates per outcome (`outcomes`), and the `near misses`.
    """
    log = StageLog()
    with log.stage(ExplainDetails.stage) as stage:
        retrieved = RetrieveDetails.all(stages)
        question = " ".join(dict.fromkeys(one.keywords for one in retrieved))
        names = [AlternativeNames(name, tuple(others)) for one in retrieved for name, others in one.names.items()]
        searched = {name for one in retrieved for name in one.collections}
        outcomes = trace_outcomes(stages, chunks)
        by_collection: dict[str, list[str]] = defaultdict(list)
        for collection, node_id in outcomes:
            by_collection[collection].append(node_id)
        terms: dict[str, list[dict[str, Any]]] = {}
        described: dict[str, dict[str, Any]] = {}
        for one in (one for one in generations if one.collection in searched):
            words, node_ids = QuestionTerms(question, one, names), by_collection[one.collection]
            terms[one.collection] = words.terms
            described[one.collection] = {
                node.node_id: _describe_chunk(node, words.matched(own), outcomes[one.collection, node.node_id])
                for node, own in zip(one.nodes(node_ids), one.stems(node_ids), strict=True)
            }
        details = ExplainDetails(
            terms=terms,
            chunks=described,
            outcomes=dict(Counter(outcome.reason for outcome in outcomes.values())),
            near_misses=near_misses(stages, outcomes),
        )
        stage.record(len(outcomes), details)
    return log.stages[0]


def _describe_chunk(node: StoredNode, matched: MatchedTerms, outcome: CandidateOutcome) -> dict[str, Any]:
    return {
        "source": node.source,
        "title": node.title,
        "page": node.page,
        "section": node.section,
        "span": [node.start, node.end],
        "excerpt": " ".join(node.text[: 2 * _EXCERPT].split())[:_EXCERPT],
        "matched": list(matched.words),
        "matched in part": list(matched.within),
        "outcome": outcome.reason,
        "place": outcome.place,
        "instead": outcome.instead,
    }
