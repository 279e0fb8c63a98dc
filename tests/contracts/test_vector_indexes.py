"""A limited number of Chroma clients serves many collections: opened on demand, and never closed during a search."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.chroma import create_chroma
from elt_llm_core.index.contents import CHROMA_FOLDER, GenerationArrays
from elt_llm_core.index.vector_index import ExactVectorStore, PooledVectorStore, VectorIndexPool
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.utilities import Closeable
from llama_index.core.vector_stores.types import VectorStoreQuery
from numpy.typing import NDArray

pytestmark = pytest.mark.halved


COLLECTIONS, NODES, DIMENSION, MOST = 18, 12, 16, 3


class Shelf(Closeable):
    """Eighteen Chroma indexes that share no vector, and the pool that opens them."""

    def __init__(self, folder: Path, most_open: int) -> None:
        self.indexes = VectorIndexPool(most_open, exact_below=0)
        self.folders = [folder / str(place) / CHROMA_FOLDER for place in range(COLLECTIONS)]
        chance = np.random.default_rng(5)
        self.vectors = [_directions(chance) for _ in self.folders]
        for vectors, path in zip(self.vectors, self.folders, strict=True):
            path.parent.mkdir()
            with create_chroma(path, ChromaSettings(), NODES) as made:
                made.store.put(self.ids(path), vectors)
        self.stores = [
            PooledVectorStore(self.indexes, path, self.exact(place), path.parent.name)
            for place, path in enumerate(self.folders)
        ]

    def ids(self, path: Path) -> list[str]:
        """Ids that contain the name of their collection."""
        return [f"{path.parent.name:0>4}-{number:04}" for number in range(NODES)]

    def exact(self, place: int) -> ExactVectorStore:
        """The exact index that answers when Chroma fails."""
        return ExactVectorStore(
            GenerationArrays(np.array(self.ids(self.folders[place]), dtype="S9"), self.vectors[place], {})
        )

    def best(self, place: int, node: int) -> Sequence[str]:
        """Return the search results of one collection for one of its own vectors."""
        asked = VectorStoreQuery(query_embedding=self.vectors[place][node].tolist(), similarity_top_k=1)
        return self.stores[place].query(asked).ids or []

    def close(self) -> None:
        """Close all indexes."""
        self.indexes.close()


def _directions(chance: np.random.Generator) -> NDArray[np.float32]:
    vectors = chance.normal(size=(NODES, DIMENSION)).astype(np.float32)
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with Shelf(tmp_path, MOST) as opened:
        yield opened


def test_no_vector_index_is_open_before_the_first_search_or_after_closing(shelf: Shelf) -> None:
    assert shelf.indexes.open_count == 0
    assert shelf.best(4, 2) == ["0004-0002"]
    assert shelf.indexes.open_count == 1
    shelf.close()
    assert shelf.indexes.open_count == 0


def test_eight_threads_get_correct_results_from_more_collections_than_can_be_open_at_once(shelf: Shelf) -> None:
    chance = np.random.default_rng(6)
    asked = [(int(chance.integers(COLLECTIONS)), int(chance.integers(NODES))) for _ in range(300)]
    most: list[int] = []

    def ask(question: tuple[int, int]) -> Sequence[str]:
        found = shelf.best(*question)
        most.append(shelf.indexes.open_count)
        return found

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, asked))
    assert found == [[f"{place:04}-{node:04}"] for place, node in asked]
    assert max(most) <= MOST
    assert all(store.notes == () for store in shelf.stores)


def test_the_least_recently_used_index_is_closed_first(shelf: Shelf) -> None:
    for place in (0, 1, 2, 0, 3):
        shelf.best(place, 0)
    with ExitStack() as held:
        stores = [
            held.enter_context(shelf.indexes.lend(shelf.folders[place], shelf.exact(place))) for place in (0, 2, 3)
        ]
        assert [store.all_ids()[0] for store in stores] == ["0000-0000", "0002-0000", "0003-0000"]
    assert shelf.indexes.open_count == MOST


def test_a_vector_index_stays_open_until_its_search_ends(shelf: Shelf) -> None:
    with shelf.indexes.lend(shelf.folders[0], shelf.exact(0)) as store:
        shelf.indexes.let_go(shelf.folders[0])
        for place in range(1, COLLECTIONS):
            shelf.best(place, 0)
        assert store.all_ids() == shelf.ids(shelf.folders[0])
    assert shelf.indexes.open_count == MOST - 1


def test_a_search_waits_while_all_chroma_clients_are_in_use(shelf: Shelf) -> None:
    asking = Event()

    def ask() -> Sequence[str]:
        asking.set()
        return shelf.best(9, 1)

    with ThreadPoolExecutor(1) as threads:
        with ExitStack() as held:
            for place in range(MOST):
                held.enter_context(shelf.indexes.lend(shelf.folders[place], shelf.exact(place)))
            waiting = threads.submit(ask)
            assert asking.wait(60)
            assert not waiting.done()
        assert waiting.result(timeout=60) == ["0009-0001"]


def test_an_index_that_chroma_cannot_open_is_searched_exactly_with_a_note(shelf: Shelf) -> None:
    (shelf.folders[7] / "chroma.sqlite3").write_bytes(b"no database")
    assert shelf.best(7, 3) == ["0007-0003"]
    assert "searched exactly instead. Run: elt-llm verify -c 7" in shelf.stores[7].notes[0]
    assert shelf.best(7, 4) == ["0007-0004"]
    with pytest.raises(CorruptIndex), shelf.indexes.lend(shelf.folders[7], shelf.exact(7)):
        pass
    assert shelf.best(8, 0) == ["0008-0000"]
