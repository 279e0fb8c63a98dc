from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_query.retrieve.retrievers import DenseRetriever, KeywordRetriever
from llama_index.core.schema import QueryBundle
from llama_index.retrievers.bm25 import BM25Retriever

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card.",
    "n2": "A yellow card is recorded by the secretary.",
    "n3": "Annual leave is approved by the manager.",
    "n4": "Fixtures are published in August.",
}


def test_the_keyword_retriever_is_a_bm25_retriever_that_returns_ids_only(make_generation: MakeGeneration) -> None:
    retriever = KeywordRetriever(make_generation(TEXTS), top_k=3)
    hits = retriever.retrieve("yellow cards")
    assert isinstance(retriever, BM25Retriever)
    assert [hit.node.node_id for hit in hits] == ["n1", "n2"]
    assert all(hit.node.get_content() == "" for hit in hits)


def test_the_keyword_retriever_does_not_return_nodes_that_match_no_word(make_generation: MakeGeneration) -> None:
    retriever = KeywordRetriever(make_generation(TEXTS), top_k=4)
    assert retriever.retrieve("zebra") == []
    assert retriever.retrieve("the of and") == []
    assert retriever.retrieve("??!") == []


def test_keyword_top_k_may_exceed_the_number_of_nodes(make_generation: MakeGeneration) -> None:
    retriever = KeywordRetriever(make_generation(TEXTS), top_k=50)
    assert retriever.similarity_top_k == 50
    assert len(retriever.retrieve("card leave fixtures")) == 4


def test_keyword_search_in_a_collection_without_words_returns_no_hits(make_generation: MakeGeneration) -> None:
    assert KeywordRetriever(make_generation(TEXTS).without_keywords(), top_k=5).retrieve("card") == []


def test_equal_keyword_scores_are_ordered_by_node_id(make_generation: MakeGeneration) -> None:
    generation = make_generation({f"n{number}": "offside rule" for number in range(9)} | {"z": "other words"})
    hits = KeywordRetriever(generation, top_k=5).retrieve("offside")
    assert [hit.node.node_id for hit in hits] == ["n0", "n1", "n2", "n3", "n4"]


def test_keyword_scores_equal_the_scores_of_the_keyword_index(make_generation: MakeGeneration) -> None:
    generation = make_generation(TEXTS)
    scores = generation.keyword.scores("yellow card secretary")
    for hit in KeywordRetriever(generation, top_k=4).retrieve("yellow card secretary"):
        assert hit.score == pytest.approx(float(scores[generation.ids.index(hit.node.node_id)]))


def test_the_dense_retriever_returns_cosines_best_first(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation(TEXTS)
    hits = DenseRetriever(generation, embedding, top_k=3).retrieve("who approves annual leave")
    question = embedding.embed_question("who approves annual leave")
    expected = np.sort(generation.vectors(generation.ids) @ question)[::-1][:3]
    assert [hit.score for hit in hits] == pytest.approx(expected.tolist(), abs=1e-6)
    assert hits[0].node.node_id == "n3"
    assert hits[0].node.get_content() == ""


def test_the_dense_retriever_uses_a_precomputed_vector(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    bundle = QueryBundle("fixtures", embedding=embedding.embed_question("annual leave").tolist())
    assert DenseRetriever(make_generation(TEXTS), embedding, top_k=1).retrieve(bundle)[0].node.node_id == "n3"


def test_dense_top_k_may_exceed_the_number_of_vectors(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    assert len(DenseRetriever(make_generation(TEXTS), embedding, top_k=50).retrieve("card")) == 4
