"""Generate documents with known headings, paragraphs, list items and tables, and write them in eight formats."""

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import docx
import openpyxl
import pptx
from file_formats.office import odt
from file_formats.workbooks import epub
from fpdf import FPDF
from fpdf.enums import XPos, YPos

Blocks = list[tuple[str, int, list[list[str]]]]
_SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru"),
    *("sa", "te", "vi", "wo", "zu", "kra", "sto", "ple", "gri", "dru"),
)


@dataclass
class GoldDocument:
    """A generated document as blocks: kind (heading, text, item, table), level of a heading, and rows of cells."""

    blocks: Blocks = field(default_factory=list)

    @property
    def headings(self) -> list[tuple[int, str]]:
        """The level and title of each heading."""
        return [(level, rows[0][0]) for kind, level, rows in self.blocks if kind == "heading"]

    @property
    def tokens(self) -> list[str]:
        """All words in reading order. Every word occurs once."""
        return [word for _, _, rows in self.blocks for row in rows for cell in row for word in cell.split()]

    @property
    def cells(self) -> dict[str, tuple[int, int]]:
        """The row and the column of each table cell below the header row. Rows are counted over all tables."""
        tables = [rows[1:] for kind, _, rows in self.blocks if kind == "table"]
        body = [row for rows in tables for row in rows]
        return {cell: (number, column) for number, row in enumerate(body) for column, cell in enumerate(row)}


def generate(chance: random.Random, suffix: str) -> GoldDocument:
    """Generate a document of two to five sections. Sheets have only tables, and slides have one level of headings."""
    used: set[str] = set()

    def some(count: int) -> str:
        made: list[str] = []
        while len(made) < count:
            word = "".join(chance.choices(_SYLLABLES, k=5))
            if not any(word in other or other in word for other in used):
                used.add(word)
                made.append(word)
        return " ".join(made)

    gold = GoldDocument()
    for number in range(chance.randint(2, 5)):
        level = 1 if suffix == ".pptx" or number == 0 else chance.randint(1, 3)
        if suffix != ".xlsx":
            gold.blocks.append(("heading", level, [[some(3).capitalize()]]))
            gold.blocks += [("text", 0, [[some(chance.randint(8, 25))]]) for _ in range(chance.randint(1, 3))]
            gold.blocks += [("item", 0, [[some(4)]]) for _ in range(chance.randint(0, 3))]
        columns = chance.randint(2, 4)
        rows = [[some(1) for _ in range(columns)] for _ in range(chance.randint(3, 6))]
        gold.blocks.append(("table", 0, rows))
    return gold


def _markdown(gold: GoldDocument) -> bytes:
    lines = []
    for kind, level, rows in gold.blocks:
        if kind == "table":
            table = [f"| {' | '.join(row)} |" for row in rows]
            lines += ["", table[0], "|---" * len(rows[0]) + "|", *table[1:], ""]
        else:
            mark = {"heading": f"\n{'#' * level} ", "item": "- ", "text": "\n"}[kind]
            lines.append(f"{mark}{rows[0][0]}" + ("" if kind == "item" else "\n"))
    return "\n".join(lines).encode()


def _body(gold: GoldDocument) -> str:
    parts = []
    for kind, level, rows in gold.blocks:
        if kind == "table":
            lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
            lines[0] = lines[0].replace("td>", "th>")
            parts.append("<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>")
        else:
            tag = {"heading": f"h{level}", "item": "li", "text": "p"}[kind]
            element = f"<{tag}>{rows[0][0]}</{tag}>"
            parts.append(f"<ul>{element}</ul>" if kind == "item" else element)
    return "".join(parts)


def _html(gold: GoldDocument) -> bytes:
    return f"<!doctype html><html><head><meta charset='utf-8'></head><body>{_body(gold)}</body></html>".encode()


def _epub(gold: GoldDocument) -> bytes:
    return epub({"a.xhtml": _body(gold)})


def _odt(gold: GoldDocument) -> bytes:
    parts = []
    for kind, level, rows in gold.blocks:
        text = f"<text:p>{rows[0][0]}</text:p>"
        if kind == "table":
            lines = (
                "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row) for row in rows
            )
            body = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
            parts.append(f"<table:table>{body}</table:table>")
        elif kind == "heading":
            parts.append(f'<text:h text:outline-level="{level}">{rows[0][0]}</text:h>')
        else:
            parts.append(f"<text:list><text:list-item>{text}</text:list-item></text:list>" if kind == "item" else text)
    return odt("".join(parts))


def _docx(gold: GoldDocument) -> bytes:
    document = docx.Document()
    for kind, level, rows in gold.blocks:
        if kind == "table":
            table = document.add_table(len(rows), len(rows[0]))
            for y, row in enumerate(rows):
                for x, cell in enumerate(row):
                    table.cell(y, x).text = cell
        elif kind == "heading":
            document.add_heading(rows[0][0], level)
        else:
            document.add_paragraph(rows[0][0], "List Bullet" if kind == "item" else None)
    return _saved(document.save)


def _pptx(gold: GoldDocument) -> bytes:
    deck = pptx.Presentation()
    slide = frame = None
    for kind, _, rows in gold.blocks:
        if kind == "heading":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text = rows[0][0]
            frame = slide.placeholders[1].text_frame
        elif kind == "table" and slide is not None:
            shape = slide.shapes.add_table(len(rows), len(rows[0]), 0, 5_000_000, 5_000_000, 1_000_000)
            for y, row in enumerate(rows):
                for x, cell in enumerate(row):
                    shape.table.cell(y, x).text = cell
        elif frame is not None:
            paragraph = frame.paragraphs[0] if not frame.text else frame.add_paragraph()
            paragraph.text = rows[0][0]
    return _saved(deck.save)


def _xlsx(gold: GoldDocument) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for number, (_, _, rows) in enumerate(gold.blocks):
        sheet = book.create_sheet(f"Sheet{number}")
        for row in rows:
            sheet.append(row)
    return _saved(book.save)


def _pdf(gold: GoldDocument) -> bytes:
    paper = FPDF()
    paper.add_page()
    for kind, level, rows in gold.blocks:
        paper.set_font("Helvetica", "B" if kind == "heading" else "", {1: 20, 2: 16, 3: 13}.get(level, 10))
        if kind == "table":
            with paper.table() as table:
                for row in rows:
                    table.row(row)
        else:
            text = f"- {rows[0][0]}" if kind == "item" else rows[0][0]
            paper.multi_cell(0, None, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            paper.ln(3)
    return bytes(paper.output())


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


WRITERS: dict[str, Callable[[GoldDocument], bytes]] = {
    ".md": _markdown,
    ".html": _html,
    ".epub": _epub,
    ".odt": _odt,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".pdf": _pdf,
}
"""A writer for each suffix: from a generated document to the bytes of a file."""
