"""Chunkers that cut by sections, by sections within larger parents, by sentences, or by sentences and tables."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from elt_llm_ingest.chunkers.pieces import DocumentPieces, TextPiece, count_tokens, pack_pieces, split_tables
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan, SpanChunker
from elt_llm_ingest.parsing.parsed_document import ParsedDocument

_TOP_LEVEL = 0


class MarkdownChunker(SpanChunker):
    """Cuts a document of any format at its headings, then packs the sentences of each section into chunks.

    A heading without text is joined to the next section if the next one has the same or a deeper heading level. Under
    this condition, a section smaller than a third of `chunk_size` is joined to the next one if both fit in one chunk.
    """

    strategy: ClassVar[str] = "markdown"

    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return one list of pieces (sentences or rows) for each section. Small neighbouring sections share a list."""
        return [group for group, _ in self._levelled_groups(cut)]

    def _levelled_groups(self, cut: DocumentPieces) -> list[tuple[list[TextPiece], int]]:
        """Return the groups of pieces, each with the level of its first heading.

        A group contains a section, or several small neighbouring sections. The text before the first heading is a group
        with level 0.
        """
        groups: list[tuple[list[TextPiece], int]] = []
        for level, section in _sections(cut.document, cut.pieces):
            if groups and self._joins(*groups[-1], section, level):
                groups[-1][0].extend(section)
            else:
                groups.append((list(section), level))
        return groups

    def _joins(self, run: Sequence[TextPiece], top: int, section: Sequence[TextPiece], level: int) -> bool:
        """Return whether to join a section to the group `run` before it, whose first heading has level `top`."""
        if level < top or top == _TOP_LEVEL:
            return False
        tokens = count_tokens(run[0], run[-1])
        if tokens < self.chunk_size and all(piece.kind == "heading" for piece in run):
            return True
        return tokens < self.chunk_size / 3 and count_tokens(run[0], section[-1]) <= self.chunk_size


def _sections(document: ParsedDocument, pieces: Sequence[TextPiece]) -> list[tuple[int, Sequence[TextPiece]]]:
    """Return heading level and pieces of each non-empty section. Text before the first heading has level 0."""
    starts = [piece.start for piece in pieces]
    bounds = [0, *(bisect_left(starts, section.start) for section in document.sections), len(pieces)]
    levels = [_TOP_LEVEL, *(section.level for section in document.sections)]
    parts = zip(levels, bounds, bounds[1:], strict=False)
    return [(level, pieces[first:end]) for level, first, end in parts if end > first]


class SentenceChunker(SpanChunker):
    """Packs sentences into chunks. A chunk may start in one section and end in the next."""

    strategy: ClassVar[str] = "sentence"

    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return the pieces of the whole document as one group."""
        return [cut.pieces] if cut.pieces else []


class TableAwareChunker(SentenceChunker):
    """Packs sentences into chunks, and table rows into separate chunks.

    A row that fits into a chunk is never cut, and the chunk's context contains the table's header row. A heading right
    above a table is packed with the first rows of the table.
    """

    strategy: ClassVar[str] = "table_aware"

    def runs(self, cut: DocumentPieces, group: Sequence[TextPiece]) -> list[Sequence[TextPiece]]:
        """Return the tables and the prose of a group as separate runs, even if the group fits into one chunk."""
        return split_tables(group)


class ParentChildChunker(MarkdownChunker):
    """Cuts like the markdown chunker, and gives each chunk a larger parent span of at most `parent_size` tokens.

    A parent contains one or more sections. Parents do not overlap and together contain the whole text. A section shares
    a parent with those of its subsections that fit. A section larger than a parent is cut at sentences or rows.
    """

    strategy: ClassVar[str] = "parent_child"
    parent_size: int

    @property
    def fingerprint(self) -> str:
        """The settings that decide how a text is cut, as one string: strategy, version, sizes of chunks and parents."""
        return f"{super().fingerprint}:{self.parent_size}"

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """Return the chunks of a document in ascending order, each with its parent span."""
        cut = self._cut(document)
        parents: list[tuple[int, int]] = []
        groups: list[Sequence[TextPiece]] = []
        for parent in self._parents(cut):
            parents.append((parent[0][0].start, parent[-1][-1].end))
            groups += parent
        starts = [start for start, _ in parents]
        chunks = self._chunks(cut, groups)
        return [replace(span, parent=parents[bisect_right(starts, span.start) - 1]) for span in chunks]

    def _parents(self, cut: DocumentPieces) -> Iterator[list[Sequence[TextPiece]]]:
        size = max(self.parent_size, cut.text_size)
        kept: list[Sequence[TextPiece]] = []
        top = 0
        for group, level in self._levelled_groups(cut):
            inner = level > top > 0 or (level == top > 0 and count_tokens(kept[0][0], kept[-1][-1]) < size / 3)
            if kept and inner and count_tokens(kept[0][0], group[-1]) <= size:
                kept.append(group)
                continue
            if kept:
                yield kept
            *whole, last = pack_pieces(group, size, 0)
            yield from ([run] for run in whole)
            kept, top = [last], level
        if kept:
            yield kept
