"""Small chunks to be matched, each in a larger one to be read."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from elt_llm_ingest.chunkers.chunk_spans import ChunkSpan
from elt_llm_ingest.chunkers.markdown import MarkdownChunker
from elt_llm_ingest.chunkers.packing import pack
from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, tokens_of
from elt_llm_ingest.parsed_document import ParsedDocument


class ParentChildChunker(MarkdownChunker):
    """Cuts as the markdown chunker does, within parents: sections or runs of them with at most `parent_size` tokens.

    Parents do not overlap and together hold the whole text. A section goes into one parent with the subsections that
    fit; one that is larger than a parent is cut at sentences or rows.
    """

    strategy: ClassVar[str] = "parent_child"
    parent_size: int

    @property
    def fingerprint(self) -> str:
        """Sizes, that of parents included."""
        return f"{super().fingerprint}:{self.parent_size}"

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """The chunks of a document, ascending by start, each with its parent."""
        cut = self._cut(document)
        parents: list[tuple[int, int]] = []
        groups: list[Sequence[Piece]] = []
        for parent in self._parents(cut):
            parents.append((parent[0][0].start, parent[-1][-1].end))
            groups += parent
        starts = [start for start, _ in parents]
        chunks = self._chunks(cut, groups)
        return [replace(span, parent=parents[bisect_right(starts, span.start) - 1]) for span in chunks]

    def _parents(self, cut: CutDocument) -> Iterator[list[Sequence[Piece]]]:
        """The groups of pieces that each parent holds."""
        size = max(self.parent_size, cut.text_size)
        kept: list[Sequence[Piece]] = []
        top = 0
        for group, level in zip(*self._levelled_groups(cut), strict=True):
            inner = level > top > 0 or (level == top > 0 and tokens_of(kept[0][0], kept[-1][-1]) < size / 3)
            if kept and inner and tokens_of(kept[0][0], group[-1]) <= size:
                kept.append(group)
                continue
            if kept:
                yield kept
            *whole, last = pack(group, size, 0)
            yield from ([run] for run in whole)
            kept, top = [last], level
        if kept:
            yield kept
