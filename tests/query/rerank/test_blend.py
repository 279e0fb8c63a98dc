import numpy as np
import pytest
from elt_llm_query.rerank.blend import blend, min_max, over_maximum
from hypothesis import given
from hypothesis import strategies as st

PAIRS = st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(0, 60, width=32)), max_size=20)
WEIGHTS = st.floats(0, 1)


def test_the_blend_is_the_weighted_sum_of_both_scaled_scores() -> None:
    assert blend([0.2, 0.6, 0.4], [0.0, 5.0, 10.0], 0.5).tolist() == pytest.approx([0.0, 0.75, 0.75])


@given(PAIRS, WEIGHTS)
def test_every_blended_score_lies_between_0_and_1(pairs: list[tuple[float, float]], weight: float) -> None:
    scores = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    assert scores.shape == (len(pairs),)
    assert np.all((scores >= 0) & (scores <= 1))


@given(PAIRS, WEIGHTS)
def test_better_in_both_is_never_worse_in_the_blend(pairs: list[tuple[float, float]], weight: float) -> None:
    scores = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    for one, one_score in zip(pairs, scores, strict=True):
        for other, other_score in zip(pairs, scores, strict=True):
            if one[0] >= other[0] and one[1] >= other[1]:
                assert one_score >= other_score


@given(PAIRS, WEIGHTS)
def test_the_order_of_the_candidates_changes_no_score(pairs: list[tuple[float, float]], weight: float) -> None:
    forth = blend([cosine for cosine, _ in pairs], [keyword for _, keyword in pairs], weight)
    back = blend([cosine for cosine, _ in pairs[::-1]], [keyword for _, keyword in pairs[::-1]], weight)
    assert forth.tolist() == back[::-1].tolist()


def test_equal_cosines_all_count_as_1() -> None:
    assert min_max([0.3, 0.3]).tolist() == [1.0, 1.0]


def test_keyword_scores_that_are_all_0_stay_0() -> None:
    assert over_maximum([0.0, 0.0]).tolist() == [0.0, 0.0]


def test_nothing_to_scale_is_nothing() -> None:
    assert blend([], [], 0.5).tolist() == []


@pytest.mark.parametrize(("weight", "best"), [(1.0, 0), (0.0, 1)])
def test_at_either_end_one_score_decides_alone(weight: float, best: int) -> None:
    assert int(np.argmax(blend([0.9, 0.1], [1.0, 2.0], weight))) == best
