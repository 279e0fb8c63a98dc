"""Read tables of definitions, which have columns such as Term and Meaning and may continue on the next page."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import DocumentLayout, TextLine, one_line, trim_span
from elt_llm_consumer.definitions.subject import distinguishes
from elt_llm_consumer.definitions.vocabulary import CONTEXT_IN_BRACKETS, pattern
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.sentences.statements import cells_by_label, joined_headers

_MEANING: Final = pattern("meaning_header")
_OTHER: Final = pattern("other_header")
_BUSINESS: Final = pattern("business_definition_header")
_DEFINITION: Final = pattern("definition_row")
_MAX_WORDS = 6
_MAX_TERM_WORDS, _MIN_MEANING_WORDS = 6, 4  # for the rows of a table without headers


@dataclass(frozen=True)
class DefinitionColumns:
    """The indexes of a table's columns. `abbreviation`, `synonyms` and `see_also` are None without such a column.

    `short` means that the terms in the column `term` are abbreviations themselves.
    """

    count: int
    term: int
    meaning: int
    abbreviation: int | None
    short: bool
    synonyms: int | None = None
    see_also: int | None = None


class TableHeaders:
    """Recognizes the column headers that a job's settings list, and other headers with the same meaning."""

    def __init__(self, settings: GlossarySection) -> None:
        self._terms = _folded(settings.term_headers)
        self._meanings = _folded(settings.meaning_headers)
        self._short = _folded(settings.abbreviation_headers)
        self._synonyms = _folded(settings.synonym_headers)
        self._see_also = _folded(settings.see_also_headers)

    def columns(self, cells: Sequence[str]) -> DefinitionColumns | None:
        """Return the columns if these cells are headers that the settings list, else None."""
        names = _names(cells)
        term = _first_known(names, self._terms)
        short = _first_known(names, self._short)
        meaning = next((place for place, name in enumerate(names) if name in self._meanings and place != term), None)
        if term is not None and meaning is not None:
            return self._with_other_names(names, term, meaning, short)
        # In a data dictionary, the column before "Business definition" contains the terms, whatever its header.
        business = next((place for place, name in enumerate(names) if _BUSINESS.fullmatch(name)), 0)
        named = next((place for place in reversed(range(business)) if not _OTHER.search(names[place])), None)
        if named is not None:
            return self._with_other_names(names, named, business, short)
        spelt_out = term if meaning is None else meaning
        if short is None or spelt_out is None:
            return None
        return self._with_other_names(names, short, spelt_out, None, short=True)

    def _with_other_names(
        self, names: Sequence[str], term: int, meaning: int, abbreviation: int | None, *, short: bool = False
    ) -> DefinitionColumns:
        others = (_first_known(names, known) for known in (self._synonyms, self._see_also))
        return DefinitionColumns(len(names), term, meaning, abbreviation, short, *others)

    def likely(self, cells: Sequence[str], *, announced: bool) -> DefinitionColumns | None:
        """Return the columns if the first header is known for terms and the second may be one for meanings, else None.

        `announced` means that the table is under a heading of definitions. Then the second header may be any header
        that does not clearly mean something else, such as a page number.
        """
        names = _names(cells)
        if len(names) < 2 or names[0] not in self._terms or names[1] in self._short:
            return None
        second = names[1]
        if not second or len(second.split()) > _MAX_WORDS or _OTHER.search(second):
            return None
        if not announced and _MEANING.search(second) is None:
            return None
        return self._with_other_names(names, 0, 1, _first_known(names, self._short))


def _names(cells: Sequence[str]) -> list[str]:
    return [fold(cell).strip(" .:*#") for cell in cells]


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(fold(name).strip(" .") for name in names)


def _first_known(names: Sequence[str], known: frozenset[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)


# A heading such as "Property: access rights", which is another name of the thing.
_LABELLED = re.compile(r"[^\W\d_]{1,20}: (?P<name>\S[^\n]{0,80})")
_PAGE_EDGES = 1000  # maximum characters of a page footer and the next page header together
_BETWEEN_NAMES = re.compile(r"[;\n]|<br\s?/?>")
_AROUND_NAME = " \"'“”„‘’*_`"
_BAR = re.compile(r"(?<!\\)\||\t")


class DefinitionTables:
    """Reads the rows of definition tables."""

    def __init__(self, layout: DocumentLayout, settings: GlossarySection) -> None:
        self._layout = layout
        self._headers = TableHeaders(settings)
        self._likely = dict[tuple[str, ...], DefinitionColumns]()
        self._heads: list[tuple[str, ...]] = []
        self._named: Sequence[tuple[int, int]] = ()  # the first row of the current table, if it has two cells

    def drafts(self) -> list[DefinitionDraft]:
        """Return the definitions in tables, in order. A row with an empty first cell continues the row above."""
        drafts: list[DefinitionDraft] = []
        columns: DefinitionColumns | None = None
        before: TextLine | None = None
        for line in self._layout.lines:
            if self._layout.is_row(line):
                columns = self._read(drafts, columns, line, before)
            elif before is None or line.apart or line.start in self._layout.heading_lines:
                columns = None  # the table has ended: this line does not continue a cell
            before = line
        return drafts

    def _read(
        self, drafts: list[DefinitionDraft], columns: DefinitionColumns | None, line: TextLine, before: TextLine | None
    ) -> DefinitionColumns | None:
        """Append the definition in a table row to `drafts`.

        Return the columns for the next rows; None if the table has no definitions.
        """
        cells = _cells(line)
        first = (
            before is None
            or not self._layout.is_row(before)
            or (line.apart and not self._layout.page_between(before.start, line.start))
        )
        head = self._columns(cells, first=first)
        if head is not None:
            names = tuple(one_line(self._layout.text[slice(*cell)]) for cell in cells)
            self._heads = [*(self._heads if before and before.start in self._layout.headers else []), names]
            self._layout.headers.add(line.start)
            return head
        if first:
            columns = (None if line.apart else columns) or self._headless(line, cells)
            self._named = cells if len(cells) == 2 else ()
        if columns is None:
            drafts.extend(self._of_record(cells, line))
            return None
        cells = cells_by_label(self._layout.text, cells, joined_headers(self._heads)) or cells
        draft = self._row(columns, cells)
        if draft is not None:
            drafts.append(draft)
        elif drafts and line.start - drafts[-1].body[1] <= _PAGE_EDGES and self._continues(columns, cells):
            start, end = drafts[-1].body
            between = self._layout.lines_between(end, line.start)
            if all(one.start in self._layout.headers for one in between):
                drafts[-1] = replace(drafts[-1], body=(start, cells[columns.meaning][1]))
        return columns

    def _of_record(self, cells: Sequence[tuple[int, int]], line: TextLine) -> Iterator[DefinitionDraft]:
        """Yield the definition in a row "Definition: | ..." of a table about one thing, which its first row names."""
        label, *body = (one_line(self._layout.text[slice(*cell)]) for cell in cells)
        if len(body) == 1 and body[0] and self._named not in ((), cells) and _DEFINITION.fullmatch(_names([label])[0]):
            above = self._layout.document.outline.section_path(line.start)[-1:]
            aliases = tuple(found["name"] for one in above if (found := _LABELLED.fullmatch(one)))
            yield DefinitionDraft(self._named[1], cells[1], "table", 1.0, aliases=aliases)

    def _headless(self, line: TextLine, cells: Sequence[tuple[int, int]]) -> DefinitionColumns | None:
        """Return the columns of a two-column table without headers that is in a definition section, or None."""
        if len(cells) != 2 or not self._layout.in_region(line.start):
            return None
        term, body = (one_line(self._layout.text[slice(*cell)]) for cell in cells)
        if term.endswith((".", ",", ";", ":")):  # the bounds are gaps in justified text, not columns
            return None
        fits = len(term.split()) <= _MAX_TERM_WORDS and len(body.split()) >= _MIN_MEANING_WORDS
        plain = fits and not any(map(str.isdigit, term + body[:3]))
        defines = plain or distinguishes(body) or (is_short_form(term) and long_form(term, body) == (0, len(body)))
        return DefinitionColumns(2, 0, 1, None, short=False) if defines else None

    def _columns(self, cells: Sequence[tuple[int, int]], *, first: bool) -> DefinitionColumns | None:
        """Return the columns if a row consists of headers, else None. `first` means that the row starts a table.

        Likely headers are accepted only at the start of a table, and where the table repeats them.
        """
        names = tuple(one_line(self._layout.text[start:end]) for start, end in cells)
        known = self._headers.columns(names) or self._likely.get(names)
        if known is not None or not first:
            return known
        likely = self._headers.likely(names, announced=self._layout.in_region(cells[0][0]))
        if likely is not None:
            self._likely[names] = likely
        return likely

    def _row(self, columns: DefinitionColumns, cells: Sequence[tuple[int, int]]) -> DefinitionDraft | None:
        text = self._layout.text
        if len(cells) <= max(columns.term, columns.meaning) or len(cells) > columns.count:
            return None
        term, body = cells[columns.term], cells[columns.meaning]
        if not one_line(text[slice(*term)]) or not one_line(text[slice(*body)]):
            return None
        short = ""
        if columns.abbreviation is not None and columns.abbreviation < len(cells):
            short = one_line(text[slice(*cells[columns.abbreviation])]).strip("-–—")
        bracket = CONTEXT_IN_BRACKETS.search(text[slice(*term)])
        if bracket and not short and is_short_form(bracket[1]) and bracket.start():  # "Digital Pressure Gauge (DPG)"
            term, short = (term[0], term[0] + bracket.start()), bracket[1]
        return DefinitionDraft(
            term,
            body,
            "abbreviation" if columns.short else "table",
            1.0,
            short,
            aliases=self._listed_names(columns.synonyms, cells),
            see_also=self._listed_names(columns.see_also, cells),
        )

    def _listed_names(self, column: int | None, cells: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """Return the names listed in a row's cell. Commas separate names only if the cell has no other separators."""
        if column is None or column >= len(cells):
            return ()
        cell = self._layout.text[slice(*cells[column])]
        listed = _BETWEEN_NAMES.split(cell)
        names = (name.strip(_AROUND_NAME) for name in (listed if len(listed) > 1 else cell.split(",")))
        return tuple(dict.fromkeys(name for name in names if any(map(str.isalnum, name))))

    def _continues(self, columns: DefinitionColumns, cells: Sequence[tuple[int, int]]) -> bool:
        """Return whether a row continues the meaning in the row above: no term, but text in the last cell."""
        if columns.meaning != columns.count - 1 or len(cells) != columns.count:
            return False
        body = cells[columns.meaning]
        return body[1] > body[0] and not one_line(self._layout.text[slice(*cells[columns.term])])


def _cells(line: TextLine) -> list[tuple[int, int]]:
    """Return the spans of a row's cells, without outer white space. Bars at both ends of a row add no empty cells."""
    text = line.text
    bounds = [-1, *(bar.start() for bar in _BAR.finditer(text)), len(text)]
    cells = [(start + 1, end) for start, end in pairwise(bounds)]
    if text.startswith("|") and text.endswith("|") and len(cells) > 2:
        cells = cells[1:-1]
    spans = [trim_span(text, start, end) for start, end in cells]
    return [(line.start + start, line.start + end) for start, end in spans]
