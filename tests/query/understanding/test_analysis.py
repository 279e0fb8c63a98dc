"""Tests of the language, intent, keyword likeness and suggested filters of questions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from elt_llm_core.index.fields import FilterFields, many_valued, single_valued
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.rerank.reranker import adapt_weight
from elt_llm_query.retrieve.fusion import adapted_dense_weight
from elt_llm_query.search import SearchPipeline, SearchResult
from elt_llm_query.understanding.analysis import dates_of, years_of
from elt_llm_query.understanding.question import (
    asked_language,
    intent_of,
    keyword_likeness,
    parse_question,
    shown_language,
)
from hypothesis import given
from hypothesis import strategies as st

SHARE = st.floats(0.0, 1.0)
TEXTS = {
    "a": "The budget of 2021 was approved by the finance committee.",
    "b": "The budget of 2022 was approved by the finance committee.",
    "c": "Maps are kept in the archive.",
}


@pytest.fixture
def generation(make_generation: Callable[..., Any]) -> Any:
    """Three documents with years, mentioned dates and organisations."""
    fields = (
        single_valued("year", "number", [2021, 2022, None]),
        many_valued("dates", "date", [["2021-03"], ["2022"], ["1999-05-01"]]),
        many_valued("organisations", "text", [["Finance Committee"], [], []]),
        single_valued("section", "path", ["Money > Budgets", "Money > Budgets", "Archive"]),
    )
    readers = {one.name: lambda one=one: one for one in fields}
    return replace(make_generation(TEXTS), filter_fields=FilterFields(readers))


def ask(
    generation: Any, embedding: FakeEmbedding, question: str, mode: str, where: tuple[str, ...] = ()
) -> SearchResult:
    settings = Settings(query=QuerySettings.model_validate({"filters_from_question": mode}))
    with SearchPipeline([generation], [embedding], settings) as pipeline:
        return pipeline.search(question, where=where)


@pytest.mark.parametrize(
    ("question", "language", "intent"),
    [
        ("What is a folio?", "en", "definition"),
        ("How do I renew a loan?", "en", "how_to"),
        ("Who approves a loan?", "en", "who"),
        ("What is the difference between a loan and a gift?", "en", "compare"),
        ("Worin besteht der Unterschied zwischen Leihe und Miete?", "de", "compare"),
        ("Wie viele Bücher darf ich ausleihen?", "de", "how_many"),
        ("Combien de livres peut-on emprunter ?", "fr", "how_many"),
        ("Pourquoi la salle est-elle fermée pour les lecteurs ?", "fr", "why"),
        ("Kas yra skaityklos kortelė?", "lt", "definition"),
        ("Kiek knygu galima pasiimti is bibliotekos ir iki kada?", "lt", "how_many"),
        ("¿Cuántos libros se pueden prestar?", "es", "how_many"),
        ("¿Por qué está cerrada la sala?", "es", "why"),
        ("Kiek kainuoja stotis Marse?", "lt", "how_many"),
        ("May I eat in the hall?", "en", "yes_no"),
        ("loan renewal form", "en", "other"),
    ],
)
def test_the_language_and_the_intent_of_a_question_are_detected(question: str, language: str, intent: str) -> None:
    asked = parse_question(question)
    told = asked_language(question, asked.language)
    assert (told, intent_of(asked, told)) == (language, intent)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("When does the hall open?", "en"),
        ("Wann öffnet die Halle?", "de"),
        ("Quand ouvre la salle pour les lecteurs ?", "fr"),
        ("¿Cuándo abre la sala?", "es"),
        ("Kada atidaroma salė?", "lt"),
        ("Tesla 1943", ""),
        ("Kublai Khan", ""),
    ],
)
def test_the_language_of_a_question_is_detected_only_if_it_contains_function_words(
    question: str, language: str
) -> None:
    assert shown_language(question) == language


def test_years_and_dates_are_extracted_from_a_question() -> None:
    assert years_of("between 1999 and 2021, not 2024-03-31 or 20215") == ("1999", "2021")
    text = "on 12 March 2024, 31.12.2023, 2022-05 and Juni 2021, not on 31.02.2023"
    assert dates_of(text) == ("2022-05", "2023-12-31", "2024-03-12", "2021-06")


@pytest.mark.parametrize(
    ("question", "least", "most"),
    [
        ("goalkeeper", 1.0, 1.0),
        ("A3.1 U-21", 0.8, 1.0),
        ('"blue atlas"', 0.8, 1.0),
        ("Which of the readers may borrow an atlas from the reading room in summer?", 0.0, 0.0),
    ],
)
def test_short_questions_codes_and_quotations_count_as_keywords(question: str, least: float, most: float) -> None:
    assert least <= keyword_likeness(parse_question(question)) <= most


@given(st.text(max_size=80))
def test_the_degree_to_which_a_question_resembles_keywords_is_within_0_and_1(text: str) -> None:
    assert 0.0 <= keyword_likeness(parse_question(text)) <= 1.0


@given(SHARE, SHARE)
def test_the_keyword_weight_is_never_lower_for_a_question_that_resembles_keywords_more(
    configured: float, likeness: float
) -> None:
    assert 0.0 <= adapted_dense_weight(configured, likeness) <= configured


@given(SHARE, st.lists(SHARE, max_size=30), SHARE, SHARE)
def test_adapting_the_weight_of_cosines_keeps_it_within_0_and_1_and_leaves_0_and_1_unchanged(
    weight: float, scores: list[float], coverage: float, likeness: float
) -> None:
    def adapted(configured: float) -> set[float]:
        both = adapt_weight(configured, [np.array(scores)], coverage, likeness)
        return {both.by_coverage, both.by_flatness}

    assert all(0.0 <= one <= 1.0 for one in adapted(weight))
    assert adapted(0.0) == {0.0}
    assert adapted(1.0) == {1.0}


def test_the_keyword_weight_is_higher_if_few_chunks_have_much_higher_keyword_scores_than_the_rest() -> None:
    peaked, flat = np.array([1.0] + [0.1] * 20), np.array([1.0] * 20)
    assert adapt_weight(0.5, [peaked]).by_flatness < 0.5 < adapt_weight(0.5, [flat]).by_flatness


def test_cosines_count_more_if_no_chunk_has_the_words_of_the_question() -> None:
    scores = [np.ones(1)]
    assert adapt_weight(0.5, scores, coverage=1.0).by_coverage == pytest.approx(0.6)
    assert adapt_weight(0.5, scores, coverage=0.0).by_coverage == pytest.approx(0.8)


def test_for_keywords_that_a_chunk_has_the_weight_of_cosines_stays_as_configured() -> None:
    assert adapt_weight(0.5, [np.ones(1)], coverage=1.0, likeness=1.0).by_coverage == 0.5


def test_by_default_filters_are_suggested_but_not_applied(generation: Any, embedding: FakeEmbedding) -> None:
    found = ask(generation, embedding, "What did the finance committee approve in 2021?", "suggest")
    told = found.stages[0].details["could be narrowed with --where"]
    assert told == ["year=2021", "organisations=Finance Committee"]
    assert len(found.chunks) == 3
    assert found.notes == ()


def test_a_suggested_filter_is_applied_with_a_note_if_the_settings_require_it(
    generation: Any, embedding: FakeEmbedding
) -> None:
    found = ask(generation, embedding, "What was approved in 2022?", "apply")
    assert [chunk.node_id for chunk in found.chunks] == ["b"]
    assert any("year=2022" in note for note in found.notes)
    assert [stage.name for stage in found.stages][:2] == ["understand", "filter"]


def test_suggested_filters_that_exclude_every_chunk_are_dropped_with_a_note(
    generation: Any, embedding: FakeEmbedding
) -> None:
    found = ask(generation, embedding, "What of 2022 is in the archive?", "apply")
    assert len(found.chunks) == 3
    assert any(
        note.startswith("The question suggests year=2022 and section=Archive, but no chunk") for note in found.notes
    )


def test_no_filter_is_suggested_for_a_field_that_already_has_a_condition(
    generation: Any, embedding: FakeEmbedding
) -> None:
    found = ask(generation, embedding, "What was approved in 2022?", "suggest", where=("year=2021",))
    assert found.stages[0].details["could be narrowed with --where"] == []


def test_filter_suggestions_can_be_switched_off(generation: Any, embedding: FakeEmbedding) -> None:
    found = ask(generation, embedding, "What was approved in 2022?", "off")
    assert found.stages[0].details["could be narrowed with --where"] == []


def test_a_cached_result_keeps_the_analysis_in_its_trace(generation: Any, embedding: FakeEmbedding) -> None:
    with SearchPipeline([generation], [embedding], Settings()) as pipeline:
        first = pipeline.search("What was approved in 2022?").stages[0].details
        again = pipeline.search("What was approved in 2022?").stages[0].details
    assert again["cache"]["hit"] is True
    assert {**first, "cache": None} == {**again, "cache": None}
