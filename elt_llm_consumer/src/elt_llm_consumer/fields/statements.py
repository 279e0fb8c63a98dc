"""The texts of a job as statements: sentences, list items and table rows, each row with the headers of its columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.corpus import Corpus, CorpusDocument

_LABEL = re.compile(r"^(?:(?:[A-Z]{0,3}\d[\w.]{0,10}|\(?\w{1,3}[.)]|#{1,6}|[-*\u2022\u2013])[.:)]?\s+){1,2}")
_TITLE_LABEL = re.compile(r"^(?:[A-Za-z]+ \w{1,4}: |[A-Z]{0,3}\d[\w.]{0,10}[.:)]?\s+|[A-Z][.)]\s+|#{1,6}\s+)")
_NUMBER = re.compile(r"^[ivxlc\d]{1,6}$")
_LEAST_CONTENTS = 3


@dataclass(frozen=True)
class TableCell:
    """The words text[start:end] of a document in one column of a table."""

    start: int
    end: int
    text: str
    header: str


@dataclass(frozen=True)
class Statement:
    """The words text[start:end] of a document. `begins` is where they begin after the number or mark of the line.

    `headings` stand above it, outermost first, without their numbers; `cells` are those of a table row, else none.
    """

    number: int
    document: CorpusDocument = field(repr=False)
    start: int
    end: int
    begins: int
    text: str
    headings: tuple[str, ...] = ()
    cells: tuple[TableCell, ...] = ()
    follows: bool = False
    """Whether it goes on in the paragraph of the statement before it."""
    only_names: bool = False
    """A row of headers: it names things and says nothing of them."""

    @property
    def said(self) -> str:
        """What it says on one line: without its number, a row as "first cell: the others"."""
        cells = [cell for cell in self.cells if cell.text]
        if not cells:
            return " ".join(self.text[self.begins - self.start :].split())
        headed = len(cells) > len(("first", "other"))
        others = [f"{cell.header}: {cell.text}" if headed and cell.header else cell.text for cell in cells[1:]]
        return " ".join(": ".join(filter(None, [cells[0].text, "; ".join(others)])).split())


def statements(corpus: Corpus) -> list[Statement]:
    """Every statement of the texts in order; headings, questions and tables of contents state nothing."""
    found: list[Statement] = []
    for document in corpus.documents:
        for piece, cells in _with_cells(document):
            label = _LABEL.match(piece.text)
            begins = piece.start + (label.end() if label and label.end() < len(piece.text) else 0)
            found.append(
                Statement(
                    len(found),
                    document,
                    piece.start,
                    piece.end,
                    begins,
                    piece.text,
                    tuple(map(bare_title, document.outline.section_path(piece.start))),
                    tuple(cells),
                    follows=not piece.new_paragraph and piece.kind == "prose" and label is None,
                    only_names=bool(cells) and not any(cell.header for cell in cells),
                )
            )
    return found


def bare_title(title: str) -> str:
    """A heading without its number: of "D7 Dual Registration" and "Schedule 1: Fees" the words."""
    return _TITLE_LABEL.sub("", title).strip(" .:#*_")


def _with_cells(document: CorpusDocument) -> Iterator[tuple[Piece, list[TableCell]]]:
    table: list[Piece] = []
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
            headers = []  # another table may follow, where after a page's furniture the same one goes on
            yield piece, []


def _rows(table: Sequence[Piece], before: list[str]) -> tuple[list[str], list[tuple[Piece, list[TableCell]]]]:
    """The headers of a table and its rows; `before` are those of the table above it, which a page may have cut."""
    first = [piece for piece, _, _ in _cells(table[0])]
    if _is_contents(table):
        return [], []
    goes_on = bool(before) and len(first) == len(before) and first != before
    headers = before if goes_on else first
    return headers, [(row, _headed(row, headers if goes_on or row is not table[0] else [])) for row in table]


def _headed(row: Piece, headers: Sequence[str]) -> list[TableCell]:
    cells = _cells(row)
    fits = len(cells) == len(headers)  # a row of headers has none
    return [
        TableCell(row.start + start, row.start + end, text, headers[place] if fits else "")
        for place, (text, start, end) in enumerate(cells)
    ]


def _cells(row: Piece) -> list[tuple[str, int, int]]:
    """Text, start and end of each cell within its row; an empty cell stands where nothing is written."""
    text = row.text
    parted = re.split(r"\t" if "|" not in text else r"\|", text)
    found, place = [], 0
    for part in parted:
        start = place + len(part) - len(part.lstrip())
        found.append((part.strip(), start, start + len(part.strip())))
        place += len(part) + 1
    if text.lstrip().startswith("|"):
        found = found[1:]
    if text.rstrip().endswith("|") and found:
        found = found[:-1]
    return found


def _is_contents(table: Sequence[Piece]) -> bool:
    """Whether the rows are a table of contents: every last cell is the number of a page, none before the last."""
    numbers = [_cells(row)[-1][0] for row in table if _cells(row)]
    pages = [int(number) for number in numbers if number.isdigit() and len(number) <= len("99999")]
    numbered = sum(bool(_NUMBER.match(number)) for number in numbers)
    return len(table) >= _LEAST_CONTENTS and numbered == len(table) and pages == sorted(pages)
