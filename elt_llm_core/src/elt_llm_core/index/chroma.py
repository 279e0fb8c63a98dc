"""The Chroma index of a generation: LlamaIndex's ChromaVectorStore for ids and vectors, and checks of the index."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings as ClientSettings
from chromadb.errors import ChromaError
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery, VectorStoreQueryResult
from llama_index.vector_stores.chroma import ChromaVectorStore
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import (
    RECALL_DEPTH,
    ROUNDING,
    SAMPLE_SIZE,
    GenerationArrays,
    recall,
    search_faults,
    top_positions,
)
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.utilities import Closeable

_COLLECTION = "nodes"
_SMALL_TABLES = ("migrations", "tenants", "databases", "collections", "collection_metadata", "segments")
_TIE = 1e-6  # a smaller difference of cosines is rounding
# The exceptions of Chroma for a damaged, full or read-only directory, apart from panics of its Rust core.
_CHROMA_ERRORS = (ChromaError, ValueError, KeyError, OSError, RuntimeError)


class IdVectorStore(ChromaVectorStore):
    """A ChromaVectorStore that stores no text and no metadata and returns cosines as similarities.

    It corrects faults of its base class, which stores the text twice, fails above Chroma's batch limit, keeps the old
    vector when an id is added again, and returns exp(-distance) as the score.
    """

    stores_text: bool = False
    _exact: BasePydanticVectorStore | None = PrivateAttr(default=None)

    def __init__(self, collection: chromadb.Collection, exact: BasePydanticVectorStore | None = None) -> None:
        """Wrap a Chroma collection. If a tie in cosines makes the last result arbitrary, `exact` searches instead."""
        super().__init__(chroma_collection=collection)
        self._exact = exact

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Add the embeddings of nodes. If an id already exists, its vector is replaced."""
        ids = [node.node_id for node in nodes]
        self.put(ids, np.array([node.get_embedding() for node in nodes], dtype=np.float32))
        return ids

    def put(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add vectors of shape (len(ids), dimension), in batches within Chroma's limit."""
        for start in range(0, len(ids), self._slice):
            end = start + self._slice
            with _chroma_failures("write to its index"):
                self._collection.upsert(ids=list(ids[start:end]), embeddings=vectors[start:end])

    def delete_nodes(self, node_ids: list[str] | None = None, filters: Any = None, **_: Any) -> None:
        """Delete these ids. Filters are not supported, because no metadata is stored."""
        if filters is not None:
            raise NotImplementedError("This vector store keeps no metadata to filter by.")
        doomed = node_ids or []
        for start in range(0, len(doomed), self._slice):
            with _chroma_failures("write to its index"):
                self._collection.delete(ids=doomed[start : start + self._slice])

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return ids and cosines of the nearest vectors, best first. Raises CorruptIndex if Chroma fails."""
        count = query.similarity_top_k
        [ids], [cosines] = self.nearest(np.array([query.query_embedding], dtype=np.float32), count + 1)
        if self._exact is not None and len(ids) > count > 0 and cosines[count - 1] - cosines[count] <= _TIE:
            return self._exact.query(query)
        return VectorStoreQueryResult(ids=ids[:count], similarities=cosines[:count])

    def nearest(self, vectors: NDArray[np.float32], top_k: int) -> tuple[list[list[str]], list[list[float]]]:
        """Return ids and cosines of the vectors nearest to each query vector, best first, ties by id."""
        with _chroma_failures("search its index"):
            found = self._collection.query(query_embeddings=vectors, n_results=top_k, include=["distances"])
        ids, cosines = [], []
        for row_ids, row_distances in zip(found["ids"], found["distances"] or [], strict=True):
            ranked = sorted(zip(row_distances, row_ids, strict=True))
            ids.append([node_id for _, node_id in ranked])
            cosines.append([1.0 - float(distance) for distance, _ in ranked])
        return ids, cosines

    def all_ids(self) -> list[str]:
        """Return every id in the index, sorted."""
        with _chroma_failures("list its index"):
            return sorted(self._collection.get(include=[])["ids"])

    @property
    def _slice(self) -> int:
        return int(self._collection._client.get_max_batch_size())  # noqa: SLF001 - no public accessor


class ChromaIndex(Closeable):
    """An open Chroma directory. Closing it releases its files."""

    def __init__(self, client: ClientAPI, store: IdVectorStore) -> None:
        self._client = client
        self.store = store

    def close(self) -> None:
        """Close the client. The index cannot be used afterwards."""
        self._client.close()  # type: ignore[attr-defined]


def create_chroma(folder: Path, settings: ChromaSettings, size: int) -> ChromaIndex:
    """Create an empty index that writes its graph once it has `size` vectors. Raises CorruptIndex if Chroma fails."""
    writing = {"sync_threshold": max(2, size), "batch_size": max(2, min(100, size))}
    configuration = {"hnsw": {**settings.model_dump(), **writing}}
    with _open_client(folder, "create") as client:
        collection = client.create_collection(_COLLECTION, embedding_function=None, configuration=configuration)  # type: ignore[arg-type]
    return ChromaIndex(client, IdVectorStore(collection))


def open_chroma(folder: Path, exact: BasePydanticVectorStore | None = None) -> ChromaIndex:
    """Open an index. Raises CorruptIndex on failure.

    If the last result of a search has the same cosine as the best vector that was cut off, `exact` repeats the search.
    """
    if not (folder / "chroma.sqlite3").is_file():
        raise CorruptIndex(f"{folder} has no Chroma index.", hint="Run: elt-llm verify")
    _read_small_tables(folder / "chroma.sqlite3")
    with _open_client(folder, "open") as client:
        collection = client.get_collection(_COLLECTION, embedding_function=None)
    return ChromaIndex(client, IdVectorStore(collection, exact))


def _read_small_tables(path: Path) -> None:
    """Check the tables that Chroma reads on opening, because invalid text in them would make it abort the process."""
    import pysqlite3.dbapi2 as sqlite

    with closing(sqlite.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            for table in ("sqlite_master", *_SMALL_TABLES):
                connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - constant names
        except (sqlite.DatabaseError, UnicodeDecodeError) as error:
            raise CorruptIndex(f"{path} is damaged: {error}.", hint="Run: elt-llm verify") from error


@contextmanager
def _open_client(folder: Path, action: str) -> Iterator[ClientAPI]:
    """Yield a Chroma client, and close it if the block fails, since Chroma caches clients by path, even broken ones."""
    path = str(folder)
    with _chroma_failures(f"{action} {folder}"):
        try:
            client = chromadb.PersistentClient(path=path, settings=ClientSettings(anonymized_telemetry=False))
        except BaseException:
            if path not in SharedSystemClient._identifier_to_refcount:  # noqa: SLF001 - else another client has it open
                SharedSystemClient._identifier_to_system.pop(path, None)  # noqa: SLF001 - the only way to drop one
            raise
        try:
            yield client
        except BaseException:
            client.close()  # type: ignore[attr-defined]
            raise


@contextmanager
def _chroma_failures(action: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic in Chroma's Rust core has an exception class that cannot be imported, so the class's name is compared.
        is_panic = (type(error).__module__, type(error).__name__) == ("pyo3_runtime", "PanicException")
        if not isinstance(error, _CHROMA_ERRORS) and not is_panic:
            raise
        raise CorruptIndex(f"Chroma cannot {action}: {error}.", hint="Run: elt-llm verify") from error


_ROW_BATCH = 100  # nodes whose cosines with all nodes are in memory at once


def index_faults(store: IdVectorStore, arrays: GenerationArrays, changed: Sequence[str]) -> list[str]:
    """Return the faults of a vector index, or an empty list if it has the same ids as `arrays` and finds their vectors.

    For every changed node and `SAMPLE_SIZE` others, a search for the node's vector must find the node itself, and the
    mean recall@10 against exact search must reach `MIN_RECALL`. Results tied with the tenth nearest count as found.
    """
    if not len(arrays.ids):
        return []
    if store.all_ids() != arrays.ids_at(np.arange(len(arrays.ids))):
        return ["The Chroma index and the file ids.npy contain different nodes."]
    spread = np.linspace(0, len(arrays.ids) - 1, min(SAMPLE_SIZE, len(arrays.ids))).astype(np.int64)
    places = np.unique(np.concatenate([spread, arrays.positions(changed)]))
    lost, recalls, vectors = 0, [], np.asarray(arrays.vectors)
    for start in range(0, len(places), _ROW_BATCH):
        batch = places[start : start + _ROW_BATCH]
        asked = np.ascontiguousarray(vectors[batch])
        found, _ = store.nearest(asked, min(RECALL_DEPTH, len(arrays.ids)))
        for place, ids, cosines in zip(batch, found, asked @ vectors.T, strict=True):
            hits = arrays.positions(ids)
            lost += not (place in hits or np.all(cosines[hits] >= cosines[place] - ROUNDING))
            recalls.append(recall(cosines[hits], cosines[top_positions(cosines, RECALL_DEPTH)]))
    return search_faults(lost, recalls)
