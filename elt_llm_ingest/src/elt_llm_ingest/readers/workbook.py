"""Workbooks as typed cells: what every sheet of an XLSX, XLS or ODS file holds, before anything is made of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from elt_llm_ingest.readers.archive import check_archive
from elt_llm_ingest.readers.document_reader import read_bytes

Cell = str | int | float | bool | datetime | date | time | timedelta
Position = tuple[int, int]
_ZIP = b"PK"


@dataclass(frozen=True)
class Sheet:
    """The filled area of one sheet. Empty cells are "", numbers are floats, formulas are what they last came to.

    `rows` are all of one length and begin at the first filled row and column. `merged` are the first and last
    (row, column) of merged cells, counted within `rows` from 0; only the first of them has the value.
    """

    name: str
    rows: tuple[tuple[Cell, ...], ...]
    hidden: bool = False
    merged: tuple[tuple[Position, Position], ...] = ()


def read_workbook(path: Path) -> list[Sheet]:
    """All sheets of a workbook in their order, empty ones too; UnreadableDocument with the reason if it is none."""
    data = read_bytes(path)
    if data.startswith(_ZIP):
        check_archive(path)
    with _reasons(), CalamineWorkbook.from_filelike(BytesIO(data)) as book:
        return [
            _sheet(book.get_sheet_by_name(about.name), hidden=about.visible != SheetVisibleEnum.Visible)
            for about in book.sheets_metadata
            if about.typ == SheetTypeEnum.WorkSheet
        ]


def _sheet(sheet: CalamineSheet, *, hidden: bool) -> Sheet:
    rows = tuple(map(tuple, sheet.to_python()))
    return Sheet(sheet.name, rows, hidden, tuple(_merged(sheet)))


def _merged(sheet: CalamineSheet) -> Iterator[tuple[Position, Position]]:
    """Merged ranges counted from where the filled area begins, those outside it left out."""
    if sheet.start is None or sheet.end is None:
        return
    top, left = sheet.start
    height, width = sheet.end[0] - top + 1, sheet.end[1] - left + 1
    for first, last in sheet.merged_cell_ranges or ():
        if first[0] >= top and first[1] >= left and first[0] < top + height and first[1] < left + width:
            yield (
                (first[0] - top, first[1] - left),
                (min(last[0] - top, height - 1), min(last[1] - left, width - 1)),
            )


@contextmanager
def _reasons() -> Iterator[None]:
    """Name what the library raises, a panic of its native code included, which derives from BaseException."""
    try:
        yield
    except PasswordError as error:
        raise UnreadableDocument("is encrypted: a password is needed") from error
    except (CalamineError, OSError, ValueError, OverflowError) as error:
        raise UnreadableDocument(f"is no workbook, or too damaged to open: {str(error)[:200]}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableDocument("is too damaged to open as a workbook") from error
