"""The same text once, however many documents hold it."""

from collections.abc import Iterable
from dataclasses import replace

from elt_llm_query.shape.passages import Passage


def merge_equal_texts(passages: Iterable[Passage]) -> list[Passage]:
    """The best-ranked passage of each text, in order, the others as its alternates; white space at the ends aside."""
    merged: dict[str, Passage] = {}
    for passage in passages:
        text = passage.node.text.strip()
        best = merged.get(text)
        merged[text] = passage if best is None else replace(best, alternates=(*best.alternates, passage))
    return list(merged.values())
