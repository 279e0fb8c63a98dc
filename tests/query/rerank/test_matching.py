import pytest
from elt_llm_query.rerank.reranker import GAP, QuestionMatcher, TermMatch
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.text("abcdefgh", min_size=1, max_size=9)
QUESTIONS = st.lists(WORDS, max_size=8)
PASSAGES = st.lists(WORDS, max_size=30)


def matched(question: str, chunk: str, **weights: float) -> TermMatch:
    stems = question.split()
    return QuestionMatcher(stems, {stem: weights.get(stem, 1.0) for stem in stems}).match(chunk.split())


def test_coverage_is_the_weighted_share_of_the_question_words_that_a_chunk_contains() -> None:
    assert matched("yellow card", "card index", yellow=3.0, card=1.0).coverage == pytest.approx(0.25)
    assert matched("yellow card", "card card card yellow").coverage == 1.0


def test_a_compound_word_matches_its_parts_and_each_part_matches_the_compound_word() -> None:
    assert matched("vertrag", "arbeitsvertrag").coverage == 1.0
    assert matched("arbeitsvertrag", "vertrag").coverage == 1.0


def test_short_parts_of_compound_words_do_not_match() -> None:
    assert matched("vert", "arbeitsvertrag").coverage == 0.0
    assert matched("arbeitsvertrag", "vert").coverage == 0.0


def test_the_word_order_score_is_the_weighted_share_of_neighbouring_word_pairs_in_the_chunk() -> None:
    assert matched("show yellow card", "card yellow show").order == 0.0
    assert matched("show yellow card", "show a yellow shirt then a red card").order == pytest.approx(0.5)
    assert matched("show yellow card", "show the yellow card").order == 1.0


@pytest.mark.parametrize(("between", "order"), [(GAP - 1, 1.0), (GAP, 0.0)])
def test_words_of_the_question_that_are_far_apart_in_a_chunk_do_not_count_as_adjacent(
    between: int, order: float
) -> None:
    assert matched("yellow card", " ".join(["yellow", *["x"] * between, "card"])).order == order


def test_the_word_order_score_of_a_question_with_one_word_equals_its_coverage() -> None:
    assert matched("offside", "the offside rule") == TermMatch(1.0, 1.0)
    assert matched("offside", "the penalty rule") == TermMatch(0.0, 0.0)


def test_a_question_without_words_matches_nothing() -> None:
    assert matched("", "the offside rule") == TermMatch(0.0, 0.0)


def test_a_very_long_word_is_not_split_into_parts() -> None:
    assert matched("a" * 4000, "aaaaaa").coverage == 0.0


@given(QUESTIONS, PASSAGES, st.floats(0.01, 20))
def test_coverage_and_word_order_scores_lie_between_0_and_1_and_are_deterministic(
    question: list[str], chunk: list[str], weight: float
) -> None:
    weights = dict.fromkeys(question, weight)
    match = QuestionMatcher(question, weights).match(chunk)
    assert 0.0 <= match.coverage <= 1.0
    assert 0.0 <= match.order <= 1.0
    assert QuestionMatcher(question, weights).match(chunk) == match


@given(QUESTIONS, PASSAGES, PASSAGES)
def test_text_appended_to_a_chunk_never_lowers_its_match_score(
    question: list[str], chunk: list[str], more: list[str]
) -> None:
    matcher = QuestionMatcher(question, dict.fromkeys(question, 1.0))
    short, long = matcher.match(chunk), matcher.match(chunk + more)
    assert long.coverage >= short.coverage
    assert long.order >= short.order
