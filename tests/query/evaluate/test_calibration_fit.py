"""Fitting the weights that decide when to answer: how far they may move, and when the shipped weights are kept."""

import numpy as np
import pytest
from elt_llm_query.evaluate.calibration import LabelledEvidence, calibrate, confidences, fit_weights, logits
from elt_llm_query.evaluate.refusals import ANSWERABLE, FOREIGN, REMOVED, RefusalOutcome, RefusalQuestion
from elt_llm_query.extractive.confidence import SHIPPED_WEIGHTS
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated

NOTHING = {name: 0.0 for name, _ in SHIPPED_WEIGHTS.weights}
SHARES = st.floats(0.0, 1.0, allow_nan=False)


def evidence(cosine: float, unknown: float = 0.0, residue: float = 0.6) -> dict[str, float]:
    return NOTHING | {"cosine": cosine, "passage_cosine": cosine, "unknown": unknown, "residue_distance": residue}


def outcome(number: int, kind: str, found: dict[str, float], *, right: bool = True) -> RefusalOutcome:
    return RefusalOutcome(
        RefusalQuestion(f"{kind}-{number}", f"question {number}", kind), 0.5, right and kind == ANSWERABLE, found
    )


def asked(number: int, *, seed: int, honest: bool) -> list[RefusalOutcome]:
    """Pairs of an answerable question (strong evidence) and an unanswerable one (weak); not `honest`: half swapped."""
    draws = np.random.default_rng(seed)
    outcomes: list[RefusalOutcome] = []
    for question in range(number):
        near, far = evidence(float(draws.normal(0.6, 0.1))), evidence(float(draws.normal(0.25, 0.1)), 0.2)
        if not honest and draws.random() < 0.5:
            near, far = far, near
        outcomes += [outcome(question, ANSWERABLE, near), outcome(question, REMOVED if question % 2 else FOREIGN, far)]
    return outcomes


def test_fitting_without_examples_returns_the_shipped_weights() -> None:
    assert fit_weights([]) == SHIPPED_WEIGHTS


def test_fitting_with_more_examples_moves_the_weights_further_from_the_shipped_weights() -> None:
    def moved(number: int) -> float:
        examples = [
            LabelledEvidence(end.evidence, end.right, end.question.text) for end in asked(number, seed=1, honest=True)
        ]
        fitted = dict(fit_weights(examples).weights)
        return sum(abs(fitted[name] - weight) for name, weight in SHIPPED_WEIGHTS.weights)

    assert 0 < moved(3) < moved(30) < moved(300)


@settings(max_examples=generated(15), deadline=None)
@given(st.lists(st.tuples(SHARES, SHARES, SHARES, st.booleans()), min_size=1, max_size=25))
def test_fitted_weights_are_finite_and_keep_the_threshold(drawn: list[tuple[float, float, float, bool]]) -> None:
    examples = [
        LabelledEvidence(evidence(cosine, unknown, rest), known, "one") for cosine, unknown, rest, known in drawn
    ]
    fitted = fit_weights(examples)
    assert np.isfinite([fitted.intercept, *(weight for _, weight in fitted.weights)]).all()
    assert ((confidences(examples, fitted) > 0) & (confidences(examples, fitted) < 1)).all()
    before, after = logits(examples, SHIPPED_WEIGHTS), logits(examples, fitted)
    share = np.exp(-0.5 * (before**2 - (before**2).min()))
    assert (share * (after - before)).sum() / share.sum() == pytest.approx(0.0, abs=1e-4)


def test_fitted_weights_are_used_if_the_metrics_of_held_out_questions_improve() -> None:
    fitted = calibrate(asked(60, seed=2, honest=True))
    assert not fitted.objection
    assert fitted.weights != SHIPPED_WEIGHTS
    assert fitted.before is not None
    assert fitted.after is not None
    assert fitted.after.loss < fitted.before.loss
    assert fitted.after.wrongly_refused <= fitted.before.wrongly_refused + 0.02
    assert set(fitted.after.auroc) == {REMOVED, FOREIGN}
    assert fitted.to_json()["calibrated"] is True


@pytest.mark.parametrize("seed", range(5))
def test_fitted_weights_are_not_used_if_the_metrics_of_held_out_questions_get_worse(seed: int) -> None:
    fitted = calibrate(asked(40, seed=seed, honest=False))
    assert fitted.before is not None
    assert fitted.after is not None
    lost = [kind for kind, share in fitted.after.auroc.items() if share < fitted.before.auroc[kind] - 0.005]
    refuses_more = fitted.after.wrongly_refused > fitted.before.wrongly_refused + 0.02
    worse = fitted.after.loss >= fitted.before.loss or bool(lost) or refuses_more
    assert bool(fitted.objection) is worse
    assert (fitted.weights == SHIPPED_WEIGHTS) is worse


def test_too_few_questions_for_a_calibration_are_reported() -> None:
    fitted = calibrate(asked(4, seed=1, honest=True))
    assert fitted.weights == SHIPPED_WEIGHTS
    assert fitted.objection == "4 answerable and 4 unanswerable questions are too few for a calibration"
    assert fitted.before is fitted.after is None


def test_questions_without_a_right_answer_are_not_used_for_fitting() -> None:
    missed = [outcome(number, ANSWERABLE, evidence(0.1), right=False) for number in range(100, 130)]
    outcomes = asked(60, seed=2, honest=True)
    assert calibrate([*outcomes, *missed]).weights == calibrate(outcomes).weights
