"""Split the texts of a job into statements: sentences, list items, and table rows with their column headers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument

_LABEL = re.compile(r"^(?:(?:[A-Z]{0,3}\d[\w.]{0,10}|\(?\w{1,3}[.)]|#{1,6}|[-*\u2022\u2013])[.:)]?\s+){1,2}")
_TITLE_LABEL = re.compile(r"^(?:[A-Za-z]+ \w{1,4}: |[A-Z]{0,3}\d[\w.]{0,10}[.:)]?\s+|[A-Z][.)]\s+|#{1,6}\s+)")
_PAGE_NUMBER = re.compile(r"^[ivxlc\d]{1,6}$")
# A row of a table of contents: "A3 Definitions | 8", "Fees .......... 12".
_CONTENTS_ROW = re.compile(r"[^\n]{1,300}?(?:\||\.{3,200}|\t)[ .]{0,200}\d{1,4}\s{0,3}\|?\s{0,3}$")
# The mark of a footnote after a sentence or before its full stop; "see [3]" and "list[1] is" are none.
_FOOTNOTE = re.compile(
    r"(?<=[^\W_][.,;:!?)\"'\u201d\u2019])\[[1-9]\d{0,2}\](?=\s|$)|(?<=[^\W\d_]{2})\[[1-9]\d{0,2}\](?=\.?$)"
)
_MIN_CONTENTS = 3  # minimum number of rows of a table of contents


@dataclass(frozen=True)
class TableCell:
    """A table cell: text[start:end] of a document, with the header of its column."""

    start: int
    end: int
    text: str
    header: str


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
    headers: list[str] = []
    ruled = False
    for piece in (*document.pieces, None):
        if piece is not None and piece.kind == "rule" and table:
            ruled = ruled or len(table) == 1
            continue
        if table and (piece is None or piece.kind != "row" or piece.new_paragraph):
            headers, rows = _rows(table, [] if ruled else headers)
            yield from rows
            table, ruled = [], False
        if piece is not None and piece.kind == "row":
            table.append(piece)
        elif piece is not None and piece.kind in {"prose", "item"}:
            headers = []  # after other text, a new table starts; after a page header, the same table continues
            yield piece, []


def _rows(table: Sequence[TextPiece], before: list[str]) -> tuple[list[str], list[tuple[TextPiece, list[TableCell]]]]:
    """Return the headers and rows of a table.

    `before` are the headers of the table above, which this table may continue.
    """
    cells = [_cells(row) for row in table]
    # In a table of contents, every last cell is a page number, in ascending order.
    numbers = [parts[-1][0] for parts in cells if parts]
    pages = [int(number) for number in numbers if number.isdigit() and len(number) <= len("99999")]
    numbered = sum(bool(_PAGE_NUMBER.match(number)) for number in numbers)
    if len(cells) >= _MIN_CONTENTS and numbered == len(cells) and pages == sorted(pages):
        return [], []
    first = [text for text, _, _ in cells[0]]
    continued = bool(before) and len(first) == len(before) and first != before
    headers = before if continued else first
    rows = []
    for row, parts in zip(table, cells, strict=True):
        has_headers = (continued or row is not table[0]) and len(parts) == len(headers)
        named = zip(parts, headers if has_headers else [""] * len(parts), strict=True)
        rows.append(
            (row, [TableCell(row.start + start, row.start + end, text, name) for (text, start, end), name in named])
        )
    return headers, rows


def _cells(row: TextPiece) -> list[tuple[str, int, int]]:
    """Return the text, start and end of each cell within its row, including empty cells."""
    text = row.text
    found, position = [], 0
    for part in re.split(r"\t" if "|" not in text else r"\|", text):
        start = position + len(part) - len(part.lstrip())
        found.append((part.strip(), start, start + len(part.strip())))
        position += len(part) + 1
    if text.lstrip().startswith("|"):
        found = found[1:]
    return found[:-1] if text.rstrip().endswith("|") else found
