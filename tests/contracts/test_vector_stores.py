"""The contract of every vector store of a generation, whichever library implements it, asked through its index."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.index.chroma import create_chroma
from elt_llm_core.index.contents import GenerationArrays
from elt_llm_core.index.fields import FilterFields
from elt_llm_core.index.keyword_index import KeywordIndex
from elt_llm_core.index.local_index import LocalIndex
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.text.stems import KeywordTokeniser
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery, VectorStoreQueryResult

DIMENSION = 16
Make = Callable[[int], LocalIndex]


def _vectors(count: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if count else vectors


def _ids(count: int) -> list[str]:
    return [f"{number:036d}" for number in range(count)]


@pytest.fixture(params=["chroma", "exact"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """A function that creates an index with the given number of vectors."""
    with ExitStack() as opened:

        def make_index(count: int) -> LocalIndex:
            arrays = GenerationArrays(np.array(_ids(count), dtype="S36"), _vectors(count), {})
            store: BasePydanticVectorStore = ExactVectorStore(arrays)
            if request.param == "chroma":
                chroma = opened.enter_context(create_chroma(tmp_path / "chroma", ChromaSettings(), count))
                chroma.store.put(_ids(count), _vectors(count))
                store = chroma.store
            return LocalIndex(arrays, FilterFields({}), KeywordIndex(None, KeywordTokeniser(), count), store)

        yield make_index


def _ask(store: BasePydanticVectorStore, question: np.ndarray, top_k: int) -> VectorStoreQueryResult:
    return store.query(VectorStoreQuery(query_embedding=question.tolist(), similarity_top_k=top_k))


def test_a_vector_store_returns_the_same_ids_and_cosines_as_exact_search_best_first(make: Make) -> None:
    index, vectors = make(300), _vectors(300)
    for question in _vectors(20, seed=1):
        cosines = vectors @ question
        best = np.argsort(-cosines)[:10]
        found = index.nearest(question, 10)
        assert [node_id for node_id, _ in found] == [_ids(300)[place] for place in best]
        assert [cosine for _, cosine in found] == pytest.approx(cosines[best].tolist(), abs=1e-5)


def test_a_search_for_a_stored_vector_returns_the_vector_with_cosine_one(make: Make) -> None:
    index = make(100)
    for node_id, vector in zip(_ids(100), _vectors(100), strict=True):
        [(nearest, cosine)] = index.nearest(vector, 1)
        assert nearest == node_id
        assert cosine == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_search_with_a_top_k_above_the_number_of_vectors_returns_every_vector(make: Make, count: int) -> None:
    found = make(count).nearest(_vectors(1, seed=3)[0], 50)
    assert sorted(node_id for node_id, _ in found) == _ids(count)
    assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)


def test_an_empty_vector_store_returns_no_result(make: Make) -> None:
    index = make(0)
    assert index.nearest(_vectors(1)[0], 5) == []
    found = _ask(index.vector_store, _vectors(1)[0], 5)
    assert (found.ids, found.similarities) == ([], [])


def test_a_vector_store_does_not_store_text(make: Make) -> None:
    store = make(5).vector_store
    assert not store.stores_text
    assert _ask(store, _vectors(1)[0], 2).nodes is None


def test_adding_a_stored_id_again_replaces_its_vector(tmp_path: Path) -> None:
    with create_chroma(tmp_path, ChromaSettings(), 10) as index:
        index.store.put(_ids(10), _vectors(10))
        index.store.put(_ids(1), _vectors(1, seed=9))
        assert _ask(index.store, _vectors(1, seed=9)[0], 1).similarities == pytest.approx([1.0], abs=1e-5)
        assert index.store.all_ids() == _ids(10)


def test_llama_index_nodes_can_be_added_and_deleted(tmp_path: Path) -> None:
    with create_chroma(tmp_path, ChromaSettings(), 10) as index:
        nodes = [
            TextNode(id_=node_id, text="a secret text", embedding=vector.tolist())
            for node_id, vector in zip(_ids(10), _vectors(10), strict=True)
        ]
        assert index.store.add(nodes) == _ids(10)
        index.store.delete_nodes(_ids(4))
        assert index.store.all_ids() == _ids(10)[4:]
        with pytest.raises(NotImplementedError):
            index.store.delete_nodes(filters="anything")
    assert not any(b"secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_more_vectors_than_one_chroma_batch_are_added(tmp_path: Path) -> None:
    with create_chroma(tmp_path, ChromaSettings(), 6000) as index:
        index.store.put([f"{number:036d}" for number in range(6000)], _vectors(6000))
        assert len(index.store.all_ids()) == 6000


def test_a_vector_store_for_exact_search_cannot_be_changed() -> None:
    store = ExactVectorStore(GenerationArrays(np.array(_ids(1), dtype="S36"), _vectors(1), {}))
    with pytest.raises(NotImplementedError, match="is immutable"):
        store.add([])
    with pytest.raises(NotImplementedError, match="is immutable"):
        store.delete("anything")
