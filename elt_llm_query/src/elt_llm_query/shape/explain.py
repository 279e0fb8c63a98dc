"""Explain a search: what became of each candidate and which words of the question it matched."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.collection.generation import Generation
from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.store.records import StoredNode
from elt_llm_core.text.normalise import split_words

from elt_llm_query.rerank.embedding import QuestionMatcher
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

Key = tuple[str, str]
"""Collection and node id."""

READ = "read"
UNKNOWN_REASON = "not recorded"
NOT_RANKED = "not in the last ranking"  # a strategy that searches several times need not use all its candidates
NEAR = 5  # best chunks that are not read; the rest are in the ranking
# Chunks whose text is read in another chunk.
_READ_ELSEWHERE = {"same text as another", "same parent as another", "merged with one it touches"}


@dataclass(frozen=True)
class CandidateOutcome:
    """`reason` is READ or why it was left out; `instead` the node that is read in its place.

    `place` is its rank among the chunks that are read, from 1.
    """

    reason: str
    instead: str | None = None
    place: int | None = None


def traced_candidates(stages: Sequence[TraceStage]) -> list[Key]:
    """Every candidate once, the ranked ones first and in their order."""
    ranked = [(parts["collection"], node_id) for stage in stages for node_id, parts in stage.details.get("parts", ())]
    retrieved = [
        (collection, node_id)
        for details in RetrieveDetails.all(stages)
        for collection, hits in details.collections.items()
        for node_id, _ in (*hits["dense"], *hits["keyword"])
    ]
    return list(dict.fromkeys([*ranked, *retrieved]))


def trace_outcomes(stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk]) -> dict[Key, CandidateOutcome]:
    """The outcome of every candidate: read, or left out for the first reason recorded."""
    read = {
        (chunk.collection, chunk.node_id): CandidateOutcome(READ, place=place)
        for place, chunk in enumerate(chunks, start=1)
    }
    recorded: dict[str, CandidateOutcome] = {}
    # The last stage first: what one pass left out another may have ranked.
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


def near_misses(stages: Sequence[TraceStage], outcomes: Mapping[Key, CandidateOutcome]) -> list[dict[str, Any]]:
    """The best few that are not read, best first, with the reason and the score they lacked.

    `lacked` is the distance to the last score that is read or, below the least relevance, to that; None if no score
    would have helped.
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


def _ranked(stages: Sequence[TraceStage]) -> list[tuple[Key, float]]:
    details = last_ranking(stages)
    return [
        ((parts["collection"], node_id), score)
        for (_, parts), (node_id, score) in zip(details.parts, details.ranking, strict=True)
    ]


@dataclass(frozen=True)
class QueryTerm:
    """A stem of the question: the word as written, its weight (0 or more) and in how many nodes it occurs."""

    written: str
    stem: str
    weight: float
    nodes: int


@dataclass(frozen=True)
class MatchedTerms:
    """Words of the question that a chunk has, in the question's order and spelling.

    `within` are those that it has by another name, as part of a longer word, or in part.
    """

    words: tuple[str, ...]
    within: tuple[str, ...]


class QuestionTerms:
    """The words of one question in one collection; `names` are alternatives of the names in it."""

    def __init__(self, question: str, generation: Generation, names: Sequence[AlternativeNames] = ()) -> None:
        tokeniser = generation.keyword.tokeniser
        stems = tokeniser.stems(question)
        written: dict[str, str] = {}
        for word in split_words(question):
            for stem in tokeniser.stems(word):
                written.setdefault(stem, word)
        weights = term_weights(stems, generation)
        frequency = generation.keyword.document_frequency
        self.terms = tuple(
            QueryTerm(written.get(stem, stem), stem, weight, frequency(stem)) for stem, weight in weights.items()
        )
        self._matcher = QuestionMatcher(stems, weights)
        self._names, self._generation = tuple(names), generation

    def matched(self, stems: Sequence[str]) -> MatchedTerms:
        """The words of the question in a chunk with these stems."""
        named = replace_alternatives(stems, self._names, self._generation) if self._names else stems
        matched, present = self._matcher.matched([*stems, *named]), set(stems)
        words = tuple(dict.fromkeys(term.written for term in self.terms if term.stem in present))
        within = dict.fromkeys(term.written for term in self.terms if term.stem in matched - present)
        return MatchedTerms(words, tuple(word for word in within if word not in words))


_EXCERPT = 120  # characters of a chunk by which people recognise it


def explain_stage(
    stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk], generations: Sequence[Generation]
) -> TraceStage:
    """Build one more stage that explains the others; `chunks` are the result of the search.

    Its details: `terms` of the question in each collection; `chunks` by collection and node id, each with its rank,
    an excerpt, the words of the question it has and its outcome; `outcomes`, the number of candidates per outcome;
    `near misses`.
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
        words = {
            one.collection: QuestionTerms(question, one, names) for one in generations if one.collection in searched
        }
        details = ExplainDetails(
            terms={name: [asdict(term) for term in its.terms] for name, its in words.items()},
            chunks={
                one.collection: _describe_candidates(
                    one, by_collection[one.collection], words[one.collection], outcomes
                )
                for one in generations
                if one.collection in searched
            },
            outcomes=dict(Counter(outcome.reason for outcome in outcomes.values())),
            near_misses=near_misses(stages, outcomes),
        )
        stage.record(len(outcomes), details)
    return log.stages[0]


def _describe_candidates(
    generation: Generation,
    node_ids: Sequence[str],
    words: QuestionTerms,
    outcomes: Mapping[Key, CandidateOutcome],
) -> dict[str, Any]:
    stems = generation.stems(node_ids)
    return {
        node.node_id: _describe_chunk(node, words.matched(own), outcomes[generation.collection, node.node_id])
        for node, own in zip(generation.nodes(node_ids), stems, strict=True)
    }


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
