"""Workbooks as typed cells: what every sheet of an XLSX, XLS or ODS file holds, before anything is made of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from elt_llm_ingest.readers.document_reader import read_bytes
from elt_llm_ingest.readers.sheets_extent import Extent
from elt_llm_ingest.readers.sheets_package import Package, check_package

Cell = str | int | float | bool | datetime | date | time | timedelta
Position = tuple[int, int]
_ZIP = b"PK"


@dataclass(frozen=True)
class Sheet:
    """The filled area of one sheet. Empty cells are "", numbers are floats, formulas are what they last came to.

    `rows` are all of one length and begin at the first filled row and column. `merged` are the first and last
    (row, column) of merged cells, counted within `rows` from 0; only the first of them has the value. `note` says
    why a sheet was not read.
    """

    name: str
    rows: tuple[tuple[Cell, ...], ...]
    hidden: bool = False
    merged: tuple[tuple[Position, Position], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Workbook:
    """Its sheets in their order, empty ones and charts too, and `authors`, `year`, `title` where it tells them."""

    sheets: list[Sheet]
    metadata: Mapping[str, MetadataValue]


def read_workbook(path: Path) -> list[Sheet]:
    """All sheets of a workbook in their order, empty ones too; UnreadableDocument with the reason if it is none."""
    return open_workbook(path).sheets


def open_workbook(path: Path) -> Workbook:
    """All sheets of a workbook and its metadata; UnreadableDocument with the reason if it is none."""
    data = read_bytes(path)
    package = check_package(path) if data.startswith(_ZIP) else Package()
    with _reasons(), CalamineWorkbook.from_filelike(BytesIO(data)) as book:
        sheets = [_sheet(book, number, package) for number in range(len(book.sheets_metadata))]
    return Workbook(sheets, package.metadata)


def _sheet(book: CalamineWorkbook, number: int, package: Package) -> Sheet:
    about = book.sheets_metadata[number]
    hidden = about.visible != SheetVisibleEnum.Visible
    extent = package.extent(number, about.name)
    if about.typ != SheetTypeEnum.WorkSheet:
        return Sheet(about.name, (), hidden)
    if extent.is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {extent.told()}")
    sheet = book.get_sheet_by_index(number)
    if (laid_out := Extent(sheet.height, sheet.width)).is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {laid_out.told()}")
    return Sheet(about.name, _rows(sheet, extent), hidden, tuple(_merged(sheet)))


def _rows(sheet: CalamineSheet, extent: Extent) -> tuple[tuple[Cell, ...], ...]:
    rows: list[list[Cell]] = sheet.to_python()
    top, left = sheet.start or (0, 0)
    for (row, column), error in extent.errors.items():
        if 0 <= row - top < len(rows) and 0 <= column - left < len(rows[0]):
            rows[row - top][column - left] = error
    return tuple(map(tuple, rows))


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
