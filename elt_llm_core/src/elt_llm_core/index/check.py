"""Checking an index against the arrays it was made from, before anybody is shown it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.index.arrays import Arrays, best_places
from elt_llm_core.index.chroma import IdVectorStore

SAMPLE = 200
DEPTH = 10
MINIMUM_RECALL = 0.99
_ROUNDING = 1e-5
_ROWS_AT_ONCE = 100  # rows of cosines to every node are held at a time


def index_faults(store: IdVectorStore, arrays: Arrays, changed: Sequence[str]) -> list[str]:
    """What is wrong with a vector index, in sentences; empty if it holds what `arrays` hold and finds it.

    Every changed node and `SAMPLE` others must find themselves, and recall@10 against exact search over these
    must reach `MINIMUM_RECALL`. A neighbour as near as the tenth nearest counts as found, for ties have no order.
    """
    if not len(arrays.ids):
        return []
    if store.all_ids() != arrays.ids_at(np.arange(len(arrays.ids))):
        return ["Chroma and the arrays do not hold the same ids."]
    places = _places_to_try(arrays, changed)
    lost, recalls = 0, []
    for start in range(0, len(places), _ROWS_AT_ONCE):
        batch = places[start : start + _ROWS_AT_ONCE]
        asked = np.ascontiguousarray(arrays.vectors[batch])
        found, _ = store.nearest(asked, min(DEPTH, len(arrays.ids)))
        for place, ids, cosines in zip(batch, found, asked @ arrays.vectors.T, strict=True):
            itself, recall = _judge(arrays, int(place), ids, cosines)
            lost += not itself
            recalls.append(recall)
    faults = [f"{lost} of {len(places)} nodes do not find themselves."] if lost else []
    if np.mean(recalls) < MINIMUM_RECALL:
        faults.append(f"Recall@{DEPTH} against exact search is {np.mean(recalls):.3f}.")
    return faults


def _judge(arrays: Arrays, place: int, ids: list[str], cosines: NDArray[np.float32]) -> tuple[bool, float]:
    """Whether a node found itself, and which share of its nearest; `cosines` are its own to every node."""
    best = cosines[best_places(cosines, min(DEPTH, len(cosines)))]
    found = cosines[arrays.positions(ids)]
    itself = arrays.ids_at(np.array([place]))[0] in ids or bool(np.all(found >= cosines[place] - _ROUNDING))
    recall = float(np.mean(np.sort(found)[::-1] >= best - _ROUNDING)) if len(found) == len(best) else 0.0
    return itself, recall


def _places_to_try(arrays: Arrays, changed: Sequence[str]) -> NDArray[np.int64]:
    spread = np.linspace(0, len(arrays.ids) - 1, min(SAMPLE, len(arrays.ids))).astype(np.int64)
    return np.unique(np.concatenate([spread, arrays.positions(changed)]))
