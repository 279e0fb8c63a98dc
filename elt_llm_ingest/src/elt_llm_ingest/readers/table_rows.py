"""A table of cells put into a document row by row, its header row standing over the others."""

from collections.abc import Sequence

from elt_llm_ingest.readers.document_builder import DocumentBuilder

WIDEST = 256  # columns; what a file repeats beyond is not content


def row_text(cells: Sequence[str]) -> str:
    """Cells in one line, `a | b`; a row that is one cell merged all over is written once."""
    if len(cells) > 1 and len(set(cells)) == 1:
        return cells[0]
    return " | ".join(cells[:WIDEST]).rstrip(" |")


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
        text = row_text(cells)
        if not text.strip():
            continue
        is_header = number < header_rows
        builder.add(text, "table", header="" if is_header else "\n".join(header), tight=not first)
        first = False
        if is_header:
            header.append(text)
