"""Workbooks: each sheet a page under its name, each table on it row by row with its header as context."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from elt_llm_ingest.leanix.inventory_columns import is_inventory
from elt_llm_ingest.leanix.inventory_reader import read_inventory
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.sheets_cells import shown
from elt_llm_ingest.readers.sheets_rows import title_rows, write_table
from elt_llm_ingest.readers.sheets_tables import Area, table_areas
from elt_llm_ingest.readers.workbook import Position, Sheet, Workbook, open_workbook

Merged = tuple[Position, Position]
_MOST_HEADER_ROWS = 4


class SheetsReader(DocumentReader):
    """Reads .xlsx, .xlsm, .xls and .ods; formulas as what they last came to, hidden sheets too, which are noted.

    A workbook that begins like an exported inventory becomes fact sheets; `version` stands for these as well.
    """

    name: ClassVar[str] = "sheets"
    version: ClassVar[int] = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is encrypted, broken or beyond the limits."""
        workbook = open_workbook(path)
        if is_inventory(workbook.sheets):
            return read_inventory(workbook.sheets, path.stem)
        return workbook_document(workbook, path.stem)


def workbook_document(workbook: Workbook, name: str) -> ParsedDocument:
    """The sheets of a workbook as a document; sheet n is page n, empty ones included."""
    builder = DocumentBuilder()
    for sheet in workbook.sheets:
        builder.begin_page()
        _write_sheet(builder, sheet)
    metadata = {**workbook.metadata, "page_unit": "sheet"}
    return builder.build(str(metadata.pop("title", name)), metadata, tuple(_notes(workbook.sheets)))


def _write_sheet(builder: DocumentBuilder, sheet: Sheet) -> None:
    rows = [[shown(cell).strip() for cell in row] for row in sheet.rows]
    if not any(map(any, rows)):
        return
    _spread(rows, sheet.merged)
    builder.add_heading(sheet.name.strip() or "Sheet", 1)
    for area in table_areas(rows):
        within = [row[area.left : area.right + 1] for row in rows[area.top : area.bottom + 1]]
        write_table(builder, within, _header_rows(area, area.top + title_rows(within), sheet.merged))


def _spread(rows: list[list[str]], merged: Sequence[Merged]) -> None:
    """Give each merged cell the value of all of them, so that a row tells its own; a banner over a row stays one."""
    for (top, left), (bottom, right) in merged:
        value = rows[top][left]
        lonely = not any(rows[top][:left]) and not any(rows[top][right + 1 :])
        for row in rows[top : bottom + 1]:
            row[left : right + 1] = [value, *([""] * (right - left))] if lonely else [value] * (right - left + 1)


def _header_rows(area: Area, first: int, merged: Sequence[Merged]) -> int:
    """How many rows the header of a table has: as many as its merged cells take, one below a merged group's name."""
    count = 1
    for (top, left), (bottom, right) in merged:
        if top == first and area.left <= left <= area.right:
            count = max(count, bottom - top + 1, 2 if right > left else 1)
    return count if count <= _MOST_HEADER_ROWS else 1


def _notes(sheets: Sequence[Sheet]) -> Iterator[str]:
    for sheet in sheets:
        if sheet.hidden and sheet.rows:
            yield f"sheet {sheet.name!r} is hidden in the workbook, and read all the same"
        if sheet.note:
            yield f"sheet {sheet.name!r} {sheet.note}"
