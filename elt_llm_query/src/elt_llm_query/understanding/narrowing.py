"""Filtering by what a question suggests: only where something is left, and never without saying so."""

from collections.abc import Sequence
from dataclasses import replace

from elt_llm_query.filters import Condition, parse_conditions
from elt_llm_query.retrieve.masks import Masks, masks_of
from elt_llm_query.retrieve.searchable import Searchable


def narrowed(
    conditions: Sequence[Condition], suggested: Sequence[str], generations: Sequence[Searchable]
) -> tuple[Masks, tuple[Condition, ...]]:
    """What the conditions and the suggested ones leave of each generation, and the conditions that were heeded.

    The suggested ones are dropped if they leave nothing. Raises UsageError for conditions that cannot be.
    """
    given = tuple(conditions)
    if not suggested:
        return masks_of(given, generations), given
    both = (*given, *parse_conditions(suggested))
    limits = masks_of(both, generations)
    listed = " and ".join(suggested)
    if any(mask.any() for mask in limits.masks):
        told = f"Only passages with {listed} were looked for, which the question names (query.filters_from_question)."
        return replace(limits, notes=(told, *limits.notes)), both
    limits = masks_of(given, generations)
    told = f"No passage has {listed}, which the question names: it was looked for without."
    return replace(limits, notes=(told, *limits.notes)), given
