"""Numbered rules and sections as wholes: a chunk ends inside one only where it does not fit into a chunk."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, tokens_of
from elt_llm_ingest.chunkers.span_chunker import SpanChunker
from elt_llm_ingest.chunkers.units import Unit, find_units


class SectionAwareChunker(SpanChunker):
    """Keeps a section or rule with all below it in one chunk where it fits, else cuts between its parts.

    Small sibling rules share a chunk. A section of less than a third of `chunk_size` goes with its next sibling.
    Only what has no parts of its own, and does not fit, is cut at sentences.
    """

    strategy: ClassVar[str] = "section_aware"

    def groups(self, cut: CutDocument) -> list[Sequence[Piece]]:
        """Runs of whole rules and sections."""
        if not cut.pieces:
            return []
        units = find_units(cut.document, cut.pieces)
        found: list[Sequence[Piece]] = []
        for first, end in _Divider(units, cut).divide(0, len(units)):
            found += _rules_apart(cut.pieces[units[first].first : units[end - 1].end], cut.text_size)
        return found


class _Divider:
    def __init__(self, units: Sequence[Unit], cut: CutDocument) -> None:
        self._units, self._pieces, self._size = units, cut.pieces, cut.text_size

    def divide(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Ranges of units: those first to end if they fit together, else their parts, small siblings joined."""
        if end - first == 1 or self._tokens(first, end) <= self._size:
            yield first, end
            return
        kept: tuple[int, int] | None = None
        for part in self._parts(first, end):
            if kept and self._joins(kept, part):
                kept = kept[0], part[1]
                continue
            if kept:
                yield from self.divide(*kept)
            kept = part
        if kept:
            yield from self.divide(*kept)

    def _parts(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The range cut before every unit of the outermost level within it."""
        level = min(unit.level for unit in self._units[first + 1 : end])
        start = first
        for number in range(first + 1, end):
            if self._units[number].level == level:
                yield start, number
                start = number
        yield start, end

    def _joins(self, before: tuple[int, int], part: tuple[int, int]) -> bool:
        """Whether a part goes with what is before it: rules while they fit, sections only if that is small."""
        if self._tokens(before[0], part[1]) > self._size:
            return False
        return self._units[part[0]].is_rule or self._tokens(*before) < self._size / 3

    def _tokens(self, first: int, end: int) -> int:
        return tokens_of(self._pieces[self._units[first].first], self._pieces[self._units[end - 1].end - 1])


def _rules_apart(pieces: Sequence[Piece], size: int) -> list[Sequence[Piece]]:
    """The pieces of a unit; its headings on their own if it fits only without them."""
    headings = next((place for place, piece in enumerate(pieces) if piece.kind != "heading"), 0)
    if headings and tokens_of(pieces[0], pieces[-1]) > size >= tokens_of(pieces[headings], pieces[-1]):
        return [pieces[:headings], pieces[headings:]]
    return [pieces]
