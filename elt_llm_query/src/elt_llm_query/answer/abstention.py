"""Whether the passages hold an answer at all: one logistic function of the evidence.

The weights were fitted offline; `docs/decisions/0003-abstention.md` says on what, how, and how well they do.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_query.answer.evidence import Evidence

INTERCEPT: Final = -0.3
WEIGHTS: Final = MappingProxyType(
    {
        "cosine": 3.44,
        "passage_cosine": 1.41,
        "unknown": -1.43,
        "expected_elsewhere": -1.36,
        "figure_asked": 1.02,
        "other_language": -0.3,
        "unit_distance": -1.93,
        "event_missing": -0.98,
        "residue_distance": -1.52,
        "unknown_names": -1.09,
        "named_rest": -1.97,
        "names_apart": -1.62,
        "numbers_apart": -0.82,
        "denied": -1.24,
        "denied_beside": -1.0,
        "unreasoned": -2.2,
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
