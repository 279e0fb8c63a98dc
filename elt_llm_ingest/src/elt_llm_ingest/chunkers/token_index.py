"""The tokens of a whole text, found once: counts of any span and places to cut by bisection."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

# A model may take a word of any length for one unknown token; a passage must not grow with it.
_LONGEST_TOKEN = 64
_SLICE_OF_LONG_TOKEN = 4
# Characters given to the tokeniser at a time even where there is no white space.
LONGEST_SLICE = 524_288
# White space that every tokeniser takes for white space; Python's own idea of it is wider.
_SPACE = re.compile(r"[ \n]")


class PassageCounter(Protocol):
    """What chunkers ask of an embedding model: where its tokens stand and how many a passage may have."""

    @property
    def token_limit(self) -> int:
        """Tokens a passage may have, special tokens left out."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token, in order."""


class TokenIndex:
    """Token positions of one text, eight bytes a token. One longer than 64 characters counts once for every 4.

    The text is tokenised in slices that end at white space, where no token of a word-based tokeniser crosses.
    `exact` is false where there was none to be found for half a million characters, and where long tokens are cut.
    """

    slice_size: ClassVar[int] = 65_536  # characters: so few that an interrupt is answered at once

    def __init__(self, text: str, counter: PassageCounter) -> None:
        self.text = text
        self.exact = True
        self._starts = array("I")
        self._ends = array("I")
        for start, end in self._slices():
            self._add(counter.token_spans(text[start:end]), start)

    def __len__(self) -> int:
        """Tokens of the whole text."""
        return len(self._starts)

    def first(self, start: int) -> int:
        """Number of the first token that reaches beyond `start`."""
        return bisect_right(self._ends, start)

    def last(self, end: int) -> int:
        """Number after the last token that begins before `end`."""
        return bisect_left(self._starts, end)

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

    def _slices(self) -> Iterator[tuple[int, int]]:
        start, length = 0, len(self.text)
        while start < length:
            end = min(start + self.slice_size, length)
            if end < length:
                space = _SPACE.search(self.text, end, start + LONGEST_SLICE)
                self.exact = self.exact and (space is not None or length <= start + LONGEST_SLICE)
                end = space.start() if space else min(start + LONGEST_SLICE, length)
            yield start, end
            start = end

    def _add(self, spans: Sequence[tuple[int, int]], offset: int) -> None:
        flat = np.fromiter(chain.from_iterable(spans), dtype=np.uint32, count=2 * len(spans))
        starts, ends = flat[::2], flat[1::2]
        lengths = ends - starts
        if len(spans) and (lengths.max() > _LONGEST_TOKEN or lengths.min() == 0):
            starts, ends = _cut_long(spans)
            self.exact = False
        self._starts.frombytes((starts + np.uint32(offset)).tobytes())
        self._ends.frombytes((ends + np.uint32(offset)).tobytes())


def _cut_long(spans: Sequence[tuple[int, int]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Starts and ends, with long tokens in slices and empty ones left out."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        step = _SLICE_OF_LONG_TOKEN if end - start > _LONGEST_TOKEN else max(1, end - start)
        starts += range(start, end, step)
        ends += (min(position + step, end) for position in range(start, end, step))
    return np.array(starts, dtype=np.uint32), np.array(ends, dtype=np.uint32)
