"""Calibrate the confidence on a collection: regularised logistic regression with held-out checks.

Questions whose answer is among the chunks are answerable. The same questions with their documents removed, and
questions about other subjects, are unanswerable. All metrics are for held-out questions. Only a scale and the weights
of the evidence that depends most on the documents' subject are free, and an L2 penalty pulls them towards the shipped
weights (Chelba and Acero, "Adaptation of Maximum Entropy Capitalizer: Little Data Can Help a Lot", EMNLP 2004). The
threshold is not fitted: generated questions use the documents' words, and a threshold fitted to them would refuse
people's questions, which use other words.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.evaluate.refusals import ANSWERABLE, FOREIGN, REMOVED, RefusalOutcome, auroc
from elt_llm_query.evaluate.reports import rounded
from elt_llm_query.extractive.confidence import SHIPPED_THRESHOLDS, SHIPPED_WEIGHTS, ConfidenceWeights

FREE = ("cosine", "passage_cosine", "unknown", "residue_distance", "named_rest")
# Strength of the penalty on the intercept, the scale and each free weight, as a number of questions.
PULL_INTERCEPT, PULL_SCALE, PULL_WEIGHT = 20.0, 40.0, 40.0
_UNDECIDED = 1.0  # an example whose shipped log odds are within about this distance of 0 is near the threshold
_STEPS, _ENOUGH = 50, 1e-9  # Newton steps at most, and the step that ends the fit
MOST_WORSE_AUROC = 0.005  # greatest loss of AUROC, for any kind of questions, that fitted weights may cause
MOST_MORE_REFUSED = 0.02  # greatest additional share of answerable questions that fitted weights may refuse
Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledEvidence:
    """An example for fitting: the evidence for one question, and whether the question was answerable.

    Examples with the same `group` are held out together. `weight`, around 1, is how much the example counts.
    """

    evidence: Mapping[str, float]
    answerable: bool
    group: str
    weight: float = 1.0


def fit_weights(examples: Sequence[LabelledEvidence]) -> ConfidenceWeights:
    """Fit the weights to the examples under the L2 penalty. Return the shipped weights if there are no examples."""
    if not examples:
        return SHIPPED_WEIGHTS
    # A column of ones, the shipped log odds, and the free evidence; shape (examples, 2 + free).
    free = np.array([[example.evidence[name] for name in FREE] for example in examples])
    inputs = np.column_stack([np.ones(len(examples)), logits(examples, SHIPPED_WEIGHTS), free])
    answerable = np.array([example.answerable for example in examples], dtype=np.float64)
    weights = np.array([example.weight for example in examples], dtype=np.float64)
    shipped = np.array([0.0, 1.0, *[0.0] * len(FREE)])  # the shipped log odds alone
    pull = np.array([PULL_INTERCEPT, PULL_SCALE, *[PULL_WEIGHT] * len(FREE)])
    fitted = shipped.copy()
    for _ in range(_STEPS):
        chance = _sigmoid(inputs @ fitted)
        slope = inputs.T @ (weights * (chance - answerable)) + pull * (fitted - shipped)
        curvature = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs + np.diag(pull)
        step = np.linalg.solve(curvature, slope)
        # No weight changes by more than 1 in a step.
        fitted -= step * min(1.0, 1.0 / max(float(np.abs(step).max()), _ENOUGH))
        if float(np.abs(step).max()) < _ENOUGH:
            break
    scale, moved = float(fitted[1]), dict(zip(FREE, fitted[2:], strict=True))
    by_name = tuple(
        (name, round(scale * weight + float(moved.get(name, 0.0)), 6)) for name, weight in SHIPPED_WEIGHTS.weights
    )
    intercept = round(scale * SHIPPED_WEIGHTS.intercept + float(fitted[0]), 6)
    return _with_same_threshold(ConfidenceWeights(intercept, by_name), examples)


def logits(examples: Sequence[LabelledEvidence], weights: ConfidenceWeights) -> Array:
    """Return the log odds, by these weights, that each example has an answer; shape (len(examples),)."""
    names, factors = zip(*weights.weights, strict=True)
    values = np.array([[example.evidence[name] for name in names] for example in examples]).reshape(-1, len(names))
    return np.asarray(weights.intercept + values @ np.array(factors), dtype=np.float64)


def confidences(examples: Sequence[LabelledEvidence], weights: ConfidenceWeights) -> Array:
    """Return the confidence of each example, 0 to 1, shape (len(examples),)."""
    return _sigmoid(logits(examples, weights))


def _with_same_threshold(weights: ConfidenceWeights, examples: Sequence[LabelledEvidence]) -> ConfidenceWeights:
    """Return the weights with a shifted intercept, so that the refusal threshold has the same effect as before.

    After the shift, the mean log odds of the examples are the same as with the shipped weights. In this mean, examples
    count more the closer the shipped weights put them to log odds of 0 (a confidence of 0.5).
    """
    before = logits(examples, SHIPPED_WEIGHTS)
    # Subtracting the least distance keeps shares above 0 even if all examples are far from the threshold.
    distance = np.abs(before)
    share = np.exp(-0.5 * (before**2 - float(distance.min()) ** 2) / _UNDECIDED**2)
    moved = float((share * (logits(examples, weights) - before)).sum() / share.sum())
    return ConfidenceWeights(round(weights.intercept - moved, 6), weights.weights)


def _sigmoid(values: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -50.0, 50.0))))


FOLDS = 5
FEWEST = 10  # answerable and unanswerable questions each; fewer held-out questions prove nothing


@dataclass(frozen=True)
class HeldOutFigures:
    """Metrics for held-out questions. Shares and areas are 0 to 1. The loss is in nats; lower is better."""

    auroc: Mapping[str, float]
    loss: float
    wrongly_refused: float
    refused: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as JSON."""
        shares = rounded({"loss": self.loss, "wrongly_refused": self.wrongly_refused})
        return {"auroc": rounded(self.auroc), **shares, "refused": rounded(self.refused)}


@dataclass(frozen=True)
class FittedCalibration:
    """The weights to use after a calibration.

    `objection` is the reason for keeping the shipped weights, and is empty if the fitted weights are used. `before` and
    `after` are the metrics with the shipped and with the fitted weights; both are None if there were too few questions.
    """

    weights: ConfidenceWeights
    questions: Mapping[str, int]
    before: HeldOutFigures | None
    after: HeldOutFigures | None
    objection: str

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as JSON."""
        return {
            "questions": dict(self.questions),
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "calibrated": not self.objection,
            "objection": self.objection,
            "intercept": self.weights.intercept,
            "weights": dict(self.weights.weights),
        }


def calibrate(outcomes: Sequence[RefusalOutcome]) -> FittedCalibration:
    """Fit weights to question outcomes, but keep the shipped ones if these are as good on held-out questions."""
    usable = [one for one in outcomes if one.evidence and (one.question.kind != ANSWERABLE or one.right)]
    kinds = [one.question.kind for one in usable]
    questions = Counter(kinds)
    answerable = questions[ANSWERABLE]
    if min(answerable, len(usable) - answerable) < FEWEST:
        counts = f"{answerable} answerable and {len(usable) - answerable} unanswerable questions"
        return FittedCalibration(SHIPPED_WEIGHTS, questions, None, None, f"{counts} are too few for a calibration")
    # Answerable and unanswerable questions have equal total weights, and so do all kinds of unanswerable questions.
    share = {kind: 0.5 if kind == ANSWERABLE else 0.5 / (len(questions) - 1) for kind in questions}
    weight = {kind: len(usable) * share[kind] / count for kind, count in questions.items()}
    examples = [
        LabelledEvidence(one.evidence, kind == ANSWERABLE, one.question.text, weight[kind])
        for one, kind in zip(usable, kinds, strict=True)
    ]
    before = _held_out(kinds, examples, confidences(examples, SHIPPED_WEIGHTS))
    after = _held_out(kinds, examples, _cross_validated(examples))
    objection = _objection(before, after)
    return FittedCalibration(
        SHIPPED_WEIGHTS if objection else fit_weights(examples), questions, before, after, objection
    )


def _cross_validated(examples: Sequence[LabelledEvidence]) -> Array:
    """Return each example's confidence, with weights fitted without the example's fold; shape (len(examples),)."""
    folds = np.array([int(hashlib.sha256(one.group.encode()).hexdigest(), 16) % FOLDS for one in examples])
    held_out = np.zeros(len(examples))
    for fold in set(folds.tolist()):
        rest = [example for example, its in zip(examples, folds, strict=True) if its != fold]
        tested = [example for example, its in zip(examples, folds, strict=True) if its == fold]
        held_out[folds == fold] = confidences(tested, fit_weights(rest))
    return held_out


def _held_out(kinds: Sequence[str], examples: Sequence[LabelledEvidence], confidence: Array) -> HeldOutFigures:
    by_kind = {kind: confidence[[its == kind for its in kinds]].tolist() for kind in set(kinds)}
    refused = {
        kind: fmean(SHIPPED_THRESHOLDS.outcome(one) == "not found" for one in its) for kind, its in by_kind.items()
    }
    others = [kind for kind in (REMOVED, FOREIGN) if kind in by_kind]
    right = np.where([example.answerable for example in examples], confidence, 1 - confidence)
    weights = np.array([example.weight for example in examples])
    return HeldOutFigures(
        auroc={kind: auroc(by_kind[ANSWERABLE], by_kind[kind]) for kind in others},
        loss=float((-np.log(np.clip(right, 1e-9, 1.0)) * weights).sum() / weights.sum()),
        wrongly_refused=refused[ANSWERABLE],
        refused={kind: refused[kind] for kind in others},
    )


def _objection(before: HeldOutFigures, after: HeldOutFigures) -> str:
    """Return the reason for keeping the shipped weights, or an empty text if the fitted weights are better."""
    if after.loss >= before.loss:
        return "the fitted weights do not judge held-out questions better"
    for kind, share in after.auroc.items():
        if share < before.auroc[kind] - MOST_WORSE_AUROC:
            return f"they separate answerable from unanswerable held-out questions less well ({kind})"
    if after.wrongly_refused > before.wrongly_refused + MOST_MORE_REFUSED:
        return "with the fitted weights, more of the held-out questions would be wrongly refused"
    return ""
