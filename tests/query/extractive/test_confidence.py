"""Each kind of evidence raises or lowers the confidence, which decides whether a question is answered."""

from dataclasses import replace

import pytest
from elt_llm_core.settings.tree import AnswerSettings
from elt_llm_query.extractive.confidence import SHIPPED_THRESHOLDS, WEIGHTS, OutcomeThresholds, confidence_of
from elt_llm_query.extractive.evidence import AnswerEvidence

STRONG = AnswerEvidence(
    cosine=0.8,
    passage_cosine=0.7,
    unknown=0.0,
    expected_elsewhere=0.0,
    figure_asked=0.0,
    other_language=0.0,
    unit_distance=0.0,
    event_missing=0.0,
    residue_distance=0.3,
    unknown_names=0.0,
    named_rest=0.0,
    names_apart=0.0,
    names_parted=0.0,
    numbers_apart=0.0,
    denied=0.0,
    denied_beside=0.0,
    contradicted=0.0,
    unreasoned=0.0,
    valueless=0.0,
)
MISSING = [
    "unknown",
    "expected_elsewhere",
    "unit_distance",
    "event_missing",
    "unknown_names",
    "named_rest",
    "names_apart",
    "names_parted",
    "numbers_apart",
    "contradicted",
    "denied",
    "denied_beside",
    "unreasoned",
    "valueless",
]


def test_a_question_with_strong_evidence_is_answered() -> None:
    assert SHIPPED_THRESHOLDS.outcome(confidence_of(STRONG)) == "answered"


@pytest.mark.parametrize("name", MISSING)
def test_missing_evidence_lowers_the_confidence(name: str) -> None:
    assert confidence_of(replace(STRONG, **{name: 1.0})) < confidence_of(STRONG)


def test_the_confidence_determines_which_of_three_outcomes_an_answer_has() -> None:
    thresholds = OutcomeThresholds.of(AnswerSettings(refuse_below=0.3, uncertain_below=0.5))
    assert [thresholds.outcome(it) for it in (0.0, 0.29, 0.3, 0.49, 0.5, 1.0)] == [
        *["not found"] * 2,
        *["uncertain"] * 2,
        *["answered"] * 2,
    ]


def test_an_answer_of_low_certainty_is_uncertain_whatever_its_confidence() -> None:
    thresholds = OutcomeThresholds.of(AnswerSettings(least_certainty=0.4))
    assert thresholds.outcome(0.9, certainty=0.39) == "uncertain"
    assert thresholds.outcome(0.9, certainty=0.4) == "answered"
    assert thresholds.outcome(0.0, certainty=1.0) == "not found"


def test_if_refusals_are_switched_off_every_question_is_answered() -> None:
    assert OutcomeThresholds.of(AnswerSettings(abstain=False)).outcome(0.0, certainty=0.0) == "answered"


def test_the_threshold_of_uncertain_answers_is_not_below_that_of_refusals() -> None:
    with pytest.raises(ValueError, match="uncertain_below must not be less than refuse_below"):
        AnswerSettings(refuse_below=0.7)


def test_every_confidence_weight_belongs_to_a_kind_of_evidence() -> None:
    assert set(WEIGHTS) == set(STRONG.as_dict())
