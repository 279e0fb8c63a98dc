"""The same text once, however many documents hold it; and near doubles, and one document's share."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.shape.passages import Passage


def merge_equal_texts(passages: Iterable[Passage]) -> list[Passage]:
    """The best-ranked passage of each text, in order, the others as its alternates; white space at the ends aside."""
    merged: dict[str, Passage] = {}
    for passage in passages:
        text = passage.node.text.strip()
        best = merged.get(text)
        merged[text] = passage if best is None else replace(best, alternates=(*best.alternates, passage))
    return list(merged.values())


def near_doubles(similarity: NDArray[np.float64], threshold: float) -> dict[int, int]:
    """By index of each double: the better-ranked one it is like. `similarity` has shape (n, n), in ranked order.

    A passage is compared with those that are kept, so that a chain of likenesses does not carry far from its first.
    """
    kept: list[int] = []
    doubles: dict[int, int] = {}
    for index in range(len(similarity)):
        like = next((other for other in kept if similarity[index, other] > threshold), None)
        if like is None:
            kept.append(index)
        else:
            doubles[index] = like
    return doubles


def cap_per_source(passages: Sequence[Passage], most: int) -> tuple[list[Passage], list[Passage]]:
    """The first `most` passages of each document and those beyond, each in order."""
    seen: Counter[tuple[str, str]] = Counter()
    kept: list[Passage] = []
    beyond: list[Passage] = []
    for passage in passages:
        seen[passage.document] += 1
        (kept if seen[passage.document] <= most else beyond).append(passage)
    return kept, beyond
