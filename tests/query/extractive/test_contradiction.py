"""Sentences that contradict an assumption of the question."""

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.evidence import contradiction_score
from elt_llm_query.extractive.sentence_scores import ScoringContext, score_sentences
from elt_llm_query.grounding.claims import ContradictionFinder
from elt_llm_query.grounding.sentences import local_term_weights, sentence_candidates
from elt_llm_query.understanding.question import parse_question, question_language
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval.chunks import make_chunk
from sampling import generated

EMBEDDING = FakeEmbedding(128)
WORDS = ["no", "not", "when", "before", "more", "Atlas", "lent", "3", "children", "fees", ",", ";", "?"]


def _contradiction(question: str, text: str) -> float:
    tokeniser = KeywordTokeniser(question_language(question))
    weights = local_term_weights([tokeniser.stems(text), tokeniser.stems("Something else.")])
    vectors = np.stack([EMBEDDING.embed_question(question)])
    contraries = ContradictionFinder(tokeniser)
    asking = ScoringContext(parse_question(question, tokeniser), vectors, EMBEDDING, tokeniser, weights, contraries)
    chunks = [make_chunk(text)]
    return contradiction_score(asking, score_sentences(asking, chunks, sentence_candidates(chunks))[0])


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did the library increase its fees?", "The library reduced its fees in spring 1971."),
        ("Which town has the smallest library?", "The town of Quillhaven has the largest library."),
        ("Which readers do not pay for copies?", "Readers from the harbour pay for copies."),
        ("Who never returned the blue atlas?", "A sailor returned the blue atlas in 1902."),
        ("Why are atlases lent to children?", "Atlases are never lent to children."),
        ("Wann hat die Bibliothek ihre Gebühren erhöht?", "Die Bibliothek hat ihre Gebühren 1971 nicht erhöht."),
    ],
)
def test_an_antonym_or_a_negation_on_one_side_only_contradicts_the_question(question: str, text: str) -> None:
    assert 0.5 < _contradiction(question, text) <= 1.0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did the library increase its fees?", "The library increased its fees in spring 1971."),
        ("Are atlases lent to children?", "Atlases are never lent to children."),
        ("Which readers do not pay for copies?", "Readers above seventy do not pay for copies."),
        ("How old must a child be to borrow an atlas?", "No one may borrow an atlas before the tenth birthday."),
        ("How many atlases may a child borrow?", "A child may not borrow more than three atlases."),
        ("When do we start reading again?", "Reading stops at noon and does not start again until two."),
        ("On which days must readers stop talking?", "On Mondays no reader may be talking in the hall."),
        ("Our card is not valid. What does a card cost?", "A card costs five pounds."),
        ("When did the library increase its fees?", "Cattle were reduced to a dozen by the flood."),
    ],
)
def test_sentences_with_limits_plain_answers_and_sentences_about_other_subjects_do_not_contradict_the_question(
    question: str, text: str
) -> None:
    assert _contradiction(question, text) == 0.0


@settings(max_examples=generated(20), deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=4))
def test_the_contradiction_score_is_zero_or_between_a_half_and_one(words: list[str]) -> None:
    found = _contradiction(f"When {' '.join(words)}?", "Atlases are never lent to 3 children before noon, no more.")
    assert found == 0.0 or 0.5 <= found <= 1.0
