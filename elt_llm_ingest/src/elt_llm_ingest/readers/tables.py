"""Write tables as blocks: titles, header rows, and rows that can be found and read without the rest of the table."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.readers.headings import kind_of_line

CELL_SEPARATOR = " | "
# In a table with more columns, it is hard to see a value's column. Each row then names the column of each value.
_WIDEST_PLAIN = 8
_MAX_LABEL_LENGTH = 120
_MAX_TITLE_LENGTH = 100
_MAX_TITLES = 5
_VALUE = re.compile(
    r"[-+(]?[\s$\u20ac\u00a3]{0,3}\d[\d.,\u00a0' ]{0,30}[%)$\u20ac\u00a3]{0,2}"
    r"|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?.{0,10})?"
    r"|\d{1,3}:\d{2}(?::\d{2})?|true|false|#[A-Z/0!?]{2,12}",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPACE = re.compile(r"\s+")


_OPENING = ("$", "\u20ac", "\u00a3", "\u00a5", "(", "($", "(\u20ac", "(\u00a3")
_CLOSING = (")", "%", ")%", "%)")
_MOST_HEAD_ROWS = 4
SpannedText = tuple[str, bool]
"""The text of a cell in one column, and whether it repeats the cell of the column before it, which spans both."""


def table_lines(rows: Sequence[Sequence[SpannedText]], named: Sequence[bool]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each row as `cell | cell`, and whether it has the names of the columns.

    `named` says which rows consist of header cells. Header rows at the top are joined to one. Filings of figures often
    have no header cells, but columns for "$" and ")" and between the figures. These are joined to the figures, and the
    rows above the first figure are the header rows.
    """
    texts, is_spread = _join_columns(rows)
    filled = [(cells, name) for cells, name in zip(texts, named, strict=True) if any(cells)]
    first = next((at for at, (cells, _) in enumerate(filled) if _count_filled(cells) > 1), 0)
    heads = list(takewhile(lambda row: row[1] or (is_spread and _is_head_of_figures(row[0])), filled[first:]))
    if 1 < len(heads) < min(_MOST_HEAD_ROWS + 1, len(filled) - first) or (is_spread and len(heads) == 1):
        names = zip_longest(*(cells for cells, _ in heads), fillvalue="")
        joined = [" ".join(dict.fromkeys(filter(None, parts))) for parts in names]
        filled[first : first + len(heads)] = [(joined, True)]
    for cells, is_header in filled:
        text = CELL_SEPARATOR.join(cells).rstrip(CELL_SEPARATOR).lstrip(" ")
        yield (text if _count_filled(cells) > 1 else "".join(cells)), is_header


def _join_columns(rows: Sequence[Sequence[SpannedText]]) -> tuple[list[list[str]], bool]:
    """Join neighbouring columns in which each row has at most one figure. Return the rows, and whether any has marks.

    Without marks such as "$" in cells of their own, the columns stay as they are.
    """
    marks = {*_OPENING, *_CLOSING}
    if not any(text in marks and not repeated for row in rows for text, repeated in row):
        return [[text for text, _ in row] for row in rows], False
    joined: list[list[str]] = [[] for _ in rows]
    for column in zip_longest(*rows, fillvalue=("", False)):
        ends = [cells[-1] if cells else None for cells in joined]
        fits = [_continued(end, text, repeated) for end, (text, repeated) in zip(ends, column, strict=True)]
        for cells, fit, (text, _) in zip(joined, fits, column, strict=True):
            if None in fits:
                cells.append(text)
            elif fit is not None:
                cells[-1] = fit
    return joined, True


def _continued(end: str | None, text: str, repeated: bool) -> str | None:
    """Return the cell `end` with the text of the next column, or None if this text is a cell of its own."""
    if end is None or not text or (repeated and text == end):
        return end
    if not end:
        return text
    opens, closes = end in _OPENING and _ends_figure(text), text in _CLOSING and _ends_figure(end)
    return end + text if opens or closes else None


def _ends_figure(text: str) -> bool:
    return text[-1].isdigit() or text in ("-", "\u2013", "\u2014") or (text[-1] == ")" and any(map(str.isdigit, text)))


def _is_head_of_figures(cells: Sequence[str]) -> bool:
    """Return whether a row has words or years, but no figures, above the columns of figures."""
    return any(cells[1:]) and not any(is_value(cell) and not _YEAR.fullmatch(cell) for cell in cells[1:])


def write_sheet_table(builder: DocumentBuilder, rows: Sequence[Sequence[str]], header_rows: int = 1) -> None:
    """Append a table of a sheet. `header_rows` is the number of header rows below its titles, if it has a header."""
    rows = [row for row in ([_SPACE.sub(" ", cell).strip() for cell in cells] for cells in rows) if any(row)]
    if max((_count_filled(row) for row in rows), default=0) <= 1:
        # If each row has only one filled cell, the cells are paragraphs, rules or list items.
        for text in map("".join, rows):
            builder.add(text, kind_of_line(text))
        return
    titles = count_title_rows(rows)
    for text in map("".join, rows[:titles]):
        if len(text) <= _MAX_TITLE_LENGTH and not is_value(text):
            builder.add_heading(text, 2)
        else:
            builder.add(text)
    body = rows[titles:]
    for count in sorted({header_rows, 1}, reverse=True):
        if labels := _column_labels(body, count):
            _write_labelled_rows(builder, body, labels, count)
            return
    _write_labelled_rows(builder, body, (), 0)


def _write_labelled_rows(
    builder: DocumentBuilder, rows: Sequence[Sequence[str]], labels: Sequence[str], header_rows: int
) -> None:
    header = _join_cells(labels)
    wide = len(labels) > _WIDEST_PLAIN
    for number, row in enumerate(rows):
        in_header = number < header_rows
        text = _labelled_cells(row, labels) if wide and not in_header else _join_cells(row)
        builder.add(text, "table", header="" if in_header or wide else header, tight=number > 0)


def count_title_rows(rows: Sequence[Sequence[str]]) -> int:
    """Count the title rows at the top of a table: rows with a single filled cell."""
    count = 0
    while count < min(len(rows) - 1, _MAX_TITLES) and _count_filled(rows[count]) == 1:
        count += 1
    return count if count < len(rows) and _count_filled(rows[count]) > 1 else 0


def _column_labels(rows: Sequence[Sequence[str]], header_rows: int) -> list[str]:
    """Return the name of each column, joined from its header rows, or [] if these rows are not a header."""
    header, below = rows[:header_rows], rows[header_rows:]
    if not below or not all(map(_is_header, header)):
        return []
    width = max(map(len, header))
    columns = [[row[column] if column < len(row) else "" for row in header] for column in range(width)]
    return [" ".join(dict.fromkeys(filter(None, names))) for names in columns]


def _is_header(row: Sequence[str]) -> bool:
    """Return whether a row can be a header: at least two cells, and half of all cells, are short words or years.

    If all are years, the first cell must be empty, so that they are above figures.
    """
    named = [cell for cell in row if cell]
    words = [cell for cell in named if not _YEAR.fullmatch(cell)]
    fit = all(len(cell) <= _MAX_LABEL_LENGTH and not is_value(cell) for cell in words)
    return fit and bool(words or not row[0]) and len(named) >= 2 and 2 * len(named) >= len(row)


def is_value(cell: str) -> bool:
    """Return whether a cell cannot be a column name: a number, an amount, a date, a time, a truth value or an error."""
    return bool(_VALUE.fullmatch(cell))


def _count_filled(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _join_cells(cells: Sequence[str]) -> str:
    """Join the cells of a row. Empty cells at the end are dropped; others are kept, so that columns do not shift."""
    last = max((number for number, cell in enumerate(cells, 1) if cell), default=0)
    return CELL_SEPARATOR.join(cells[:last]).replace("  ", " ").strip()


def _labelled_cells(row: Sequence[str], labels: Sequence[str]) -> str:
    """Join the filled cells of a row as `Label: value`."""
    pairs = ((labels[column] if column < len(labels) else "", cell) for column, cell in enumerate(row) if cell)
    return CELL_SEPARATOR.join(f"{label}: {cell}" if label else cell for label, cell in pairs)


MAX_COLUMNS = 256  # further columns usually contain only repeated formatting
# A merged cell's text is repeated if it is not longer than this: in the next columns, whose name it may be, and in the
# next rows, which may be in another chunk.
_REPEATED_BESIDE = 40
_REPEATED_BELOW = 200


def row_text(cells: Sequence[str]) -> str:
    """Join the cells of a row as `a | b`. If the row is one merged cell, its text appears once."""
    if len(cells) > 1 and len(set(cells)) == 1:
        return cells[0]
    once = [
        "" if number and cell == cells[number - 1] and len(cell) > _REPEATED_BESIDE else cell
        for number, cell in enumerate(cells[:MAX_COLUMNS])
    ]
    return CELL_SEPARATOR.join(once).rstrip(" |")


def may_be_header_row(cells: Sequence[str]) -> bool:
    """Return whether a row could be the header row: it has several cells with different texts."""
    return len(cells) > 1 and all(cells) and len(set(cells)) == len(cells)


def write_grid(
    builder: DocumentBuilder, rows: Sequence[Sequence[str]], header_rows: int, pages: Sequence[int] = ()
) -> None:
    """Append a block for each row, with the first `header_rows` as header. `pages[i]` pages start before row i."""
    header: list[str] = []
    first = True
    for number, cells in enumerate(rows):
        for _ in range(pages[number] if number < len(pages) else 0):
            builder.start_page()
        above = rows[number - 1] if number else ()
        shown = [
            "" if len(cell) > _REPEATED_BELOW and cell in above[column : column + 1] else cell
            for column, cell in enumerate(cells)
        ]
        text = row_text(shown).strip()
        if not text:
            continue
        in_header = number < header_rows
        builder.add(text, "table", header="" if in_header else "\n".join(header), tight=not first)
        first = False
        if in_header:
            header.append(text)
