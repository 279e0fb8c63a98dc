"""Reviews as they stand in a sheet that was exported and filled in."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from zipfile import BadZipFile

from elt_llm_core.errors import UsageError

NEEDED = ("table", "key", "review_status")
OPTIONAL = ("reviewer", "review_comment")
_AS_EXPORTED = "Read back the file that the job wrote: .csv of one table, or .xlsx."


@dataclass(frozen=True)
class SheetRow:
    """One line of a sheet, by what names it in messages, with what was filled in; all without spaces around."""

    where: str
    table: str
    key: str
    status: str
    reviewer: str
    comment: str
    values: Mapping[str, str] = field(default_factory=dict)
    """All that stands in the line, by the names of the columns."""


def read_sheet(path: Path) -> list[SheetRow]:
    """The lines of a CSV file, or of every sheet of a workbook that has the columns of a review.

    Raises UsageError for a file that is neither, or that has no such columns.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint=_AS_EXPORTED)
    sheets = _workbook(path) if path.suffix.lower() == ".xlsx" else [("", _lines(path))]
    found = [list(_rows(name, lines)) for name, lines in sheets if lines and _has_columns(lines[0])]
    if not found:
        raise UsageError(f"{path} has no columns {', '.join(NEEDED)}.", hint=_AS_EXPORTED)
    return [row for rows in found for row in rows]


def _workbook(path: Path) -> list[tuple[str, list[list[str]]]]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        workbook = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read as a workbook: {error}", hint=_AS_EXPORTED) from error
    try:
        return [
            (sheet.title, [[_text(value) for value in line] for line in sheet.iter_rows(values_only=True)])
            for sheet in workbook.worksheets
        ]
    finally:
        workbook.close()


def _lines(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8.", hint="Save it as CSV UTF-8, or use the .xlsx.") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)  # spreadsheets write what their country does
    try:
        return list(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}", hint=_AS_EXPORTED) from error


def _has_columns(head: Sequence[str]) -> bool:
    return set(NEEDED) <= {name.strip().lower() for name in head}


def _rows(sheet: str, lines: Sequence[Sequence[str]]) -> Iterator[SheetRow]:
    head = [name.strip() for name in lines[0]]
    at = {name.lower(): column for column, name in reversed(list(enumerate(head)))}
    for number, line in enumerate(lines[1:], start=2):
        table, key, status, reviewer, comment = (_value(line, at.get(name)) for name in (*NEEDED, *OPTIONAL))
        if table or key or status or reviewer or comment:
            where = f"row {number} of sheet '{sheet}'" if sheet else f"row {number}"
            values = dict(zip(head, line, strict=False))
            yield SheetRow(where, table, key, status, reviewer, comment, values)


def _value(line: Sequence[str], column: int | None) -> str:
    return line[column].strip() if column is not None and column < len(line) else ""


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
