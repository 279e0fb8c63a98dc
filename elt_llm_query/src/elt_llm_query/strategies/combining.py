"""Several rankings in one: what the rounds of a question brought, each passage once, with the score it ends with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from elt_llm_query.retrieve.candidates import Candidate, best_first
from elt_llm_query.retrieve.rounds import SearchRounds

Key = tuple[str, str]
"""Collection and node id."""


def key_of(candidate: Candidate) -> Key:
    """What tells a passage from every other."""
    return candidate.collection, candidate.node_id


def each_once(rankings: Iterable[Sequence[Candidate]]) -> dict[Key, Candidate]:
    """The candidates of all rankings; one that several have is kept as the first of them has it."""
    kept: dict[Key, Candidate] = {}
    for ranking in rankings:
        for candidate in ranking:
            kept.setdefault(key_of(candidate), candidate)
    return kept


def with_best_of(first: Sequence[Candidate], others: Sequence[Sequence[Candidate]], weight: float) -> list[Candidate]:
    """Scored by the first ranking and by `weight` times the best of the others; a ranking that lacks one gives 0.

    Best first, ties by node id; scores are within 0..1.
    """
    best: dict[Key, float] = {}
    for ranking in others:
        for candidate in ranking:
            best[key_of(candidate)] = max(best.get(key_of(candidate), 0.0), candidate.score)
    own = {key_of(candidate): candidate.score for candidate in first}
    return best_first(
        [
            replace(candidate, score=(own.get(key, 0.0) + weight * best.get(key, 0.0)) / (1.0 + weight))
            for key, candidate in each_once([first, *others]).items()
        ]
    )


def tell_combined(rounds: SearchRounds, candidates: Sequence[Candidate], details: Mapping[str, Any]) -> None:
    """Leave the stage `combine` in the trace, with the ranking that all rounds together end in."""
    with rounds.log.stage("combine") as stage:
        stage.kept = len(candidates)
        stage.details.update(details)
        stage.details["ranking"] = [(candidate.node_id, candidate.score) for candidate in candidates]
        stage.details["parts"] = [(candidate.node_id, candidate.parts()) for candidate in candidates]
