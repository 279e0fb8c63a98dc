"""A document as its definitions are laid out in it: lines, sections with definitions, and what is only furniture."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.corpus import CorpusDocument
from elt_llm_consumer.definitions.headings import Headings
from elt_llm_consumer.sections.glossary import GlossarySection

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_DIGITS = re.compile(r"\d{1,6}|\b[ivxlc]{1,6}\b")
_PAGE_LINE = re.compile(
    r"(?:page\s|seite\s|[-–|]\s{0,3})?\d{1,4}(?:\s{0,3}(?:of|von|/)\s{0,3}\d{1,4})?(?:\s{0,3}[-–|])?$", re.IGNORECASE
)
_CONTENTS = re.compile(r"(?:\s{0,9}\.\s?){3,200}\s{0,9}\d{1,4}\s{0,9}$|[^|]\|\s{0,9}\d{1,4}\s{0,9}$")
_RULE_LINE = re.compile(r"[\s|:+=~*_^-]+$")
_EDGE = 2  # lines at either end of a page that may be furniture
_OFTEN = 3  # pages on which it stands


@dataclass(frozen=True)
class Line:
    """The words text[start:end] of one line; `indent` in characters; `apart` if a blank line stands before it."""

    start: int
    end: int
    text: str
    indent: int
    apart: bool


class Layout:
    """What the patterns look at. All offsets are characters of the document's text."""

    def __init__(self, document: CorpusDocument, settings: GlossarySection) -> None:
        self.document = document
        self.text = document.text
        self.headers = set[int]()
        """Where rows begin that name the columns of definition tables, as far as these were read."""
        self._headings = Headings(settings.headings)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines with words, furniture left out."""
        return tuple(line for line in self._all_lines if line.start not in self._furniture)

    def lines_between(self, start: int, end: int) -> tuple[Line, ...]:
        """The lines that begin in text[start:end], furniture left out."""
        return tuple(line for line in self._all_lines_between(start, end) if line.start not in self._furniture)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The sentences, items, rows and headings, furniture left out."""
        return tuple(piece for piece in self.document.pieces if piece.start not in self._furniture)

    @cached_property
    def heading_lines(self) -> frozenset[int]:
        """Where the lines of headings begin, and the lines drawn under them."""
        starts = [line.start for line in self._all_lines]
        found = set[int]()
        for section in self.document.outline.sections:
            number = bisect_right(starts, section.start + 3) - 1
            if number >= 0:
                found.add(starts[number])
        return frozenset(found)

    @cached_property
    def regions(self) -> tuple[tuple[int, int], ...]:
        """Spans of the sections that define terms, in order, none within another."""
        sections = self.document.outline.sections
        found: list[tuple[int, int]] = []
        for number, section in enumerate(sections):
            if found and section.start < found[-1][1]:
                continue
            if self._headings.announce(section.title):
                later = (one.start for one in sections[number + 1 :] if one.level <= section.level)
                found.append((section.start, next(later, len(self.text))))
        return tuple(found) or tuple(self._untold_regions())

    def _untold_regions(self) -> Iterator[tuple[int, int]]:
        """As `regions`, by lines that look like headings, for texts whose headings nobody marked."""
        headings = [piece for piece in self.pieces if piece.kind == "heading"]
        for one, following in pairwise([*headings, None]):
            if one is not None and self._headings.announce(one.text):
                yield one.start, following.start if following else len(self.text)

    def in_region(self, offset: int) -> bool:
        """Whether `offset` lies in a section that defines terms."""
        number = bisect_right(self.regions, offset, key=lambda region: region[0]) - 1
        return number >= 0 and offset < self.regions[number][1]

    def page_between(self, start: int, end: int) -> bool:
        """Whether a page begins between two offsets."""
        pages = self.document.outline.pages
        return bisect_right(pages, start) != bisect_right(pages, end)

    def without_furniture(self, start: int, end: int) -> str:
        """text[start:end] without the lines that only say on which page it stands."""
        kept = self.text[start:end]
        if not (self._furniture or self.headers):
            return kept
        inside = [
            one
            for one in self._all_lines_between(start, end)
            if one.start in self._furniture or one.start in self.headers
        ]
        for line in reversed(inside):
            kept = kept[: max(0, line.start - start)] + kept[line.end - start :]
        return kept

    def is_contents(self, line: str) -> bool:
        """Whether a line is one of a table of contents."""
        return bool(_CONTENTS.search(line))

    def _all_lines_between(self, start: int, end: int) -> tuple[Line, ...]:
        starts = self._starts
        return self._all_lines[bisect_right(starts, start - 1) : bisect_right(starts, end - 1)]

    @cached_property
    def _starts(self) -> list[int]:
        return [line.start for line in self._all_lines]

    @cached_property
    def _all_lines(self) -> tuple[Line, ...]:
        return tuple(_lines(self.text))

    @cached_property
    def _furniture(self) -> frozenset[int]:
        """Starts of lines at the edges of pages that stand on several of them, or hold nothing but a page number."""
        edges = [line for page in self._pages() for line in {*page[:_EDGE], *page[-_EDGE:]}]
        often = Counter(_DIGITS.sub("#", line.text.casefold()) for line in edges)
        return frozenset(
            line.start
            for line in edges
            if "|" not in line.text
            and (
                _PAGE_LINE.match(line.text)
                or (often[_DIGITS.sub("#", line.text.casefold())] >= _OFTEN and len(line.text) < 120)
            )
        )

    def _pages(self) -> Iterator[tuple[Line, ...]]:
        pages = [*self.document.outline.pages, len(self.text)]
        for begin, end in pairwise(pages):
            yield self._all_lines_between(begin, end)


def _lines(text: str) -> Iterator[Line]:
    position, apart = 0, True
    for raw in text.splitlines(keepends=True):
        stripped = raw.strip()
        if stripped and not _RULE_LINE.match(stripped):
            indent = len(raw) - len(raw.lstrip())
            start = position + indent
            yield Line(start, start + len(stripped), stripped, indent, apart)
            apart = False
        elif not stripped:
            apart = True
        position += len(raw)
