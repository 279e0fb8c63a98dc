"""Write XLSX: one sheet per table, with links to a sheet with all evidence."""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from elt_llm_consumer.evidence import JobResult, ReviewStatus, Table
from elt_llm_consumer.export.csv import (
    EVIDENCE_COLUMNS,
    IDENTITY_COLUMNS,
    ORIGIN_COLUMN,
    REVIEW_COLUMNS,
    SheetLine,
    column_names,
    evidence_lines,
    row_values,
)
from elt_llm_consumer.export.text import printable, write_atomically

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

_MAX_CELL_LENGTH = 32_767  # maximum characters per cell
_CUT_NOTE = " … (full text in the JSON file)"
_MAX_LINKS = 65_000  # maximum links per sheet; Excel allows 65,530
_SHEET_NAME = 31
_EVIDENCE = "Evidence"
_NOTES = "Notes"
_WIDTHS = {"name": 28, "quote": 70, "value": 50, "definition": 60, "notes": 40, "review_comment": 30, "note": 120}
_WIDE, _MIDDLE, _NARROW = 45, 24, 12  # column widths, in characters
_LONG, _SHORT = 60, 16  # characters: a column is wide if its longest value has at least _LONG, narrow if at most _SHORT
_HIDDEN = ("table", "key", ORIGIN_COLUMN)
"""Hidden columns, by which `elt-llm review import` recognises a row."""
_ROW_HEIGHT, _HEAD_HEIGHT = 62, 32  # points; enough for four lines of a long text
_COLOURS = {"found": "#E2F0D9", "inferred": "#FFF2CC", "absent": "#EDEDED", "conflict": "#F8CBAD"}
_CREATED = datetime(2000, 1, 1)  # noqa: DTZ001 - the same in every file; workbook times have no time zone


def write_xlsx(result: JobResult, path: Path) -> list[Path]:
    """Write one workbook with filters, a frozen header, coloured verdicts, and links to the evidence.

    Columns of verdicts and locations are grouped, so that one click hides them. Every text is stored as text, so that
    Excel does not read it as a formula. Equal results give equal bytes.
    """
    import xlsxwriter

    buffer = BytesIO()
    workbook = xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    workbook.set_properties({"title": printable(result.job), "created": _CREATED})
    evidence = list(evidence_lines(result))
    rows_of: dict[tuple[str, str, str], int] = {}  # the first line of each cell in the evidence sheet
    for number, values in enumerate(evidence, start=2):
        rows_of.setdefault((str(values[0]), str(values[1]), str(values[3])), number)
    writer = _Sheets(workbook)
    for table in result.tables:
        lines = [row_values(result, table, row) for row in table.rows]
        sheet = writer.sheet(table.name.capitalize(), column_names(table), lines)
        writer.colour(sheet, column_names(table), len(lines))
        _link(sheet, writer.link, table, lines, rows_of)
    writer.sheet(_EVIDENCE, EVIDENCE_COLUMNS, evidence)
    if result.notes:
        writer.sheet(_NOTES, ("note",), [(note,) for note in result.notes])
    workbook.close()
    write_atomically(path, buffer.getvalue())
    return [path]


class _Sheets:
    def __init__(self, workbook: "Workbook") -> None:
        self._workbook = workbook
        self._head: Format = workbook.add_format(
            {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "bg_color": "#D9E2F3"}
        )
        # With quote_prefix, a text does not become a formula when somebody edits the cell.
        self._text: Format = workbook.add_format({"text_wrap": True, "valign": "top", "quote_prefix": True})
        self._number: Format = workbook.add_format({"valign": "top"})
        self.link: Format = workbook.add_format(
            {"text_wrap": True, "valign": "top", "font_color": "#0563C1", "underline": 1, "quote_prefix": True}
        )

    def sheet(self, name: str, names: Sequence[str], lines: Sequence[SheetLine]) -> "Worksheet":
        sheet = self._workbook.add_worksheet(name[:_SHEET_NAME])
        sheet.set_default_row(_ROW_HEIGHT)
        sheet.set_row(0, _HEAD_HEIGHT)
        sheet.outline_settings(symbols_right=False)  # the button that hides a group is above the value column
        for column, title in enumerate(names):
            sheet.write_string(0, column, title, self._head)
            longest = max((len(str(values[column])) for values in lines), default=0)
            width = _WIDE if longest >= _LONG else _NARROW if longest <= _SHORT else _MIDDLE
            width = _WIDTHS.get(title, _MIDDLE if title.endswith(": evidence") else width)
            sheet.set_column(column, column, width, None, _outline(name, title))
        for number, values in enumerate(lines, start=1):
            for column, value in enumerate(values):
                if isinstance(value, str):
                    sheet.write_string(number, column, fit_cell_text(value), self._text)
                else:
                    sheet.write_number(number, column, value, self._number)
        sheet.freeze_panes(1, len(IDENTITY_COLUMNS))
        sheet.autofilter(0, 0, max(1, len(lines)), len(names) - 1)
        return sheet

    def colour(self, sheet: "Worksheet", names: Sequence[str], count: int) -> None:
        """Colour the verdicts, and add a drop-down list of review statuses. The other review columns are free text."""
        for column, title in enumerate(names):
            for verdict, colour in _COLOURS.items() if title.endswith(": verdict") and count else ():
                shade = self._workbook.add_format({"bg_color": colour})
                rule = {"type": "cell", "criteria": "==", "value": f'"{verdict}"', "format": shade}
                sheet.conditional_format(1, column, count, column, rule)

        if count:
            column, choices = names.index(REVIEW_COLUMNS[0]), list(get_args(ReviewStatus))
            sheet.data_validation(1, column, count, column, {"validate": "list", "source": choices})


def fit_cell_text(text: str) -> str:
    """Truncate text to the cell limit, with a note that the JSON file contains the full text."""
    text = printable(text)
    return text if len(text) <= _MAX_CELL_LENGTH else text[: _MAX_CELL_LENGTH - len(_CUT_NOTE)] + _CUT_NOTE


def _link(
    sheet: "Worksheet",
    style: "Format",
    table: Table,
    lines: Sequence[SheetLine],
    rows_of: dict[tuple[str, str, str], int],
) -> None:
    columns = {
        name.removesuffix(": evidence"): at for at, name in enumerate(column_names(table)) if ": evidence" in name
    }
    links = 0
    for number, (row, values) in enumerate(zip(table.rows, lines, strict=True), start=1):
        for field, column in columns.items():
            target = rows_of.get((table.name, row.key, field))
            if field in row.cells and row.cells[field].evidence and target and links < _MAX_LINKS:
                links += 1
                place = f"internal:'{_EVIDENCE}'!A{target}"
                sheet.write_url(number, column, place, style, fit_cell_text(str(values[column])))


def _outline(sheet: str, title: str) -> dict[str, int | bool]:
    """Return the outline options of a column. Identity columns are hidden; verdicts and evidence can be collapsed."""
    if sheet != _EVIDENCE and title in _HIDDEN:
        return {"hidden": True}
    return {"level": 1} if title.endswith((": verdict", ": evidence")) else {}
