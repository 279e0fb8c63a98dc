"""Sections first: a chunk does not run from one section into the next, unless both are small."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import ClassVar

from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, tokens_of
from elt_llm_ingest.chunkers.span_chunker import SpanChunker
from elt_llm_ingest.parsed_document import ParsedDocument

_TOP = 0


class MarkdownChunker(SpanChunker):
    """Cuts at headings, whatever the format they come from, then packs sentences.

    A heading with nothing under it goes with the section that follows; a section of less than a third of
    `chunk_size` goes with the next one of its level or below while both fit into one chunk.
    """

    strategy: ClassVar[str] = "markdown"

    def groups(self, cut: CutDocument) -> list[Sequence[Piece]]:
        """One run per section, small neighbours together."""
        return self._levelled_groups(cut)[0]

    def _levelled_groups(self, cut: CutDocument) -> tuple[list[Sequence[Piece]], list[int]]:
        """The groups, and of each the level of its first heading; 0 for what stands above all headings."""
        runs: list[list[Piece]] = []
        levels: list[int] = []
        for level, section in _sections(cut.document, cut.pieces):
            if runs and self._joins(runs[-1], levels[-1], section, level):
                runs[-1] += section
            else:
                runs.append(list(section))
                levels.append(level)
        return list(runs), levels

    def _joins(self, run: Sequence[Piece], top: int, section: Sequence[Piece], level: int) -> bool:
        """Whether a section goes with the run before it, whose first heading is of level `top`."""
        if level < top or top == _TOP:
            return False
        tokens = tokens_of(run[0], run[-1])
        if tokens < self.chunk_size and all(piece.kind == "heading" for piece in run):
            return True
        return tokens < self.chunk_size / 3 and tokens_of(run[0], section[-1]) <= self.chunk_size


def _sections(document: ParsedDocument, pieces: Sequence[Piece]) -> list[tuple[int, Sequence[Piece]]]:
    """Level and pieces of each section that has any; what stands above the first heading has level 0."""
    starts = [piece.start for piece in pieces]
    bounds = [0, *(bisect_left(starts, section.start) for section in document.sections), len(pieces)]
    levels = [_TOP, *(section.level for section in document.sections)]
    parts = zip(levels, bounds, bounds[1:], strict=False)
    return [(level, pieces[first:end]) for level, first, end in parts if end > first]
