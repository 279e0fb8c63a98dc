"""Tables of cells as blocks: titles over a table, its header, its rows as text that can be found and read alone."""

import re
from collections.abc import Sequence

from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.headings import begins_item, begins_rule

CELL_SEPARATOR = " | "
# In a wider table nobody can tell which column a value stands in: its rows name the column of each value.
_WIDEST_PLAIN = 8
_LONGEST_LABEL = 120
_LONGEST_TITLE = 100
_MOST_TITLES = 5
_LOOKED_AT = 50
_VALUE = re.compile(
    r"[-+(]?[\s$\u20ac\u00a3]{0,3}\d[\d.,\u00a0' ]{0,30}[%)$\u20ac\u00a3]{0,2}"
    r"|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?.{0,10})?"
    r"|\d{1,3}:\d{2}(?::\d{2})?|true|false|#[A-Z/0!?]{2,12}",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPACE = re.compile(r"\s+")


def write_table(builder: DocumentBuilder, rows: Sequence[Sequence[str]], header_rows: int = 1) -> None:
    """Append a table. `header_rows` is how many rows its header has, if it has one; merged cells may tell."""
    rows = [row for row in ([_flat(cell) for cell in cells] for cells in rows) if any(row)]
    if max((_filled(row) for row in rows), default=0) <= 1:
        _write_lines(builder, rows)
        return
    titles = title_rows(rows)
    for row in rows[:titles]:
        _write_title(builder, "".join(row))
    body = rows[titles:]
    for count in sorted({header_rows, 1}, reverse=True):
        if labels := _labels(body, count):
            _write_rows(builder, body, labels, count)
            return
    _write_rows(builder, body, (), 0)


def _write_lines(builder: DocumentBuilder, rows: Sequence[Sequence[str]]) -> None:
    """A single column is no table: its cells are paragraphs, rules or items."""
    for row in rows:
        text = "".join(row)
        builder.add(text, "rule" if begins_rule(text[:80]) else "list" if begins_item(text[:80]) else "prose")


def _write_title(builder: DocumentBuilder, text: str) -> None:
    if len(text) <= _LONGEST_TITLE and not is_value(text):
        builder.add_heading(text, 2)
    else:
        builder.add(text)


def _write_rows(
    builder: DocumentBuilder, rows: Sequence[Sequence[str]], labels: Sequence[str], header_rows: int
) -> None:
    header = _joined(labels)
    wide = len(labels) > _WIDEST_PLAIN
    for number, row in enumerate(rows):
        in_header = number < header_rows
        text = _named(row, labels) if wide and not in_header else _joined(row)
        builder.add(text, "table", header="" if in_header or wide else header, tight=number > 0)


def title_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many rows at the top hold a single text, as titles over a table do."""
    count = 0
    while count < min(len(rows) - 1, _MOST_TITLES) and _filled(rows[count]) == 1:
        count += 1
    return count if count < len(rows) and _filled(rows[count]) > 1 else 0


def _labels(rows: Sequence[Sequence[str]], header_rows: int) -> list[str]:
    """The name of each column, empty if the first rows are no header. Names on several rows follow one another."""
    header, below = rows[:header_rows], rows[header_rows:]
    if not below or not all(is_header(row) for row in header):
        return []
    width = max(map(len, header))
    columns = [[row[column] if column < len(row) else "" for row in header] for column in range(width)]
    return [" ".join(dict.fromkeys(filter(None, names))) for names in columns]


def is_header(row: Sequence[str]) -> bool:
    """Whether a row can be a header: short words or years, at least half of the columns named, two at least."""
    named = [cell for cell in row if cell]
    words = [cell for cell in named if not _YEAR.fullmatch(cell)]
    fit = all(len(cell) <= _LONGEST_LABEL and not is_value(cell) for cell in words)
    return fit and bool(words) and len(named) >= 2 and 2 * len(named) >= len(row)


def is_value(cell: str) -> bool:
    """Whether a cell is a number, an amount, a date, a time, a truth value or an error: what no column is called."""
    return bool(_VALUE.fullmatch(cell))


def _filled(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _flat(cell: str) -> str:
    return _SPACE.sub(" ", cell).strip()


def _joined(cells: Sequence[str]) -> str:
    """Cells side by side; an empty one between others keeps its place, those at the end do not."""
    last = max((number for number, cell in enumerate(cells, 1) if cell), default=0)
    return CELL_SEPARATOR.join(cells[:last]).replace("  ", " ").strip()


def _named(row: Sequence[str], labels: Sequence[str]) -> str:
    """`Label: value` for each filled cell."""
    pairs = ((labels[column] if column < len(labels) else "", cell) for column, cell in enumerate(row) if cell)
    return CELL_SEPARATOR.join(f"{label}: {cell}" if label else cell for label, cell in pairs)
