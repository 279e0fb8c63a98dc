"""Split a document into pieces (sentences, rows, lines of code), and pack the pieces into chunks."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from elt_llm_core.text.sentences import sentence_spans
from numpy.typing import NDArray

from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument, fill_gaps, strip_span

# Longer tokens count as several, because some tokenizers encode a word of any length as one unknown token.
_MAX_TOKEN_LENGTH = 64
_SLICE_OF_LONG_TOKEN = 4  # characters
# The most characters that are tokenised at once. Text without any white space is cut at this length.
MAX_SLICE_LENGTH = 524_288
# Characters that are white space for every tokeniser.
_SPACE = re.compile(r"[ \n]")


class TokenCounter(Protocol):
    """The part of an embedding model that chunkers need: token positions and the token limit."""

    @property
    def token_limit(self) -> int:
        """The maximum number of tokens of an embedded text, not counting special tokens."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token, in order."""


class TokenIndex:
    """The token positions of one text, stored in eight bytes per token.

    A token of more than 64 characters counts as one token per 4 characters. The text is tokenised in slices that end at
    white space, which no token of a word-based tokeniser crosses. `exact` is false if the positions may differ from
    those in the whole text: after half a million characters without white space, or if a token was cut or removed.
    """

    slice_size: ClassVar[int] = 65_536  # characters; small, so that an interrupt takes effect soon

    def __init__(self, text: str, counter: TokenCounter) -> None:
        self.text = text
        self.exact = True
        self._starts = array("I")
        self._ends = array("I")
        for start, end in self._slices():
            self._add(counter.token_spans(text[start:end]), start)

    def __len__(self) -> int:
        """Return the number of tokens in the whole text."""
        return len(self._starts)

    def first(self, start: int) -> int:
        """Return the index of the first token that ends after `start`."""
        return bisect_right(self._ends, start)

    def last(self, end: int) -> int:
        """Return the index after the last token that starts before `end`."""
        return bisect_left(self._starts, end)

    def count(self, start: int, end: int) -> int:
        """Count the tokens in text[start:end], including tokens that the span cuts."""
        return max(0, bisect_left(self._starts, end) - bisect_right(self._ends, start))

    def cut(self, start: int, end: int, budget: int) -> int:
        """Return the largest `stop` at which text[start:stop] has at most `budget` tokens, if possible a word end."""
        if self.count(start, end) <= budget:
            return end
        after = bisect_right(self._ends, start) + max(1, budget)
        hard = max(start + 1, min(self._starts[after], end))
        return self._word_end(start, hard)

    def _word_end(self, start: int, hard: int) -> int:
        """Return the last word end in the second half of text[start:hard], or `hard` if there is none."""
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
    """Return the starts and ends of the token spans, with long tokens cut into slices and empty tokens removed."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        step = _SLICE_OF_LONG_TOKEN if end - start > _MAX_TOKEN_LENGTH else max(1, end - start)
        starts += range(start, end, step)
        ends += (min(position + step, end) for position in range(start, end, step))
    return np.array(starts, dtype=np.uint32), np.array(ends, dtype=np.uint32)


class TextPiece(NamedTuple):
    """A sentence, table row or line of code: the span text[start:end], without white space at its ends.

    `header` is the header row above a table row. The piece consists of the tokens from index `first` up to, but not
    including, `last`.
    """

    start: int
    end: int
    kind: BlockKind
    header: str
    first: int
    last: int


@dataclass(frozen=True)
class DocumentPieces:
    """A document split into pieces (sentences, rows, lines of code), with the token positions of its text.

    A chunk of prose has at most `text_size` tokens, and a chunk of table rows at most `row_size`. These limits leave
    room for the longest context.
    """

    document: ParsedDocument
    index: TokenIndex
    text_size: int
    row_size: int

    @cached_property
    def pieces(self) -> list[TextPiece]:
        """All text except white space, in pieces of at most `text_size` tokens, or `row_size` in tables."""
        pieces: list[TextPiece] = []
        for block in fill_gaps(self.document.text, self.document.blocks):
            if block.kind == "table":
                parts: Iterable[tuple[int, int]] = [(block.start, block.end)]
            elif block.kind == "code" and self.index.count(block.start, block.end) > self.text_size:
                parts = _lines(self.document.text, block)
            elif block.kind in ("code", "heading"):
                parts = [(block.start, block.end)]
            else:
                parts = _sentences(self.document.text, block)
            allowed = self.row_size if block.kind == "table" else self.text_size
            for start, end in parts:
                pieces += split_span(self.index, start, end, allowed, block)
        return pieces


def count_tokens(first: TextPiece, last: TextPiece) -> int:
    """Count the tokens from the start of the piece `first` to the end of the piece `last`."""
    return max(0, last.last - first.first)


def split_span(index: TokenIndex, start: int, end: int, budget: int, block: Block) -> Iterator[TextPiece]:
    """Yield a span of `block` as one piece, or as several pieces cut at words if it has more than `budget` tokens."""
    start, end = strip_span(index.text, start, end)
    while start < end:
        first, last = index.first(start), index.last(end)
        if last - first <= budget:
            yield TextPiece(start, end, block.kind, block.header, first, max(first, last))
            return
        cut = index.cut(start, end, budget)
        stop = strip_span(index.text, start, cut)[1]
        yield TextPiece(start, stop, block.kind, block.header, first, index.last(stop))
        start, end = strip_span(index.text, cut, end)


def _sentences(text: str, block: Block) -> Iterator[tuple[int, int]]:
    position = block.start
    for start, end in sentence_spans(text[block.start : block.end]):
        if block.start + start > position:
            yield position, block.start + start
        yield block.start + start, block.start + end
        position = block.start + end
    yield position, block.end


def _lines(text: str, block: Block) -> Iterator[tuple[int, int]]:
    position = block.start
    for line in text[block.start : block.end].splitlines(keepends=True):
        yield position, position + len(line)
        position += len(line)


def pack_pieces(pieces: Sequence[TextPiece], budget: int, overlap: int) -> list[Sequence[TextPiece]]:
    """Pack pieces into chunks of at most `budget` tokens. Each repeats up to `overlap` tokens of the previous chunk."""
    runs: list[Sequence[TextPiece]] = []
    first = 0
    while first < len(pieces):
        end = _furthest_piece(pieces, first, budget)
        runs.append(pieces[first:end])
        if end == len(pieces):
            break
        first = _overlap_start(pieces, first, end, budget, overlap)
    return runs


def _furthest_piece(pieces: Sequence[TextPiece], first: int, budget: int) -> int:
    end = first + 1
    while end < len(pieces) and count_tokens(pieces[first], pieces[end]) <= budget:
        end += 1
    # A heading at the end of a chunk belongs to the next chunk.
    kept = end
    while first < kept and end < len(pieces) and pieces[kept - 1].kind == "heading":
        kept -= 1
    return kept if kept > first else end


def _overlap_start(pieces: Sequence[TextPiece], first: int, end: int, budget: int, overlap: int) -> int:
    """Return the index of the next chunk's first piece: `end`, or less if pieces of the previous chunk are repeated."""
    start = end
    while (
        start - 1 > first
        and pieces[start - 1].kind != "heading"
        and count_tokens(pieces[start - 1], pieces[end - 1]) <= overlap
        and count_tokens(pieces[start - 1], pieces[end]) <= budget
    ):
        start -= 1
    return start


def split_tables(pieces: Sequence[TextPiece]) -> list[Sequence[TextPiece]]:
    """Group consecutive pieces: each table, with the headings right above it, is separate from other text."""
    runs: list[list[TextPiece]] = []
    for piece in pieces:
        before = runs[-1][-1] if runs else None
        if before is None or _is_table_boundary(before, piece):
            headings: list[TextPiece] = []
            while piece.kind == "table" and runs and runs[-1] and runs[-1][-1].kind == "heading":
                headings.insert(0, runs[-1].pop())
            runs = [run for run in runs if run]
            runs.append(headings)
        runs[-1].append(piece)
    return list(runs)


def _is_table_boundary(before: TextPiece, piece: TextPiece) -> bool:
    """Return whether a table starts or ends between two pieces, or `piece` is in a table with another header row."""
    if before.kind == "table" and piece.kind == "table":
        return before.header not in ("", piece.header)
    return before.kind == "table" or piece.kind == "table"
