"""Whether a reviewer's sheet shows a row as it was last written: a review is of what the reviewer saw."""

from elt_llm_consumer.export.texts import one_line, printable, shown, unguarded
from elt_llm_consumer.review.sheet import SheetRow
from elt_llm_consumer.rows import Cell, Row

_CUT = "…"  # a cell too small for its text says so at its end
_MOST_OF_CELL = 30_000  # characters; no shorter text is ever cut


def fields_differing(line: SheetRow, row: Row) -> list[str]:
    """Columns of the sheet in which another value or verdict stands than the row has, in the order of the row."""
    return [name for name, cell in row.cells.items() if not _shows(line, name, cell)]


def _shows(line: SheetRow, name: str, cell: Cell) -> bool:
    value, verdict = line.values.get(name), line.values.get(f"{name}: verdict", cell.verdict)
    return verdict == cell.verdict and (value is None or _is_value(value, cell))


def _is_value(text: str, cell: Cell) -> bool:
    if isinstance(cell.value, int | float):
        try:
            return float(text) == cell.value
        except ValueError:
            return False
    written, expected = one_line(unguarded(text)), one_line(printable(shown(cell.value)))
    if len(written) > _MOST_OF_CELL and _CUT in written:
        return expected.startswith(written[: written.rindex(_CUT)].rstrip())
    return written == expected
