"""Pages that are pictures, read by tesseract where it is installed: paragraphs in the order it finds them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean

import pypdfium2

from elt_llm_ingest.readers.headings import begins_item, begins_rule
from elt_llm_ingest.readers.pdf_lines import HYPHEN_AT_LINE_END
from elt_llm_ingest.readers.pdf_paragraphs import Paragraph
from elt_llm_ingest.readers.tesseract import NOT_INSTALLED, TesseractFailed, recognise

VERSION = 1
"""Raise when the same picture could give another text."""
DOTS_PER_INCH = 300
_MOST_PIXELS = 40_000_000
_POINTS_PER_INCH = 72
_LEAST_CONFIDENCE = 40.0  # of 100; what photographs and drawings seem to say comes with less
_WORD_ROW = "5"
_COLUMNS = 12


class PageOcr:
    """Reads pages for one PDF after another. `engine` is as ReaderOptions has it: empty if there is none."""

    def __init__(self, languages: str, engine: str) -> None:
        self._languages = languages
        self._engine = engine

    @property
    def identity(self) -> str:
        """What texts depend on: version, languages, engine."""
        return f"ocr{VERSION}-{self._languages}-{self._engine.replace(' ', '-') or 'none'}"

    @property
    def described(self) -> str:
        """For notes: what read a page."""
        return f"{self._engine}, {self._languages}"

    def read(self, page: pypdfium2.PdfPage) -> list[Paragraph]:
        """The paragraphs on a page; none if it has no text. Raises TesseractFailed."""
        if not self._engine:
            raise TesseractFailed(NOT_INSTALLED)
        dots, picture = _picture(page)
        return paragraphs_of(recognise(picture, self._languages, dots))


def paragraphs_of(table: str) -> list[Paragraph]:
    """The paragraphs in tesseract's table of words; those it is not sure of are left out.

    A line that begins an item or a rule begins a paragraph.
    """
    rows = [row for row in (line.split("\t") for line in table.splitlines()) if len(row) == _COLUMNS]
    words = [row for row in rows if row[0] == _WORD_ROW and row[11].strip()]
    found: list[Paragraph] = []
    for _, paragraph in groupby(words, key=lambda row: row[1:4]):
        held = list(paragraph)
        if fmean(float(row[10]) for row in held) >= _LEAST_CONFIDENCE:
            found += _split([_line(line) for _, line in groupby(held, key=lambda row: row[4])])
    return found


def _line(words: Iterator[Sequence[str]]) -> str:
    return " ".join(word[11].strip() for word in words)


def _split(lines: Sequence[str]) -> list[Paragraph]:
    found: list[Paragraph] = []
    for line in lines:
        if begins_rule(line[:80]) or begins_item(line[:80]):
            found.append(Paragraph(line, "rule" if begins_rule(line[:80]) else "list", tight=bool(found)))
        elif not found:
            found.append(Paragraph(line, "prose"))
        elif found[-1].text.endswith("-") and line[:1].islower():
            found[-1].text = found[-1].text[:-1] + HYPHEN_AT_LINE_END + line
        else:
            found[-1].text += f" {line}"
    return found


def _picture(page: pypdfium2.PdfPage) -> tuple[int, bytes]:
    """The page in shades of grey as PGM, and how many dots make an inch: fewer where the page is huge."""
    inches = max(page.get_width() * page.get_height() / _POINTS_PER_INCH**2, 1e-6)
    dots = max(1, min(DOTS_PER_INCH, int((_MOST_PIXELS / inches) ** 0.5)))
    bitmap = page.render(scale=dots / _POINTS_PER_INCH, grayscale=True)
    try:
        width, height, stride = bitmap.width, bitmap.height, bitmap.stride
        shades = memoryview(bytes(bitmap.buffer))
        rows = b"".join(shades[row * stride : row * stride + width] for row in range(height))
    finally:
        bitmap.close()
    return dots, b"P5 %d %d 255\n" % (width, height) + rows
