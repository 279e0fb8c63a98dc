"""Index the token positions of a text, to count the tokens of spans and to find positions for cutting."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

# Chunks must stay small even if a model reads a word of any length as one unknown token.
_MAX_TOKEN_LENGTH = 64
_SLICE_OF_LONG_TOKEN = 4
# The most characters that are tokenised at a time, even without white space.
MAX_SLICE_LENGTH = 524_288
# Characters that are white space for every tokeniser.
_SPACE = re.compile(r"[ \n]")


class TokenCounter(Protocol):
    """The part of an embedding model that chunkers need: token positions and the token limit."""

    @property
    def token_limit(self) -> int:
        """Return the most tokens of a text, without special tokens."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token, in order."""


class TokenIndex:
    """The token positions of one text, with eight bytes per token.

    A token of more than 64 characters counts as one token per 4 characters. The text is tokenised in slices that end at
    white space, which no token of a word-based tokeniser crosses. `exact` is false if there was no white space for half
    a million characters, or if long tokens were cut.
    """

    slice_size: ClassVar[int] = 65_536  # characters; few, so that an interrupt takes effect soon

    def __init__(self, text: str, counter: TokenCounter) -> None:
        self.text = text
        self.exact = True
        self._starts = array("I")
        self._ends = array("I")
        for start, end in self._slices():
            self._add(counter.token_spans(text[start:end]), start)

    def __len__(self) -> int:
        """Return the number of tokens of the whole text."""
        return len(self._starts)

    def first(self, start: int) -> int:
        """Return the number of the first token that ends after `start`."""
        return bisect_right(self._ends, start)

    def last(self, end: int) -> int:
        """Return one more than the number of the last token that starts before `end`."""
        return bisect_left(self._starts, end)

    def count(self, start: int, end: int) -> int:
        """Count the tokens in text[start:end], including tokens that the span cuts."""
        return max(0, bisect_left(self._starts, end) - bisect_right(self._ends, start))

    def cut(self, start: int, end: int, budget: int) -> int:
        """Return the last offset up to `end` with at most `budget` tokens before it, if possible the end of a word."""
        if self.count(start, end) <= budget:
            return end
        after = bisect_right(self._ends, start) + max(1, budget)
        hard = max(start + 1, min(self._starts[after], end))
        return self._word_end(start, hard)

    def _word_end(self, start: int, hard: int) -> int:
        """Return the last white space in the second half of text[start:hard], or else `hard`."""
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
                space = _SPACE.search(self.text, end, start + MAX_SLICE_LENGTH)
                self.exact = self.exact and (space is not None or length <= start + MAX_SLICE_LENGTH)
                end = space.start() if space else min(start + MAX_SLICE_LENGTH, length)
            yield start, end
            start = end

    def _add(self, spans: Sequence[tuple[int, int]], offset: int) -> None:
        flat = np.fromiter(chain.from_iterable(spans), dtype=np.uint32, count=2 * len(spans))
        starts, ends = flat[::2], flat[1::2]
        lengths = ends - starts
        if len(spans) and (lengths.max() > _MAX_TOKEN_LENGTH or lengths.min() == 0):
            starts, ends = _cut_long(spans)
            self.exact = False
        self._starts.frombytes((starts + np.uint32(offset)).tobytes())
        self._ends.frombytes((ends + np.uint32(offset)).tobytes())


def _cut_long(spans: Sequence[tuple[int, int]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the starts and ends of the spans, with long tokens cut into slices and empty tokens removed."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        step = _SLICE_OF_LONG_TOKEN if end - start > _MAX_TOKEN_LENGTH else max(1, end - start)
        starts += range(start, end, step)
        ends += (min(position + step, end) for position in range(start, end, step))
    return np.array(starts, dtype=np.uint32), np.array(ends, dtype=np.uint32)
