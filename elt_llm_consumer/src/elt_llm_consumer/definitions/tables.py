"""Tables of definitions: rows under headers such as Term and Meaning, over as many pages as they run."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from elt_llm_query.answer.pieces import is_row

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.defining import tells_apart
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout, Line
from elt_llm_consumer.definitions.spans import one_line, trimmed
from elt_llm_consumer.definitions.table_headers import Columns, TableHeaders
from elt_llm_consumer.sections.glossary import GlossarySection

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_PAGE_EDGES = 1000  # characters at the foot of a page and the head of the next
_BAR = re.compile(r"(?<!\\)\||\t")


class Tables:
    """Reads the rows of definition tables."""

    def __init__(self, layout: Layout, settings: GlossarySection) -> None:
        self._layout = layout
        self._headers = TableHeaders(settings)
        self._likely = dict[tuple[str, ...], Columns]()

    def drafts(self) -> list[Draft]:
        """The definitions in tables, in order; a row that has no first cell goes on with the row above."""
        drafts: list[Draft] = []
        columns: Columns | None = None
        before: Line | None = None
        for line in self._layout.lines:
            if is_row(line.text):
                columns = self._read(drafts, columns, line, before)
            elif not self._goes_on_after(before, line):
                columns = None
            before = line
        return drafts

    def _read(self, drafts: list[Draft], columns: Columns | None, line: Line, before: Line | None) -> Columns | None:
        """Add what a row defines; the columns that hold for the rows after it, None if it is of another table."""
        cells = _cells(line)
        first = before is None or not is_row(before.text) or (line.apart and not self._over_page(before, line))
        head = self._columns(cells, first=first)
        if head is not None:
            self._layout.headers.add(line.start)
            return head
        if first:
            columns = (None if line.apart else columns) or self._headless(line, cells)
        if columns is None:
            return None
        draft = self._row(columns, cells)
        if draft is not None:
            drafts.append(draft)
        elif drafts and self._is_near(drafts[-1], line) and (more := self._continued(columns, cells)):
            drafts[-1] = replace(drafts[-1], body=(drafts[-1].body[0], more[1]))
        return columns

    def _is_near(self, draft: Draft, line: Line) -> bool:
        """Whether nothing but headers and the edges of pages stands between a definition and a line."""
        if line.start - draft.body[1] > _PAGE_EDGES:
            return False
        between = self._layout.lines_between(draft.body[1], line.start)
        return all(one.start in self._layout.headers for one in between)

    def _headless(self, line: Line, cells: Sequence[tuple[int, int]]) -> Columns | None:
        """Two columns without headers, under a heading that announces definitions, if the first row defines."""
        if len(cells) != 2 or not self._layout.in_region(line.start):
            return None
        term, body = (one_line(self._layout.text[slice(*cell)]) for cell in cells)
        plain = len(term.split()) <= 6 and len(body.split()) >= 4 and not any(map(str.isdigit, term + body[:3]))
        defines = plain or tells_apart(body) or (is_short_form(term) and long_form(term, body) == (0, len(body)))
        return Columns(2, 0, 1, None, short=False) if defines else None

    def _over_page(self, before: Line, line: Line) -> bool:
        return self._layout.page_between(before.start, line.start)

    def _goes_on_after(self, before: Line | None, line: Line) -> bool:
        """Whether a line without cells may be the rest of a cell that a page or a line break cut."""
        return before is not None and not line.apart and line.start not in self._layout.heading_lines

    def _columns(self, cells: Sequence[tuple[int, int]], *, first: bool) -> Columns | None:
        """The columns that a row names, if it is one of headers; `first`: it begins a table.

        Headers that are only likely count at the beginning, and again where the table goes on with the same ones.
        """
        names = tuple(one_line(self._layout.text[start:end]) for start, end in cells)
        known = self._headers.columns(names) or self._likely.get(names)
        if known is not None or not first:
            return known
        likely = self._headers.likely(names, announced=self._layout.in_region(cells[0][0]))
        if likely is not None:
            self._likely[names] = likely
        return likely

    def _row(self, columns: Columns, cells: Sequence[tuple[int, int]]) -> Draft | None:
        text = self._layout.text
        if len(cells) <= max(columns.term, columns.meaning) or len(cells) > columns.count:
            return None
        term, body = cells[columns.term], cells[columns.meaning]
        if not one_line(text[slice(*term)]) or not one_line(text[slice(*body)]):
            return None
        short = ""
        if columns.abbreviation is not None and columns.abbreviation < len(cells):
            short = one_line(text[slice(*cells[columns.abbreviation])]).strip("-–—")
        return Draft(term, body, "abbreviation" if columns.short else "table", 1.0, short)

    def _continued(self, columns: Columns, cells: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """The cell of meaning of a row whose cell of the term is empty."""
        if (
            columns.meaning != columns.count - 1
            or len(cells) != columns.count
            or one_line(self._layout.text[slice(*cells[columns.term])])
        ):
            return None
        body = cells[columns.meaning]
        return body if body[1] > body[0] else None


def _cells(line: Line) -> list[tuple[int, int]]:
    """Spans of the cells of a row, stripped; the bars at both ends of a Markdown row are no cells of their own."""
    text = line.text
    bounds = [-1, *(bar.start() for bar in _BAR.finditer(text)), len(text)]
    cells = [(start + 1, end) for start, end in pairwise(bounds)]
    if text.startswith("|") and text.endswith("|") and len(cells) > 2:
        cells = cells[1:-1]
    spans = [trimmed(text, start, end) for start, end in cells]
    return [(line.start + start, line.start + end) for start, end in spans]
