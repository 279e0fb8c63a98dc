"""The tokens of a whole text, found once: counts of any span and places to cut by bisection."""

from bisect import bisect_left, bisect_right
from typing import Protocol

# A model may take a word of any length for one unknown token; a passage must not grow with it.
_LONGEST_TOKEN = 64
_SLICE_OF_LONG_TOKEN = 4


class PassageCounter(Protocol):
    """What chunkers ask of an embedding model: where its tokens stand and how many a passage may have."""

    @property
    def token_limit(self) -> int:
        """Tokens a passage may have, special tokens left out."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token, in order."""


class TokenIndex:
    """Token positions of one text. A token longer than 64 characters counts once for every 4 of them."""

    def __init__(self, text: str, counter: PassageCounter) -> None:
        self.text = text
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in counter.token_spans(text):
            step = _SLICE_OF_LONG_TOKEN if end - start > _LONGEST_TOKEN else max(1, end - start)
            for position in range(start, end, step):
                self._starts.append(position)
                self._ends.append(min(position + step, end))

    def count(self, start: int, end: int) -> int:
        """Tokens that lie in text[start:end], cut ones included."""
        return max(0, bisect_left(self._starts, end) - bisect_right(self._ends, start))

    def cut(self, start: int, end: int, budget: int) -> int:
        """The furthest place up to `end` with at most `budget` tokens before it; the end of a word if possible."""
        if self.count(start, end) <= budget:
            return end
        after = bisect_right(self._ends, start) + max(1, budget)
        hard = max(start + 1, min(self._starts[after], end))
        return self._word_end(start, hard)

    def _word_end(self, start: int, hard: int) -> int:
        """`hard`, or the last white space before it in the second half of text[start:hard]."""
        if self.text[hard - 1 : hard + 1].strip() != self.text[hard - 1 : hard + 1]:
            return hard
        words = self.text[start + (hard - start) // 2 : hard]
        kept = len(words.rsplit(None, 1)[0]) if len(words.split(None, 1)) > 1 else 0
        return hard - len(words) + kept if kept else hard
