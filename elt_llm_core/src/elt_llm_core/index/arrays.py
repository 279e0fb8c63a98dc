"""Plain arrays of a generation, all in the order of ids.npy: exact search and exact filters rest on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex

MAPPED_FROM = 512 * 1024  # bytes: a file that is mapped keeps a descriptor open, of which a process has a thousand
IDS_NAME, VECTORS_NAME, FIELDS_NAME = "ids.npy", "vectors.npy", "fields"


@dataclass(frozen=True)
class Arrays:
    """`ids` sorted, shape (n,), ASCII; `vectors` (n, dimension) float32, rows of length 1; each field (n,)."""

    ids: NDArray[np.bytes_]
    vectors: NDArray[np.float32]
    fields: Mapping[str, NDArray[np.int64]]

    def positions(self, node_ids: Sequence[str]) -> NDArray[np.int64]:
        """Where these ids stand. Raises CorruptIndex if one is not there."""
        wanted = np.array([node_id.encode() for node_id in node_ids], dtype="S")  # as long as they are: never cut
        found = np.searchsorted(self.ids, wanted).astype(np.int64)
        if len(wanted) and not (
            len(self.ids) and np.array_equal(self.ids[np.minimum(found, len(self.ids) - 1)], wanted)
        ):
            raise CorruptIndex("An index names a node that is not in ids.npy.", hint="Run: elt-llm verify")
        return found

    def ids_at(self, positions: NDArray[np.int64]) -> list[str]:
        """The ids at these places."""
        return [bytes(value).decode() for value in self.ids[positions]]

    def exact_search(
        self, vector: NDArray[np.float32], top_k: int, mask: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Places and cosines of the `top_k` nearest, best first, ties by id; `mask` of shape (n,) leaves others out."""
        cosines = self.vectors @ vector.astype(np.float32)
        if mask is not None:
            cosines = np.where(mask, cosines, -np.inf).astype(np.float32)
        order = best_places(cosines, top_k)
        order = order[np.isfinite(cosines[order])]
        return order, cosines[order]


def best_places(scores: NDArray[np.float32], top_k: int) -> NDArray[np.int64]:
    """Places of the `top_k` highest scores, best first, ties by place."""
    count = min(top_k, len(scores))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= threshold)
    return places[np.lexsort((places, -scores[places]))][:count].astype(np.int64)


def write_arrays(directory: Path, arrays: Arrays) -> None:
    """Write all arrays into a new directory."""
    _save(directory / IDS_NAME, arrays.ids)
    _save(directory / VECTORS_NAME, arrays.vectors)
    (directory / FIELDS_NAME).mkdir()
    for name, values in arrays.fields.items():
        _save(directory / FIELDS_NAME / f"{name}.npy", values)


def read_arrays(directory: Path) -> Arrays:
    """Open the arrays of a generation, vectors mapped from the disk. Raises CorruptIndex if one cannot be read."""
    vectors = _load(directory / VECTORS_NAME, mapped=True)
    ids = _load(directory / IDS_NAME, mapped=False)
    paths = sorted((directory / FIELDS_NAME).glob("*.npy"))
    fields = {path.stem: _load(path, mapped=path.stat().st_size >= MAPPED_FROM) for path in paths}
    if len(ids) != len(vectors) or any(len(values) != len(ids) for values in fields.values()):
        raise _corrupt(directory, "its arrays have different lengths")
    return Arrays(ids=ids, vectors=vectors, fields=fields)


def _save(path: Path, values: NDArray[Any]) -> None:
    with path.open("xb") as stream:
        np.save(stream, values, allow_pickle=False)


def _load(path: Path, *, mapped: bool) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _corrupt(path, str(error)) from error
    return np.asarray(loaded)  # still mapped, but a plain array, which is cut much faster


def _corrupt(path: Path, why: str) -> CorruptIndex:
    return CorruptIndex(f"{path} is damaged: {why}.", hint="Run: elt-llm verify")
