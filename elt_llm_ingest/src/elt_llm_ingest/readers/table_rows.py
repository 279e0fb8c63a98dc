"""A table of cells put into a document row by row, its header row standing over the others."""

from collections.abc import Sequence

from elt_llm_ingest.readers.document_builder import DocumentBuilder

WIDEST = 256  # columns; what a file repeats beyond is not content
# Characters up to which a merged cell is worth saying again: beside itself, where it is the name of columns, and in
# the next row, which may stand in another passage.
_AGAIN_BESIDE = 40
_AGAIN_BELOW = 200


def row_text(cells: Sequence[str]) -> str:
    """Cells in one line, `a | b`; a row that is one cell merged all over is written once."""
    if len(cells) > 1 and len(set(cells)) == 1:
        return cells[0]
    once = [
        "" if number and cell == cells[number - 1] and len(cell) > _AGAIN_BESIDE else cell
        for number, cell in enumerate(cells[:WIDEST])
    ]
    return " | ".join(once).rstrip(" |")


def may_be_header(cells: Sequence[str]) -> bool:
    """Whether a row could name columns: several cells, none empty, none twice."""
    return len(cells) > 1 and all(cells) and len(set(cells)) == len(cells)


def write_rows(
    builder: DocumentBuilder, rows: Sequence[Sequence[str]], header_rows: int, pages: Sequence[int] = ()
) -> None:
    """Append a block a row; the first `header_rows` are the header of all others.

    `pages[i]` is how many pages begin before row i, where that is known.
    """
    header: list[str] = []
    first = True
    for number, cells in enumerate(rows):
        for _ in range(pages[number] if number < len(pages) else 0):
            builder.begin_page()
        above = rows[number - 1] if number else ()
        text = row_text([_unless_above(cell, above[place : place + 1]) for place, cell in enumerate(cells)]).strip()
        if not text:
            continue
        is_header = number < header_rows
        builder.add(text, "table", header="" if is_header else "\n".join(header), tight=not first)
        first = False
        if is_header:
            header.append(text)


def _unless_above(cell: str, above: Sequence[str]) -> str:
    return "" if len(cell) > _AGAIN_BELOW and cell in above else cell
