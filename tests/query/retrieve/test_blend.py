import numpy as np
import pytest
from elt_llm_query.rerank.reranker import CURVE, Scores, blend_matches, blend_scaled, divide_by_maximum, min_max
from hypothesis import given
from hypothesis import strategies as st

PAIRS = st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(0, 60, width=32)), max_size=20)
WEIGHTS = st.floats(0, 1)


def blend(cosines: list[float], keyword_scores: list[float], weight: float) -> Scores:
    return blend_scaled(min_max(cosines), divide_by_maximum(keyword_scores), weight)


def test_the_blended_score_is_the_weighted_sum_of_the_scaled_vector_and_keyword_scores() -> None:
    assert blend([0.2, 0.6, 0.4], [0.0, 5.0, 10.0], 0.5).tolist() == pytest.approx([0.0, 0.75, 0.75])


@given(PAIRS, WEIGHTS)
def test_every_blended_score_lies_between_0_and_1(pairs: list[tuple[float, float]], weight: float) -> None:
    scores = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    assert scores.shape == (len(pairs),)
    assert np.all((scores >= 0) & (scores <= 1))


@given(PAIRS, WEIGHTS)
def test_higher_scores_never_lower_the_blended_score(pairs: list[tuple[float, float]], weight: float) -> None:
    scores = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    for one, one_score in zip(pairs, scores, strict=True):
        for other, other_score in zip(pairs, scores, strict=True):
            if one[0] >= other[0] and one[1] >= other[1]:
                assert one_score >= other_score


@given(PAIRS, WEIGHTS)
def test_the_order_of_the_candidates_does_not_change_any_blended_score(
    pairs: list[tuple[float, float]], weight: float
) -> None:
    forth = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    back = blend([cosine for cosine, _ in pairs[::-1]], [keyword for _, keyword in pairs[::-1]], weight)
    assert forth.tolist() == back[::-1].tolist()


def test_equal_cosines_are_all_scaled_to_1() -> None:
    assert min_max([0.3, 0.3]).tolist() == [1.0, 1.0]


def test_keyword_scores_that_are_all_0_are_scaled_to_0() -> None:
    assert divide_by_maximum([0.0, 0.0]).tolist() == [0.0, 0.0]


def test_scaling_an_empty_list_of_scores_gives_an_empty_list() -> None:
    assert blend([], [], 0.5).tolist() == []


@pytest.mark.parametrize(("weight", "best"), [(1.0, 0), (0.0, 1)])
def test_at_a_weight_of_0_or_1_only_one_of_the_two_scores_counts(weight: float, best: int) -> None:
    assert int(np.argmax(blend([0.9, 0.1], [1.0, 2.0], weight))) == best


SHARES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20)


def _weighed(shares: list[tuple[float, float, float]], weight: float) -> list[float]:
    cosines, keyword, order = np.array(shares, dtype=np.float64).T
    return [float(score) for score in blend_matches(cosines, keyword, order, weight)]


def test_the_word_order_score_has_four_fifths_of_the_weight_of_the_word_coverage() -> None:
    expected = [(share / 2.8) ** CURVE for share in (1, 1, 0.8, 2.8)]
    assert _weighed([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)], 0.5) == pytest.approx(expected)


@pytest.mark.parametrize(("weight", "expected"), [(1.0, (1.0, 0.0, 0.0)), (0.0, (0.0, 1 / 1.8, 0.8 / 1.8))])
def test_a_weight_of_0_ignores_cosines_and_a_weight_of_1_ignores_words(
    weight: float, expected: tuple[float, ...]
) -> None:
    scores = _weighed([(1, 0, 0), (0, 1, 0), (0, 0, 1)], weight)
    assert scores == pytest.approx([share**CURVE for share in expected])


@given(SHARES, WEIGHTS)
def test_higher_input_scores_never_lower_the_blended_score_which_stays_within_0_and_1(
    shares: list[tuple[float, float, float]], weight: float
) -> None:
    scores = _weighed(shares, weight)
    assert all(0 <= score <= 1 for score in scores)
    for one, one_score in zip(shares, scores, strict=True):
        for other, other_score in zip(shares, scores, strict=True):
            if all(mine >= theirs for mine, theirs in zip(one, other, strict=True)):
                assert one_score >= other_score - 1e-12
