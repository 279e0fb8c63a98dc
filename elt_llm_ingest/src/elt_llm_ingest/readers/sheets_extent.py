"""How far the cells of a sheet spread, looked up in its XML before a library makes a grid of it.

A library lays a sheet out as a full grid from its first to its last cell, so that two cells in opposite corners
would take hundreds of gigabytes. It also leaves errors such as #DIV/0! empty, which are told here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_CELLS = 5_000_000  # of the grid between the first and the last cell of a sheet
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
class Extent:
    """Rows and columns of a grid that holds all filled cells, and the text of errors by (row, column) from 0."""

    rows: int = 0
    columns: int = 0
    errors: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def is_too_large(self) -> bool:
        """Whether its grid has more cells than are read."""
        return self.rows * self.columns > MOST_CELLS

    def told(self) -> str:
        """Its size in words, with the limit."""
        return f"spreads over {self.rows:,} rows and {self.columns:,} columns, {MOST_CELLS:,} cells at most are read"


def xlsx_extent(xml: bytes) -> Extent:
    """The extent of the XML of an XLSX sheet."""
    extent = _box(set(_COLUMN.findall(xml)), set(_ROW.findall(xml)))
    if extent.is_too_large:
        # Whole columns may be formatted and empty: only cells with a content count.
        filled = [match.group() for match in _CELL.finditer(xml) if not match.group().endswith(b"/>")]
        extent = _box(
            {name for cell in filled for name in _COLUMN.findall(cell)},
            {name for cell in filled for name in _ROW.findall(cell)},
        )
    if _IS_ERROR in xml:
        extent.errors = _errors(xml)
    return extent


def _box(columns: set[bytes], rows: set[bytes]) -> Extent:
    """From the first to the last row and column."""
    if not columns or not rows:
        return Extent()
    across, down = [*map(_column, columns)], [*map(int, rows)]
    return Extent(max(down) - min(down) + 1, max(across) - min(across) + 1)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _errors(xml: bytes) -> dict[tuple[int, int], str]:
    found = {}
    for match in _ERROR.finditer(xml):
        attributes = b" " + match.group(1)
        column, row = _COLUMN.search(attributes), _ROW.search(attributes)
        if _IS_ERROR in attributes and column and row:
            found[int(row.group(1)) - 1, _column(column.group(1)) - 1] = match.group(2).decode("ascii")
    return found


def ods_extents(xml: bytes) -> list[Extent]:
    """The extents of the sheets of an ODS file's content, in order; repeated cells count as often as they repeat."""
    extents: list[Extent] = []
    row = _Rows(Extent())
    for match in _ODS_TAG.finditer(xml):
        closing, tag, attributes = match.groups()
        bare = attributes.endswith(b"/")
        if tag == b"table" and not closing:
            extents.append(Extent())
            row = _Rows(extents[-1])
        elif tag == b"table-row":
            if not closing:
                row.begin(_times(_ROWS_REPEATED, attributes))
            if closing or bare:
                row.end()
        elif not closing:
            filled = tag == b"table-cell" and (b"value-type" in attributes or not bare)
            row.add(_times(_COLUMNS_REPEATED, attributes), filled=filled)
    return extents


class _Rows:
    """Rows one after another; the extent grows with each that holds a filled cell."""

    def __init__(self, extent: Extent) -> None:
        self._extent = extent
        self._empty = self._times = self._at = self._width = 0

    def begin(self, times: int) -> None:
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


def _times(attribute: re.Pattern[bytes], attributes: bytes) -> int:
    match = attribute.search(attributes)
    return int(match.group(1)) if match else 1
