"""Sections and numbered rules as runs of pieces with levels, outermost first."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from elt_llm_ingest.chunkers.pieces import Piece
from elt_llm_ingest.parsed_document import ParsedDocument

_TOP = 0
_BELOW_HEADINGS = 1_000  # no format has as many levels of headings
_NUMBER = re.compile(r"\W{0,4}(?:[A-Za-z]{3,10}\s{1,3})?([A-Za-z]?\d{0,4}(?:\.\d{1,4}){1,8})")


class Unit(NamedTuple):
    """pieces[first:end]: a heading or rule and what follows it until the next one. A lower level is further out."""

    first: int
    end: int
    level: int
    is_rule: bool


def find_units(document: ParsedDocument, pieces: Sequence[Piece]) -> list[Unit]:
    """The pieces in units, none left out. Headings with nothing under them go with the unit that follows."""
    opened = list(_openings(document, pieces))
    ends = [first for first, _, _ in opened[1:]] + [len(pieces)]
    units: list[Unit] = []
    for (first, level, is_rule), end in zip(opened, ends, strict=True):
        before = units[-1] if units else None
        if before and level > before.level and _is_heading(pieces[before.first : before.end]):
            units[-1] = before._replace(end=end)
        else:
            units.append(Unit(first, end, level, is_rule))
    return units


def _openings(document: ParsedDocument, pieces: Sequence[Piece]) -> Iterator[tuple[int, int, bool]]:
    """(piece, level, whether a rule) of each unit; what stands above the first heading opens one too."""
    levels = {section.start: section.level for section in document.sections}
    rules = [block.start for block in document.blocks if block.kind == "rule"]
    opened_rule = -1
    for place, piece in enumerate(pieces):
        if piece.start in levels:
            yield place, levels[piece.start], False
        elif piece.kind == "rule" and (rule := rules[bisect_right(rules, piece.start) - 1]) != opened_rule:
            opened_rule = rule
            yield place, _BELOW_HEADINGS + _depth(document.text[piece.start : piece.start + 60]), True
        elif place == 0:
            yield 0, _TOP, False


def _depth(text: str) -> int:
    """Levels of a rule's number: 2 for 12.3, 3 for 12.3.1."""
    match = _NUMBER.match(text)
    return match.group(1).count(".") + 1 if match else 1


def _is_heading(pieces: Sequence[Piece]) -> bool:
    return all(piece.kind == "heading" for piece in pieces)
