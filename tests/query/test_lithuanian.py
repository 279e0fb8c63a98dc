"""A Lithuanian question finds its text however it is typed, keywords and vectors together."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from elt_llm_core.index.bm25 import build_keyword_index
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.embeddings import create_embedding
from elt_llm_core.settings import Settings
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.retrieve.pipeline import PassageFinder
from lithuanian import QUESTIONS, TEXTS


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    return create_embedding(Settings())


@pytest.fixture(params=["rightly spelled", "without diacritics"])
def shelf(request: pytest.FixtureRequest, model: EmbeddingModel, make_generation: Callable[..., Any]) -> Any:
    """The texts as a generation of one-node documents, indexed as Lithuanian."""
    texts = TEXTS if request.param == "rightly spelled" else {name: fold(text) for name, text in TEXTS.items()}
    tokeniser = KeywordTokeniser("lt")
    generation = make_generation(texts, model=model)
    stems = [tokeniser.stems(texts[name]) for name in generation.ids]
    return replace(generation, keyword=build_keyword_index(stems, tokeniser))


def test_every_text_is_told_to_be_lithuanian() -> None:
    assert {detect_language(text) for text in TEXTS.values()} == {"lt"}


def test_questions_typed_without_diacritics_are_answered_as_well_as_rightly_spelled_ones(
    shelf: Any, model: EmbeddingModel
) -> None:
    typed = {fold(question): text for question, text in QUESTIONS.items()}
    with PassageFinder([shelf], [model], Settings()) as finder:
        assert _recall_at_5(finder, typed) == _recall_at_5(finder, QUESTIONS) == 1.0


def test_the_words_of_each_question_find_its_text_without_any_vector(shelf: Any) -> None:
    for question, text in QUESTIONS.items():
        position = shelf.ids.index(text)
        assert shelf.keyword.scores(question)[position] > 0
        assert shelf.keyword.scores(fold(question))[position] > 0


def _recall_at_5(finder: PassageFinder, questions: dict[str, str]) -> float:
    found = [
        any(chunk.source == f"{text}.md" for chunk in finder.find(question, top_k=5).chunks)
        for question, text in questions.items()
    ]
    return sum(found) / len(found)
