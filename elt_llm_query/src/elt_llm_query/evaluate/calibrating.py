"""Fitting what decides whether to answer to a collection, by questions made from its own documents.

Answerable is a question whose place is among the passages read; unanswerable is the same question with its documents
taken out, and one about another subject. Every figure is of questions held out while fitting.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elt_llm_query.answer.abstention import SHIPPED, THRESHOLD, Weighing
from elt_llm_query.evaluate.fitting import Example, chances, fit
from elt_llm_query.evaluate.quoting import ANSWERABLE, FOREIGN, TAKEN_OUT, Ended
from elt_llm_query.evaluate.refusals import auroc

FOLDS = 5
FEWEST = 10  # of either kind; with fewer, nothing held out tells anything
MOST_WORSE_AUROC = 0.005
MOST_MORE_REFUSED = 0.02


@dataclass(frozen=True)
class HeldOut:
    """Figures of the same held-out questions: shares and areas 0 to 1, the loss in nats, lower is better."""

    auroc: Mapping[str, float]
    loss: float
    wrongly_refused: float
    refused: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {
            "auroc": {kind: round(share, 4) for kind, share in self.auroc.items()},
            "loss": round(self.loss, 4),
            "wrongly_refused": round(self.wrongly_refused, 4),
            "refused": {kind: round(share, 4) for kind, share in self.refused.items()},
        }


@dataclass(frozen=True)
class Fitted:
    """The weights to be used, and why: `objection` says why the shipped ones are kept, empty where they are not.

    `before` and `after` are none where there were too few questions.
    """

    weighing: Weighing
    questions: Mapping[str, int]
    before: HeldOut | None
    after: HeldOut | None
    objection: str

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {
            "questions": dict(self.questions),
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "calibrated": not self.objection,
            "objection": self.objection,
            "intercept": self.weighing.intercept,
            "weights": dict(self.weighing.weights),
        }


def calibrate(ends: Sequence[Ended]) -> Fitted:
    """Fit to how questions ended that were asked with the shipped weights; keeps those where fitting does not help."""
    usable = [end for end in ends if end.evidence and (end.posed.kind != ANSWERABLE or end.right)]
    questions = Counter(end.posed.kind for end in usable)
    answerable = questions[ANSWERABLE]
    if min(answerable, len(usable) - answerable) < FEWEST:
        told = f"{answerable} answerable questions and {len(usable) - answerable} others are too few to fit anything"
        return Fitted(SHIPPED, questions, None, None, told)
    examples = _weighed([_example(end) for end in usable], [end.posed.kind for end in usable])
    kinds = [end.posed.kind for end in usable]
    before = _held_out(kinds, examples, chances(examples, SHIPPED))
    after = _held_out(kinds, examples, _by_others(examples))
    objection = _objection(before, after)
    return Fitted(SHIPPED if objection else fit(examples), questions, before, after, objection)


def _example(end: Ended) -> Example:
    return Example(end.evidence, end.posed.kind == ANSWERABLE, end.posed.text)


def _weighed(examples: Sequence[Example], kinds: Sequence[str]) -> list[Example]:
    """Answerable and not count alike, and so do the kinds of the latter: foreign ones are few and easy."""
    counts = Counter(kinds)
    others = len(counts) - 1
    share = {kind: 0.5 if kind == ANSWERABLE else 0.5 / others for kind in counts}
    return [
        replace(example, weight=len(examples) * share[kind] / counts[kind])
        for example, kind in zip(examples, kinds, strict=True)
    ]


def _by_others(examples: Sequence[Example]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The confidence of each by weights fitted without its fold, shape (len(examples),)."""
    folds = np.array([int(hashlib.sha256(one.group.encode()).hexdigest(), 16) % FOLDS for one in examples])
    found = np.zeros(len(examples))
    for fold in range(FOLDS):
        held = [example for example, its in zip(examples, folds, strict=True) if its == fold]
        rest = [example for example, its in zip(examples, folds, strict=True) if its != fold]
        if held:
            found[folds == fold] = chances(held, fit(rest))
    return found


def _held_out(
    kinds: Sequence[str], examples: Sequence[Example], found: np.ndarray[Any, np.dtype[np.float64]]
) -> HeldOut:
    by_kind = {kind: [float(one) for one, its in zip(found, kinds, strict=True) if its == kind] for kind in set(kinds)}
    answerable = by_kind[ANSWERABLE]
    others = [kind for kind in (TAKEN_OUT, FOREIGN) if kind in by_kind]
    right = np.array([one if example.answerable else 1 - one for one, example in zip(found, examples, strict=True)])
    weights = np.array([example.weight for example in examples])
    return HeldOut(
        auroc={kind: auroc(answerable, by_kind[kind]) for kind in others},
        loss=float((-np.log(np.clip(right, 1e-9, 1.0)) * weights).sum() / weights.sum()),
        wrongly_refused=_refused(answerable),
        refused={kind: _refused(by_kind[kind]) for kind in others},
    )


def _refused(found: Sequence[float]) -> float:
    return sum(one < THRESHOLD for one in found) / len(found)


def _objection(before: HeldOut, after: HeldOut) -> str:
    """Why the shipped weights are the better ones, if they are."""
    if after.loss >= before.loss:
        return "questions held out are judged no better by what was fitted to the others"
    for kind, share in after.auroc.items():
        if share < before.auroc[kind] - MOST_WORSE_AUROC:
            return f"of the questions held out, fewer are told apart ({kind})"
    if after.wrongly_refused > before.wrongly_refused + MOST_MORE_REFUSED:
        return "more of the questions held out would be wrongly refused"
    return ""
