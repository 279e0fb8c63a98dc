"""Reviews as they stand in a sheet that was exported and filled in."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile
from zlib import error as BadCompression  # noqa: N812 - it is an exception

from elt_llm_core.errors import UsageError

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

NEEDED = ("table", "key", "review_status")
OPTIONAL = ("reviewer", "review_comment")
_AS_EXPORTED = "Read back the file that the job wrote: .csv of one table, or .xlsx."
_MOST_BYTES = 64_000_000  # of a file, many times what the largest job writes
_MOST_UNPACKED = 256_000_000  # bytes of a workbook: a small file may unpack to any size
_MOST_LINES = 100_000  # of a sheet
_MOST_COLUMNS = 1_000
_UNREADABLE = (BadZipFile, BadCompression, ParseError, LookupError, ValueError, TypeError, EOFError, OSError)
"""What the reader of workbooks raises for a damaged one, at the beginning or while it reads on."""


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
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_BYTES:,} bytes.", hint=_AS_EXPORTED)
    sheets = _workbook(path) if path.suffix.lower() == ".xlsx" else [("", _lines(path))]
    found = [list(_rows(path, name, lines)) for name, lines in sheets if lines and _has_columns(lines[0])]
    if not found:
        raise UsageError(f"{path} has no columns {', '.join(NEEDED)}.", hint=_AS_EXPORTED)
    return [row for rows in found for row in rows]


def _workbook(path: Path) -> list[tuple[str, list[list[str]]]]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with ZipFile(path) as package:
            unpacked = sum(part.file_size for part in package.infolist())
        if unpacked <= _MOST_UNPACKED:
            with closing(load_workbook(path, read_only=True, data_only=True)) as workbook:
                return [(sheet.title, _of_sheet(sheet)) for sheet in workbook.worksheets]
    except (InvalidFileException, *_UNREADABLE) as error:
        raise UsageError(f"{path} cannot be read as a workbook: {error}", hint=_AS_EXPORTED) from error
    raise UsageError(f"{path} unpacks to more than {_MOST_UNPACKED:,} bytes.", hint=_AS_EXPORTED)


def _of_sheet(sheet: "Worksheet") -> list[list[str]]:
    """The lines of a sheet up to the last that holds anything; of one without columns of a review the first alone."""
    lines = (_texts(line) for line in _cells(sheet))
    head = next(lines, [])
    found = [head, *lines] if _has_columns(head) else [head]
    while found and not found[-1]:
        found.pop()
    return found


def _cells(sheet: "Worksheet") -> Iterator[tuple[object, ...]]:
    """Within bounds, for a sheet may have its last cell anywhere, and all before it are read."""
    rows, columns = (
        min(sheet.max_row or _MOST_LINES, _MOST_LINES),
        min(sheet.max_column or _MOST_COLUMNS, _MOST_COLUMNS),
    )
    return sheet.iter_rows(max_row=rows + 2, max_col=columns, values_only=True)


def _texts(values: Sequence[object]) -> list[str]:
    return [_text(value) for value in values] if any(value is not None for value in values) else []


def _lines(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8.", hint="Save it as CSV UTF-8, or use the .xlsx.") from error
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)  # spreadsheets write what their country does
    try:
        return list(islice(csv.reader(StringIO(text, newline=""), delimiter=delimiter), _MOST_LINES + 2))
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}", hint=_AS_EXPORTED) from error


def _has_columns(head: Sequence[str]) -> bool:
    return set(NEEDED) <= {name.strip().lower() for name in head}


def _rows(path: Path, sheet: str, lines: Sequence[Sequence[str]]) -> Iterator[SheetRow]:
    if len(lines) > _MOST_LINES + 1:
        raise UsageError(f"{path} has more than {_MOST_LINES:,} lines.", hint=_AS_EXPORTED)
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
