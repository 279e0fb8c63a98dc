"""Whether an answer is good enough: how much of the question its passages speak of, how much of it they bear out."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.understand import understand

_HOW = re.compile(
    r"\b(?:how|wie) \w{1,20}\b|\b(?:what|which|welche\w?) (?:kind|sort|time|number|art|zeit)\b", re.IGNORECASE
)
LEAST_COVERAGE = 0.6
LEAST_SUPPORT = 0.5


@dataclass(frozen=True)
class Quality:
    """Measures of an answer, each from 0 to 1 but for the number of sections that its passages come from.

    `coverage` is the share, by weight, of the question's words that any passage has; `missing` are the words that none
    has. `support` is the mean chance that the passages say what the answer's sentences say, 0 for a refusal.
    """

    coverage: float
    support: float
    sections: int
    missing: tuple[str, ...]

    @property
    def is_enough(self) -> bool:
        """Whether to leave it at that."""
        return self.coverage >= LEAST_COVERAGE and self.support >= LEAST_SUPPORT

    def as_dict(self) -> dict[str, object]:
        """For the trace."""
        return {
            "coverage": round(self.coverage, 4),
            "support": round(self.support, 4),
            "sections": self.sections,
            "missing": list(self.missing),
            "enough": self.is_enough,
        }


def quality_of(
    question: str,
    chunks: Sequence[RetrievedChunk],
    support: float,
    tokeniser: KeywordTokeniser,
    idf: Callable[[str], float],
) -> Quality:
    """The quality of an answer with so much support, written from these passages."""
    # What only asks ("long" of "how long") need not stand in a passage that answers.
    asked = understand(_HOW.sub(" ", question), tokeniser)
    weights = {stem: idf(stem) for stem in asked.terms}
    present = frozenset(
        stem for chunk in chunks for stem in tokeniser.stems(f"{chunk.source_title} {chunk.context} {chunk.text}")
    )
    total = sum(weights.values())
    held = sum(weight for stem, weight in weights.items() if stem in present)
    return Quality(
        coverage=held / total if total else 1.0,
        support=support,
        sections=len({(chunk.source_id, chunk.section) for chunk in chunks}),
        missing=tuple(stem for stem in weights if stem not in present),
    )
