"""XLSX: a sheet for each table, whose cells lead to a sheet with all evidence."""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.columns import (
    EVIDENCE_COLUMNS,
    IDENTITY,
    REVIEW_COLUMNS,
    Line,
    evidence_lines,
    header,
    line,
)
from elt_llm_consumer.export.texts import printable
from elt_llm_consumer.rows import JobResult, Table

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

_LONGEST = 32_767  # characters that a cell can hold
_CUT = " … (whole in the JSON)"
_MOST_LINKS = 65_000  # of one sheet; Excel takes 65,530
_SHEET_NAME = 31
_EVIDENCE = "Evidence"
_WIDTHS = {"name": 28, "quote": 70, "value": 50, "definition": 60, "notes": 40, "review_comment": 30}
_WIDE, _MIDDLE, _NARROW = 45, 24, 12  # characters
_LONG, _SHORT = 60, 16  # characters of the longest value from which, and up to which, a column is so
_HIDDEN = ("table", "key")
"""For reading a sheet back; a reader needs neither."""
_ROW_HEIGHT, _HEAD_HEIGHT = 62, 32  # points: four lines of a row are seen, however long its texts are
_COLOURS = {"found": "#E2F0D9", "inferred": "#FFF2CC", "absent": "#EDEDED", "conflict": "#F8CBAD"}
_WRITTEN = datetime(2000, 1, 1)  # noqa: DTZ001 - the same in every file, and a sheet knows no zone


def write_xlsx(result: JobResult, path: Path) -> list[Path]:
    """Write one workbook: filters, a header that stays, verdicts coloured, places linked to the evidence.

    Columns of verdicts and places are outlined, so that one click leaves the values alone.

    Every text is written as text, so that nothing in it can be a formula. Equal results give equal bytes.
    """
    import xlsxwriter

    buffer = BytesIO()
    workbook = xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    workbook.set_properties({"title": printable(result.job), "created": _WRITTEN})
    evidence = list(evidence_lines(result))
    rows_of = _first_lines(evidence)
    writer = _Sheets(workbook)
    for table in result.tables:
        lines = [line(table, row) for row in table.rows]
        sheet = writer.sheet(table.name.capitalize(), header(table), lines)
        writer.colour(sheet, header(table), len(lines))
        writer.offer_choices(sheet, header(table), len(lines))
        _link(sheet, writer.link, table, lines, rows_of)
    writer.sheet(_EVIDENCE, EVIDENCE_COLUMNS, evidence)
    workbook.close()
    write_whole(path, buffer.getvalue())
    return [path]


class _Sheets:
    """Lays out sheets of one workbook alike."""

    def __init__(self, workbook: "Workbook") -> None:
        self._workbook = workbook
        self._head: Format = workbook.add_format(
            {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "bg_color": "#D9E2F3"}
        )
        # quote_prefix: a text that somebody opens and closes again stays a text.
        self._text: Format = workbook.add_format({"text_wrap": True, "valign": "top", "quote_prefix": True})
        self._number: Format = workbook.add_format({"valign": "top"})
        self.link: Format = workbook.add_format(
            {"text_wrap": True, "valign": "top", "font_color": "#0563C1", "underline": 1, "quote_prefix": True}
        )

    def sheet(self, name: str, names: Sequence[str], lines: Sequence[Line]) -> "Worksheet":
        sheet = self._workbook.add_worksheet(name[:_SHEET_NAME])
        sheet.set_default_row(_ROW_HEIGHT)
        sheet.set_row(0, _HEAD_HEIGHT)
        sheet.outline_settings(symbols_right=False)  # the sign to fold stands over the value
        for column, title in enumerate(names):
            sheet.write_string(0, column, title, self._head)
            width = _width(title, max((len(str(values[column])) for values in lines), default=0))
            sheet.set_column(column, column, width, None, _outline(name, title))
        for number, values in enumerate(lines, start=1):
            for column, value in enumerate(values):
                if isinstance(value, str):
                    sheet.write_string(number, column, fitting(value), self._text)
                else:
                    sheet.write_number(number, column, value, self._number)
        sheet.freeze_panes(1, len(IDENTITY))
        sheet.autofilter(0, 0, max(1, len(lines)), len(names) - 1)
        return sheet

    def colour(self, sheet: "Worksheet", names: Sequence[str], count: int) -> None:
        for column, title in enumerate(names):
            for verdict, colour in _COLOURS.items() if title.endswith(": verdict") and count else ():
                shade = self._workbook.add_format({"bg_color": colour})
                rule = {"type": "cell", "criteria": "==", "value": f'"{verdict}"', "format": shade}
                sheet.conditional_format(1, column, count, column, rule)

    def offer_choices(self, sheet: "Worksheet", names: Sequence[str], count: int) -> None:
        """A list to choose the status from; the other review columns are free."""
        column = names.index(REVIEW_COLUMNS[0])
        choices = ["PENDING", "APPROVED", "REJECTED", "NEEDS_CLARIFICATION"]
        if count:
            sheet.data_validation(1, column, count, column, {"validate": "list", "source": choices})


def fitting(text: str) -> str:
    """Text that one cell can hold: longer ones end by saying where the whole is."""
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - len(_CUT)] + _CUT


def _first_lines(evidence: Sequence[Line]) -> dict[tuple[str, str, str], int]:
    """The line of the evidence sheet, from 1, at which that of a table, key and field begins."""
    found: dict[tuple[str, str, str], int] = {}
    for number, values in enumerate(evidence, start=2):
        found.setdefault((str(values[0]), str(values[1]), str(values[3])), number)
    return found


def _link(
    sheet: "Worksheet",
    style: "Format",
    table: Table,
    lines: Sequence[Line],
    rows_of: dict[tuple[str, str, str], int],
) -> None:
    columns = {name.removesuffix(": evidence"): at for at, name in enumerate(header(table)) if ": evidence" in name}
    links = 0
    for number, (row, values) in enumerate(zip(table.rows, lines, strict=True), start=1):
        for field, column in columns.items():
            target = rows_of.get((table.name, row.key, field))
            if field in row.cells and row.cells[field].evidence and target and links < _MOST_LINKS:
                links += 1
                place = f"internal:'{_EVIDENCE}'!A{target}"
                sheet.write_url(number, column, place, style, fitting(str(values[column])))


def _width(title: str, longest: int) -> int:
    if title in _WIDTHS:
        return _WIDTHS[title]
    if title.endswith(": evidence"):
        return _MIDDLE
    return _WIDE if longest >= _LONG else _NARROW if longest <= _SHORT else _MIDDLE


def _outline(sheet: str, title: str) -> dict[str, int | bool]:
    """How a column can be folded away: those for reading back are, those beside a value may be."""
    if sheet != _EVIDENCE and title in _HIDDEN:
        return {"hidden": True}
    return {"level": 1} if title.endswith((": verdict", ": evidence")) else {}
