"""Render the handbook's Markdown source as a paged PDF with a text layer, the same bytes every time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Literal

from fpdf import FPDF
from fpdf.enums import MethodReturnValue, TableBordersLayout, XPos, YPos
from fpdf.fonts import FontFace
from fpdf.outline import OutlineSection
from markdown_it import MarkdownIt
from markdown_it.token import Token

SAMPLES = Path(__file__).parent
SOURCE = SAMPLES / "source" / "handbook.md"
TARGET = SAMPLES / "documents" / "handbook.pdf"

# A date in the file must not depend on the day of rendering, or every rendering would be a change to commit.
CREATED = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)
PAGE_MILLIMETRES = (176.0, 250.0)
CONTENTS_LINES_A_PAGE, CONTENTS_LINE = 43, 4.6
BODY_POINTS, BODY_LINE = 10.0, 4.7
TABLE_POINTS, TABLE_LINE = 8.0, 3.9
CHARACTERS_A_TABLE_LINE = 96
KEEP_TOGETHER_LINES = 6

BlockKind = Literal["title", "part", "rule", "paragraph", "item", "table", "break"]


@dataclass(frozen=True)
class Block:
    """One block of the source: its kind, its text with ** around bold words, and for a table its rows."""

    kind: BlockKind
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)


def read_blocks(markdown: str) -> list[Block]:
    """Parse Markdown into blocks; the first level-one heading is the title of the book, the others are parts."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return list(_blocks(tokens))


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    heading: BlockKind | None = None
    in_item = titled = False
    table_start = 0
    for position, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                heading = "rule" if token.tag == "h2" else "part" if titled else "title"
                titled = True
            case "heading_close":
                heading = None
            case "list_item_open" | "list_item_close":
                in_item = token.type == "list_item_open"
            case "table_open":
                table_start = position
            case "table_close":
                yield Block("table", rows=_rows(tokens[table_start:position]))
                table_start = 0
            case "hr":
                yield Block("break")
            case "inline" if not table_start:
                yield Block(heading or ("item" if in_item else "paragraph"), _inline_text(token))


def _rows(tokens: list[Token]) -> list[list[str]]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline_text(token))
    return rows


def _inline_text(token: Token) -> str:
    parts: list[str] = []
    for child in token.children or []:
        match child.type:
            case "strong_open" | "strong_close":
                parts.append("**")
            case "softbreak":
                parts.append(" ")
            case _:
                parts.append(child.content)
    return "".join(parts)


class HandbookPdf(FPDF):
    """A page of the handbook: running header with the part's name, footer with the page number."""

    def __init__(self, title: str, contents_lines: int) -> None:
        super().__init__(unit="mm", format=PAGE_MILLIMETRES)
        self.book = title
        self.part = ""
        self.contents_pages = ceil(contents_lines / CONTENTS_LINES_A_PAGE)
        self.set_line_width(0.15)
        self.set_title(title)
        self.set_creation_date(CREATED)
        self.set_margins(20, 22, 18)
        self.set_auto_page_break(True, margin=20)

    def header(self) -> None:
        """Print the association on the left and the part on the right, but nothing on the cover."""
        if self.page_no() == 1:
            return
        self.set_y(11)
        self.set_font("Helvetica", size=7.5)
        self.cell(self.epw / 2, 4, self.book, align="L")
        self.cell(self.epw / 2, 4, self.part, align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.line(self.l_margin, 16, self.w - self.r_margin, 16)
        self.set_y(self.t_margin)

    def footer(self) -> None:
        """Print the season and the page number, but nothing on the cover."""
        if self.page_no() == 1:
            return
        self.set_y(-13)
        self.set_font("Helvetica", size=7.5)
        self.cell(self.epw / 2, 4, "Handbook 2026/27", align="L")
        self.cell(self.epw / 2, 4, f"Page {self.page_no()}", align="R")

    def write_block(self, block: Block) -> None:
        """Write one block where the last one ended."""
        match block.kind:
            case "title":
                self._write_title(block.text)
            case "part":
                self._write_part(block.text)
            case "rule":
                self._write_rule_heading(block.text)
            case "item":
                self._write_text(block.text, indent=9.0)
            case "paragraph" if self.page_no() == 1:
                self._write_cover_line(block.text)
            case "paragraph":
                self._write_text(block.text, indent=0.0)
            case "table":
                self._write_table(block.rows)
            case "break":
                self._write_contents()

    def _write_title(self, text: str) -> None:
        self.add_page()
        self.set_y(70)
        self.set_font("Times", "B", 25)
        self.multi_cell(0, 12, text, align="C", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _write_cover_line(self, text: str) -> None:
        self.ln(6)
        self.set_font("Times", size=13)
        self.multi_cell(0, 7, text, align="C", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _write_contents(self) -> None:
        self.part = ""
        self.add_page()
        self.insert_toc_placeholder(_write_table_of_contents, pages=self.contents_pages)

    def _write_part(self, text: str) -> None:
        self.part = text
        # The placeholder of the contents has already opened an empty page for the first part.
        if self.get_y() > self.t_margin:
            self.add_page()
        self.set_font("Helvetica", "B", 15)
        self.start_section(text, level=0)
        self.multi_cell(0, 8, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(3)

    def _write_rule_heading(self, text: str) -> None:
        self._break_page_unless_room(6 * BODY_LINE)
        self.ln(2.5)
        self.set_font("Helvetica", "B", 10.5)
        self.start_section(text, level=1)
        self.multi_cell(0, 6, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(1)

    def _write_text(self, text: str, indent: float) -> None:
        self.set_font("Times", size=BODY_POINTS)
        width = self.epw - indent
        height = self.multi_cell(
            width, BODY_LINE, text, align="L", markdown=True, dry_run=True, output=MethodReturnValue.HEIGHT
        )
        if isinstance(height, float) and height <= KEEP_TOGETHER_LINES * BODY_LINE:
            self._break_page_unless_room(height)
            self.set_font("Times", size=BODY_POINTS)
        self.set_x(self.l_margin + indent)
        self.multi_cell(width, BODY_LINE, text, align="L", markdown=True, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(1.6)

    def _write_table(self, rows: list[list[str]]) -> None:
        self.set_font("Times", size=TABLE_POINTS)
        self.ln(1)
        with self.table(
            rows,
            text_align="LEFT",
            v_align="TOP",
            line_height=TABLE_LINE,
            col_widths=_column_weights(rows),
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            headings_style=FontFace(emphasis="BOLD"),
            padding=0.5,
        ):
            pass
        self.ln(3)

    def _break_page_unless_room(self, height: float) -> None:
        if self.will_page_break(height):
            self.add_page()


def _column_weights(rows: list[list[str]]) -> tuple[int, ...]:
    """Widths in characters: those of the longest cells, cut back until the table fits but never within a word."""
    columns = list(zip(*rows, strict=True))
    longest_cells = [max(len(cell) for cell in column) + 2 for column in columns]
    longest_words = [max(len(word) for cell in column for word in cell.split()) + 3 for column in columns]
    widths = longest_cells
    for limit in range(max(longest_cells), 0, -1):
        widths = [max(min(cell, limit), word) for cell, word in zip(longest_cells, longest_words, strict=True)]
        if sum(widths) <= CHARACTERS_A_TABLE_LINE:
            break
    return tuple(widths)


def _write_table_of_contents(pdf: FPDF, outline: list[OutlineSection]) -> None:
    pdf.set_font("Helvetica", "B", 13)
    pdf.set_x(pdf.l_margin)
    pdf.cell(0, 8, "Contents", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    for section in outline:
        pdf.set_font("Times", "" if section.level else "B", 9)
        pdf.set_x(pdf.l_margin + 5 * section.level)
        pdf.cell(pdf.epw - 15 - 5 * section.level, CONTENTS_LINE, section.name)
        pdf.cell(15, CONTENTS_LINE, str(section.page_number), align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def render(markdown: str) -> bytes:
    """Render the handbook's Markdown and return the bytes of the PDF."""
    blocks = read_blocks(markdown)
    headings = [block for block in blocks if block.kind in ("part", "rule")]
    pdf = HandbookPdf(blocks[0].text, contents_lines=len(headings))
    for block in blocks:
        pdf.write_block(block)
    return bytes(pdf.output())


def main() -> None:
    """Render the committed source into the committed PDF."""
    TARGET.write_bytes(render(SOURCE.read_text(encoding="utf-8")))
    sys.stdout.write(f"{TARGET}: {TARGET.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
