"""Split the texts of a job into statements: sentences, list items, and table rows with their column headers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from operator import or_

from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument

_LABEL = re.compile(r"^(?:(?:[A-Z]{0,3}\d[\w.]{0,10}|\(?\w{1,3}[.)]|#{1,6}|[-*\u2022\u2013])[.:)]?\s+){1,2}")
_TITLE_LABEL = re.compile(r"^(?:[A-Za-z]+ \w{1,4}: |[A-Z]{0,3}\d[\w.]{0,10}[.:)]?\s+|[A-Z][.)]\s+|#{1,6}\s+)")
_BULLET = re.compile(r"[-*+\u2022\u2013\u2014]")
_PAGE_NUMBER = re.compile(r"^[ivxlc\d]{1,6}$")
# A row of a table of contents: "A3 Definitions | 8", "Fees .......... 12".
_CONTENTS_ROW = re.compile(r"[^\n]{1,300}?(?:\||\.{3}|\t)[ .]{0,400}\d{1,4}\s{0,3}\|?\s{0,3}$")
# The mark of a footnote after a sentence or before its full stop; "see [3]" and "list[1] is" are none.
_FOOTNOTE = re.compile(
    r"(?<=[^\W_][.,;:!?)\"'\u201d\u2019])\[[1-9]\d{0,2}\](?=\s|$)|(?<=[^\W\d_]{2})\[[1-9]\d{0,2}\](?=\.?$)"
)
# The marks of footnotes at the end of a table cell: "8 years[2]", "Crew Lists (3)", "Form 990*". "Art. 6(1)" has none.
_CELL_FOOTNOTE = re.compile(
    r"(?:(?<=\w)\s?\[\d{1,3}\]|(?<=[^\W\d_]\s)\(\d{1,2}\)|(?<=[\w)])[\u00b9\u00b2\u00b3\u2070-\u2079*\u2020\u2021]{1,3})$"
)
_MIN_CONTENTS = 3  # minimum number of rows of a table of contents
_MAX_HEADER_ROWS = 4
_MAX_TITLE_LENGTH = 120

ColumnHeader = tuple[str, ...]


@dataclass(frozen=True)
class TableCell:
    """A table cell: text[start:end] of a document, with the names of its column in the header rows, from the top."""

    start: int
    end: int
    text: str
    headers: ColumnHeader

    @property
    def header(self) -> str:
        """The header of the column, joined from the header rows."""
        return " ".join(self.headers)


@dataclass(frozen=True)
class TextStatement:
    """The statement text[start:end] of a document; its content starts at `content_start`, after a number or bullet.

    `headings` are the headings above the statement, outermost first, without numbers. `cells` are the cells of a table
    row.
    """

    number: int
    document: CorpusDocument = field(repr=False)
    start: int
    end: int
    content_start: int
    text: str
    headings: tuple[str, ...] = ()
    cells: tuple[TableCell, ...] = ()
    same_paragraph: bool = False
    """Whether the statement is in the same paragraph as the statement before it."""
    only_names: bool = False
    """Whether the statement is a header row of a table and so does not state anything."""

    @property
    def offset(self) -> int:
        """The offset of the content in `text`, after a number or bullet, in characters."""
        return self.content_start - self.start

    @property
    def content(self) -> str:
        """The statement on one line without its number and footnote marks; a table row as "first cell: other cells"."""
        cells = [cell for cell in self.cells if cell.text]
        if not cells:
            return " ".join(_FOOTNOTE.sub("", self.text[self.offset :].rstrip()).split())
        headed = len(cells) > len(("first", "other"))
        others = [f"{cell.header}: {cell.text}" if headed and cell.header else cell.text for cell in cells[1:]]
        return " ".join(": ".join(filter(None, [cells[0].text, "; ".join(others)])).split())


def read_statements(corpus: Corpus) -> list[TextStatement]:
    """Return every statement of the texts in order, without headings and tables of contents."""
    found: list[TextStatement] = []
    for document in corpus.documents:
        for piece, cells in _with_cells(document):
            label = _LABEL.match(piece.text)
            content_start = piece.start + (label.end() if label and label.end() < len(piece.text) else 0)
            found.append(
                TextStatement(
                    *(len(found), document, piece.start, piece.end, content_start, piece.text),
                    tuple(map(bare_title, document.outline.section_path(piece.start))),
                    tuple(cells),
                    same_paragraph=not piece.new_paragraph and piece.kind == "prose" and label is None,
                    only_names=bool(cells) and not any(cell.header for cell in cells),
                )
            )
    return found


def bare_title(title: str) -> str:
    """Return a heading without its number, such as "Fees" for "Schedule 1: Fees"."""
    return _TITLE_LABEL.sub("", title).strip(" .:#*_")


def is_contents_row(text: str) -> bool:
    """Return whether a line is a row of a table of contents, which ends in a page number."""
    return bool(_CONTENTS_ROW.fullmatch(text.strip())) and text.count("|") <= 3


def _with_cells(document: CorpusDocument) -> Iterator[tuple[TextPiece, list[TableCell]]]:
    table: list[TextPiece] = []
    headers: list[ColumnHeader] = []
    ruled = False
    for piece in (*document.pieces, None):
        if piece is not None and piece.kind == "rule" and table:
            ruled = ruled or len(table) == 1
            continue
        if table and (piece is None or piece.new_paragraph or not (piece.kind == "row" or _is_title(piece, table[-1]))):
            headers, rows = _rows(table, [] if ruled else headers)
            yield from rows
            headers = headers if piece is None or piece.new_paragraph else []
            table, ruled = [], False
        if piece is None or piece.kind not in {"row", "prose", "item"}:
            continue
        if table or piece.kind == "row":
            table.append(piece)
        else:
            headers = []  # after other text, a new table starts; after a page header, the same table continues
            yield piece, []


def _is_title(piece: TextPiece, before: TextPiece) -> bool:
    """Return whether a text directly below a table row can be the title of the rows below it."""
    words = len(piece.text) <= _MAX_TITLE_LENGTH and "\n" not in piece.text and _BULLET.match(piece.text) is None
    return words and not piece.text.endswith(":") and before.kind == "row"


def _rows(
    table: Sequence[TextPiece], before: list[ColumnHeader]
) -> tuple[list[ColumnHeader], list[tuple[TextPiece, list[TableCell]]]]:
    """Return the headers and rows of a table. A title between its rows has no cells.

    `before` are the headers of the table above, which this table may continue.
    """
    cells = [_cells(piece.text) if piece.kind == "row" else [] for piece in table]
    texts = [[piece.text[slice(*cell)] for cell in row] for piece, row in zip(table, cells, strict=True) if row]
    # In a table of contents, every last cell is a page number, in ascending order.
    numbers = [row[-1] for row in texts]
    pages = [int(number) for number in numbers if number.isdigit() and len(number) <= len("99999")]
    numbered = sum(bool(_PAGE_NUMBER.match(number)) for number in numbers)
    if len(numbers) >= _MIN_CONTENTS and numbered == len(numbers) and pages == sorted(pages):
        return [], []
    count = _count_header_rows(texts)
    headers = joined_headers(texts[:count])
    if before and len(headers) == len(before) and headers != before:
        headers, count = before, 0
    rows: list[tuple[TextPiece, list[TableCell]]] = []
    for piece, row in zip(table, cells, strict=True):
        in_header = count > 0 and bool(row)
        count -= in_header
        rows.append((piece, list(_table_cells(piece, row, [] if in_header else headers))))
    return headers if table[-1].kind == "row" else [], rows


def _table_cells(
    row: TextPiece, cells: Sequence[tuple[int, int]], headers: Sequence[ColumnHeader]
) -> Iterator[TableCell]:
    """Yield the cells of a row with the headers of their columns; without headers if the row does not fit them."""
    if cells and (placed := cells_by_label(row.text, cells, headers)):
        cells = placed
    names = headers if len(cells) == len(headers) else [()] * len(cells)
    for (start, end), header in zip(cells, names, strict=True):
        text = _without_footnote(row.text[start:end])
        yield TableCell(row.start + start, row.start + start + len(text), text, header)


def _without_footnote(cell: str) -> str:
    """Return a cell without a footnote mark at its end; the asterisks in "**Log**" are emphasis and stay."""
    found = _CELL_FOOTNOTE.search(cell)
    return cell[: found.start()].rstrip() if found and not cell.startswith("*") else cell


def _count_header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of header rows of a table.

    There are several if the row below repeats their names before its values, or if a header row repeats the name of a
    group of columns, and the next row names these columns: "Class | Retention | Retention", "Class | From | Period".
    """
    for count in range(1, min(_MAX_HEADER_ROWS + 1, len(rows))):
        headers = list(map(" ".join, joined_headers(rows[:count])))
        labelled = sum(any(name and cell.startswith(f"{name}: ") for name in headers) for cell in rows[count])
        if 2 * labelled > len(rows[count]):
            return count
    count = 1
    while count < min(_MAX_HEADER_ROWS, len(rows) - 1) and _names_columns_of_groups(rows[count - 1], rows[count]):
        count += 1
    return count


def joined_headers(rows: Sequence[Sequence[str]]) -> list[ColumnHeader]:
    """Return the different names of each column in the header rows of a table, from the top."""
    return [tuple(dict.fromkeys(filter(None, names))) for names in zip_longest(*rows, fillvalue="")]


def _names_columns_of_groups(upper: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row differs from the header row above only below repeated names, where it has other names."""
    lower = [*row, *[""] * (len(upper) - len(row))]
    if len(lower) != len(upper):
        return False
    same = [bool(name) and name == after for name, after in pairwise(upper)]
    grouped = list(map(or_, [False, *same], [*same, False]))
    columns = list(zip(grouped, upper, lower, strict=True))
    return (
        any(grouped)
        and any(name == above for group, above, name in columns if name and not group)
        and all(name in {above, ""} for group, above, name in columns if not group)
        and all(name and not name[0].isdigit() for group, _, name in columns if group)
    )


def cells_by_label(
    text: str, cells: Sequence[tuple[int, int]], headers: Sequence[ColumnHeader]
) -> list[tuple[int, int]]:
    """Return the span of each column's value in a row that repeats the headers before its values: "Owner: Clerk".

    The rows of wide sheets do so, and leave out empty cells. The result is empty if most cells repeat no header.
    """
    labels = [f"{' '.join(header)}: " if header else "" for header in headers]
    placed = [(cells[-1][1], cells[-1][1])] * len(headers)
    last, labelled = -1, 0
    for start, end in cells:
        later = range(last + 1, len(labels))
        own = next((at for at in later if labels[at] and text.startswith(labels[at], start, end)), None)
        column = next((at for at in later if not labels[at]), last) if own is None else own
        if column < 0:
            return []
        if column == last:  # this part of a cell is after a bar
            placed[column] = placed[column][0], end
        else:
            placed[column] = start + len(labels[column]), end
        last, labelled = column, labelled + (own is not None)
    return placed if 2 * labelled > len(cells) else []


def _cells(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each cell of a row, including empty cells."""
    found, position = [], 0
    for part in re.split(r"\t" if "|" not in text else r"\|", text):
        start = position + len(part) - len(part.lstrip())
        found.append((start, start + len(part.strip())))
        position += len(part) + 1
    if text.lstrip().startswith("|"):
        found = found[1:]
    return found[:-1] if text.rstrip().endswith("|") else found
