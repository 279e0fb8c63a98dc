"""Chunk a document twice: small chunks for search, each within a larger parent chunk for reading."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from elt_llm_ingest.chunkers.markdown import MarkdownChunker
from elt_llm_ingest.chunkers.pieces import DocumentPieces, TextPiece, count_tokens, pack_pieces
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan
from elt_llm_ingest.parsing.parsed_document import ParsedDocument


class ParentChildChunker(MarkdownChunker):
    """Cut as the markdown chunker does, within parents of at most `parent_size` tokens.

    A parent contains one or more sections. Parents do not overlap and together contain the whole text. A section shares
    a parent with the subsections that fit. A section that is larger than a parent is cut at sentences or rows.
    """

    strategy: ClassVar[str] = "parent_child"
    parent_size: int

    @property
    def fingerprint(self) -> str:
        """Return a key that changes with the sizes of chunks and parents."""
        return f"{super().fingerprint}:{self.parent_size}"

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """Return the chunks of a document, ascending by start, each with its parent."""
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
        for group, level in zip(*self._levelled_groups(cut), strict=True):
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
