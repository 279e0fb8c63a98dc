"""Read workbooks: a page for each sheet with its tables row by row, or the fact sheets of an exported inventory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import count, groupby
from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.leanix.documents import inventory_document
from elt_llm_ingest.leanix.inventory import build_inventory, is_inventory
from elt_llm_ingest.parsing.document_builder import STRUCK_OUT, DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.parsing.workbook import CellValue, Position, Sheet, open_workbook
from elt_llm_ingest.readers.tables import count_title_rows, is_value, write_sheet_table

_PLAIN = (1e-9, 1e15)  # numbers between these limits are written without an exponent
# A sheet with more areas has scattered cells, and is read row by row as one table.
_MAX_AREAS = 400
_MAX_HEADER_ROWS = 4
MergedRange = tuple[Position, Position]


def cell_display(cell: CellValue) -> str:
    """Return the text of a cell as a spreadsheet displays it; "" for an empty cell."""
    match cell:
        case str():
            text = cell
        case bool():
            text = "TRUE" if cell else "FALSE"
        case datetime():
            day = cell.date().isoformat()
            text = day if cell.time() == time() else f"{day} {_format_time(cell.time())}"
        case date():
            text = cell.isoformat()
        case time():
            text = _format_time(cell)
        case timedelta():
            # Hours, minutes and seconds, as a spreadsheet displays them: 30:00:00 instead of a day and six hours.
            seconds = abs(round(cell.total_seconds()))
            sign = "-" if round(cell.total_seconds()) < 0 else ""
            text = f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case _:
            # A spreadsheet keeps 15 digits. Further digits are rounding errors.
            text = format(cell, ".15g") if cell else "0"
            text = format(Decimal(text), "f") if _PLAIN[0] <= abs(cell) < _PLAIN[1] else text
    return text


def _format_time(moment: time) -> str:
    return moment.isoformat("seconds" if moment.second else "minutes")


@dataclass
class TableArea:
    """A rectangle of cells, from (`top`, `left`) up to and including (`bottom`, `right`), counted from 0."""

    top: int
    left: int
    bottom: int
    right: int

    def include(self, other: "TableArea") -> None:
        """Extend this area so that it also covers the other area."""
        self.top, self.left = min(self.top, other.top), min(self.left, other.left)
        self.bottom, self.right = max(self.bottom, other.bottom), max(self.right, other.right)


def table_areas(rows: Sequence[Sequence[str]]) -> list[TableArea]:
    """Return the tables of a sheet (areas of touching or close filled cells), from top to bottom and left to right."""
    areas = _touching_areas(rows)
    if len(areas) > _MAX_AREAS:
        return [TableArea(0, 0, len(rows) - 1, max(map(len, rows)) - 1)]
    while (fewer := _merge_areas(areas, rows)) != areas:
        areas = fewer
    return areas


def _touching_areas(rows: Sequence[Sequence[str]]) -> list[TableArea]:
    """Find areas of touching cells: a run of filled cells in a row joins the areas of the filled cells above it."""
    areas: dict[int, TableArea] = {}
    above: list[tuple[int, int, int]] = []
    renamed: dict[int, int] = {}
    names = count()
    for number, row in enumerate(rows):
        here: list[tuple[int, int, int]] = []
        for left, right in _filled_runs(row):
            area, name = TableArea(number, left, number, right), next(names)
            touching = {_latest_area(other, renamed) for first, last, other in above if first <= right and left <= last}
            for touched in touching:
                area.include(areas.pop(touched))
                renamed[touched] = name
            areas[name] = area
            here.append((left, right, name))
        above = here
    return list(areas.values())


def _latest_area(name: int, renamed: dict[int, int]) -> int:
    while name in renamed:
        name = renamed[name]
    return name


def _filled_runs(row: Sequence[str]) -> Iterator[tuple[int, int]]:
    for filled, cells in groupby(enumerate(row), key=lambda numbered: bool(numbered[1])):
        if filled:
            columns = [column for column, _ in cells]
            yield columns[0], columns[-1]


def _merge_areas(areas: Sequence[TableArea], rows: Sequence[Sequence[str]]) -> list[TableArea]:
    """Merge areas that overlap, and areas of one table that an empty column or an empty row divides."""
    kept: list[TableArea] = []
    for area in sorted(areas, key=lambda area: (area.top, area.left)):
        home = next((other for other in kept if _belong_together(other, area, rows)), None)
        if home is None:
            kept.append(TableArea(area.top, area.left, area.bottom, area.right))
        else:
            home.include(area)
    return sorted(kept, key=lambda area: (area.top, area.left))


def _belong_together(upper: TableArea, lower: TableArea, rows: Sequence[Sequence[str]]) -> bool:
    overlap = upper.left <= lower.right and lower.left <= upper.right and lower.top <= upper.bottom
    # The areas have the same rows and one empty column between them, like a table with a spacer column.
    gap = max(upper.left, lower.left) - min(upper.right, lower.right)
    beside = upper.top == lower.top and upper.bottom == lower.bottom and gap <= 2
    # If both have the same columns, one empty row is between them and no second header, the lower continues the upper.
    below = upper.left == lower.left and upper.right == lower.right and lower.top - upper.bottom == 2
    # The heads of the columns of figures, above the label of a group of rows: no cells touch.
    heads = lower.top == upper.bottom + 1 and upper.top == upper.bottom and upper.left < upper.right
    within = lower.left <= upper.left and upper.right <= lower.right
    continues = below and any(map(is_value, rows[lower.top][lower.left : lower.right + 1]))
    return overlap or beside or continues or (heads and within)


class LeanixInventoryReader(DocumentReader):
    """Reads the first sheet of a workbook as an inventory. Further sheets, such as ReadMe, are ignored."""

    name = "leanix_inventory"
    version = 5

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not a workbook or contains no inventory."""
        sheets = open_workbook(path).sheets
        if not is_inventory(sheets):
            raise UnreadableDocument(
                "holds no inventory: the first row lacks the columns id, type, name and displayName"
            )
        return _inventory_document(sheets[0], path.stem)


class SheetsReader(DocumentReader):
    """Reads .xlsx, .xlsm, .xls and .ods: a page for each sheet, even an empty one.

    Formula cells have their last values. The tables are followed by comments, text boxes, chart labels and formulas.

    Hidden sheets are read and noted. If the first sheet is an exported inventory, its fact sheets are read instead.
    Increase `version` also when the text of these fact sheets changes.
    """

    name: ClassVar[str] = "sheets"
    version: ClassVar[int] = 8

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is encrypted, damaged or beyond the limits."""
        workbook = open_workbook(path)
        if is_inventory(workbook.sheets):
            return _inventory_document(workbook.sheets[0], path.stem)
        builder = DocumentBuilder()
        for sheet in workbook.sheets:
            builder.start_page()
            _write_sheet(builder, sheet)
        metadata = {**workbook.metadata, "page_unit": "sheet"}
        return builder.build(str(metadata.pop("title", path.stem)), metadata, tuple(workbook_notes(workbook.sheets)))


def _inventory_document(sheet: Sheet, title: str) -> ParsedDocument:
    inventory = build_inventory(sheet)
    notes = (*inventory.notes, *workbook_notes([sheet]))
    return inventory_document(inventory.model_copy(update={"notes": notes}), title)


def _write_sheet(builder: DocumentBuilder, sheet: Sheet) -> None:
    rows = sheet.filled_rows(cell_display)
    if not any(map(any, rows)) and not sheet.remarks.lines:
        return
    builder.add_heading(sheet.name.strip() or "Sheet", 1)
    for found in table_areas(_rows_before_striking(rows, sheet.struck)):
        if (area := _filled_part(found, rows)) is None:
            continue
        within = [row[area.left : area.right + 1] for row in rows[area.top : area.bottom + 1]]
        write_sheet_table(builder, within, _count_header_rows(area, area.top + count_title_rows(within), sheet.merged))
    for remark in sheet.remarks.lines:
        builder.add(remark)


def _rows_before_striking(rows: list[list[str]], struck: Iterable[Position]) -> list[list[str]]:
    """Return the rows with a text in each struck-out cell, so that these cells do not divide a table."""
    before = [*map(list, rows)] if struck else rows
    for row, column in struck:
        before[row][column] = STRUCK_OUT
    return before


def _filled_part(area: TableArea, rows: Sequence[Sequence[str]]) -> TableArea | None:
    """Return the area without the rows and columns at its edges that are empty; None if all of it is empty."""
    filled = [row for row in range(area.top, area.bottom + 1) if any(rows[row][area.left : area.right + 1])]
    columns = [column for column in range(area.left, area.right + 1) if any(rows[row][column] for row in filled)]
    return TableArea(filled[0], columns[0], filled[-1], columns[-1]) if filled else None


def _count_header_rows(area: TableArea, first: int, merged: Sequence[MergedRange]) -> int:
    """Return the number of header rows of a table. `first` is its first row below the title, counted from 0.

    A merged cell that starts in this row makes all rows that it covers header rows. If it covers several columns, the
    next row is a header row too, with the heads of these columns. Without merged cells, there is one header row.
    """
    count = 1
    for (top, left), (bottom, right) in merged:
        if top == first and area.left <= left <= area.right:
            count = max(count, bottom - top + 1, 2 if right > left else 1)
    return count if count <= _MAX_HEADER_ROWS else 1


def workbook_notes(sheets: Sequence[Sheet]) -> Iterator[str]:
    """Yield notes on sheets that are hidden or not read, on struck-out cells, and on formulas without a value."""
    for sheet in sheets:
        if sheet.hidden and sheet.rows:
            yield f"sheet {sheet.name!r} is hidden in the workbook but is read"
        if sheet.note:
            yield f"sheet {sheet.name!r} {sheet.note}"
        if struck := len(sheet.struck):
            yield f"sheet {sheet.name!r} {STRUCK_OUT}, in {struck:,} cell{'s' if struck > 1 else ''}"
        if count := sheet.remarks.uncalculated:
            values = "1 formula has no stored value" if count == 1 else f"{count:,} formulas have no stored values"
            yield f"sheet {sheet.name!r}: {values}; open the workbook in a spreadsheet program and save it"
