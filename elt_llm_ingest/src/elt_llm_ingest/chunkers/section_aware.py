"""Keep each section, and each numbered rule such as "12.3 ...", in one chunk if it fits."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from elt_llm_ingest.chunkers.pieces import DocumentPieces, TextPiece, count_tokens
from elt_llm_ingest.chunkers.span_chunker import SpanChunker, chunk_kind
from elt_llm_ingest.parsing.parsed_document import ParsedDocument

_TOP_LEVEL = 0
_BELOW_HEADINGS = 1_000  # larger than the level of any heading
_NUMBER = re.compile(r"\W{0,4}(?:[A-Za-z]{3,10}\s{1,3})?([A-Za-z]?\d{0,4}(?:\.\d{1,4}){1,8})")


class SectionUnit(NamedTuple):
    """A heading or numbered rule with its text: pieces[first:end]. Outer units have lower levels than inner units."""

    first: int
    end: int
    level: int
    is_rule: bool


def find_units(document: ParsedDocument, pieces: Sequence[TextPiece]) -> list[SectionUnit]:
    """Divide the pieces into units (sections, numbered rules). A heading without text joins a deeper unit after it."""
    opened = list(_unit_starts(document, pieces))
    ends = [first for first, _, _ in opened[1:]] + [len(pieces)]
    units: list[SectionUnit] = []
    for (first, level, is_rule), end in zip(opened, ends, strict=True):
        before = units[-1] if units else None
        if before and level > before.level and chunk_kind(pieces[before.first : before.end]) == "heading":
            units[-1] = before._replace(end=end)
        else:
            units.append(SectionUnit(first, end, level, is_rule))
    return units


def _unit_starts(document: ParsedDocument, pieces: Sequence[TextPiece]) -> Iterator[tuple[int, int, bool]]:
    """Yield each unit (section or numbered rule): the index of its first piece, its level, and whether it is a rule.

    Text above the first heading is a unit too.
    """
    levels = {section.start: section.level for section in document.sections}
    rules = [block.start for block in document.blocks if block.kind == "rule"]
    opened_rule = -1
    for number, piece in enumerate(pieces):
        if piece.start in levels:
            yield number, levels[piece.start], False
        elif piece.kind == "rule" and (rule := rules[bisect_right(rules, piece.start) - 1]) != opened_rule:
            opened_rule = rule
            yield number, _BELOW_HEADINGS + _rule_depth(document.text[piece.start : piece.start + 60]), True
        elif number == 0:
            yield 0, _TOP_LEVEL, False


def _rule_depth(text: str) -> int:
    """Return the number of levels in the rule number at the start: 2 for 12.3, 3 for 12.3.1, 1 without a number."""
    match = _NUMBER.match(text)
    return match.group(1).count(".") + 1 if match else 1


class SectionAwareChunker(SpanChunker):
    """Keeps a section or rule, with its subsections, in one chunk if it fits. Otherwise cuts it between its parts.

    Small sibling rules share a chunk. A section smaller than a third of `chunk_size` is joined to its next sibling. A
    section is cut at sentences only if it does not fit and has neither subsections nor rules.
    """

    strategy: ClassVar[str] = "section_aware"

    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return a group of pieces for each section or numbered rule ("12.3 The team"). Small neighbours share one."""
        if not cut.pieces:
            return []
        units = find_units(cut.document, cut.pieces)
        runs: list[Sequence[TextPiece]] = []
        for first, end in _UnitSplitter(units, cut).divide(0, len(units)):
            runs += _split_rules(cut.pieces[units[first].first : units[end - 1].end], cut.text_size)
        return runs


class _UnitSplitter:
    def __init__(self, units: Sequence[SectionUnit], cut: DocumentPieces) -> None:
        self._units, self._pieces, self._size = units, cut.pieces, cut.text_size

    def divide(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield units[first:end] as one (first, end) range if they fit into a chunk, else as several smaller ranges."""
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
        """Yield units[first:end] as parts (first, end). Each but the first starts at a direct subsection or rule."""
        level = min(unit.level for unit in self._units[first + 1 : end])
        start = first
        for number in range(first + 1, end):
            if self._units[number].level == level:
                yield start, number
                start = number
        yield start, end

    def _joins(self, before: tuple[int, int], part: tuple[int, int]) -> bool:
        """Return whether `part` joins the chunk of `before`: it fits, and `part` is a rule or `before` is small."""
        if self._tokens(before[0], part[1]) > self._size:
            return False
        return self._units[part[0]].is_rule or self._tokens(*before) < self._size / 3

    def _tokens(self, first: int, end: int) -> int:
        return count_tokens(self._pieces[self._units[first].first], self._pieces[self._units[end - 1].end - 1])


def _split_rules(pieces: Sequence[TextPiece], size: int) -> list[Sequence[TextPiece]]:
    """Return one group, or two (headings, other pieces) if the pieces fit into a chunk only without their headings."""
    headings = next((number for number, piece in enumerate(pieces) if piece.kind != "heading"), 0)
    if headings and count_tokens(pieces[0], pieces[-1]) > size >= count_tokens(pieces[headings], pieces[-1]):
        return [pieces[:headings], pieces[headings:]]
    return [pieces]
