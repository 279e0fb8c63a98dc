"""Whether the passages hold an answer at all: one logistic function of the evidence.

The weights were fitted offline; `docs/decisions/0003-abstention.md` says on what, how, and how well they do; decision
20 how they were moved when the ranking and the choice of sentences had changed.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_query.answer.evidence import Evidence

THRESHOLD: Final = 0.5
INTERCEPT: Final = -0.55
WEIGHTS: Final = MappingProxyType(
    {
        "cosine": 3.57,
        "passage_cosine": 1.62,
        "unknown": -1.63,
        "expected_elsewhere": -1.74,
        "figure_asked": 0.99,
        "other_language": -0.3,
        "unit_distance": -1.77,
        "event_missing": -0.93,
        "residue_distance": -1.39,
        "unknown_names": -1.16,
        "named_rest": -1.86,
        "names_apart": -1.48,
        "names_parted": -0.93,
        "numbers_apart": -0.77,
        "denied": -1.39,
        "denied_beside": -1.16,
        "contradicted": -1.8,
        "unreasoned": -2.07,
    }
)


@dataclass(frozen=True)
class Weighing:
    """An intercept and a weight for each kind of evidence, by name."""

    intercept: float
    weights: tuple[tuple[str, float], ...]


SHIPPED: Final = Weighing(INTERCEPT, tuple(WEIGHTS.items()))


@dataclass(frozen=True)
class Decision:
    """The chance that the passages answer the question, 0 to 1, and whether that is enough to answer."""

    confidence: float
    answered: bool


def decide(evidence: Evidence, threshold: float = THRESHOLD, weighing: Weighing = SHIPPED) -> Decision:
    """Answer if the confidence reaches the threshold."""
    values = evidence.as_dict()
    logit = weighing.intercept + sum(weight * values[name] for name, weight in weighing.weights)
    confidence = 1.0 / (1.0 + math.exp(-logit))
    return Decision(round(confidence, 4), confidence >= threshold)
