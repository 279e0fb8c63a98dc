"""Fitting the weights that decide whether to answer: logistic regression, pulled towards the weights that are shipped.

Only a scale and the weights of the evidence that depends most on what documents are about are free, and an L2 penalty
holds them: few questions move little. The cut is not moved: questions made from documents are in their authors' words,
and a cut fitted to them refuses people's, which are not.

Source of the pull to a known model instead of to 0: Chelba and Acero, "Adaptation of Maximum Entropy Capitalizer:
Little Data Can Help a Lot", EMNLP 2004.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.answer.abstention import SHIPPED, Weighing

FREE = ("cosine", "passage_cosine", "unknown", "residue_distance", "named_rest")
# How many questions' worth of doubt it takes to move each: the intercept, the scale, and a free weight.
PULL_INTERCEPT, PULL_SCALE, PULL_WEIGHT = 20.0, 40.0, 40.0
_UNDECIDED = 1.0  # log odds as shipped within which, or so, an example is near the cut
_STEPS, _ENOUGH = 50, 1e-9
_LARGEST_STEP = 1.0
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """Evidence by name, and whether there was an answer. Those of one `group` are held out together.

    `weight` is 1 or so: how much the example counts.
    """

    evidence: Mapping[str, float]
    answerable: bool
    group: str
    weight: float = 1.0


def fit(examples: Sequence[Example]) -> Weighing:
    """The weights that explain the examples best without straying far; the shipped ones for no examples."""
    if not examples:
        return SHIPPED
    inputs = _inputs(examples)
    wanted = np.array([example.answerable for example in examples], dtype=np.float64)
    weights = np.array([example.weight for example in examples], dtype=np.float64)
    shipped = _start(inputs.shape[1])
    pull = np.array([PULL_INTERCEPT, PULL_SCALE, *[PULL_WEIGHT] * len(FREE)])
    found = shipped.copy()
    for _ in range(_STEPS):
        chance = _chance(inputs @ found)
        slope = inputs.T @ (weights * (chance - wanted)) + pull * (found - shipped)
        curvature = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs + np.diag(pull)
        step = np.linalg.solve(curvature, slope)
        found -= step * min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), _ENOUGH))
        if float(np.abs(step).max()) < _ENOUGH:
            break
    return _with_same_cut(_weighing(found), examples)


def logits(examples: Sequence[Example], weighing: Weighing) -> Array:
    """The log odds of an answer by these weights, shape (len(examples),)."""
    weights = np.array([weight for _, weight in weighing.weights])
    names = [name for name, _ in weighing.weights]
    values = np.array([[example.evidence[name] for name in names] for example in examples]).reshape(-1, len(names))
    return np.asarray(weighing.intercept + values @ weights, dtype=np.float64)


def chances(examples: Sequence[Example], weighing: Weighing) -> Array:
    """The confidence of each, 0 to 1, shape (len(examples),)."""
    return _chance(logits(examples, weighing))


def _inputs(examples: Sequence[Example]) -> Array:
    """A column of ones, the log odds as shipped, and the free evidence; shape (examples, 2 + free)."""
    free = np.array([[example.evidence[name] for name in FREE] for example in examples])
    return np.column_stack([np.ones(len(examples)), logits(examples, SHIPPED), free])


def _start(columns: int) -> Array:
    """The shipped weights in these terms: their log odds once, and nothing besides."""
    start = np.zeros(columns)
    start[1] = 1.0
    return start


def _weighing(found: Array) -> Weighing:
    """Back to one weight for each kind of evidence."""
    scale, free = float(found[1]), dict(zip(FREE, found[2:], strict=True))
    weights = tuple((name, round(scale * weight + float(free.get(name, 0.0)), 6)) for name, weight in SHIPPED.weights)
    return Weighing(round(scale * SHIPPED.intercept + float(found[0]), 6), weights)


def _with_same_cut(weighing: Weighing, examples: Sequence[Example]) -> Weighing:
    """Shifted so that examples near the cut of the shipped weights lie as near to it on average."""
    before = logits(examples, SHIPPED)
    # Far from the cut the nearest decide; without the offset all their shares could be 0.
    distance = np.abs(before)
    share = np.exp(-0.5 * (before**2 - float(distance.min()) ** 2) / _UNDECIDED**2)
    moved = float((share * (logits(examples, weighing) - before)).sum() / share.sum())
    return Weighing(round(weighing.intercept - moved, 6), weighing.weights)


def _chance(values: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -50.0, 50.0))))
