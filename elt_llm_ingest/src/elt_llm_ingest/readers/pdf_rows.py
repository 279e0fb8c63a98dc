"""Rows of tables without rules: lines whose parts begin where those of lines near by do."""

import re
from collections.abc import Sequence
from dataclasses import replace

from elt_llm_ingest.readers.pdf_lines import Line

CELL_SEPARATOR = " | "
_SAME_PLACE = 3.0
_NEAR = 6
_MARKER = re.compile(r"\(?(?:[A-Z]?\d{0,4}(?:\.\d{1,3}){0,5}|[A-Za-z]|[ivxIVX]{1,5})[.):]?|[^\w\s]")


def with_rows(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, those that are rows with their cells set apart; what goes on in a cell joins its row."""
    found: list[Line] = []
    for number, line in enumerate(lines):
        row = found[-1] if found and found[-1].cells else None
        if _is_row(lines, number):
            found.append(replace(line, text=CELL_SEPARATOR.join(cell.text for cell in line.cells)))
        elif row and _beside(row, line):
            found[-1] = replace(row, text=f"{row.text}{CELL_SEPARATOR}{line.text}", cells=(*row.cells, line))
        elif row and _below_a_cell(row, line):
            found[-1] = replace(row, text=f"{row.text} {line.text}", bottom=min(row.bottom, line.bottom))
        else:
            found.append(replace(line, cells=()))
    return found


def _is_row(lines: Sequence[Line], number: int) -> bool:
    """Whether a line near by has a part that begins where one of this line's does; a list's marker is no cell."""
    if not _has_cells(lines[number]):
        return False
    near = [*lines[max(0, number - _NEAR) : number], *lines[number + 1 : number + 1 + _NEAR]]
    return any(_has_cells(other) and _share_column(lines[number], other) for other in near)


def _has_cells(line: Line) -> bool:
    return len(line.cells) > 2 or (len(line.cells) == 2 and not _MARKER.fullmatch(line.cells[0].text))


def _share_column(line: Line, other: Line) -> bool:
    starts = [cell.left for cell in line.cells[1:]]
    return any(abs(cell.left - start) < _SAME_PLACE for cell in other.cells[1:] for start in starts)


def _beside(row: Line, line: Line) -> bool:
    """Whether a line stands right of all cells, on the base line the row began with."""
    first = row.cells[0]
    shared = min(first.top, line.top) - max(first.bottom, line.bottom)
    return shared > 0.6 * (first.top - first.bottom) and line.left > row.cells[-1].left + _SAME_PLACE


def _below_a_cell(row: Line, line: Line) -> bool:
    """Whether a line stands close under a later cell of the row."""
    close = row.bottom - line.top < 0.6 * line.size and line.top < row.cells[0].top
    return close and any(abs(line.left - cell.left) < _SAME_PLACE for cell in row.cells[1:])
