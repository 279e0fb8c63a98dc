"""A large generation's usearch index: an immutable, memory-mapped graph of half-precision vectors."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult
from numpy.typing import NDArray

from elt_llm_core.index.contents import (
    MIN_RECALL,
    RECALL_DEPTH,
    ROUNDING,
    SAMPLE_SIZE,
    GenerationArrays,
    SegmentedVectors,
    damaged,
    recall,
    search_faults,
    top_positions,
)
from elt_llm_core.index.vector_index import ExactVectorStore, ReadOnlyVectorStore
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.utilities import onnx_library

if TYPE_CHECKING:
    from usearch.index import Index

USEARCH_FOLDER, GRAPH_NAME = "usearch", "graph.usearch"
# Candidates that a search examines: the greatest of 256, a 500th of the vectors, and the number in the settings.
_EXAMINED, _ONE_EXAMINED_OF = 256, 500
_FURTHER = 32  # additional results, in case of ties and unused vectors
_ADDED_AT_ONCE = 50_000  # vectors
_TIE = 1e-6  # a smaller difference of cosines is rounding


def _index_class() -> "type[Index]":
    """Import usearch, but onnxruntime first: in the other order, onnxruntime would later crash the process."""
    onnx_library()
    from usearch.index import Index

    return Index


def build_graph(directory: Path, vectors: NDArray[np.float32], settings: ChromaSettings) -> None:
    """Build a graph of these vectors in a new folder in `directory`.

    A single thread inserts the vectors in order, so that equal vectors give equal files.
    """
    links, candidates = settings.for_size(len(vectors))
    graph = _index_class()(
        ndim=vectors.shape[1],
        metric="ip",
        dtype="f16",
        connectivity=links,
        expansion_add=candidates,
        enable_key_lookups=False,
    )
    for start in range(0, len(vectors), _ADDED_AT_ONCE):  # usearch copies what it adds
        rows = np.arange(start, min(start + _ADDED_AT_ONCE, len(vectors)), dtype=np.uint64)
        graph.add(rows, vectors[start : start + _ADDED_AT_ONCE], threads=1)
    (directory / USEARCH_FOLDER).mkdir()
    graph.save(directory / USEARCH_FOLDER / GRAPH_NAME)


class GraphVectorStore(ReadOnlyVectorStore):
    """A vector store that finds candidates in the graph and ranks them exactly, together with newer vectors.

    The graph has the vectors of the last build from scratch; those no longer in use are skipped. Vectors added since
    then ("changed") are not in the graph, and every search compares all of them.
    """

    _arrays: GenerationArrays = PrivateAttr()
    _exact: ExactVectorStore = PrivateAttr()
    _graph: "Index" = PrivateAttr()
    _lock: threading.Lock = PrivateAttr()
    _positions: NDArray[np.int32] | None = PrivateAttr(default=None)
    _changed: NDArray[np.int64] = PrivateAttr()

    def __init__(self, directory: Path, arrays: GenerationArrays, settings: ChromaSettings) -> None:
        """Map the graph of a generation into memory. Raises CorruptIndex if it does not fit the arrays."""
        super().__init__()
        path, vectors = directory / USEARCH_FOLDER / GRAPH_NAME, arrays.vectors
        size = len(vectors.unchanged) if isinstance(vectors, SegmentedVectors) else len(vectors)
        try:
            graph = _index_class().restore(path, view=True, enable_key_lookups=False)
        except (ValueError, RuntimeError, OSError) as error:
            raise damaged(path, error) from error
        if graph is None or (len(graph), graph.ndim) != (size, vectors.shape[1]):
            raise damaged(path, "it does not contain the generation's vectors")
        graph.expansion_search = max(_EXAMINED, size // _ONE_EXAMINED_OF, settings.ef_search)  # type: ignore[misc]
        self._arrays, self._exact, self._graph, self._lock = arrays, ExactVectorStore(arrays), graph, threading.Lock()
        self._changed = np.zeros(0, dtype=np.int64)
        if isinstance(vectors, SegmentedVectors):
            recent = vectors.rows >= size
            self._changed = np.flatnonzero(recent)
            self._positions = np.full(size, -1, dtype=np.int32)  # by row of the graph; -1 if it is unused
            self._positions[vectors.rows[~recent]] = np.flatnonzero(~recent)

    def query(self, query: VectorStoreQuery, **_: object) -> VectorStoreQueryResult:
        """Return the ids and cosines of the nearest vectors, best first, ties by id."""
        vector = np.array(query.query_embedding, dtype=np.float32)
        count = min(query.similarity_top_k, len(self._arrays.ids))
        places, cosines, least = self.candidates(vector, count + _FURTHER)
        order = top_positions(cosines, count)
        # If the last result ties with the worst candidate, vectors that are not candidates may tie with it, too.
        if len(order) < count or (count and cosines[order[-1]] - least <= _TIE):
            return self._exact.query(query)
        return VectorStoreQueryResult(ids=self._arrays.ids_at(places[order]), similarities=cosines[order].tolist())

    def candidates(
        self, vector: NDArray[np.float32], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], float]:
        """Find `count` vectors in the graph that are near `vector`, and add all that are newer than the graph.

        Returns their positions, ascending, their cosines, and the least cosine among those from the graph, or -inf if
        the graph has no further vectors.
        """
        with self._lock:  # a search uses memory in the index that threads must not share
            rows = self._graph.search(vector, min(count, len(self._graph)), threads=1).keys.astype(np.int64)
        places = np.sort(rows) if self._positions is None else np.sort(self._positions[rows]).astype(np.int64)
        places = places[places >= 0]
        cosines = self._arrays.vectors[places] @ vector
        least = float(cosines.min(initial=1)) if count < len(self._graph) else -np.inf
        if isinstance(self._arrays.vectors, SegmentedVectors):
            places = np.concatenate([places, self._changed])
            cosines = np.concatenate([cosines, self._arrays.vectors.changed @ vector])
            ascending = np.argsort(places, kind="stable")
            places, cosines = places[ascending], cosines[ascending]
        return places, cosines, least


KEPT_SAMPLE, MIN_KEPT_RECALL = 20, 0.9  # for a kept graph, whose recall was measured when it was built


def graph_faults(store: GraphVectorStore, arrays: GenerationArrays, *, fresh: bool) -> list[str]:
    """Return the faults of a graph: too many nodes that are not found by their own vectors, or insufficient recall.

    The vectors of a fixed sample of nodes are searched for and the results compared with exact search. Vectors added
    since the graph was built need no check, because every search compares them exactly.
    """
    size = min(SAMPLE_SIZE if fresh else KEPT_SAMPLE, len(arrays.ids))
    sample = np.unique(np.linspace(0, len(arrays.ids) - 1, size).astype(np.int64))
    lost, recalls = 0, []
    for batch in np.array_split(sample, -(-len(sample) // KEPT_SAMPLE)):
        vectors = np.ascontiguousarray(arrays.vectors[batch])
        for vector, cosines in zip(vectors, (arrays.vectors @ vectors.T).T, strict=True):
            lost += store.candidates(vector, RECALL_DEPTH)[1].max(initial=-1) < vector @ vector - ROUNDING
            best = cosines[top_positions(cosines, RECALL_DEPTH)]
            query = VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=RECALL_DEPTH)
            recalls.append(recall(np.array(store.query(query).similarities, dtype=np.float32), best))
    least = MIN_RECALL if fresh else MIN_KEPT_RECALL
    return search_faults(lost, recalls, least, most_lost=(1 - least) * len(sample))
