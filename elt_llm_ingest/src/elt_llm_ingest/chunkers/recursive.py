"""Separators, coarse to fine: a part that is too large is cut at the next finer one."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar

from elt_llm_core.store.records import canonical_json

from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, all_blocks, stripped, within
from elt_llm_ingest.chunkers.span_chunker import SpanChunker
from elt_llm_ingest.chunkers.token_index import TokenIndex
from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument


class RecursiveChunker(SpanChunker):
    """Cuts at the first of `separators` and packs the parts; a part that is too large it cuts at the next one.

    Knows no sentences, sections or rows: what lies between two separators is kept together where it fits. What has
    no separator left is cut at words, and then anywhere. A separator stays with the part before it.
    """

    strategy: ClassVar[str] = "recursive"
    separators: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Sizes, and the separators in short."""
        digest = hashlib.sha256(canonical_json(self.separators).encode()).hexdigest()
        return f"{super().fingerprint}:{digest[:8]}"

    def pieces(self, document: ParsedDocument, index: TokenIndex, text_size: int, row_size: int) -> list[Piece]:
        """None: the parts are found with their groups."""
        return []

    def groups(self, cut: CutDocument) -> list[Sequence[Piece]]:
        """Neighbouring parts of one separator that fit; what is cut finer is apart from them."""
        cutter = _Cutter(cut.document, cut.index, cut.text_size, [part for part in self.separators if part])
        return list(cutter.groups(0, len(cut.document.text), 0))

    def runs(self, cut: CutDocument, group: Sequence[Piece]) -> list[Sequence[Piece]]:
        """A group as it is: rows are packed as everything else."""
        return [group]


class _Cutter:
    def __init__(self, document: ParsedDocument, index: TokenIndex, size: int, separators: Sequence[str]) -> None:
        self._index, self._size, self._separators = index, size, separators
        self._blocks = list(all_blocks(document))
        self._starts = [block.start for block in self._blocks]
        self._ends = [block.end for block in self._blocks]

    def groups(self, start: int, end: int, depth: int) -> Iterator[list[Piece]]:
        """text[start:end] in pieces that fit, cut at separators from number `depth` on."""
        fitting: list[Piece] = []
        for part in self._parts(start, end, depth):
            if part[0] == part[1]:
                continue
            if depth == len(self._separators) or self._index.count(*part) <= self._size:
                fitting += within(self._index, *part, self._size, self._block(*part))
                continue
            if fitting:
                yield fitting
                fitting = []
            yield from self.groups(*part, depth + 1)
        if fitting:
            yield fitting

    def _parts(self, start: int, end: int, depth: int) -> Iterator[tuple[int, int]]:
        """text[start:end] cut after each separator of number `depth`, without outer white space."""
        text = self._index.text
        if depth < len(self._separators):
            separator = self._separators[depth]
            while (found := text.find(separator, start, end)) >= 0:
                yield stripped(text, start, found + len(separator))
                start = found + len(separator)
        yield stripped(text, start, end)

    def _block(self, start: int, end: int) -> Block:
        """Kind and header of what the readers found in text[start:end]: prose, if that is of several kinds."""
        covering = self._blocks[bisect_right(self._ends, start) : bisect_left(self._starts, end)]
        kinds = {block.kind for block in covering if block.kind != "heading"}
        kind: BlockKind = kinds.pop() if len(kinds) == 1 else "prose" if kinds or not covering else "heading"
        return Block(start, end, kind, covering[0].header if covering and kind == "table" else "")
