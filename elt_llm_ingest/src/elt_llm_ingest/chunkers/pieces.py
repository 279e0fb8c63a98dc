"""The smallest parts a chunker packs: sentences, table rows, lines of code; together they are the whole text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elt_llm_core.text.sentences import sentence_spans

from elt_llm_ingest.chunkers.token_index import TokenIndex
from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument


@dataclass(frozen=True)
class Piece:
    """text[start:end], without outer white space; `header` is the header row above a table row."""

    start: int
    end: int
    kind: BlockKind
    header: str = ""


@dataclass(frozen=True)
class CutDocument:
    """A document in pieces, with its tokens counted."""

    document: ParsedDocument
    index: TokenIndex
    pieces: list[Piece]


def split_into_pieces(document: ParsedDocument, index: TokenIndex, budget: int, table_budget: int) -> list[Piece]:
    """Every non-space character is in exactly one piece, and no piece has more tokens than its budget."""
    pieces: list[Piece] = []
    for block in _all_blocks(document):
        if block.kind == "table":
            parts: Iterable[tuple[int, int]] = [(block.start, block.end)]
        elif block.kind == "code" and index.count(block.start, block.end) > budget:
            parts = _lines(document.text, block)
        elif block.kind in ("code", "heading"):
            parts = [(block.start, block.end)]
        else:
            parts = _sentences(document.text, block)
        allowed = table_budget if block.kind == "table" else budget
        for part in parts:
            pieces += [Piece(*span, block.kind, block.header) for span in _within(index, *part, allowed)]
    return pieces


def _all_blocks(document: ParsedDocument) -> Iterator[Block]:
    """The document's blocks, and what a reader left between them as prose."""
    position = 0
    for block in (*document.blocks, Block(len(document.text), len(document.text), "prose")):
        if block.start > position:
            yield Block(position, block.start, "prose")
        yield block
        position = block.end


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


def _within(index: TokenIndex, start: int, end: int, budget: int) -> Iterator[tuple[int, int]]:
    """The span without outer white space, cut at words where it has more tokens than `budget`."""
    start, end = stripped(index.text, start, end)
    while start < end:
        stop = index.cut(start, end, budget)
        yield stripped(index.text, start, stop)
        start, end = stripped(index.text, stop, end)


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), max(start, start + len(part.rstrip()))
