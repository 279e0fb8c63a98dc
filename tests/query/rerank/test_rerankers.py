from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.postprocessor import RerankPostprocessor
from elt_llm_query.rerank.reranker import AdaptedWeights, EmbeddingReranker, FusedOrderReranker
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import (
    OpenCollection,
    Pool,
    cut_to_budget,
    fuse_collections,
    open_collections,
    retrieve_from_collections,
)
from elt_llm_query.retrieve.query_variant import BOTH_RETRIEVERS, QueryVariant
from llama_index.core.postprocessor.types import BaseNodePostprocessor

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card for unsporting behaviour.",
    "n2": "A yellow card is recorded by the secretary.",
    "n3": "Annual leave is approved by the line manager.",
    "n4": "Fixtures are published in August.",
}
QUESTION = "who records a yellow card"


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def pools_of(collections: tuple[OpenCollection, ...], question: str = QUESTION) -> list[Pool]:
    vectors = {one.space: one.embedding.embed_question(question) for one in collections}
    variant = QueryVariant(question)
    return fuse_collections(
        variant, BOTH_RETRIEVERS, retrieve_from_collections(variant, BOTH_RETRIEVERS, collections, vectors), vectors
    )


def test_the_settings_choose_the_reranker() -> None:
    assert isinstance(create_reranker(QuerySettings()), EmbeddingReranker)
    assert isinstance(create_reranker(QuerySettings(use_reranker=False)), FusedOrderReranker)
    assert isinstance(create_reranker(QuerySettings(reranker_strategy="none")), FusedOrderReranker)


def test_the_reranker_gives_every_candidate_a_vector_score_and_a_word_score(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    generation = make_generation(TEXTS)
    query = QuerySettings(retriever_top_k=1)
    opened = open_collections([generation], [embedding], query, executor)
    pool = Pool(
        opened[0],
        (
            SearchCandidate("n2", "handbook", keyword_rank=1, keyword_score=3.0),
            SearchCandidate("n3", "handbook", 1, 0.2),
        ),
        embedding.embed_question(QUESTION),
        QueryVariant(QUESTION),
    )
    ranked = {one.node_id: one for one in EmbeddingReranker(0.5).rerank(QUESTION, [pool]).candidates}
    cosines = generation.vectors(generation.ids) @ embedding.embed_question(QUESTION)
    assert ranked["n2"].cosine == pytest.approx(float(cosines[1]), abs=1e-5)
    assert ranked["n3"].keyword_score == 0.0
    assert (ranked["n2"].dense_rank, ranked["n3"].keyword_rank) == (None, None)


def test_words_missing_in_small_child_chunks_do_not_change_the_weight_of_cosines(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    whole = make_generation(TEXTS)
    small = replace(whole, passport=replace(whole.passport, chunker="parent_child-1:32:0:512:200"))
    weights = AdaptedWeights(by_coverage=0.8, by_flatness=0.5)
    opened = open_collections([whole, small], [embedding, embedding], QuerySettings(), executor)
    assert [weights.of(Pool(one, (), None, QueryVariant(QUESTION))) for one in opened] == [0.8, 0.5]


def test_every_candidate_of_a_collection_is_ranked(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    opened = open_collections([make_generation(TEXTS)], [embedding], QuerySettings(), executor)
    ranked = EmbeddingReranker(0.5).rerank(QUESTION, pools_of(opened)).candidates
    assert {one.node_id for one in ranked} == set(TEXTS)
    assert ranked[0].node_id == "n2"


def test_two_copies_of_a_collection_are_ranked_like_one_collection(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    copies = [make_generation({f"{name}{key}": text for key, text in TEXTS.items()}, name) for name in "ab"]
    alone = open_collections(copies[:1], [embedding], QuerySettings(), executor)
    both = open_collections(copies, [embedding], QuerySettings(), executor)
    scores = {one.node_id: one.score for one in EmbeddingReranker().rerank(QUESTION, pools_of(alone)).candidates}
    for one in EmbeddingReranker().rerank(QUESTION, pools_of(both)).candidates:
        assert one.score == pytest.approx(scores["a" + one.node_id[1:]])


def test_a_collections_best_chunk_keeps_a_low_score_if_only_one_word_of_the_question_matches(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    strangers = {f"s{number}": f"card index drawer {number}" for number in range(4)}
    generations = [make_generation(TEXTS, "rules"), make_generation(strangers, "library")]
    opened = open_collections(generations, [embedding], QuerySettings(), executor)
    ranked = EmbeddingReranker(weight=0.0).rerank(QUESTION, pools_of(opened)).candidates
    best_stranger = max(one.score for one in ranked if one.collection == "library")
    assert ranked[0].node_id == "n2"
    assert best_stranger < 0.5


@pytest.mark.parametrize(("retrieve_k", "expected"), [(20, [4, 4]), (4, [2, 2]), (1, [1, 1])])
def test_a_reranker_that_calls_a_model_reads_an_equal_share_of_each_collection(
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
    executor: ThreadPoolExecutor,
    retrieve_k: int,
    expected: list[int],
) -> None:
    generations = [make_generation(TEXTS, "a"), make_generation(TEXTS, "b")]
    pools = pools_of(open_collections(generations, [embedding], QuerySettings(), executor))
    shared = cut_to_budget(pools, QuerySettings(reranker_retrieve_k=retrieve_k))
    assert [len(pool.candidates) for pool in shared] == expected
    assert shared[0].candidates == pools[0].candidates[: expected[0]]


def test_a_reranker_works_as_a_llama_index_postprocessor(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: ThreadPoolExecutor
) -> None:
    opened = open_collections([make_generation(TEXTS)], [embedding], QuerySettings(), executor)[0]
    postprocessor = RerankPostprocessor(EmbeddingReranker(), opened)
    nodes = postprocessor.postprocess_nodes(opened.retriever.retrieve(QUESTION), query_str=QUESTION)
    expected = EmbeddingReranker().rerank(QUESTION, pools_of((opened,))).candidates
    assert isinstance(postprocessor, BaseNodePostprocessor)
    assert [node.node.node_id for node in nodes] == [one.node_id for one in expected]
    assert [node.score for node in nodes] == pytest.approx([one.score for one in expected])
    assert postprocessor.postprocess_nodes(nodes) == nodes
