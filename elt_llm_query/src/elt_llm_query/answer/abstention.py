"""Whether the passages hold an answer at all: one logistic function of the evidence.

The weights were fitted offline; `docs/decisions/0003-abstention.md` says on what, how, and how well they do.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_query.answer.evidence import Evidence

INTERCEPT: Final = -0.4
WEIGHTS: Final = MappingProxyType(
    {
        "cosine": 3.51,
        "passage_cosine": 1.53,
        "unknown": -1.55,
        "expected_elsewhere": -1.79,
        "figure_asked": 1.0,
        "other_language": -0.22,
        "unit_distance": -1.76,
        "event_missing": -0.95,
        "residue_distance": -1.43,
        "unknown_names": -1.18,
        "named_rest": -1.98,
        "names_apart": -1.51,
        "names_parted": -0.97,
        "numbers_apart": -0.77,
        "denied": -1.34,
        "denied_beside": -1.13,
        "unreasoned": -2.15,
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
