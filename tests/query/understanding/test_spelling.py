"""Tests of spelling correction to words of the documents."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from elt_llm_core.index.fields import FilterFields, single_valued
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.retrieve.filters import filter_limits, parse_conditions
from elt_llm_query.search import SearchPipeline
from elt_llm_query.understanding.spelling import (
    SpellingCorrector,
    apply_corrections,
    is_transposition,
    single_edits,
)
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The president of the council appoints the secretary.",
    "n2": "The president signs every certificate of registration.",
    "n3": "A goalkeeper may be registered in an emergency.",
    "n4": "Obadiah Hartmanis founded the library.",
    "n5": "The form is stamped at the harbour.",
}
WORD = st.text("abcde", min_size=1, max_size=8)


@pytest.fixture
def speller(make_generation: MakeGeneration) -> SpellingCorrector:
    return SpellingCorrector([make_generation(TEXTS)], ["en"], frozenset({"tidewatr"}))


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        ("Who is the presidnet of the council?", "presidnet", "president"),  # its stem is not one mistake away
        ("Who signs a certifcate of registration?", "certifcate", "certificate"),
        ("Who signs the registratoin?", "registratoin", "registration"),
        ("When may a goalkeepper play?", "goalkeepper", "goalkeeper"),
        ("What did Obadiah Hatmanis do?", "Hatmanis", "Hartmanis"),
        ("When may a goolkeaper be registered?", "goolkeaper", "goalkeeper"),  # two mistakes in a long word
    ],
)
def test_a_mistyped_word_is_corrected_to_a_word_of_the_documents(
    speller: SpellingCorrector, question: str, typed: str, meant: str
) -> None:
    assert speller.corrections(question, "en")[typed] == meant


@pytest.mark.parametrize(
    "question",
    [
        "Who is the president of the council?",
        "Who buys the farm in the harbour?",  # a real word beside "form"
        "Who is the PRESIDNET of the council?",
        'Who wrote "the presidnet" here?',
        "What does presidnet-7 mean for the council?",
        "Does Forn sign it in the harbour?",  # a short name
        "Where is the tidewatr of the council?",  # of the names of the alias file
        "Xqzwv blarg zzyzx quuxly wibblet",
    ],
)
def test_real_words_names_codes_and_quotations_are_not_corrected(speller: SpellingCorrector, question: str) -> None:
    assert speller.corrections(question, "en") == {}


def test_a_word_with_two_equally_likely_corrections_is_not_corrected(make_generation: MakeGeneration) -> None:
    speller = SpellingCorrector(
        [make_generation({"a": "gallant horses", "b": "gallons of water"})], ["en"], frozenset()
    )
    assert speller.corrections("how many gallont of it are there", "en") == {}


def test_a_question_word_is_not_corrected_even_if_the_dictionary_lacks_it(make_generation: MakeGeneration) -> None:
    generation = make_generation({"n1": "Combine les listes des livres de la salle."})
    assert SpellingCorrector([generation], ["fr"], frozenset()).corrections("Combien de livres ?", "fr") == {}


def test_a_word_that_occurs_in_any_collection_is_not_corrected(make_generation: MakeGeneration) -> None:
    other = make_generation({"x": "presidnet is a trade name"}, "trade")
    speller = SpellingCorrector([make_generation(TEXTS), other], ["en"], frozenset())
    assert speller.corrections("Who is the presidnet of the council?", "en") == {}


def test_no_correction_uses_a_word_that_occurs_only_in_chunks_excluded_by_a_filter(
    make_generation: MakeGeneration,
) -> None:
    generation = make_generation(TEXTS)
    pages = single_valued("page", "number", [int(node_id not in ("n1", "n2")) for node_id in generation.ids])
    generation = replace(generation, filter_fields=FilterFields({"page": lambda: pages}))
    [allowed] = filter_limits(parse_conditions(["page=1"]), [generation]).allowed
    speller = SpellingCorrector([generation], ["en"], frozenset())
    assert speller.corrections("Who is the presidnet of the library?", "en", lambda: [allowed]) == {}


def test_a_spelling_correction_is_searched_and_reported_in_a_note_and_in_the_trace(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    settings = Settings(query=QuerySettings(cache_size=0))
    with SearchPipeline([make_generation(TEXTS)], [embedding], settings) as pipeline:
        found = pipeline.search("Who signs a certifcate?")
        right = pipeline.search("Who signs a certificate?")
    assert [chunk.node_id for chunk in found.chunks] == [chunk.node_id for chunk in right.chunks]
    assert "No document has the word 'certifcate'; 'certificate' was searched for instead." in found.notes
    assert found.stages[0].details["corrected"] == {"certifcate": "certificate"}
    assert found.searched_for == "Who signs a certificate?"


def test_spelling_corrections_replace_only_whole_words() -> None:
    made = {"certifcate": "certificate"}
    assert apply_corrections("a certifcate, certifcate-2", made) == "a certificate, certifcate-2"


@given(WORD)
def test_a_single_edit_gives_a_word_with_the_same_first_letter_and_an_edit_distance_of_1(word: str) -> None:
    assert all(OSA.distance(word, made) == 1 and made[:1] in (word[0], "") for made in single_edits(word))


PART = st.text("abcde", max_size=5)


@given(PART, PART, st.permutations("abcde"))
def test_only_swapping_two_different_neighbouring_letters_is_a_transposition(
    left: str, right: str, letters: list[str]
) -> None:
    one, other, third, *_ = letters
    assert is_transposition(f"{left}{one}{other}{right}", f"{left}{other}{one}{right}")
    assert not is_transposition(f"{left}{one}{other}{right}", f"{left}{one}{third}{right}")
