"""Lithuanian questions with and without diacritics find their texts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from corpora.lithuanian import QUESTIONS, TEXTS
from elt_llm_core.index.keyword_index import build_keyword_index
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.search import SearchPipeline

pytestmark = pytest.mark.halved


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    return create_embedding(Settings())


@pytest.fixture(params=["rightly spelled", "without diacritics"])
def shelf(request: pytest.FixtureRequest, model: EmbeddingModel, make_generation: Callable[..., Any]) -> Any:
    """A generation of one-node documents in Lithuanian."""
    texts = TEXTS if request.param == "rightly spelled" else {name: fold(text) for name, text in TEXTS.items()}
    tokeniser = KeywordTokeniser("lt")
    generation = make_generation(texts, model=model)
    stems = [tokeniser.stems(texts[name]) for name in generation.ids]
    return replace(generation, keyword=build_keyword_index(stems, tokeniser))


def test_every_lithuanian_text_is_detected_as_lithuanian() -> None:
    assert {detect_language(text) for text in TEXTS.values()} == {"lt"}


def test_lithuanian_questions_without_diacritics_find_the_same_text(shelf: Any, model: EmbeddingModel) -> None:
    typed = {fold(question): text for question, text in QUESTIONS.items()}
    with SearchPipeline([shelf], [model], Settings()) as pipeline:
        assert _recall_at_5(pipeline, typed) == _recall_at_5(pipeline, QUESTIONS) == 1.0


def test_keyword_search_alone_finds_the_lithuanian_text_that_answers_each_question(shelf: Any) -> None:
    for question, text in QUESTIONS.items():
        position = shelf.ids.index(text)
        assert shelf.keyword.scores(question)[position] > 0
        assert shelf.keyword.scores(fold(question))[position] > 0


def _recall_at_5(pipeline: SearchPipeline, questions: dict[str, str]) -> float:
    found = [
        any(chunk.source == f"{text}.md" for chunk in pipeline.search(question, top_k=5).chunks)
        for question, text in questions.items()
    ]
    return sum(found) / len(found)
