"""The stage `explain` of a trace: names for the ids, matched words, what became of every candidate."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.store.records import StoredNode

from elt_llm_query.explain.outcomes import Key, Outcome, near_misses, outcomes_of
from elt_llm_query.explain.words import Matched, QuestionWords
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.retrieve.wording import OtherNames

_BEGINNING = 120  # characters of a passage by which people know it again


def explain(
    stages: Sequence[TraceStage], chunks: Sequence[RetrievedChunk], generations: Sequence[Searchable]
) -> TraceStage:
    """One more stage that makes the others readable; `chunks` are the passages that were found.

    Its details: `terms` of the question in each collection; `passages` by collection and node id, each with its
    place, how it begins, the words of the question it has and what became of it; `outcomes`, how many candidates
    ended which way; `near misses`.
    """
    log = StageLog()
    with log.stage("explain") as stage:
        asked = " ".join(dict.fromkeys(one.details["keywords"] for one in stages if one.name == "retrieve"))
        names = _other_names(stages)
        outcomes = outcomes_of(stages, chunks)
        named: dict[str, dict[str, Any]] = {}
        terms: dict[str, Any] = {}
        by_collection: dict[str, list[str]] = defaultdict(list)
        for collection, node_id in outcomes:
            by_collection[collection].append(node_id)
        searched = {name for one in stages if one.name == "retrieve" for name in one.details["collections"]}
        for generation in (one for one in generations if one.collection in searched):
            words = QuestionWords(asked, generation, names)
            terms[generation.collection] = [term.as_dict() for term in words.terms]
            node_ids = by_collection.get(generation.collection, [])
            named[generation.collection] = _named(generation, node_ids, words, outcomes)
        stage.kept = len(outcomes)
        stage.details["terms"] = terms
        stage.details["passages"] = named
        stage.details["outcomes"] = dict(Counter(outcome.reason for outcome in outcomes.values()))
        stage.details["near misses"] = near_misses(stages, outcomes)
    return log.stages[0]


def _other_names(stages: Sequence[TraceStage]) -> list[OtherNames]:
    """The other names that any search looked for."""
    told = (one.details.get("names", {}) for one in stages if one.name == "retrieve")
    return [OtherNames(name, tuple(others)) for names in told for name, others in names.items()]


def _named(
    generation: Searchable, node_ids: Sequence[str], words: QuestionWords, outcomes: Mapping[Key, Outcome]
) -> dict[str, Any]:
    stems = generation.stems(node_ids)
    return {
        node.node_id: _passage(node, words.matched(own), outcomes[generation.collection, node.node_id])
        for node, own in zip(generation.nodes(node_ids), stems, strict=True)
    }


def _passage(node: StoredNode, matched: Matched, outcome: Outcome) -> dict[str, Any]:
    return {
        "source": node.source,
        "title": node.title,
        "page": node.page,
        "section": node.section,
        "span": [node.start, node.end],
        "begins": " ".join(node.text[: 2 * _BEGINNING].split())[:_BEGINNING],
        "matched": list(matched.words),
        "matched in part": list(matched.within),
        "outcome": outcome.reason,
        "place": outcome.place,
        "instead": outcome.instead,
    }
