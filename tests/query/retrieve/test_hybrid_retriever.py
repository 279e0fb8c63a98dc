from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_query.retrieve.fusion import HybridRetriever
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class FixedRetriever(BaseRetriever):
    """A retriever with fixed hits or a fixed failure; with a barrier, it waits there for the second retriever."""

    def __init__(
        self, hits: dict[str, float], barrier: Barrier | None = None, failure: Exception | None = None
    ) -> None:
        self.hits, self.barrier, self.failure = hits, barrier, failure
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.barrier:
            self.barrier.wait(timeout=30)
        if self.failure:
            raise self.failure
        return [NodeWithScore(node=TextNode(id_=key, text=""), score=score) for key, score in self.hits.items()]


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_the_hybrid_retriever_is_a_llama_index_fusion_retriever_with_a_mock_model(executor: ThreadPoolExecutor) -> None:
    retriever = HybridRetriever("c", FixedRetriever({"a": 0.9}), FixedRetriever({"b": 3.0}), executor=executor)
    assert isinstance(retriever, QueryFusionRetriever)
    assert isinstance(retriever._llm, MockLLM)
    assert retriever.num_queries == 1


def test_the_hybrid_retriever_has_the_attributes_that_the_constructor_of_llama_index_sets(
    executor: ThreadPoolExecutor,
) -> None:
    dense, keyword = FixedRetriever({"a": 0.9}), FixedRetriever({"b": 3.0})
    ours = HybridRetriever("c", dense, keyword, executor=executor, dense_weight=0.25)
    theirs = QueryFusionRetriever(
        [dense, keyword], MockLLM(), mode=ours.mode, num_queries=1, use_async=False, retriever_weights=[0.25, 0.75]
    )
    different = {name for name, value in vars(theirs).items() if vars(ours).get(name) != value}
    assert different <= {"_llm", "callback_manager"}  # objects without equality
    assert vars(theirs).keys() <= vars(ours).keys()


def test_both_retrievers_run_at_the_same_time(executor: ThreadPoolExecutor) -> None:
    barrier = Barrier(2)
    retrievers = FixedRetriever({"a": 0.9}, barrier), FixedRetriever({"a": 3.0}, barrier)
    assert HybridRetriever("c", *retrievers, executor=executor).candidates("question")[0].node_id == "a"


def test_the_hybrid_retriever_keeps_the_ranks_and_scores_of_both_retrievers(executor: ThreadPoolExecutor) -> None:
    retrievers = FixedRetriever({"a": 0.9, "b": 0.4}), FixedRetriever({"b": 7.0, "c": 2.0})
    by_id = {one.node_id: one for one in HybridRetriever("c", *retrievers, executor=executor).candidates("question")}
    assert (by_id["b"].dense_rank, by_id["b"].cosine) == (2, 0.4)
    assert (by_id["b"].keyword_rank, by_id["b"].keyword_score) == (1, 7.0)
    assert (by_id["a"].keyword_rank, by_id["a"].keyword_score) == (None, None)
    assert (by_id["c"].dense_rank, by_id["c"].cosine) == (None, None)


def test_fusion_identifies_nodes_by_id_even_if_their_texts_are_equal(executor: ThreadPoolExecutor) -> None:
    retrievers = FixedRetriever({"a": 0.9, "b": 0.4}), FixedRetriever({"b": 7.0})
    nodes = HybridRetriever("c", *retrievers, executor=executor).retrieve("question")
    assert [node.node.node_id for node in nodes] == ["b", "a"]
    assert nodes[0].node.metadata["keyword_rank"] == 1
    assert 0 <= nodes[0].get_score(raise_error=True) <= 1


@pytest.mark.parametrize(("dense_weight", "first"), [(0.9, "a"), (0.1, "b")])
def test_the_dense_weight_decides_which_retriever_ranks_first(
    executor: ThreadPoolExecutor, dense_weight: float, first: str
) -> None:
    retrievers = FixedRetriever({"a": 0.9, "b": 0.4}), FixedRetriever({"b": 7.0, "a": 2.0})
    retriever = HybridRetriever("c", *retrievers, executor=executor, dense_weight=dense_weight)
    assert retriever.candidates("question")[0].node_id == first


def test_the_hybrid_retriever_does_not_modify_the_hits_of_the_retrievers(executor: ThreadPoolExecutor) -> None:
    dense = FixedRetriever({"a": 0.9})
    HybridRetriever("c", dense, FixedRetriever({"a": 7.0}), executor=executor).retrieve("question")
    assert dense.hits == {"a": 0.9}


def test_the_failure_of_one_retriever_is_recorded_and_the_other_retriever_is_used(executor: ThreadPoolExecutor) -> None:
    broken = FixedRetriever({}, failure=CorruptIndex("damaged"))
    retriever = HybridRetriever("c", broken, FixedRetriever({"b": 3.0}), executor=executor)
    results = retriever.start(QueryBundle("question"))()
    assert [(name, str(failure)) for name, failure in results.failures] == [("dense", "damaged")]
    assert [one.node_id for one in retriever.candidates("question")] == ["b"]


def test_the_hybrid_retriever_fails_if_both_retrievers_fail(executor: ThreadPoolExecutor) -> None:
    broken = FixedRetriever({}, failure=CorruptIndex("damaged"))
    with pytest.raises(CorruptIndex):
        HybridRetriever("c", broken, broken, executor=executor).retrieve("question")


def test_many_threads_may_share_one_hybrid_retriever() -> None:
    with ThreadPoolExecutor(4) as executor, ThreadPoolExecutor(4) as askers:
        retrievers = FixedRetriever({"a": 0.9, "b": 0.4}), FixedRetriever({"b": 7.0, "c": 2.0})
        retriever = HybridRetriever("c", *retrievers, executor=executor)
        expected = retriever.candidates("question")
        assert all(found == expected for found in askers.map(retriever.candidates, ["question"] * 100))


async def _ask(retriever: HybridRetriever) -> list[NodeWithScore]:
    return await retriever.aretrieve("question")


def test_the_hybrid_retriever_may_be_awaited(executor: ThreadPoolExecutor) -> None:
    import asyncio

    retriever = HybridRetriever("c", FixedRetriever({"a": 0.9}), None, executor=executor)
    assert [node.node.node_id for node in asyncio.run(_ask(retriever))] == ["a"]
