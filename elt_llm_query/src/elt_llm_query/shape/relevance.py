"""Passages that are not relevant enough are left out."""

from collections.abc import Sequence

from elt_llm_query.retrieve.candidates import Candidate


def drop_below(candidates: Sequence[Candidate], minimum: float) -> tuple[list[Candidate], list[Candidate]]:
    """Those with at least the minimum score (0 to 1) and those below, each in order."""
    kept = [candidate for candidate in candidates if candidate.score >= minimum]
    dropped = [candidate for candidate in candidates if candidate.score < minimum]
    return kept, dropped
