"""Vector search in a generation: a pool of open Chroma indexes, with exact search as the fallback."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery, VectorStoreQueryResult

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import GenerationArrays
from elt_llm_core.utilities import Closeable

if TYPE_CHECKING:
    from elt_llm_core.index.chroma import ChromaIndex, IdVectorStore


class ReadOnlyVectorStore(BasePydanticVectorStore):
    """The base class for vector stores of a generation, which is immutable."""

    stores_text: bool = False

    @property
    def client(self) -> None:
        """None, because a generation's vector store has no client."""

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Raise NotImplementedError, because a generation is immutable."""
        raise NotImplementedError("A generation is immutable; publish a new one.")

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Raise NotImplementedError, because a generation is immutable."""
        raise NotImplementedError("A generation is immutable; publish a new one.")


class ExactVectorStore(ReadOnlyVectorStore):
    """A vector store that compares a query with all vectors. 100,000 vectors of dimension 384 take about 8 ms."""

    _arrays: GenerationArrays = PrivateAttr()

    def __init__(self, arrays: GenerationArrays) -> None:
        super().__init__()
        self._arrays = arrays

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return the ids and cosines of the nearest vectors, best first, ties by id."""
        vector = np.array(query.query_embedding, dtype=np.float32)
        places, cosines = self._arrays.exact_search(vector, query.similarity_top_k)
        return VectorStoreQueryResult(ids=self._arrays.ids_at(places), similarities=cosines.tolist())


MAX_OPEN = 16  # Chroma indexes
EXACT_BELOW = 2000  # nodes; below this size, computing all cosines is faster than a Chroma search


@dataclass
class _PooledClient:
    """An open Chroma index and the number of searches that use it. An `unwanted` index is closed after the last one."""

    index: "ChromaIndex"
    users: int = 0
    unwanted: bool = False


class VectorIndexPool(Closeable):
    """A pool of at most `most_open` open Chroma indexes. The least recently used index is closed first.

    An index is opened on first use and never closed during a search. A thread that needs an index while all are in use
    waits until one is returned. Collections with fewer than `exact_below` nodes need no index. Many threads may use the
    pool, and each may borrow one index at a time.
    """

    def __init__(self, most_open: int = MAX_OPEN, exact_below: int = EXACT_BELOW) -> None:
        self.exact_below = exact_below
        self._most_open = max(1, most_open)
        self._open: OrderedDict[Path, _PooledClient] = OrderedDict()
        self._changed = Condition()

    @property
    def open_count(self) -> int:
        """The number of open indexes."""
        with self._changed:
            return len(self._open)

    @contextmanager
    def lend(self, folder: Path, exact: ExactVectorStore) -> Iterator["IdVectorStore"]:
        """Yield the Chroma index in a folder as a vector store. It is not closed during the block.

        If the last result of a search has the same cosine as the best vector that was cut off, the choice between them
        is arbitrary, and the search is repeated with `exact`. Raises CorruptIndex if the index cannot be opened.
        """
        lent = self._take(folder, exact)
        try:
            yield lent.index.store
        finally:
            with self._changed:
                lent.users -= 1
                if lent.unwanted:
                    self._close_if_free(folder, lent)
                self._changed.notify()

    def let_go(self, folder: Path) -> None:
        """Close the index in a folder, now or after its last running search."""
        with self._changed:
            lent = self._open.get(folder)
            if lent is not None:
                lent.unwanted = True
                self._close_if_free(folder, lent)

    def close(self) -> None:
        """Close all indexes, each after its last running search."""
        for folder in list(self._open):
            self.let_go(folder)

    def _take(self, folder: Path, exact: ExactVectorStore) -> _PooledClient:
        from elt_llm_core.index.chroma import open_chroma

        with self._changed:
            while (lent := self._open.get(folder)) is None:
                if len(self._open) < self._most_open or self._close_oldest():
                    lent = self._open[folder] = _PooledClient(open_chroma(folder, exact))
                    break
                self._changed.wait()
            lent.users += 1
            self._open.move_to_end(folder)
            return lent

    def _close_oldest(self) -> bool:
        """Close the least recently used index among those that are not in use. Return False if all are in use."""
        for folder, lent in self._open.items():
            if not lent.users:
                self._close_if_free(folder, lent)
                return True
        return False

    def _close_if_free(self, folder: Path, lent: _PooledClient) -> None:
        if not lent.users and self._open.get(folder) is lent:
            del self._open[folder]
            lent.index.close()
            self._changed.notify()


class PooledVectorStore(ReadOnlyVectorStore):
    """A vector store that searches with Chroma. If Chroma fails, it searches exactly and reports a note."""

    _indexes: VectorIndexPool = PrivateAttr()
    _folder: Path = PrivateAttr()
    _exact: ExactVectorStore = PrivateAttr()
    _collection: str = PrivateAttr()
    notes: tuple[str, ...] = ()
    """A note about Chroma's failure, or empty if Chroma has not failed."""

    def __init__(self, indexes: VectorIndexPool, folder: Path, exact: ExactVectorStore, collection: str) -> None:
        super().__init__()
        self._indexes, self._folder, self._exact, self._collection = indexes, folder, exact, collection

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Return ids and cosines of the nearest vectors, best first."""
        if not self.notes:
            try:
                with self._indexes.lend(self._folder, self._exact) as store:
                    return store.query(query)
            except CorruptIndex as error:
                self.notes = (exact_search_note(error, self._collection),)
        return self._exact.query(query)

    def let_go(self) -> None:
        """Close the Chroma index if it is open."""
        self._indexes.let_go(self._folder)


def exact_search_note(error: CorruptIndex, collection: str) -> str:
    """Return the note that Chroma failed and vectors were searched exactly, with the command that repairs the index."""
    return f"{error} Vectors were searched exactly instead. Run: elt-llm verify -c {collection}"
