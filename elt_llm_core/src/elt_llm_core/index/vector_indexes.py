"""Which collections are searched by Chroma, and how many of its clients are open at once."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery, VectorStoreQueryResult

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.chroma import ChromaIndex, IdVectorStore, open_chroma
from elt_llm_core.index.exact import ExactVectorStore

MOST_OPEN = 16
EXACT_BELOW = 2000  # nodes: up to here all cosines take less time than one search by Chroma


@dataclass
class _Lent:
    """An open client and how many are searching it; one that is `unwanted` is closed by the last of them."""

    index: ChromaIndex
    users: int = 0
    unwanted: bool = False


class VectorIndexes(Closeable):
    """Lends Chroma's indexes to whoever searches them: at most `most_open` are open, the least recently used closed.

    One is opened when it is first asked for, and none is closed while it is searched: who needs one more waits for
    another to be given back. Collections with fewer than `exact_below` nodes need none. Serves many threads, none of
    which may hold two at once.
    """

    def __init__(self, most_open: int = MOST_OPEN, exact_below: int = EXACT_BELOW) -> None:
        self.exact_below = exact_below
        self._most_open = max(1, most_open)
        self._open: OrderedDict[Path, _Lent] = OrderedDict()
        self._changed = Condition()

    @property
    def open_count(self) -> int:
        """How many clients are open."""
        with self._changed:
            return len(self._open)

    @contextmanager
    def lend(self, folder: Path, exact: ExactVectorStore) -> Iterator[IdVectorStore]:
        """The index in a folder, for as long as the block lasts; `exact` as `open_chroma` has it.

        Raises CorruptIndex if Chroma cannot open it.
        """
        lent = self._take(folder, exact)
        try:
            yield lent.index.store
        finally:
            self._give_back(folder, lent)

    def let_go(self, folder: Path) -> None:
        """Close the index in a folder, now or when the last who searches it is done."""
        with self._changed:
            lent = self._open.get(folder)
            if lent is not None:
                lent.unwanted = True
                self._close_if_free(folder, lent)

    def close(self) -> None:
        """Close all of them; those that are searched now, when that is done."""
        for folder in list(self._open):
            self.let_go(folder)

    def _take(self, folder: Path, exact: ExactVectorStore) -> _Lent:
        with self._changed:
            while (lent := self._open.get(folder)) is None:
                if len(self._open) < self._most_open or self._close_oldest():
                    lent = self._open[folder] = _Lent(open_chroma(folder, exact))
                    break
                self._changed.wait()
            lent.users += 1
            self._open.move_to_end(folder)
            return lent

    def _give_back(self, folder: Path, lent: _Lent) -> None:
        with self._changed:
            lent.users -= 1
            if lent.unwanted:
                self._close_if_free(folder, lent)
            self._changed.notify()

    def _close_oldest(self) -> bool:
        """Make room for one more, if one is not in use."""
        for folder, lent in self._open.items():
            if not lent.users:
                self._close_if_free(folder, lent)
                return True
        return False

    def _close_if_free(self, folder: Path, lent: _Lent) -> None:
        if not lent.users and self._open.get(folder) is lent:
            del self._open[folder]
            lent.index.close()
            self._changed.notify()


class LentVectorStore(BasePydanticVectorStore):
    """Searches by Chroma, opened when it is first asked; if that does not work, exactly, and `notes` say so."""

    stores_text: bool = False
    _indexes: VectorIndexes = PrivateAttr()
    _folder: Path = PrivateAttr()
    _exact: ExactVectorStore = PrivateAttr()
    _collection: str = PrivateAttr()
    _notes: tuple[str, ...] = PrivateAttr(default=())

    def __init__(self, indexes: VectorIndexes, folder: Path, exact: ExactVectorStore, collection: str) -> None:
        super().__init__(stores_text=False)
        self._indexes, self._folder, self._exact, self._collection = indexes, folder, exact, collection

    @property
    def client(self) -> VectorIndexes:
        """What lends the index."""
        return self._indexes

    @property
    def notes(self) -> tuple[str, ...]:
        """That Chroma did not work, once it did not."""
        return self._notes

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Ids and cosines of the nearest vectors, best first."""
        if not self._notes:
            try:
                with self._indexes.lend(self._folder, self._exact) as store:
                    return store.query(query)
            except CorruptIndex as error:
                self._notes = (searched_exactly(error, self._collection),)
        return self._exact.query(query)

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Refused: a generation is never changed."""
        return self._exact.add(nodes)

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Refused: a generation is never changed."""
        self._exact.delete(ref_doc_id)

    def let_go(self) -> None:
        """Close the index, if it is open."""
        self._indexes.let_go(self._folder)


def searched_exactly(error: CorruptIndex, collection: str) -> str:
    """What readers are told where Chroma did not work."""
    return f"{error} Vectors were searched exactly instead. Run: elt-llm verify -c {collection}"
