"""Recognise scanned PDF pages with tesseract and return their paragraphs."""

from collections.abc import Sequence
from itertools import groupby
from statistics import fmean

import pypdfium2

from elt_llm_ingest.readers.headings import kind_of_line
from elt_llm_ingest.readers.pdf.layout import HYPHEN_AT_LINE_END, PdfParagraph
from elt_llm_ingest.readers.tesseract import NOT_INSTALLED, TesseractFailed, recognise

OCR_VERSION = 1
"""Raise this version when a change may alter the text of a picture."""
DOTS_PER_INCH = 300
_MAX_PIXELS = 40_000_000
_POINTS_PER_INCH = 72
_MIN_CONFIDENCE = 40.0  # of 100; false text in photographs and drawings has lower values
_WORD_ROW = "5"
_COLUMNS = 12


class PageOcr:
    """Read pages by OCR. `engine` is the `ocr_engine` of ReaderOptions, "" if none is installed."""

    def __init__(self, languages: str, engine: str) -> None:
        self._languages = languages
        self._engine = engine

    @property
    def identity(self) -> str:
        """The version, languages and engine of the OCR, since the text depends on them."""
        return f"ocr{OCR_VERSION}-{self._languages}-{self._engine.replace(' ', '-') or 'none'}"

    @property
    def described(self) -> str:
        """Return the OCR engine and its languages in words, for notes."""
        return f"{self._engine}, {self._languages}"

    def read(self, page: pypdfium2.PdfPage) -> list[PdfParagraph]:
        """Return the paragraphs of a page; raise TesseractFailed if tesseract fails."""
        if not self._engine:
            raise TesseractFailed(NOT_INSTALLED)
        dots, picture = _render_page(page)
        return ocr_paragraphs(recognise(picture, self._languages, dots))


def ocr_paragraphs(table: str) -> list[PdfParagraph]:
    """Return the paragraphs in tesseract's table of words. List items and rules start a paragraph of their own."""
    rows = [row for row in (line.split("\t") for line in table.splitlines()) if len(row) == _COLUMNS]
    words = [row for row in rows if row[0] == _WORD_ROW and row[11].strip()]
    paragraphs: list[PdfParagraph] = []
    for _, group in groupby(words, key=lambda row: row[1:4]):
        paragraph = list(group)
        if fmean(float(row[10]) for row in paragraph) >= _MIN_CONFIDENCE:
            lines = groupby(paragraph, key=lambda row: row[4])
            paragraphs += _split_paragraph([" ".join(word[11].strip() for word in line) for _, line in lines])
    return paragraphs


def _split_paragraph(lines: Sequence[str]) -> list[PdfParagraph]:
    paragraphs: list[PdfParagraph] = []
    for line in lines:
        kind = kind_of_line(line)
        if kind != "prose" or not paragraphs:
            paragraphs.append(PdfParagraph(line, kind, tight=bool(paragraphs)))
        elif paragraphs[-1].text.endswith("-") and line[:1].islower():
            paragraphs[-1].text = paragraphs[-1].text[:-1] + HYPHEN_AT_LINE_END + line
        else:
            paragraphs[-1].text += f" {line}"
    return paragraphs


def _render_page(page: pypdfium2.PdfPage) -> tuple[int, bytes]:
    """Render a page in grey as PGM; return the dots per inch (fewer for a huge page) and the picture."""
    inches = max(page.get_width() * page.get_height() / _POINTS_PER_INCH**2, 1e-6)
    dots = max(1, min(DOTS_PER_INCH, int((_MAX_PIXELS / inches) ** 0.5)))
    bitmap = page.render(scale=dots / _POINTS_PER_INCH, grayscale=True)
    try:
        width, height, stride = bitmap.width, bitmap.height, bitmap.stride
        shades = memoryview(bytes(bitmap.buffer))
        rows = b"".join(shades[row * stride : row * stride + width] for row in range(height))
    finally:
        bitmap.close()
    return dots, b"P5 %d %d 255\n" % (width, height) + rows
