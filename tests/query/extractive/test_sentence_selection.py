"""How far the score of a sentence may be below the best score for the sentence to be quoted too."""

from dataclasses import replace

import numpy as np
import pytest
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.answerer import choose_sentences, decisive_sentences, drop_rows_of_other_values
from elt_llm_query.extractive.confidence import certainty_of
from elt_llm_query.extractive.evidence import AnswerEvidence
from elt_llm_query.extractive.sentence_scores import ScoredSentence
from elt_llm_query.grounding.sentences import SentenceCandidate
from elt_llm_query.understanding.question import parse_question

AXES = np.eye(8, dtype=np.float32)


def scored(*scores: float, coverage: float, support: float = 1.0) -> list[ScoredSentence]:
    """Make sentences with these scores, which have no words in common."""
    return [_sentence(place, score, coverage, support) for place, score in enumerate(scores)]


def _sentence(place: int, score: float, coverage: float, support: float) -> ScoredSentence:
    return ScoredSentence(
        candidate=SentenceCandidate(0, place * 10, place * 10 + 9, f"sentence {place}.", "prose", ""),
        cosine=0.0,
        coverage=coverage,
        around=0.0,
        chunk_score=(score - 0.3 * coverage) / 0.25,
        chunk_cosine=0.0,
        support=support,
        support_weight=0.0,
        rivals=0,
        stems=frozenset({str(place)}),
        own_stems=frozenset({f"word{'abcdefgh'[place]}"}),
        vector=AXES[place],
    )


NO_EVIDENCE = AnswerEvidence(**dict.fromkeys(AnswerEvidence.__dataclass_fields__, 0.0))


def test_the_certainty_is_higher_the_more_the_best_sentence_leads_and_the_earlier_its_chunk_ranks() -> None:
    clear, close = scored(1.0, 0.5, coverage=0.5), scored(1.0, 0.9, coverage=0.5)
    late = [replace(close[0], candidate=replace(close[0].candidate, chunk=5)), close[1]]
    certainties = [certainty_of(NO_EVIDENCE, one) for one in (clear, close, late)]
    assert certainties == sorted(certainties, reverse=True)
    assert certainty_of(replace(NO_EVIDENCE, unit_distance=1.0), close) < certainties[1]


def test_the_only_sentence_and_a_table_row_are_certain() -> None:
    assert certainty_of(NO_EVIDENCE, scored(0.1, coverage=0.0)) == 1.0
    sentences = scored(1.0, 0.9, coverage=0.5)
    row = replace(sentences[0], candidate=replace(sentences[0].candidate, kind="row"))
    assert certainty_of(NO_EVIDENCE, sentences) < certainty_of(NO_EVIDENCE, [row, sentences[1]]) == 1.0


def test_the_certainty_compares_the_best_sentence_with_the_best_five_only() -> None:
    five = scored(1.0, 0.9, 0.9, 0.9, 0.9, coverage=0.5)
    assert certainty_of(NO_EVIDENCE, scored(1.0, 0.9, 0.9, 0.9, 0.9, 0.1, coverage=0.5)) == certainty_of(
        NO_EVIDENCE, five
    )


@pytest.mark.parametrize(("second", "third", "quoted"), [(0.95, 0.93, 3), (0.91, 0.91, 2), (0.89, 0.89, 1)])
def test_a_second_sentence_must_score_nearly_as_high_as_the_best_and_a_third_even_nearer(
    second: float, third: float, quoted: int
) -> None:
    assert len(choose_sentences(scored(1.0, second, third, coverage=0.5), 3)) == quoted


def test_a_sentence_of_another_document_may_have_a_lower_score() -> None:
    sentences = scored(1.0, 0.87, coverage=0.5)
    sentences[1] = replace(sentences[1], candidate=replace(sentences[1].candidate, chunk=1))
    assert len(choose_sentences(sentences, 3)) == 1
    assert len(choose_sentences(sentences, 3, others={1})) == 2


@pytest.mark.parametrize(
    ("best_chunk", "further_chunk", "score", "quoted"),
    [(0, 2, 0.95, 2), (0, 3, 0.95, 1), (1, 3, 0.95, 2), (2, 2, 0.95, 1), (2, 2, 0.97, 2)],
)
def test_a_second_sentence_must_be_in_a_chunk_of_similar_rank_and_score_higher_if_the_best_chunk_has_a_low_rank(
    best_chunk: int, further_chunk: int, score: float, quoted: int
) -> None:
    sentences = [
        replace(one, candidate=replace(one.candidate, chunk=chunk))
        for one, chunk in zip(scored(1.0, score, coverage=0.5), (best_chunk, further_chunk), strict=True)
    ]
    assert len(choose_sentences(sentences, 3)) == quoted
    assert len(choose_sentences(sentences, 3, others={further_chunk})) == (2 if best_chunk < 2 else quoted)


def test_across_languages_a_sentence_may_score_much_lower_if_the_best_one_has_few_words_of_the_question() -> None:
    for coverage, quoted in ((0.0, 2), (0.9, 1)):
        sentences = scored(1.0, 0.7, coverage=coverage)
        assert len(choose_sentences(sentences, 3)) == 1
        assert len(choose_sentences(sentences, 3, across=True)) == quoted


def test_a_list_item_is_added_only_to_the_sentence_that_introduces_its_list_or_to_another_item() -> None:
    sentences = scored(1.0, 0.99, coverage=0.5)
    for opening, quoted in (("sentence 0.", 2), ("Bring:", 1)):
        sentences[1] = replace(sentences[1], candidate=replace(sentences[1].candidate, kind="item", lead=opening))
        assert len(choose_sentences(sentences, 3)) == quoted


def test_the_number_of_quoted_sentences_is_limited() -> None:
    assert len(choose_sentences(scored(1.0, 1.0, 1.0, 1.0, coverage=1.0), 3)) == 3
    assert choose_sentences([], 3) == []


def test_only_sentences_with_nearly_the_best_score_decide_whether_to_answer() -> None:
    sentences = scored(0.5, 0.45, 0.42, coverage=0.0)
    assert len(choose_sentences(sentences, 3)) == 3
    assert len(decisive_sentences(sentences, 3)) == 2


def test_the_second_sentence_for_a_question_with_two_parts_may_have_a_lower_score() -> None:
    sentences = scored(1.0, 0.7, coverage=1.0)
    assert len(choose_sentences(sentences, 3)) == 1
    assert len(choose_sentences(sentences, 3, twofold=True)) == 2


def test_no_sentence_is_added_to_a_defining_sentence_unless_the_question_has_two_parts() -> None:
    sentences = scored(1.0, 1.0, coverage=0.5, support=1.0)
    assert len(choose_sentences(sentences, 3, definition=True)) == 1
    assert len(choose_sentences(sentences, 3, twofold=True, definition=True)) == 2


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Which ticket costs 12 EUR?", ["Day"]),
        ("Which ticket is valid for 3 days?", ["Day"]),
        ("Which ticket costs 12 EUR, which 30 EUR?", ["Day", "Week"]),
        ("Which ticket is valid in 3 cities?", ["Day", "Week"]),
        ("Which ticket costs 2 EUR?", ["Day", "Week"]),
        ("Which ticket costs 12 EUR 50?", ["Day", "Week"]),
        ("Which ticket costs 12.5 EUR?", ["Day", "Week"]),
        ("Which ticket has 2.5 zones?", ["Week"]),
        ("Which ticket is in rule 2.5?", ["Day", "Week"]),
        ("Which ticket costs more than 12 EUR?", ["Day", "Week"]),
        ("Welche Karte kostet mindestens 12 EUR?", ["Day", "Week"]),
        ("Which ticket doesn't cost 12 EUR?", ["Day", "Week"]),
    ],
)
def test_the_rows_of_a_table_without_the_value_that_the_question_names_are_dropped(
    question: str, kept: list[str]
) -> None:
    prose, *others = scored(1.0, 0.9, 0.8, coverage=0.5)
    rows = [
        replace(one, candidate=replace(one.candidate, text=text, kind="row", lead="| Ticket | Price | Days | Zones |"))
        for one, text in zip(others, ["| Day | 12 EUR | 3 | 1 |", "| Week | 30 EUR | 7 | 2.5 |"], strict=True)
    ]
    left = drop_rows_of_other_values(parse_question(question, KeywordTokeniser()), [prose, *rows])
    assert left[0] is prose
    assert [one.candidate.text.split()[1] for one in left[1:]] == kept
