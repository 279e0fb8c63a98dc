"""Small passages are matched, the larger ones they were cut from are read."""

from collections.abc import Iterable
from dataclasses import replace

from elt_llm_query.shape.passages import Passage

Span = tuple[int, int]


def parent_span(passage: Passage) -> Span | None:
    """The span of the passage's parent in its document; None where it was cut without one."""
    start, end = (passage.node.metadata.get(key) for key in ("parent_start", "parent_end"))
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def merge_siblings(passages: Iterable[Passage]) -> list[Passage]:
    """The best-ranked child of each parent, in order, all children found as its matches; others stay as they are."""
    merged: dict[object, Passage] = {}
    for passage in passages:
        parent = parent_span(passage)
        key = (passage.document, parent) if parent else passage.node.node_id
        best = merged.get(key)
        if best is None:
            merged[key] = replace(passage, matches=(passage.node,)) if parent else passage
        else:
            merged[key] = joined(best, passage)
    return list(merged.values())


def joined(best: Passage, other: Passage) -> Passage:
    """The better passage with what was matched in both, by its place, and the other places of both their texts."""
    matches = {node.node_id: node for one in (best, other) for node in (one.matches or (one.node,))}
    return replace(
        best,
        matches=tuple(sorted(matches.values(), key=lambda node: (node.start, node.end))),
        alternates=(*best.alternates, *other.alternates),
    )
