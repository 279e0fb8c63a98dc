"""From conditions to masks: which nodes of each collection a question may find, the same for every leg."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from elt_llm_core.errors import UsageError
from elt_llm_core.index.fields import Field, single_valued
from elt_llm_core.nearest_names import nearest_names
from llama_index.core.schema import QueryBundle
from numpy.typing import NDArray

from elt_llm_query.filters import Condition, chosen_values
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.wording import OtherNames

Mask = NDArray[np.bool_]
COLLECTION = "collection"
_OTHER_NAMES = {
    "type": "kind",
    "chunk_type": "kind",
    "topic": "topics",
    "organisation": "organisations",
    "organization": "organisations",
    "organizations": "organisations",
    "date": "dates",
    "author": "authors",
    "doc": "document",
}
_NEAREST_AMONG = 2000  # values; telling near ones apart takes too long beyond


@dataclass
class MaskedBundle(QueryBundle):
    """A question for one collection with the mask of the nodes it may find, shape (nodes,); None is all.

    A leg brings no more than `most` for it, where that is less than it would. `vector` is the question's, as an array.
    """

    mask: Mask | None = None
    names: tuple[OtherNames, ...] = ()
    most: int | None = None
    vector: NDArray[np.float32] | None = None


def bounded(top_k: int, question: QueryBundle) -> int:
    """How many hits a leg that would bring `top_k` brings for this question."""
    most = question.most if isinstance(question, MaskedBundle) else None
    return top_k if most is None else min(top_k, most)


@dataclass(frozen=True)
class Masks:
    """One mask per collection, in their order, and what has to be told about them.

    `of_documents`: every condition is about whole documents, so that around what is left nothing is left out.
    """

    masks: tuple[Mask, ...]
    notes: tuple[str, ...]
    of_documents: bool


def masks_of(conditions: Sequence[Condition], generations: Sequence[Searchable]) -> Masks:
    """What all conditions leave of each generation. Raises UsageError for fields that are not there, wrong values."""
    masks = [np.ones(len(generation.ids), dtype=bool) for generation in generations]
    notes: list[str] = []
    of_documents = True
    for condition in conditions:
        fields = _fields_of(condition, generations)
        of_documents &= condition.field == COLLECTION or not any(field and field.rows is None for field in fields)
        named = [None if field is None else chosen_values(field, condition) for field in fields]
        masks = [
            mask & _fulfilling(condition, field, chosen, len(mask))
            for mask, field, chosen in zip(masks, fields, named, strict=True)
        ]
        notes.extend(_nothing_has(condition, [field for field in fields if field is not None]))
    if conditions and not any(mask.any() for mask in masks):
        listed = " and ".join(str(condition) for condition in conditions)
        notes.append(f"The filter leaves no passage: {listed}.")
    return Masks(tuple(masks), tuple(notes), of_documents)


def _fulfilling(condition: Condition, field: Field | None, chosen: Mask | None, nodes: int) -> Mask:
    found = np.zeros(nodes, dtype=bool) if field is None or chosen is None else field.having(chosen)
    return ~found if condition.denies else found


def _fields_of(condition: Condition, generations: Sequence[Searchable]) -> list[Field | None]:
    """The field that a condition means in each generation; None where a generation has none of that name."""
    if condition.field == COLLECTION:
        return [single_valued(COLLECTION, "text", [one.collection] * len(one.ids)) for one in generations]
    found = []
    for generation in generations:
        fields = generation.filter_fields
        field = fields.get(condition.field) or fields.get(_OTHER_NAMES.get(condition.field, ""))
        if field is None and not fields.complete:
            raise UsageError(
                f"Collection '{generation.collection}' was published by an earlier version:"
                f" it cannot be filtered by '{condition.field}' yet.",
                hint=f"Run: elt-llm ingest -c {generation.collection} --rebuild",
            )
        found.append(field)
    if found and not any(found):
        known = sorted({name for generation in generations for name in generation.filter_fields.names} | {COLLECTION})
        raise UsageError(f"There is no field '{condition.field}'.", hint=nearest_names(condition.field, known))
    return found


def _nothing_has(condition: Condition, fields: Sequence[Field]) -> Iterator[str]:
    """Which operands name no passage's value, all together or each, and which values of a text come near them."""
    alone = [replace(condition, operands=(operand,)) for operand in condition.operands]
    without = [one for one in alone if not any(chosen_values(field, one).any() for field in fields)]
    if not without:
        return
    values = [value for field in fields if field.type in ("text", "path") for value in field.values[:_NEAREST_AMONG]]
    for one in [replace(without[0], operands=condition.operands)] if len(without) == len(alone) else without:
        near = nearest_names(one.operands[0], [str(value) for value in values])
        yield f"No passage has a value that this names: {one}. {near}".rstrip()
