"""Read a data dictionary: each row of a workbook or CSV file becomes an entity with its definition and domain."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from elt_llm_core.enterprise import FactSheet, Inventory, fact_sheet_order
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.utilities import nearest_names

from elt_llm_ingest.leanix.documents import inventory_document
from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import UniqueNames
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.parsing.workbook import open_workbook
from elt_llm_ingest.readers import ReaderOptions
from elt_llm_ingest.readers.delimited import detect_delimiter, parse_rows
from elt_llm_ingest.readers.sheets import cell_display, workbook_notes

_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_HEADER_ROWS = 20  # the most rows that are searched for the headers
_SEPARATOR = " / "
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+$")
_NOT_IN_ID = re.compile(r"[^\w.~-]+", re.ASCII)
_MAX_ID_LENGTH = 90

# Words in the headers of data dictionaries, by the role of the column; the most specific are first.
_HEADER_WORDS = {
    "entity": ("element name", "attribute name", "field name", "column name", "data element", "entity name", "term",
               "name", "element", "attribute", "field", "label"),
    "definition": ("definition", "description", "meaning", "explanation", "comment"),
    "domain": ("domain", "subject area", "topic", "area", "module", "schema"),
    "subgroup": ("subdomain", "sub domain", "subgroup", "subject area", "entity", "category", "group", "table"),
    "type": ("type of element", "element type", "entity type", "kind", "type", "data type", "format"),
    "id": ("global id", "element id", "identifier", "id", "ref", "reference number", "code", "key"),
}  # fmt: skip
_LEAST_ROWS = 3
_LEAST_FILLED = 0.6  # the least number of distinct names, and of definitions, divided by the number of rows
_LEAST_DEFINITION_WORDS = 3

_MOST_LISTED = 5
_Rows = Sequence[Sequence[str]]


class DictionaryReader(DocumentReader):
    """Reads a data dictionary: the rows below the column headers to which the ingest job's `columns` setting refers.

    `columns` maps roles to headers: {"entity": "Name", "definition": "Meaning"}. Web addresses become metadata of their
    row.

    If the addresses were part of the text, every row would have to be embedded again when all addresses change.
    """

    name: ClassVar[str] = "dictionary"
    version: ClassVar[int] = 5

    def __init__(self, options: ReaderOptions | None = None) -> None:
        self._mapping = options.columns if options and options.columns else "{}"

    @property
    def identity(self) -> str:
        """Identifies the reader: its name, its version, and a hash of `columns`, on which the text depends."""
        return f"{super().identity}-{hashlib.sha256(self._mapping.encode()).hexdigest()[:8]}"

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged or lacks columns that the job names."""
        columns: dict[str, str] = json.loads(self._mapping)
        sheets = list(_read_sheets(path))
        tables = _find_tables(sheets, columns)
        found = [table for table in tables if not table.missing]
        unique = UniqueNames()
        entries = sorted((one for table in found for one in table.fact_sheets(unique)), key=fact_sheet_order)
        counts = f"{len(entries)} entries of a data dictionary"
        more = [note for table in tables for note in table.notes()]
        more += [note for sheet in sheets if not sheet.rows for note in sheet.notes]
        inventory = Inventory(fact_sheets=tuple(entries), notes=(counts, *more))
        addresses = {identifier: address for table in found for identifier, address in table.addresses.items()}
        return inventory_document(inventory, path.stem, addresses)


class DictionaryColumnsReader(DocumentReader):
    """Proposes which column of a table has which role, if the table looks like a data dictionary.

    A job needs such a proposal as its `columns` setting: {"entity": "Name", "definition": "Meaning"}. Since a reader
    must return a document, the proposal is the metadata of a document without text.
    """

    name: ClassVar[str] = "dictionary_columns"
    version: ClassVar[int] = 1

    def read(self, path: Path) -> ParsedDocument:
        """Return a document whose metadata maps roles ("entity", "definition") to headers; {} for other files."""
        proposals = filter(None, (propose_columns(sheet.rows) for sheet in _read_sheets(path)))
        return ParsedDocument("", path.stem, metadata=dict(next(proposals, {})))


def propose_columns(rows: _Rows) -> dict[str, str]:
    """Map roles ("entity", "definition") to the column headers of a data dictionary; return {} for another sheet.

    A data dictionary has a column of names that are mostly distinct, and a column of definitions that mostly have
    several words.
    """
    for number, header in enumerate(rows[:_HEADER_ROWS]):
        columns = _columns_by_role(header)
        below = rows[number + 1 :]
        if len(below) < _LEAST_ROWS or not {"entity", "definition"} <= columns.keys():
            continue
        names = [row[columns["entity"]] for row in below if columns["entity"] < len(row) and row[columns["entity"]]]
        texts = [row[columns["definition"]] for row in below if columns["definition"] < len(row)]
        definitions = [text for text in texts if len(text.split()) >= _LEAST_DEFINITION_WORDS]
        least = _LEAST_FILLED * len(below)
        if len(set(names)) >= least and len(definitions) >= least:
            return {role: header[column] for role, column in columns.items()}
    return {}


def _columns_by_role(header: Sequence[str]) -> dict[str, int]:
    """Map roles to column numbers. A header that equals a word of the role is preferred to one that contains it."""
    names = [" ".join(re.findall(r"[^\W_]+", cell.casefold())) for cell in header]
    columns: dict[str, int] = {}
    for role, words in _HEADER_WORDS.items():
        free = [column for column, name in enumerate(names) if name and column not in columns.values()]
        equal = [column for word in words for column in free if names[column] == word]
        within = [column for word in words for column in free if f" {word} " in f" {names[column]} "]
        if found := (equal or (within if role in ("entity", "definition") else [])):
            columns[role] = found[0]
    return columns


class _SheetRows(NamedTuple):
    """The rows of a sheet, or of a CSV file, which has no `name`. `first` is the number of the first row."""

    rows: _Rows
    notes: tuple[str, ...]
    name: str = ""
    first: int = 1


def _read_sheets(path: Path) -> Iterator[_SheetRows]:
    if path.suffix.lower() in _WORKBOOKS:
        for sheet in open_workbook(path).sheets:
            comments = sum(line.startswith(("Comment on ", "Reply on ")) for line in sheet.remarks.lines)
            unread = (f"sheet {sheet.name!r}: comments on cells are not read: {comments:,}",) if comments else ()
            notes = (*workbook_notes([sheet]), *unread)
            yield _SheetRows(sheet.filled_rows(cell_display), notes, f"sheet {sheet.name!r}", sheet.first_row)
    else:
        text, notes = decode(read_bytes(path))
        rows, row_notes = parse_rows(text, detect_delimiter(text))
        yield _SheetRows([[" ".join(cell.split()) for cell in row] for row in rows], (*notes, *row_notes))


def _find_tables(sheets: Sequence[_SheetRows], columns: Mapping[str, str]) -> list["_Table"]:
    """Return the tables of the sheets; raise UnreadableDocument, naming missing columns, if no table is complete."""
    tables = [_Table(sheet, columns) for sheet in sheets if sheet.rows]
    if not tables:
        raise UnreadableDocument("; ".join(note for sheet in sheets for note in sheet.notes) or "is empty")
    if all(table.missing for table in tables):
        likeliest = sorted(tables, key=lambda table: len(table.missing))[:_MOST_LISTED]
        where = "has no sheet with all columns: " if sheets and sheets[0].name else ""
        raise UnreadableDocument(where + "; ".join(table.lacking for table in likeliest))
    return tables


def _header_row(rows: _Rows, columns: Mapping[str, str]) -> int:
    """Return the number of the row that has the most of the headers in `columns`; among equals, the most filled cells.

    If the rows right below it have as many of these headers (a header may be repeated), return the last such row.
    """
    wanted = {_folded(header) for header in columns.values()}
    fits = [(len(wanted & set(map(_folded, row))), sum(map(bool, row))) for row in rows[:_HEADER_ROWS]]
    best = max(fits)
    number = fits.index(best)
    while best[0] and number + 1 < len(fits) and fits[number + 1][0] == best[0]:
        number += 1
    return number


def _folded(header: str) -> str:
    return " ".join(header.split()).casefold()


class _Table:
    """The rows of one sheet below its header row. `missing` maps the roles whose columns the sheet lacks to headers."""

    def __init__(self, sheet: _SheetRows, columns: Mapping[str, str]) -> None:
        rows, header = sheet.rows, _header_row(sheet.rows, columns)
        names = list(map(_folded, rows[header]))
        self._sheet = sheet
        self.missing = {role: name for role, name in columns.items() if _folded(name) not in names}
        self._places = {role: names.index(_folded(name)) for role, name in columns.items() if role not in self.missing}
        self.headers, self._rows, self._first = rows[header], rows[header + 1 :], sheet.first + header + 1
        self._address_columns = [column for column in range(len(self.headers)) if self._holds_addresses(column)]
        self.addresses: dict[str, str] = {}
        """The first web address of each entry, by entry id. Entries without an address are omitted."""
        self._without_name: list[int] = []

    @property
    def lacking(self) -> str:
        """The missing columns, each with the most similar headers, as words for a message; "" if there are none."""
        headers = [header for header in self.headers if header]
        lacking = [
            f"no column {name!r}, which the job maps to {role}"
            + (f" ({nearest_names(name, headers).removesuffix('.')})" if headers else "")
            for role, name in self.missing.items()
        ]
        return f"{self._sheet.name} has {', and '.join(lacking)}".strip() if lacking else ""

    def notes(self) -> Iterator[str]:
        """Yield notes on what is left out. Call this after `fact_sheets`."""
        if self.missing:
            yield f"{self.lacking}; it is left out"
            return
        if rows := self._without_name:
            listed = ", ".join(map(str, rows[:_MOST_LISTED])) + (", ..." if len(rows) > _MOST_LISTED else "")
            skipped = f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'} without a name left out"
            # A row of a CSV file may have several lines, so that its number would not lead to it.
            yield f"{self._sheet.name}: {skipped}: {listed}" if self._sheet.name else skipped
        yield from self._sheet.notes

    def fact_sheets(self, unique: UniqueNames) -> Iterator[FactSheet]:
        """Yield one fact sheet for each row with a name. `unique` makes the ids unique in the file."""
        for number, row in enumerate(self._rows, self._first):
            name = self._cell(row, "entity")
            if not name:
                self._without_name += [number] if any(row) else []
                continue
            above = [part for part in (self._cell(row, "domain"), self._cell(row, "subgroup")) if part]
            parent = _SEPARATOR.join(part.replace(_SEPARATOR, ", ") for part in above)
            identifier = self._cell(row, "id") or _SEPARATOR.join((*above, name))
            key = unique.take(_NOT_IN_ID.sub("-", identifier).strip("-.")[:_MAX_ID_LENGTH] or f"row-{number}")
            if self._address_columns and (address := self._value(row, self._address_columns[0])):
                self.addresses[key] = address
            yield FactSheet(
                id=key,
                fact_sheet_id=self._cell(row, "id"),
                type=self._cell(row, "type") or "DataElement",
                name=name,
                display_name=_SEPARATOR.join(filter(None, (parent, name.replace(_SEPARATOR, ", ")))),
                parent=parent,
                description=self._cell(row, "definition"),
                row=number,
                fields=self._further_fields(row),
            )

    def _further_fields(self, row: Sequence[str]) -> dict[str, str]:
        used = {*self._places.values(), *self._address_columns}
        return {
            header: self._value(row, column)
            for column, header in enumerate(self.headers)
            if header and column not in used and self._value(row, column)
        }

    def _cell(self, row: Sequence[str], role: str) -> str:
        return self._value(row, self._places[role]) if role in self._places else ""

    def _value(self, row: Sequence[str], column: int) -> str:
        return row[column] if column < len(row) else ""

    def _holds_addresses(self, column: int) -> bool:
        values = [value for row in self._rows if (value := self._value(row, column))]
        return bool(values) and column not in self._places.values() and all(map(_ADDRESS.match, values))
