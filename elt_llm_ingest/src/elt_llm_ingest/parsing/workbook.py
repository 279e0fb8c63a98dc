"""Read XLSX, XLS and ODS workbooks as sheets of typed cells, within checked size limits."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from posixpath import join, normpath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

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

from elt_llm_ingest.parsing.archive import Archive, open_archive
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.parsed_document import known_values
from elt_llm_ingest.parsing.xml_guard import check_xml_members, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_CELLS = 5_000_000  # cells between the first and the last filled cell of a sheet
_COLUMN = re.compile(rb"\sr\s{0,3}=\s{0,3}[\"']([A-Za-z]{1,3})[0-9]")
_ROW = re.compile(rb"\sr\s{0,3}=\s{0,3}[\"'][A-Za-z]{1,3}([0-9]{1,9})")
_CELL = re.compile(rb"<(?:[\w.-]{1,20}:)?c\s([^>]{1,300})>")
_FORMULA = rb"(?:<f[^>]{0,300}/>|<f[^>]{0,300}>[^<]{0,9000}</f>)?"
_ERROR = re.compile(rb"<c\s([^>]{1,300})>" + _FORMULA + rb"<v>(#[A-Z/0!?]{2,12})</v>")
_IS_ERROR = b't="e"'
_ODS_TAG = re.compile(rb"<(/?)table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]{0,9000})>")
_COLUMNS_REPEATED = re.compile(rb"number-columns-repeated=\"([0-9]{1,12})\"")
_ROWS_REPEATED = re.compile(rb"number-rows-repeated=\"([0-9]{1,12})\"")


@dataclass
class SheetExtent:
    """The rows and columns of the filled area of a sheet. `errors` are error values by (row, column) from 0."""

    rows: int = 0
    columns: int = 0
    errors: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def is_too_large(self) -> bool:
        """Whether the filled area has more cells than the limit."""
        return self.rows * self.columns > MAX_CELLS

    @property
    def description(self) -> str:
        """The size of the filled area in words, with the limit."""
        return f"spreads over {self.rows:,} rows and {self.columns:,} columns, more than {MAX_CELLS:,} cells"


def xlsx_extent(xml: bytes) -> SheetExtent:
    """Measure the filled area of a sheet in the XML of an XLSX file."""
    extent = _bounding_box(set(_COLUMN.findall(xml)), set(_ROW.findall(xml)))
    if extent.is_too_large:
        # Whole columns may be formatted but empty, so that only cells with content count.
        filled = [match.group() for match in _CELL.finditer(xml) if not match.group().endswith(b"/>")]
        extent = _bounding_box(
            {name for cell in filled for name in _COLUMN.findall(cell)},
            {name for cell in filled for name in _ROW.findall(cell)},
        )
    for match in _ERROR.finditer(xml) if _IS_ERROR in xml else ():
        attributes = b" " + match.group(1)
        column, row = _COLUMN.search(attributes), _ROW.search(attributes)
        if _IS_ERROR in attributes and column and row:
            position = int(row.group(1)) - 1, _column_number(column.group(1)) - 1
            extent.errors[position] = match.group(2).decode("ascii")
    return extent


def _bounding_box(columns: set[bytes], rows: set[bytes]) -> SheetExtent:
    if not columns or not rows:
        return SheetExtent()
    across, down = [*map(_column_number, columns)], [*map(int, rows)]
    return SheetExtent(max(down) - min(down) + 1, max(across) - min(across) + 1)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def ods_extents(xml: bytes) -> list[SheetExtent]:
    """Measure the filled areas of the sheets in the XML of an ODS file, in order. Each repetition of a cell counts."""
    extents: list[SheetExtent] = []
    row = _RowExtent(SheetExtent())
    for match in _ODS_TAG.finditer(xml):
        closing, tag, attributes = match.groups()
        bare = attributes.endswith(b"/")
        if tag == b"table" and not closing:
            extents.append(SheetExtent())
            row = _RowExtent(extents[-1])
        elif tag == b"table-row":
            if not closing:
                row.start(_repeat_count(_ROWS_REPEATED, attributes))
            if closing or bare:
                row.end()
        elif not closing:
            filled = tag == b"table-cell" and (b"value-type" in attributes or not bare)
            row.add(_repeat_count(_COLUMNS_REPEATED, attributes), filled=filled)
    return extents


class _RowExtent:
    """Measure the rows of a sheet one by one. The extent grows with each row that has a filled cell."""

    def __init__(self, extent: SheetExtent) -> None:
        self._extent = extent
        self._empty = self._times = self._at = self._width = 0

    def start(self, times: int) -> None:
        self._times, self._at, self._width = times, 0, 0

    def add(self, times: int, *, filled: bool) -> None:
        self._at += times
        if filled:
            self._width = self._at

    def end(self) -> None:
        if self._width:
            self._extent.columns = max(self._extent.columns, self._width)
            self._extent.rows += self._times + self._empty
            self._empty = 0
        elif self._extent.rows:
            self._empty += self._times


def _repeat_count(attribute: re.Pattern[bytes], attributes: bytes) -> int:
    match = attribute.search(attributes)
    return int(match.group(1)) if match else 1


_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_PROPERTIES = ("docProps/core.xml", "meta.xml")
_CONTENT = "content.xml"
_PIECE = 65_536
_WITH_CELLS = re.compile(r"xl/(?:worksheets/)?[^/]{1,200}\.xml|xl/(?:worksheets/)?_rels/[^/]{1,200}\.rels")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-|$)")
# Names that programs write when they do not know the author.
_NO_AUTHOR = ("openpyxl", "xlsxwriter", "apache poi", "microsoft office user", "unknown", "user", "author")


def _check_package(path: Path) -> tuple[dict[str | int, SheetExtent], dict[str, MetadataValue]]:
    """Check the zip package of a workbook before a library opens the file; return sheet extents and metadata.

    XLSX sheets are found by name, ODS sheets by their number from 0.
    """
    with open_archive(path) as archive:
        archive.check_members()
        check_xml_members(archive)
        for name in archive.names:
            if name == _CONTENT or _WITH_CELLS.fullmatch(name):
                _check_well_formed(archive, name)
        return _sheet_extents(archive), _package_metadata(archive)


def _check_well_formed(archive: Archive, name: str) -> None:
    """Parse the XML of a member without keeping it, since the library may never return on truncated XML."""
    from lxml import etree

    discard: Any = SimpleNamespace(close=lambda: None)
    parser = etree.XMLParser(target=discard, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        data = archive.read_member(name)
        # In pieces, since the parser refuses a buffer of tens of megabytes as an attack.
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableDocument(f"holds damaged XML, in {name[:80]!a}: {error}") from error


def _sheet_extents(archive: Archive) -> dict[str | int, SheetExtent]:
    if _CONTENT in archive:
        # A single sheet beyond the limit refuses the file, since the library loads all sheets of an ODS file at once.
        sheets = ods_extents(archive.read_member(_CONTENT))
        for number, extent in enumerate(sheets, 1):
            if extent.is_too_large:
                raise UnreadableDocument(f"is too large: sheet {number} {extent.description}")
        return dict(enumerate(sheets))
    if _WORKBOOK not in archive or _RELATIONS not in archive:
        return {}
    targets = {part.get("Id"): part.get("Target", "") for part in parse_xml(archive.read_member(_RELATIONS))}
    extents: dict[str | int, SheetExtent] = {}
    for sheet in parse_xml(archive.read_member(_WORKBOOK)).iterfind("{*}sheets/{*}sheet"):
        relation = next((str(value) for key, value in sheet.items() if str(key).endswith("}id")), "")
        part = normpath(join("/xl", targets.get(relation, ""))).lstrip("/")
        if part in archive:
            extents[sheet.get("name", "")] = xlsx_extent(archive.read_member(part))
    return extents


def _package_metadata(archive: Archive) -> dict[str, MetadataValue]:
    name = next((name for name in _PROPERTIES if name in archive), None)
    if name is None:
        return {}
    root = parse_xml(archive.read_member(name))
    author = _first_text(root, "initial-creator") or _first_text(root, "creator")
    year = _YEAR.match(_first_text(root, "created") or _first_text(root, "creation-date") or _first_text(root, "date"))
    return known_values(
        authors="" if author.casefold() in _NO_AUTHOR else author[:300],
        year=int(year.group()) if year else None,
        title=_first_text(root, "title")[:300],
    )


def _first_text(root: "_Element", name: str) -> str:
    return " ".join((root.findtext(f".//{{*}}{name}") or "").split())


CellValue = str | int | float | bool | datetime | date | time | timedelta
Position = tuple[int, int]
_ZIP = b"PK"


@dataclass(frozen=True)
class Sheet:
    """The filled area of one sheet. Empty cells are "", numbers are floats, and formulas are their last values.

    All `rows` have the same length. They start at the first filled row and column. `merged` holds the first and the
    last (row, column) of each merged range, counted from 0 in `rows`; only the first cell of a range has the value.
    `note` is the reason why a sheet was not read.
    """

    name: str
    rows: tuple[tuple[CellValue, ...], ...]
    hidden: bool = False
    merged: tuple[tuple[Position, Position], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Workbook:
    """The sheets of a workbook in order, with empty sheets and charts. `metadata` may have authors, year and title."""

    sheets: list[Sheet]
    metadata: Mapping[str, MetadataValue]


def open_workbook(path: Path) -> Workbook:
    """Read all sheets of a workbook; raise UnreadableDocument if it is not a workbook or is too large."""
    data = read_bytes(path)
    extents, metadata = _check_package(path) if data.startswith(_ZIP) else ({}, {})
    with _name_errors(), CalamineWorkbook.from_filelike(BytesIO(data)) as book:
        sheets = [_sheet(book, number, extents) for number in range(len(book.sheets_metadata))]
    return Workbook(sheets, metadata)


def _sheet(book: CalamineWorkbook, number: int, extents: Mapping[str | int, SheetExtent]) -> Sheet:
    about = book.sheets_metadata[number]
    hidden = about.visible != SheetVisibleEnum.Visible
    extent = extents.get(about.name) or extents.get(number) or SheetExtent()
    if about.typ != SheetTypeEnum.WorkSheet:
        return Sheet(about.name, (), hidden)
    if extent.is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {extent.description}")
    sheet = book.get_sheet_by_index(number)
    if (size := SheetExtent(sheet.height, sheet.width)).is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {size.description}")
    return Sheet(about.name, _sheet_rows(sheet, extent), hidden, tuple(_merged_ranges(sheet)))


def _sheet_rows(sheet: CalamineSheet, extent: SheetExtent) -> tuple[tuple[CellValue, ...], ...]:
    rows: list[list[CellValue]] = sheet.to_python()
    top, left = sheet.start or (0, 0)
    for (row, column), error in extent.errors.items():
        if 0 <= row - top < len(rows) and 0 <= column - left < len(rows[0]):
            rows[row - top][column - left] = error
    return tuple(map(tuple, rows))


def _merged_ranges(sheet: CalamineSheet) -> Iterator[tuple[Position, Position]]:
    """Yield the merged ranges inside the filled area, counted from the start of this area."""
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
def _name_errors() -> Iterator[None]:
    """Translate the errors of the library. A panic of its native code derives from BaseException."""
    try:
        yield
    except PasswordError as error:
        raise UnreadableDocument("is encrypted: a password is needed") from error
    except (CalamineError, OSError, ValueError, OverflowError) as error:
        raise UnreadableDocument(f"is not a workbook, or is too damaged to open: {str(error)[:200]}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableDocument("is too damaged to open as a workbook") from error
