"""Tables of a Word file as rows of texts: merged cells say their text in every row and column they cover."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_paragraph import LEFT_OUT
from elt_llm_ingest.readers.docx_styles import Styles, is_on, number, value
from elt_llm_ingest.readers.ooxml import WORD
from elt_llm_ingest.readers.table_rows import may_be_header

if TYPE_CHECKING:
    from lxml.etree import _Element

_FIRST_ROW = 0x20
_WIDEST = 63  # columns, as in Word itself


def rows_of(table: "_Element") -> "list[_Element]":
    """Its rows, those deleted under tracking left out."""
    return [row for row in _inside(table, f"{WORD}tr") if not is_on(row, "trPr/del")]


def cells_of(row: "_Element") -> "list[_Element]":
    """The cells of a row."""
    return list(_inside(row, f"{WORD}tc"))


def lays_out(table: "_Element", styles: Styles) -> bool:
    """Whether a table only lays a page out: it is one column wide, or holds headings."""
    rows = [cells_of(row) for row in rows_of(table)]
    if all(len(cells) <= 1 for cells in rows):
        return True
    paragraphs = (paragraph for cells in rows for cell in cells for paragraph in cell.findall(f"{WORD}p"))
    return any(styles.heading_level(paragraph) for paragraph in paragraphs)


def header_rows(table: "_Element", styles: Styles, first: Sequence[str]) -> int:
    """How many rows at the top are its header: those said to repeat on each page, else a first row set apart.

    `first` are the texts of the first row: one that leaves a cell empty or says a thing twice names no columns.
    """
    rows = rows_of(table)
    count = 0
    while count < len(rows) - 1 and is_on(rows[count], "trPr/tblHeader"):
        count += 1
    if count or len(rows) < 2 or not may_be_header(first):
        return count
    bold = all(_is_bold(cell) for cell in cells_of(rows[0]))
    styled = _first_row_is_special(table) and styles.has_header_row(value(table, "tblPr/tblStyle"))
    return 1 if bold or styled else 0


def grid(table: "_Element", read_cell: "Callable[[_Element], str]") -> list[list[str]]:
    """The texts of all rows, each cell read once."""
    rows: list[list[str]] = []
    for row in rows_of(table):
        above = rows[-1] if rows else []
        texts = [""] * min(number(value(row, "trPr/gridBefore")) or 0, _WIDEST)
        for cell in cells_of(row):
            merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
            covered = merge is not None and merge.get(f"{WORD}val", "continue") == "continue"
            text = read_cell(cell)
            if covered and not text and len(texts) < len(above):
                text = above[len(texts)]
            texts += [text] * max(1, min(number(value(cell, "tcPr/gridSpan")) or 1, _WIDEST - len(texts)))
        rows.append(texts)
    return rows


def _inside(parent: "_Element", tag: str) -> "Iterator[_Element]":
    """Elements of a kind in `parent`, also those in controls and insertions between."""
    pending = list(reversed(parent))
    while pending:
        element = pending.pop()
        if element.tag == tag:
            yield element
        elif element.tag not in LEFT_OUT:
            pending += reversed(element)


def _is_bold(cell: "_Element") -> bool:
    runs = [run for run in cell.iter(f"{WORD}r") if any((text.text or "").strip() for text in run.iter(f"{WORD}t"))]
    return bool(runs) and all(is_on(run, "rPr/b") for run in runs)


def _first_row_is_special(table: "_Element") -> bool:
    look = table.find(f"{WORD}tblPr/{WORD}tblLook")
    if look is None:
        return False
    if (first := look.get(f"{WORD}firstRow")) is not None:
        return first in {"1", "true", "on"}
    try:
        return bool(int(look.get(f"{WORD}val", "0"), 16) & _FIRST_ROW)
    except ValueError:
        return False
