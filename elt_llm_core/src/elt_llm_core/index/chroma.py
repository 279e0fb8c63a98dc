"""The vector index of a generation: Chroma holding ids and vectors only, behind LlamaIndex's ChromaVectorStore."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.settings import ChromaSettings

CHROMA_FOLDER = "chroma"
_COLLECTION = "nodes"
_SMALL_TABLES = ("migrations", "tenants", "databases", "collections", "collection_metadata", "segments")
_TIE = 1e-6  # cosines nearer than this are of equal vectors, as rounding has it
# What Chroma raises on a damaged, full or read-only directory, its Rust core's panics apart.
_FAILURES = (ChromaError, ValueError, KeyError, OSError, RuntimeError)


class IdVectorStore(ChromaVectorStore):
    """A ChromaVectorStore that keeps no text and no metadata, and whose similarities are cosines.

    Differs from its base where that was measured to be wrong for us: text was stored twice over, writes above
    Chroma's batch limit failed, an id added again kept its old vector, and scores were exp(-distance).
    """

    stores_text: bool = False
    _exact: BasePydanticVectorStore | None = PrivateAttr(default=None)

    def __init__(self, collection: chromadb.Collection, exact: BasePydanticVectorStore | None = None) -> None:
        """`exact` is asked where a search would cut between equals, which Chroma does by chance."""
        super().__init__(chroma_collection=collection)
        self._exact = exact

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Put the nodes' embeddings in; an id that is there already gets the new vector."""
        ids = [node.node_id for node in nodes]
        self.put(ids, np.array([node.get_embedding() for node in nodes], dtype=np.float32))
        return ids

    def put(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Put vectors in, shape (len(ids), dimension), in slices that Chroma takes."""
        for start in range(0, len(ids), self._slice):
            end = start + self._slice
            with _named_failures("write to its index"):
                self._collection.upsert(ids=list(ids[start:end]), embeddings=vectors[start:end])

    def delete_nodes(self, node_ids: list[str] | None = None, filters: Any = None, **_: Any) -> None:
        """Take these ids out; filters are not supported, for nothing to filter by is stored."""
        if filters is not None:
            raise NotImplementedError("This vector store keeps no metadata to filter by.")
        doomed = node_ids or []
        for start in range(0, len(doomed), self._slice):
            with _named_failures("write to its index"):
                self._collection.delete(ids=doomed[start : start + self._slice])

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Ids and cosines of the nearest vectors, best first. Raises CorruptIndex if Chroma cannot tell."""
        count = query.similarity_top_k
        [ids], [cosines] = self.nearest(np.array([query.query_embedding], dtype=np.float32), count + 1)
        if self._exact is not None and len(ids) > count > 0 and cosines[count - 1] - cosines[count] <= _TIE:
            return self._exact.query(query)
        return VectorStoreQueryResult(ids=ids[:count], similarities=cosines[:count])

    def nearest(self, vectors: NDArray[np.float32], top_k: int) -> tuple[list[list[str]], list[list[float]]]:
        """For each row: ids and cosines of the nearest, best first, ties by id."""
        with _named_failures("search its index"):
            found = self._collection.query(query_embeddings=vectors, n_results=top_k, include=["distances"])
        ids, cosines = [], []
        for row_ids, row_distances in zip(found["ids"], found["distances"] or [], strict=True):
            ranked = sorted(zip(row_distances, row_ids, strict=True))
            ids.append([node_id for _, node_id in ranked])
            cosines.append([1.0 - float(distance) for distance, _ in ranked])
        return ids, cosines

    def all_ids(self) -> list[str]:
        """Every id in the index, sorted."""
        with _named_failures("list its index"):
            return sorted(self._collection.get(include=[])["ids"])

    @property
    def _slice(self) -> int:
        return int(self._collection._client.get_max_batch_size())  # noqa: SLF001 - the only way to ask


class ChromaIndex(Closeable):
    """An open Chroma directory; closing it lets go of its files."""

    def __init__(self, client: ClientAPI, store: IdVectorStore) -> None:
        self._client = client
        self.store = store

    def close(self) -> None:
        """Close the client; the index may not be used after."""
        self._client.close()  # type: ignore[attr-defined]


def create_chroma(folder: Path, settings: ChromaSettings, size: int) -> ChromaIndex:
    """A new, empty index that writes its graph to the disk once `size` vectors are in, and not before.

    Raises CorruptIndex if Chroma cannot write it.
    """
    configuration = {
        "hnsw": {
            "space": settings.space,
            "ef_construction": settings.ef_construction,
            "ef_search": settings.ef_search,
            "max_neighbors": settings.max_neighbors,
            "sync_threshold": max(2, size),
            "batch_size": max(2, min(100, size)),
        }
    }
    with _client(folder, "create") as client:
        collection = client.create_collection(_COLLECTION, embedding_function=None, configuration=configuration)  # type: ignore[arg-type]
    return ChromaIndex(client, IdVectorStore(collection))


def open_chroma(folder: Path, exact: BasePydanticVectorStore | None = None) -> ChromaIndex:
    """Open an index that was built before; `exact` see IdVectorStore. Raises CorruptIndex if Chroma cannot."""
    if not (folder / "chroma.sqlite3").is_file():
        raise CorruptIndex(f"{folder} has no Chroma index.", hint="Run: elt-llm verify")
    _read_small_tables(folder / "chroma.sqlite3")
    with _client(folder, "open") as client:
        collection = client.get_collection(_COLLECTION, embedding_function=None)
    return ChromaIndex(client, IdVectorStore(collection, exact))


def _read_small_tables(path: Path) -> None:
    """Read what Chroma reads on opening: text that is no text there makes it end the process. Raises CorruptIndex."""
    import pysqlite3.dbapi2 as sqlite

    connection = sqlite.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for table in ("sqlite_master", *_SMALL_TABLES):
            connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names of our own
    except (sqlite.DatabaseError, UnicodeDecodeError) as error:
        raise CorruptIndex(f"{path} is damaged: {error}.", hint="Run: elt-llm verify") from error
    finally:
        connection.close()


@contextmanager
def _client(folder: Path, action: str) -> Iterator[ClientAPI]:
    """A client that stays open unless what is done first fails: Chroma keeps one system a path, even a broken one."""
    with _named_failures(f"{action} {folder}"):
        client = _connected(folder)
        try:
            yield client
        except BaseException:
            client.close()  # type: ignore[attr-defined]
            raise


def _connected(folder: Path) -> ClientAPI:
    """A new client. One that could not start is forgotten: Chroma would hand it out again, half made, next time."""
    path = str(folder)
    try:
        return chromadb.PersistentClient(path=path, settings=ClientSettings(anonymized_telemetry=False))
    except BaseException:
        if path not in SharedSystemClient._identifier_to_refcount:  # noqa: SLF001 - else another client has it open
            SharedSystemClient._identifier_to_system.pop(path, None)  # noqa: SLF001 - the only way to forget just one
        raise


@contextmanager
def _named_failures(action: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if not isinstance(error, _FAILURES) and not _is_panic(error):
            raise
        raise CorruptIndex(f"Chroma cannot {action}: {error}.", hint="Run: elt-llm verify") from error


def _is_panic(error: BaseException) -> bool:
    """Whether Chroma's Rust gave up, as over some damaged bytes: its class is no Exception, and can only be named."""
    return type(error).__name__ == "PanicException" and type(error).__module__ == "pyo3_runtime"
