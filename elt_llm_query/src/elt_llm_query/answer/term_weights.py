"""How much each word of a question weighs, and how far a text covers them."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from elt_llm_core.text.normalise import fold

from elt_llm_query.understand import Question

_SHORTEST_SHARED_PREFIX = 5
_INFLECTED = 0.8
# Anchored and bounded, so that no text costs more than its length.
_LABELLED_NUMBER = re.compile(r"(?<![^\W\d])([^\W\d]{3,30})[ \u00a0-]?(\d{1,9}(?:\.\d{1,9}){0,5})\b")


@dataclass(frozen=True)
class TermWeights:
    """`idf(stem)` grows with rarity, largest for unknown stems; `known(stem)` says whether any document has it."""

    idf: Callable[[str], float]
    known: Callable[[str], bool]

    def total(self, question: Question) -> float:
        """The weight of all the question's terms; never 0."""
        return sum(self.idf(term) for term in question.terms) or 1.0

    def coverage(self, question: Question, stems: Collection[str], around: Collection[str] = ()) -> float:
        """Share of the question's weight found in `stems`; what only stands `around` counts half. 0 to 1."""
        found = sum(
            self.idf(term) * max(match(term, stems), 0.5 * match(term, around) if around else 0.0)
            for term in question.terms
        )
        return found / self.total(question)


def local_weights(passages: Sequence[Collection[str]]) -> TermWeights:
    """Weights estimated from the stems of the retrieved passages alone, for want of the collection's."""
    size = len(passages)
    counts: dict[str, int] = {}
    for passage in passages:
        for stem in set(passage):
            counts[stem] = counts.get(stem, 0) + 1

    def idf(stem: str) -> float:
        count = counts.get(stem, 0)
        return math.log1p((size - count + 0.5) / (count + 0.5))

    return TermWeights(idf, lambda stem: stem in counts)


def match(term: str, stems: Collection[str]) -> float:
    """1 if the stem is there, 0.8 if one with the same long beginning is (register, registration), else 0."""
    if term in stems:
        return 1.0
    if len(term) < _SHORTEST_SHARED_PREFIX or any(letter.isdigit() for letter in term):
        return 0.0
    return _INFLECTED if any(_same_beginning(term, stem) for stem in stems) else 0.0


def _same_beginning(left: str, right: str) -> bool:
    shorter, longer = sorted((left, right), key=len)
    needed = max(_SHORTEST_SHARED_PREFIX, len(shorter) - 1, (len(longer) + 1) // 2)
    return len(shorter) >= needed and longer[:needed] == shorter[:needed]


def rival_numbers(question: str, text: str) -> int:
    """How many labelled numbers of the question (rule 7, under-14) the text has with other numbers only."""
    there: dict[str, set[str]] = {}
    for label, number in _LABELLED_NUMBER.findall(fold(text)):
        there.setdefault(label, set()).add(number)
    asked = set(_LABELLED_NUMBER.findall(fold(question)))
    return sum(1 for label, number in asked if label in there and number not in there[label])
