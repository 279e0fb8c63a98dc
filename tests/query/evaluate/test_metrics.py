import math

import pytest
from elt_llm_query.evaluate.metrics import (
    MEASURES,
    all_found,
    hit,
    measure_ranking,
    ndcg,
    percentile,
    precision,
    recall,
    reciprocal_rank,
)
from hypothesis import given
from hypothesis import strategies as st

IDS = st.sampled_from([f"d{number}" for number in range(20)])
RANKED = st.lists(IDS, unique=True, max_size=20)
GRADES = st.dictionaries(IDS, st.integers(1, 3), min_size=1)


def test_ndcg_takes_the_grade_as_gain_and_discounts_by_the_logarithm_of_the_rank() -> None:
    # By hand: (1/log2(2) + 2/log2(4)) / (2/log2(2) + 1/log2(3) + 1/log2(4))
    found = ndcg(["a", "x", "b"], {"a": 1, "b": 2, "c": 1})
    assert found == pytest.approx((1 + 2 / 2) / (2 + 1 / math.log2(3) + 1 / 2))


def test_metrics_at_ten_ignore_documents_after_the_first_ten() -> None:
    ranked = [f"x{number}" for number in range(10)] + ["a"]
    assert ndcg(ranked, {"a": 1}) == 0
    assert reciprocal_rank(ranked, {"a": 1}) == 0
    assert recall(ranked, {"a": 1}, 10) == 0
    assert recall(ranked, {"a": 1}, 100) == 1


def test_ndcg_can_reach_1_with_more_relevant_documents_than_ranks() -> None:
    grades = {f"d{number}": 1 for number in range(15)}
    assert ndcg(list(grades), grades) == pytest.approx(1.0)
    assert recall(list(grades), grades, 10) == pytest.approx(10 / 15)


def test_the_reciprocal_rank_is_that_of_the_first_relevant_document() -> None:
    assert reciprocal_rank(["x", "a", "b"], {"a": 1, "b": 3}) == 0.5


@given(RANKED, GRADES)
def test_every_ranking_metric_lies_between_0_and_1(ranked: list[str], grades: dict[str, int]) -> None:
    figures = measure_ranking(ranked, grades)
    assert figures.keys() == MEASURES.keys()
    assert all(0 <= value <= 1 + 1e-12 for value in figures.values())


@given(RANKED, GRADES)
def test_metrics_whose_definitions_coincide_have_equal_values(ranked: list[str], grades: dict[str, int]) -> None:
    figures = measure_ranking(ranked, grades)
    assert figures["precision@1"] == hit(ranked, grades, 1) == reciprocal_rank(ranked, grades, 1)
    assert (figures["hit@10"] > 0) == (figures["mrr@10"] > 0) == (figures["recall@10"] > 0)
    assert figures["recall@10"] <= figures["recall@100"]


def test_precision_counts_missing_results_as_irrelevant() -> None:
    assert precision(["a", "x"], {"a": 1, "b": 1}, 5) == pytest.approx(1 / 5)


@given(GRADES)
def test_the_ideal_ranking_has_the_value_1_in_every_metric(grades: dict[str, int]) -> None:
    ideal = sorted(grades, key=lambda document: -grades[document])
    assert ndcg(ideal, grades) == pytest.approx(1.0)
    assert recall(ideal, grades, 100) == 1.0
    assert reciprocal_rank(ideal, grades) == 1.0


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2.0), (0.95, 4.0), (1.0, 4.0), (0.0, 1.0)])
def test_a_percentile_is_always_one_of_the_measured_values(share: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == expected


def test_the_metrics_equal_those_of_trec_eval() -> None:
    # As trec_eval itself gives them for this ranking, through ir-measures 0.4.3.
    ranked = ["x1", "b", "x2", "x3", "a", "x4", "c"]
    assert measure_ranking(ranked, {"a": 3, "b": 1, "c": 2, "d": 1}) == pytest.approx(
        {
            "ndcg@10": 0.473401592,
            "recall@10": 0.75,
            "recall@100": 0.75,
            "precision@1": 0.0,
            "precision@5": 0.4,
            "mrr@10": 0.5,
            "hit@10": 1.0,
            "all@10": 0.0,  # not a figure of trec_eval: "d" was not found
        }
    )


def test_the_metric_all_found_is_1_only_if_every_relevant_document_is_ranked() -> None:
    ranked, grades = ["a", "b", "c"], {"a": 1, "c": 2}
    assert [all_found(ranked, grades, depth) for depth in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert all_found(ranked, {}) == 0.0
