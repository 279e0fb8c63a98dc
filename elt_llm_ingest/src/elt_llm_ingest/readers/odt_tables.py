"""Tables of an OpenDocument text as rows of texts; what a file says to repeat is repeated within bounds only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.odt_styles import TABLE, TEXT
from elt_llm_ingest.readers.table_rows import WIDEST

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_REPEATS = 100
_MOST_REPEATED = 100_000
_HEADER = f"{TABLE}table-header-rows"
_GROUPS = frozenset((f"{TABLE}table-rows", f"{TABLE}table-row-group", _HEADER))
_CELL = f"{TABLE}table-cell"
_COVERED = f"{TABLE}covered-table-cell"


@dataclass
class Repeats:
    """How many cells of a document may still be repeated: a few bytes could ask for any number of them."""

    left: int = _MOST_REPEATED

    def allow(self, count: int, cells: int = 1) -> int:
        """As many of `count` copies of some cells as may be made; the first is always."""
        allowed = max(1, min(count, 1 + self.left // max(1, cells)))
        self.left -= (allowed - 1) * cells
        return allowed


def odt_rows(table: "_Element") -> "Iterator[tuple[_Element, bool]]":
    """Its rows, and whether each is of its header."""
    pending = [(child, False) for child in reversed(table)]
    while pending:
        element, header = pending.pop()
        if element.tag == f"{TABLE}table-row":
            yield element, header
        elif element.tag in _GROUPS:
            pending += [(child, header or element.tag == _HEADER) for child in reversed(element)]


def odt_cells(row: "_Element") -> "list[_Element]":
    """The cells of a row that are not covered by others."""
    return row.findall(_CELL)


def odt_lays_out(table: "_Element") -> bool:
    """Whether a table only lays a page out: it is one column wide, or holds headings."""
    rows = [odt_cells(row) for row, _ in odt_rows(table)]
    if all(
        len(cells) <= 1 and not any(_count(cell, "number-columns-repeated") > 1 for cell in cells) for cells in rows
    ):
        return all(not row.findall(_COVERED) for row, _ in odt_rows(table))
    return any(True for cells in rows for cell in cells for _ in cell.iter(f"{TEXT}h"))


def odt_grid(table: "_Element", read_cell: "Callable[[_Element], str]", left: Repeats) -> tuple[list[list[str]], int]:
    """The texts of all rows, and how many of them are the header. Merged cells say theirs wherever they reach."""
    grid: list[list[str]] = []
    header_rows = 0
    covering: dict[int, str] = {}
    for row, is_header in odt_rows(table):
        texts: list[str] = []
        for cell in row:
            if cell.tag in {_CELL, _COVERED}:
                _put(cell, texts, covering, (read_cell, left))
        repeats = left.allow(_count(row, "number-rows-repeated"), len(texts)) if any(texts) else 1
        grid += [texts] * repeats
        header_rows += repeats if is_header else 0
    return grid, header_rows


def _put(
    cell: "_Element",
    texts: list[str],
    covering: dict[int, str],
    how: "tuple[Callable[[_Element], str], Repeats]",
) -> None:
    """Append a cell, as often as it is repeated; remember its text for the cells that it covers."""
    covered = cell.tag == _COVERED
    read_cell, left = how
    text = "" if covered else read_cell(cell)
    repeats = min(_count(cell, "number-columns-repeated"), WIDEST - len(texts))
    for _ in range(left.allow(repeats) if text else repeats):
        place = len(texts)
        if not covered:
            covering.pop(place, None)
            merged = _count(cell, "number-columns-spanned") > 1 or _count(cell, "number-rows-spanned") > 1
            if merged:
                covering |= dict.fromkeys(range(place, place + _count(cell, "number-columns-spanned")), text)
        texts.append(covering.get(place, "") if covered else text)


def _columns(row: "_Element") -> int:
    return sum(_count(cell, "number-columns-repeated") for cell in row if cell.tag in {_CELL, _COVERED})


def _count(element: "_Element", name: str) -> int:
    return max(1, min(number(element.get(f"{TABLE}{name}")) or 1, _MOST_REPEATS))
