"""Render the documents of the batch jobs that are not text: a PDF and a Word file, the same bytes every time."""

from __future__ import annotations

import re
import sys
import zipfile
from html import escape
from io import BytesIO
from pathlib import Path

from render import Block, HandbookPdf, read_blocks

JOBS = Path(__file__).parent / "jobs"
PDF_SOURCE, PDF_TARGET = JOBS / "source" / "cup-regulations.md", JOBS / "documents" / "cup-regulations.pdf"
WORD_SOURCE, WORD_TARGET = JOBS / "source" / "medical-code.md", JOBS / "documents" / "medical-code.docx"

WORD_XML = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE_XML = "http://schemas.openxmlformats.org/package/2006"
OFFICE_XML = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLE_BY_KIND = {"title": "Title", "part": "Heading1", "rule": "Heading2", "item": "ListParagraph"}
# The date in an archive must not depend on the day of rendering, or every rendering would be a change to commit.
ZIP_DATE = (2026, 8, 1, 9, 0, 0)
BOLD = re.compile(r"\*\*([^*]{1,300})\*\*")


class RegulationsPdf(HandbookPdf):
    """A page of the regulations: the handbook's page with another footer."""

    def footer(self) -> None:
        """Print the name of the regulations and the page number, but nothing on the cover."""
        if self.page_no() == 1:
            return
        self.set_y(-13)
        self.set_font("Helvetica", size=7.5)
        self.cell(self.epw / 2, 4, "Cup Regulations 2026/27", align="L")
        self.cell(self.epw / 2, 4, f"Page {self.page_no()}", align="R")


def render_pdf(markdown: str) -> bytes:
    """Render the regulations' Markdown and return the bytes of the PDF."""
    blocks = read_blocks(markdown)
    headings = [block for block in blocks if block.kind in ("part", "rule")]
    pdf = RegulationsPdf(blocks[0].text, contents_lines=len(headings))
    for block in blocks:
        pdf.write_block(block)
    return bytes(pdf.output())


def render_word(markdown: str) -> bytes:
    """Render the code's Markdown and return the bytes of the Word file; bold words and tables stay what they are."""
    blocks = read_blocks(markdown)
    body = "".join(_table(block) if block.kind == "table" else _paragraph(block) for block in blocks)
    parts = {
        "[Content_Types].xml": _content_types(),
        "_rels/.rels": _relationships("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _relationships("styles", "styles.xml"),
        "word/document.xml": f'<w:document xmlns:w="{WORD_XML}"><w:body>{body}<w:sectPr/></w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{WORD_XML}">{"".join(map(_style, _STYLES))}</w:styles>',
    }
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, text in parts.items():
            declared = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}'
            archive.writestr(zipfile.ZipInfo(name, ZIP_DATE), declared.encode())
    return packed.getvalue()


def _paragraph(block: Block) -> str:
    style = STYLE_BY_KIND.get(block.kind)
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{_runs(block.text)}</w:p>"


def _runs(text: str) -> str:
    pieces = BOLD.split(text)
    return "".join(_run(piece, bold=place % 2 == 1) for place, piece in enumerate(pieces) if piece)


def _run(text: str, *, bold: bool) -> str:
    properties = "<w:rPr><w:b/></w:rPr>" if bold else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{escape(text, quote=False)}</w:t></w:r>'


def _table(block: Block) -> str:
    rows = "".join(_row(row, heading=number == 0) for number, row in enumerate(block.rows))
    grid = "<w:gridCol/>" * len(block.rows[0])
    return f"<w:tbl><w:tblPr/><w:tblGrid>{grid}</w:tblGrid>{rows}</w:tbl>"


def _row(cells: list[str], *, heading: bool) -> str:
    properties = "<w:trPr><w:tblHeader/></w:trPr>" if heading else ""
    written = "".join(f"<w:tc><w:tcPr/><w:p>{_run(cell, bold=heading)}</w:p></w:tc>" for cell in cells)
    return f"<w:tr>{properties}{written}</w:tr>"


_STYLES = (
    *(("Title", "Title"), ("Heading1", "heading 1"), ("Heading2", "heading 2")),
    ("ListParagraph", "List Paragraph"),
)


def _style(style: tuple[str, str]) -> str:
    identifier, name = style
    return f'<w:style w:type="paragraph" w:styleId="{identifier}"><w:name w:val="{name}"/></w:style>'


def _relationships(kind: str, target: str) -> str:
    relationship = f'<Relationship Id="rId1" Type="{OFFICE_XML}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{PACKAGE_XML}/relationships">{relationship}</Relationships>'


def _content_types() -> str:
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    return (
        f'<Types xmlns="{PACKAGE_XML}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{main}.styles+xml"/></Types>'
    )


def main() -> None:
    """Render the committed sources into the committed documents."""
    PDF_TARGET.write_bytes(render_pdf(PDF_SOURCE.read_text(encoding="utf-8")))
    WORD_TARGET.write_bytes(render_word(WORD_SOURCE.read_text(encoding="utf-8")))
    for target in (PDF_TARGET, WORD_TARGET):
        sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
