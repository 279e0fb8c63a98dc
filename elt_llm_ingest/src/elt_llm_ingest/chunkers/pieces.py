"""Split a document into the smallest units of a chunker (sentences, rows, lines of code), and pack them to size."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elt_llm_core.text.sentences import sentence_spans

from elt_llm_ingest.chunkers.token_index import TokenIndex
from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument


class TextPiece(NamedTuple):
    """A sentence, table row or line of code: the span text[start:end] without outer white space.

    `header` is the header row above a table row. Its tokens have the numbers `first` to `last`, excluding `last`.
    """

    start: int
    end: int
    kind: BlockKind
    header: str
    first: int
    last: int


@dataclass(frozen=True)
class DocumentPieces:
    """A document split into pieces (sentences, rows, lines of code), with its tokens counted.

    A chunk of prose has at most `text_size` tokens and a chunk of table rows at most `row_size`, whatever its context.
    """

    document: ParsedDocument
    index: TokenIndex
    pieces: list[TextPiece]
    text_size: int
    row_size: int


def count_tokens(first: TextPiece, last: TextPiece) -> int:
    """Count the tokens from the start of one piece to the end of another."""
    return max(0, last.last - first.first)


def split_into_pieces(document: ParsedDocument, index: TokenIndex, budget: int, table_budget: int) -> list[TextPiece]:
    """Split a document into pieces that together contain all non-space text and that fit their token budgets."""
    pieces: list[TextPiece] = []
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
            pieces += split_span(index, start, end, allowed, block)
    return pieces


def all_blocks(document: ParsedDocument) -> Iterator[Block]:
    """Yield the blocks of a document, and the text between them as prose."""
    position = 0
    for block in (*document.blocks, Block(len(document.text), len(document.text), "prose")):
        if block.start > position and not document.text[position : block.start].isspace():
            yield Block(position, block.start, "prose")
        yield block
        position = block.end


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


def strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the white space at its ends."""
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


def pack_pieces(pieces: Sequence[TextPiece], budget: int, overlap: int) -> list[Sequence[TextPiece]]:
    """Pack consecutive pieces into chunks of at most `budget` tokens.

    Each chunk starts with up to `overlap` tokens of the chunk before.
    """
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
    """Return the piece with which the next, overlapping chunk starts.

    It is after `first`, and the piece `end` still fits into the chunk.
    """
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
    """Separate the pieces of tables from other text. The headings right above a table are put with its rows."""
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
    """Return whether a table starts or ends between two pieces, or the header row changes there."""
    if before.kind == "table" and piece.kind == "table":
        return before.header not in ("", piece.header)
    return before.kind == "table" or piece.kind == "table"
