"""Passages that are not relevant enough are left out."""

from collections.abc import Sequence

from elt_llm_query.retrieve.candidates import Candidate


def drop_below(candidates: Sequence[Candidate], minimum: float) -> tuple[list[Candidate], list[Candidate]]:
    """Those with at least the minimum score (0 to 1) and those below, each in order."""
    kept = [candidate for candidate in candidates if candidate.score >= minimum]
    dropped = [candidate for candidate in candidates if candidate.score < minimum]
    return kept, dropped


def drop_irrelevant(candidates: Sequence[Candidate], minimum: float) -> tuple[list[Candidate], list[Candidate], float]:
    """As `drop_below`, asked once more with half the minimum where nothing is left; and the minimum that held."""
    kept, dropped = drop_below(candidates, minimum)
    if kept or not dropped:
        return kept, dropped, minimum
    return *drop_below(candidates, minimum / 2), minimum / 2
