"""Metrics of refusals: AUROC, and the risk-coverage curve with its area."""

from dataclasses import replace

import pytest
from elt_llm_query.evaluate.refusals import (
    ANSWERABLE,
    FOREIGN,
    UNANSWERABLE,
    RefusalOutcome,
    RefusalQuestion,
    area_under_risk,
    auroc,
    points_at_coverages,
    refusal_report,
    risk_and_coverage,
)
from elt_llm_query.extractive.confidence import OutcomeThresholds
from hypothesis import given
from hypothesis import strategies as st

SHARES = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=20)


def outcome(kind: str, confidence: float, right: bool = False) -> RefusalOutcome:
    return RefusalOutcome(RefusalQuestion(f"{kind}-{confidence}", "Who steers?", kind), confidence, right, {})


def test_auroc_is_1_for_separated_values_and_one_half_for_equal_values() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2, 0.3]) == 1.0
    assert auroc([0.1], [0.9, 0.8]) == 0.0
    assert auroc([0.5, 0.5], [0.5]) == 0.5


@given(SHARES, SHARES)
def test_auroc_is_the_share_of_pairs_in_the_right_order(higher: list[float], lower: list[float]) -> None:
    pairs = [1.0 if one > other else 0.5 * (one == other) for one in higher for other in lower]
    assert auroc(higher, lower) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(higher, lower) + auroc(lower, higher) == pytest.approx(1.0)


def test_the_risk_coverage_curve_adds_the_most_confident_answers_first_and_equally_confident_ones_together() -> None:
    curve = risk_and_coverage([(0.9, True), (0.5, False), (0.5, True), (0.1, False)])
    assert [(at.threshold, at.coverage, at.risk) for at in curve] == [
        (0.9, 0.25, 0.0),
        (0.5, 0.75, 1 / 3),
        (0.1, 1, 0.5),
    ]
    assert area_under_risk(curve) == pytest.approx(0.25 * 0 + 0.5 / 3 + 0.25 * 0.5)
    assert [at.threshold for at in points_at_coverages(curve, (0.1, 0.25, 0.3, 1.0))] == [0.9, 0.9, 0.5, 0.1]


@given(st.lists(st.tuples(st.integers(0, 8).map(lambda eighths: eighths / 8), st.booleans()), min_size=1, max_size=30))
def test_the_risk_coverage_curve_ends_with_all_questions_answered_and_its_area_is_within_0_and_1(
    scored: list[tuple[float, bool]],
) -> None:
    curve = risk_and_coverage(scored)
    assert curve[-1].coverage == 1.0
    assert curve[-1].risk == pytest.approx(sum(not right for _, right in scored) / len(scored))
    assert 0.0 <= area_under_risk(curve) <= 1.0
    assert len(points_at_coverages(curve)) == 10


def test_a_refusal_report_has_the_metrics_of_each_kind_of_question() -> None:
    outcomes = [
        outcome(ANSWERABLE, 0.9, right=True),
        outcome(ANSWERABLE, 0.3, right=True),
        outcome(UNANSWERABLE, 0.5),
        outcome(FOREIGN, 0.1),
    ]
    found = refusal_report("boats", outcomes)
    assert found.wrongly_refused == 0.5
    assert found.right == 1.0
    assert {kind: one.auroc for kind, one in found.by_kind.items()} == {UNANSWERABLE: 0.5, FOREIGN: 1.0}
    assert {kind: one.refused for kind, one in found.by_kind.items()} == {UNANSWERABLE: 0.0, FOREIGN: 1.0}
    assert {kind: one.not_certain for kind, one in found.by_kind.items()} == {UNANSWERABLE: 1.0, FOREIGN: 1.0}
    assert found.by_kind[FOREIGN].area == pytest.approx(1 / 9)
    assert [row["outcome"] for row in found.to_json()["results"]] == ["answered", "not found", "uncertain", "not found"]


def test_the_outcome_of_a_question_follows_the_thresholds_of_its_profile() -> None:
    strict = OutcomeThresholds(0.5, 0.9)
    assert replace(outcome(ANSWERABLE, 0.45), thresholds=strict).outcome == "not found"
    assert outcome(ANSWERABLE, 0.45).outcome == "uncertain"
