from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elt_llm_core.errors import ModelError, RetrievalError, UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from numpy.typing import NDArray
from retrieval.searching import search_once

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card for unsporting behaviour.",
    "n2": "A yellow card is recorded by the secretary of the club.",
    "n3": "Annual leave is approved by the line manager.",
    "n4": "Fixtures are published in August by the secretary.",
    "n5": "Goalkeepers wear colours that differ from other players.",
}
QUESTION = "Who records a yellow card?"


class SilentEmbedding(FakeEmbedding):
    """An embedding model that fails on every question."""

    def __init__(self) -> None:
        super().__init__(256)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        raise ModelError("the model does not answer", hint="Start it")


def settings(**query: Any) -> Settings:
    return Settings(query=QuerySettings.model_validate(query))


def test_an_empty_question_is_refused(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    with pytest.raises(UsageError, match="empty"):
        search_once("  \n", [make_generation(TEXTS)], embedding, settings())


def test_an_overlong_question_is_refused(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    with pytest.raises(UsageError, match="4001 characters") as caught:
        search_once("a" * 4001, [make_generation(TEXTS)], embedding, settings())
    assert "question alone" in caught.value.hint


def test_a_question_that_matches_no_word_is_answered_by_vectors(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once("zebra", [make_generation(TEXTS)], embedding, settings())
    assert len(found.chunks) == 5
    assert all(chunk.keyword_rank is None and chunk.keyword_score == 0 for chunk in found.chunks)


def test_an_empty_collection_returns_no_chunks(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    assert search_once(QUESTION, [make_generation({})], embedding, settings()).chunks == ()


def test_a_collection_without_keyword_index_is_searched_by_vectors_with_a_note(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS).without_keywords()], embedding, settings())
    assert found.chunks[0].node_id in {"n1", "n2"}
    assert any("no keyword index" in note and "vectors only" in note for note in found.notes)


def test_a_collection_without_vector_index_is_searched_by_keywords_with_a_note(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = search_once(QUESTION, [make_generation(TEXTS).with_broken_vectors()], embedding, settings())
    assert found.chunks[0].node_id == "n2"
    assert any("damaged" in note and "keywords only" in note for note in found.notes)


def test_a_hybrid_search_without_the_embedding_model_uses_keywords(make_generation: MakeGeneration) -> None:
    generation = make_generation(TEXTS, model=FakeEmbedding(256))
    found = search_once(QUESTION, [generation], SilentEmbedding(), settings())
    assert found.chunks[0].node_id == "n2"
    assert found.chunks[0].cosine is None
    assert any("does not answer" in note for note in found.notes)


def test_a_dense_search_without_the_embedding_model_fails(
    make_generation: MakeGeneration,
) -> None:
    generation = make_generation(TEXTS, model=FakeEmbedding(256))
    with pytest.raises(RetrievalError, match="does not answer"):
        search_once(QUESTION, [generation], SilentEmbedding(), settings(strategy="dense"))


def test_the_search_fails_if_both_retrievers_fail(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    broken = make_generation(TEXTS).with_broken_vectors().without_keywords()
    with pytest.raises(RetrievalError, match="damaged"):
        search_once(QUESTION, [broken], embedding, settings())


def test_a_search_succeeds_if_one_of_its_collections_works(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    broken = make_generation(TEXTS, "broken").with_broken_vectors().without_keywords()
    healthy = make_generation({f"h{key}": text for key, text in TEXTS.items()}, "healthy")
    found = search_once(QUESTION, [broken, healthy], embedding, settings())
    assert {chunk.collection for chunk in found.chunks} == {"healthy"}
    assert any("'broken'" in note for note in found.notes)
