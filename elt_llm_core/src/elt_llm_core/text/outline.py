"""The outline of a document: the offsets of its pages and sections, and the terms that its markup defines."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Section:
    """A heading at offset `start`. Its section ends at the next heading of the same or a higher level."""

    start: int
    level: int
    title: str


@dataclass(frozen=True)
class Outline:
    """The pages and sections of one text. `pages[i]` is the offset of page i + 1. Both sequences ascend."""

    pages: Sequence[int] = ()
    sections: Sequence[Section] = ()

    def page_at(self, offset: int) -> int | None:
        """Return the number, from 1, of the page that contains `offset`, or None if the format has no pages."""
        return bisect_right(self.pages, offset) if self.pages else None

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Return the titles of the sections that contain `offset`, outermost first."""
        path: list[str] = []
        number = bisect_right(self.sections, offset, key=lambda section: section.start) - 1
        while number >= 0:
            path.append(self.sections[number].title)
            number = self._above[number]
        return tuple(reversed(path))

    def section_at(self, offset: int) -> str | None:
        """Return the section titles at `offset` joined by ' > ', as in citations, or None before the first heading."""
        return " > ".join(self.section_path(offset)) or None

    @cached_property
    def _above(self) -> list[int]:
        """For each section, the index of the section that contains it, or -1 if there is none."""
        above: list[int] = []
        opened: list[int] = []
        for number, section in enumerate(self.sections):
            while opened and self.sections[opened[-1]].level >= section.level:
                opened.pop()
            above.append(opened[-1] if opened else -1)
            opened.append(number)
        return above


MARKED_TERMS_ARTEFACT = "marked_terms"
Span = tuple[int, int]
Pair = tuple[int, int, int, int]


@dataclass(frozen=True)
class MarkedTerms:
    """The terms that a document's markup emphasises or defines, as ascending character offsets in its text."""

    definitions: tuple[Pair, ...] = ()
    """Entries in definition lists, each as the start and end of a term, then the start and end of its definition."""
    terms: tuple[Span, ...] = ()
    """Terms whose markup shows that the sentence around them defines them."""
    leading: tuple[Span, ...] = ()
    """Emphasised words at the start of a paragraph, whether or not the paragraph defines them."""

    def __bool__(self) -> bool:
        """Return whether the markup of the document emphasises or defines at least one term."""
        return bool(self.definitions or self.terms or self.leading)

    def to_json(self) -> dict[str, list[list[int]]]:
        """Return the spans as JSON: lists of offsets by name."""
        return {name: [list(span) for span in spans] for name, spans in vars(self).items()}

    @staticmethod
    def from_json(value: Any, length: int) -> "MarkedTerms":
        """Read JSON from `to_json` for a text of `length` characters. Spans outside the text are dropped."""
        spans = value if isinstance(value, dict) else {}
        counts = {"definitions": 4, "terms": 2, "leading": 2}
        return MarkedTerms(**{name: _valid_offsets(spans.get(name), count, length) for name, count in counts.items()})

    def cut(self, start: int, end: int) -> "MarkedTerms":
        """Return the terms that lie completely within text[start:end], with offsets relative to `start`."""

        def moved(spans: Sequence[Sequence[int]]) -> list[list[int]]:
            return [[offset - start for offset in span] for span in spans if start <= span[0] and span[-1] <= end]

        return MarkedTerms.from_json({name: moved(spans) for name, spans in vars(self).items()}, end - start)


def _valid_offsets(value: Any, count: int, length: int) -> Any:
    """Return the valid entries of a parsed JSON list, sorted and each once.

    A valid entry is a list of `count` integers: offsets in a text of `length` characters, ascending, as pairs of the
    start and end of a span that is not empty. With `count` 2: [[9, 4], [3, 7]] -> ((3, 7),)
    """
    entries = value if isinstance(value, list | tuple) else ()
    lists = (entry for entry in entries if isinstance(entry, list | tuple) and len(entry) == count)
    spans = {tuple(entry) for entry in lists if all(type(one) is int for one in entry)}
    return tuple(
        span
        for span in sorted(spans)
        if list(span) == sorted(span) and span[0] >= 0 and span[-1] <= length
        if all(span[at] < span[at + 1] for at in range(0, count, 2))
    )


_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")


def page_label(source: str, page: int | None, section: str | None = None) -> str:
    """Return a label such as "page 3" or, if `source` is a workbook, "sheet Elements". Without a page, it is empty.

    A sheet has a page number, and its name is the first title in `section`: ("a.xlsx", 2, "Elements > Totals") ->
    "sheet Elements". Without `section`, a sheet's label is empty; callers that show the section elsewhere omit it.
    """
    if page and source.lower().endswith(_WORKBOOKS):
        return f"sheet {section.split(' > ')[0]}" if section else ""
    return f"page {page}" if page else ""
