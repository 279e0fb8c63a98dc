"""PDF: the text layer, page by page, as paragraphs under the headings of the outline or of the type."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pypdfium2
import pypdfium2.raw as pdfium
from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.readers.pdf_furniture import without_furniture
from elt_llm_ingest.readers.pdf_headings import (
    headings_by_outline,
    headings_by_type,
    outline_of,
    title_in,
    typography_of,
)
from elt_llm_ingest.readers.pdf_information import pdf_metadata
from elt_llm_ingest.readers.pdf_lines import Line, page_lines, readable
from elt_llm_ingest.readers.pdf_paragraphs import Paragraph, goes_on, mend_hyphens, paragraphs, vocabulary
from elt_llm_ingest.readers.pdf_rows import CELL_SEPARATOR, with_rows
from elt_llm_ingest.readers.tesseract import TesseractFailed

if TYPE_CHECKING:
    from elt_llm_ingest.readers.ocr import PageOcr

_REASONS = {
    pdfium.FPDF_ERR_PASSWORD: "is encrypted: a password is needed",
    pdfium.FPDF_ERR_SECURITY: "is encrypted in a way that cannot be opened",
    pdfium.FPDF_ERR_FORMAT: "is not a PDF, or too damaged to open",
}
# Titles that a word processor or a layout program wrote, rather than an author.
_PROGRAM_TITLES = ("microsoft word", "microsoft powerpoint", "untitled", "slide 1")
_FILE_ENDS = (".doc", ".docx", ".indd", ".pdf", ".dvi", ".odt", ".pptx", ".ppt", ".xls", ".xlsx", ".qxd", ".fm")


class PdfReader(DocumentReader):
    """Reads the text layer of a PDF; pages without one are named, or read by `ocr`.

    Not for two threads at a time: pdfium is not.
    """

    name: ClassVar[str] = "pdf"
    version: ClassVar[int] = 3

    def __init__(self, ocr: "PageOcr | None" = None) -> None:
        self._ocr = ocr

    @property
    def identity(self) -> str:
        """Name and version, and what pictures are read with."""
        return super().identity + (f"+{self._ocr.identity}" if self._ocr else "")

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is encrypted or broken."""
        data = read_bytes(path)
        try:
            pdf = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            reason = _REASONS.get(error.err_code or 0, f"cannot be opened as PDF: {error}")
            raise UnreadableDocument(reason) from error
        try:
            return _Pages(pdf, path.stem, self._ocr).document()
        finally:
            pdf.close()


class _Pages:
    """The lines of all pages of an open PDF, and what follows from them."""

    def __init__(self, pdf: pypdfium2.PdfDocument, name: str, ocr: "PageOcr | None") -> None:
        self.pdf, self.name, self.ocr = pdf, name, ocr
        self.damaged: list[int] = []
        self.read_by_ocr: list[int] = []
        self.ocr_failure = ""
        read = [self._lines(number) for number in range(len(pdf))]
        self.empty = [number for number, lines in enumerate(read, 1) if not lines and number not in self.damaged]
        self.pages = [with_rows(lines) for lines in without_furniture(read)]
        self.typography = typography_of(self.pages)
        self.outline = outline_of(pdf)

    def document(self) -> ParsedDocument:
        """Everything, built up page by page."""
        builder = DocumentBuilder()
        contents = [paragraphs(lines, self._headings(number, lines)) for number, lines in enumerate(self.pages)]
        self._read_pictures(contents)
        known = vocabulary([paragraph.text for content in contents for paragraph in content])
        for content in contents:
            builder.begin_page()
            for paragraph in content:
                paragraph.text = mend_hyphens(paragraph.text, known)
            _add(builder, content)
        told = self._information()
        return builder.build(self._title(told.get("Title", "")), pdf_metadata(told), self._notes())

    def _lines(self, number: int) -> list[Line]:
        try:
            page = self.pdf[number]
            try:
                return page_lines(page)
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            self.damaged.append(number + 1)
            return []

    def _read_pictures(self, contents: list[list[Paragraph]]) -> None:
        """Gives pages without a text layer what OCR reads on them, until it fails."""
        for number in self.empty if self.ocr else ():
            page = self.pdf[number - 1]
            try:
                contents[number - 1] = self.ocr.read(page) if self.ocr else []
            except TesseractFailed as error:
                self.ocr_failure = str(error)
                return
            finally:
                page.close()
            if contents[number - 1]:
                self.read_by_ocr.append(number)

    def _headings(self, number: int, lines: Sequence[Line]) -> dict[int, int]:
        if self.outline:
            return headings_by_outline(lines, self.outline.get(number, ()))
        return headings_by_type(lines, self.typography)

    def _information(self) -> dict[str, str]:
        """What the file says of itself, by the names of the PDF standard."""
        values: dict[str, str] = {}
        for key in ("Title", "Author", "Subject", "Keywords", "CreationDate", "ModDate"):
            try:
                value = readable(self.pdf.get_metadata_value(key))
            except UnicodeDecodeError:
                continue
            if value:
                values[key] = value
        return values

    def _title(self, given: str) -> str:
        """The PDF's own title if somebody wrote it, else the largest line of the first page that has text."""
        low = given.casefold()
        if given and not low.startswith(_PROGRAM_TITLES) and not low.endswith(_FILE_ENDS):
            return given
        tops = [title for titles in self.outline.values() for title, level in titles if level == 1]
        if len(tops) == 1:
            return tops[0]
        first: Sequence[Line] = next((lines for lines in self.pages if lines), [])
        return title_in(first, self.typography.body) or self.name

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.read_by_ocr and self.ocr:
            were = "was" if len(self.read_by_ocr) == 1 else "were"
            notes.append(f"{numbered_pages(self.read_by_ocr)} {were} read by OCR ({self.ocr.described})")
        if empty := [number for number in self.empty if number not in self.read_by_ocr]:
            reason = self.ocr_failure or ("OCR found nothing" if self.ocr else "")
            has = "has" if len(empty) == 1 else "have"
            notes.append(f"{numbered_pages(empty)} {has} no text layer{reason and f'; {reason}'}")
        if self.damaged:
            notes.append(f"{numbered_pages(self.damaged)} {'is' if len(self.damaged) == 1 else 'are'} damaged")
        count = self.pdf.count_attachments()
        if count:
            notes.append(f"{count} attachment{'s are' if count > 1 else ' is'} not read")
        return tuple(notes)


def _add(builder: DocumentBuilder, content: Sequence[Paragraph]) -> None:
    header = ""
    for number, paragraph in enumerate(content):
        if paragraph.kind == "table":
            builder.add(paragraph.text, "table", header=header, tight=paragraph.tight)
            header = header or _header(content[number:])
            continue
        header = ""
        if paragraph.level:
            builder.add_heading(paragraph.text, paragraph.level)
        elif not number and builder.end and goes_on(builder.end, paragraph):
            builder.resume(paragraph.text)
        else:
            builder.add(paragraph.text, paragraph.kind, tight=paragraph.tight)


def _header(table: Sequence[Paragraph]) -> str:
    """The first row of a table if it looks like its header: words only, over rows as wide."""
    first, following = table[0].text, table[1:3]
    alike = [row for row in following if row.kind == "table" and row.text.count(CELL_SEPARATOR) > 0]
    return first if len(alike) == 2 and not any(map(str.isdigit, first)) else ""


def numbered_pages(numbers: Sequence[int]) -> str:
    """`page 3`, or `pages 3, 7-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    told = ", ".join("-".join(map(str, run)) for run in runs)
    return f"page {told}" if len(numbers) == 1 else f"pages {told}"
