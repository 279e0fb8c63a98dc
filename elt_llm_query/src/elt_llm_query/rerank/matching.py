"""How a passage matches a question beyond the count of its words: how much of it, and in which order.

Sources: Lucene's coordination factor (a passage with more of the question's words is better than one with one of
them often); Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005 (words that follow
each other in the question and in the passage).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP = 3  # a pair is in order if its second stem is at most so many stems behind its first
SHORTEST_PART = 5  # characters: shorter parts of compounds stand in too many words by chance
LONGEST_WHOLE = 40  # characters: no word that has parts is longer


@dataclass(frozen=True, slots=True)
class Match:
    """Both from 0 to 1: the weighted share of the question's words, and of its neighbouring pairs, that are there."""

    coverage: float
    order: float


class QuestionMatcher:
    """Compares passages with one question. Words are stems; `weights` has one above 0 for each of the question."""

    def __init__(self, question_stems: Sequence[str], weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._total = sum(weights.values())
        self._pairs = {
            (first, second): min(weights[first], weights[second])
            for first, second in pairwise(question_stems)
            if first != second
        }
        self._pairs_total = sum(self._pairs.values())
        self._long = [stem for stem in weights if SHORTEST_PART <= len(stem) <= LONGEST_WHOLE]
        self._wholes: dict[str, set[str]] = {}
        for stem in self._long:
            for part in _parts(stem):
                self._wholes.setdefault(part, set()).add(stem)

    def match(self, stems: Sequence[str]) -> Match:
        """The match of one passage, its stems in the order of its words."""
        if not self._total:
            return Match(0.0, 0.0)
        coverage = self._coverage(stems)
        # A question of one word has no order to keep: it is in order wherever it occurs.
        return Match(coverage, self._order(stems) if self._pairs else coverage)

    def found(self, stems: Sequence[str]) -> set[str]:
        """The question's stems that a passage has; a compound counts for its part and a part for its compound."""
        present = set(stems)
        found = self._weights.keys() & present
        for part in self._wholes.keys() & present:
            found |= self._wholes[part]
        text = " ".join(stems)
        return found | {stem for stem in self._long if stem not in found and stem in text}

    def _coverage(self, stems: Sequence[str]) -> float:
        """One is often asked for by the other: what is there in part is there."""
        found = self.found(stems)
        return min(1.0, sum(weight for stem, weight in self._weights.items() if stem in found) / self._total)

    def _order(self, stems: Sequence[str]) -> float:
        hits = [(place, stem) for place, stem in enumerate(stems) if stem in self._weights]
        found = set()
        for number, (place, stem) in enumerate(hits):
            for earlier_place, earlier in reversed(hits[max(0, number - GAP) : number]):
                if place - earlier_place <= GAP and (earlier, stem) in self._pairs:
                    found.add((earlier, stem))
        return min(1.0, sum(weight for pair, weight in self._pairs.items() if pair in found) / self._pairs_total)


def _parts(stem: str) -> Iterator[str]:
    """Every run of characters that is long enough to be a word and shorter than the whole."""
    for start in range(len(stem) - SHORTEST_PART + 1):
        for end in range(start + SHORTEST_PART, len(stem) + 1):
            if end - start < len(stem):
                yield stem[start:end]
