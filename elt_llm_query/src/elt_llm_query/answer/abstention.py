"""Whether the passages hold an answer at all: one logistic function of the evidence.

The weights were fitted offline; `docs/decisions/0003-abstention.md` says on what, how, and how well they do.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_query.answer.evidence import Evidence

INTERCEPT: Final = -0.08
WEIGHTS: Final = MappingProxyType(
    {
        "cosine": 2.89,
        "margin": 2.13,
        "unknown": -1.12,
        "foreign": -3.62,
        "lacks_expected": -1.77,
        "expected_elsewhere": -1.07,
        "figure_asked": 0.89,
        "other_language": -0.25,
        "unit_distance": -1.54,
        "residue_distance": -1.58,
        "unknown_names": -1.2,
        "names_apart": -1.88,
        "named_rest": -2.01,
    }
)


@dataclass(frozen=True)
class Decision:
    """The chance that the passages answer the question, 0 to 1, and whether that is enough to answer."""

    confidence: float
    answered: bool


def decide(evidence: Evidence, threshold: float = 0.5) -> Decision:
    """Answer if the confidence reaches the threshold."""
    values = evidence.as_dict()
    logit = INTERCEPT + sum(weight * values[name] for name, weight in WEIGHTS.items())
    confidence = 1.0 / (1.0 + math.exp(-logit))
    return Decision(round(confidence, 4), confidence >= threshold)
