"""The smallest parts a chunker packs: sentences, table rows, lines of code; together they are the whole text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from elt_llm_core.text.sentences import sentence_spans

from elt_llm_ingest.chunkers.token_index import TokenIndex
from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument


class Piece(NamedTuple):
    """text[start:end], without outer white space; `header` is the header row above a table row.

    Its tokens are those from number `first` until before `last`.
    """

    start: int
    end: int
    kind: BlockKind
    header: str
    first: int
    last: int


@dataclass(frozen=True)
class CutDocument:
    """A document in pieces, with its tokens counted.

    A chunk of prose has at most `text_size` tokens and one of table rows at most `row_size`, whatever its context.
    """

    document: ParsedDocument
    index: TokenIndex
    pieces: list[Piece]
    text_size: int
    row_size: int


def tokens_of(first: Piece, last: Piece) -> int:
    """Tokens from the start of one piece to the end of another."""
    return max(0, last.last - first.first)


def split_into_pieces(document: ParsedDocument, index: TokenIndex, budget: int, table_budget: int) -> list[Piece]:
    """Every non-space character is in exactly one piece, and no piece has more tokens than its budget."""
    pieces: list[Piece] = []
    for block in all_blocks(document):
        if block.kind == "table":
            parts: Iterable[tuple[int, int]] = [(block.start, block.end)]
        elif block.kind == "code" and index.count(block.start, block.end) > budget:
            parts = _lines(document.text, block)
        elif block.kind in ("code", "heading"):
            parts = [(block.start, block.end)]
        else:
            parts = _sentences(document.text, block)
        allowed = table_budget if block.kind == "table" else budget
        for start, end in parts:
            pieces += within(index, start, end, allowed, block)
    return pieces


def all_blocks(document: ParsedDocument) -> Iterator[Block]:
    """The document's blocks, and what a reader left between them as prose."""
    position = 0
    for block in (*document.blocks, Block(len(document.text), len(document.text), "prose")):
        if block.start > position and not document.text[position : block.start].isspace():
            yield Block(position, block.start, "prose")
        yield block
        position = block.end


def within(index: TokenIndex, start: int, end: int, budget: int, block: Block) -> Iterator[Piece]:
    """The span without outer white space as a piece of `block`; in several, cut at words, if it is above `budget`."""
    start, end = stripped(index.text, start, end)
    while start < end:
        first, last = index.first(start), index.last(end)
        if last - first <= budget:
            yield Piece(start, end, block.kind, block.header, first, max(first, last))
            return
        cut = index.cut(start, end, budget)
        stop = stripped(index.text, start, cut)[1]
        yield Piece(start, stop, block.kind, block.header, first, index.last(stop))
        start, end = stripped(index.text, cut, end)


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    if start < end and not text[start].isspace() and not text[end - 1].isspace():
        return start, end
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), max(start, start + len(part.rstrip()))


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
