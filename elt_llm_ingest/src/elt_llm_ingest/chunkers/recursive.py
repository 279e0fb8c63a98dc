"""Chunk by separators from coarse to fine: a part that is too large is cut at the next finer separator."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar

from elt_llm_core.store.records import canonical_json

from elt_llm_ingest.chunkers.pieces import DocumentPieces, TextPiece, TokenIndex, split_span
from elt_llm_ingest.chunkers.span_chunker import SpanChunker
from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument, fill_gaps, strip_span


class RecursiveChunker(SpanChunker):
    """Cuts at the first separator (such as an empty line) and packs the parts; cuts too large parts at the next one.

    Sentences, sections and rows are ignored: the text between two separators is kept together if it fits. Text without
    a separator is cut between words, and a word only if it is larger than a chunk. A separator ends the part before it.
    """

    strategy: ClassVar[str] = "recursive"
    separators: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """The settings that decide how a text is cut, as one string: strategy, version, chunk sizes and separators."""
        digest = hashlib.sha256(canonical_json(self.separators).encode()).hexdigest()
        return f"{super().fingerprint}:{digest[:8]}"

    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return the text in groups; a chunk never contains text of two groups.

        Neighbouring parts share a group as long as each part fits into a chunk. A part that does not fit is cut at the
        next separator into groups of its own.
        """
        cutter = _SeparatorSplitter(cut.document, cut.index, cut.text_size, [part for part in self.separators if part])
        return list(cutter.groups(0, len(cut.document.text), 0))

    def runs(self, cut: DocumentPieces, group: Sequence[TextPiece]) -> list[Sequence[TextPiece]]:
        """Return the whole group as one run, whose pieces are packed into chunks together.

        Other chunkers separate tables from prose. Here, table rows are packed like other text.
        """
        return [group]


class _SeparatorSplitter:
    def __init__(self, document: ParsedDocument, index: TokenIndex, size: int, separators: Sequence[str]) -> None:
        self._index, self._size, self._separators = index, size, separators
        self._blocks = list(fill_gaps(document.text, document.blocks))
        self._starts = [block.start for block in self._blocks]
        self._ends = [block.end for block in self._blocks]

    def groups(self, start: int, end: int, depth: int) -> Iterator[list[TextPiece]]:
        """Cut text[start:end] at `separators[depth]`, and large parts at finer separators. Yield groups of pieces."""
        fitting: list[TextPiece] = []
        for part in self._parts(start, end, depth):
            if part[0] == part[1]:
                continue
            if depth == len(self._separators) or self._index.count(*part) <= self._size:
                fitting += split_span(self._index, *part, self._size, self._block(*part))
                continue
            if fitting:
                yield fitting
                fitting = []
            yield from self.groups(*part, depth + 1)
        if fitting:
            yield fitting

    def _parts(self, start: int, end: int, depth: int) -> Iterator[tuple[int, int]]:
        """Cut text[start:end] after each `separators[depth]`. Yield (start, end) of each part, without outer blanks."""
        text = self._index.text
        if depth < len(self._separators):
            separator = self._separators[depth]
            while (position := text.find(separator, start, end)) >= 0:
                yield strip_span(text, start, position + len(separator))
                start = position + len(separator)
        yield strip_span(text, start, end)

    def _block(self, start: int, end: int) -> Block:
        """Return text[start:end] as one block. Its kind is that of the blocks in it, or prose if their kinds differ."""
        covering = self._blocks[bisect_right(self._ends, start) : bisect_left(self._starts, end)]
        kinds = {block.kind for block in covering if block.kind != "heading"}
        kind: BlockKind = kinds.pop() if len(kinds) == 1 else "prose" if kinds or not covering else "heading"
        return Block(start, end, kind, covering[0].header if covering and kind == "table" else "")
