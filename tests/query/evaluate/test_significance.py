import pytest
from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import ProfileReport, QuestionResult
from elt_llm_query.evaluate.significance import compare_reports, paired_difference
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated

SHARES = st.floats(0, 1, allow_nan=False)
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=40)


def report(profile: str, values: list[float]) -> ProfileReport:
    results = [
        QuestionResult(str(n), "?", "", dict.fromkeys(MEASURES, value), {}, 1.0) for n, value in enumerate(values)
    ]
    return ProfileReport("set", profile, dict.fromkeys(MEASURES, 0.5), 1.0, 1.0, results=tuple(results))


def test_two_equal_profiles_have_no_significant_difference() -> None:
    found = paired_difference("ndcg@10", [0.1, 0.7, 0.3], [0.1, 0.7, 0.3])
    assert (found.mean, found.low, found.high, found.p_value, found.better, found.worse) == (0, 0, 0, 1, 0, 0)


def test_a_gain_on_every_question_is_significant() -> None:
    found = paired_difference("ndcg@10", [0.2] * 40, [0.5] * 40)
    assert found.mean == pytest.approx(0.3)
    assert [found.low, found.high] == pytest.approx([0.3, 0.3])
    assert found.p_value < 0.001
    assert (found.better, found.worse) == (40, 0)


def test_balanced_gains_and_losses_are_not_significant() -> None:
    found = paired_difference("ndcg@10", [0.0, 1.0] * 20, [1.0, 0.0] * 20)
    assert found.mean == 0
    assert found.p_value == 1
    assert found.low < 0 < found.high


def test_a_gain_on_few_questions_is_not_significant() -> None:
    # Of the 8 combinations of signs of three equal gains, two are as extreme: p is about 1/4.
    assert paired_difference("ndcg@10", [0.0] * 3, [1.0] * 3).p_value == pytest.approx(0.25, abs=0.02)


@settings(max_examples=generated(10))
@given(PAIRS)
def test_exchanging_the_two_profiles_negates_their_difference(pairs: list[tuple[float, float]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    there, back = paired_difference("ndcg@10", first, second), paired_difference("ndcg@10", second, first)
    assert there.mean == pytest.approx(-back.mean)
    assert there.p_value == pytest.approx(back.p_value)
    assert (there.better, there.worse) == (back.worse, back.better)
    assert there.low - 1e-9 <= there.high
    assert 0 < there.p_value <= 1


def test_the_same_random_seed_gives_the_same_comparison_of_every_metric() -> None:
    first, second = report("a", [0.1, 0.5, 0.9, 0.2]), report("b", [0.3, 0.5, 0.8, 0.9])
    assert compare_reports(first, second, 7) == compare_reports(first, second, 7)
    printed = compare_reports(first, second).to_json()
    assert printed["differences"].keys() == MEASURES.keys()
    assert (printed["first"], printed["second"], printed["queries"]) == ("a", "b", 4)


def test_the_results_of_many_questions_are_resampled_in_batches() -> None:
    assert paired_difference("ndcg@10", [0.0] * 3000, [0.001] * 3000).p_value < 0.001
