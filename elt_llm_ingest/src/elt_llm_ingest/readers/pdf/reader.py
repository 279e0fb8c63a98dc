"""Read the text layer of PDFs, or scanned pages by OCR. Headings are found by the bookmarks or by font sizes."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from ctypes import c_uint16
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, TypeVar

import pypdfium2
import pypdfium2.raw as pdfium
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, find_year, known_values
from elt_llm_ingest.readers.headings import kind_of_line, numbered_level, starts_item
from elt_llm_ingest.readers.pdf.layout import (
    CELL_SEPARATOR,
    HYPHEN_AT_LINE_END,
    PdfLine,
    PdfParagraph,
    UnreadablePage,
    continues_on_next_page,
    document_words,
    join_hyphenated_words,
    mark_table_rows,
    names_unit,
    page_lines,
    page_paragraphs,
    readable_text,
)
from elt_llm_ingest.readers.tesseract import NOT_INSTALLED, OCR_IS_OFF, TesseractFailed, recognise

OCR_VERSION = 1
"""Increase this number whenever a change may alter the text of a picture."""
DOTS_PER_INCH = 300
_MAX_PIXELS = 40_000_000
_POINTS_PER_INCH = 72
_MIN_CONFIDENCE = 40.0  # mean confidence of a paragraph's words, 0 to 100; false text in pictures has lower values
_WORD_ROW = "5"  # the first column of rows that contain a word
_COLUMNS = 12  # columns of tesseract's table; the last two are confidence and text


@dataclass(frozen=True)
class PageOcr:
    """Reads pages by OCR. `languages` and `engine` are the `ocr_languages` and `ocr_engine` of ReaderOptions."""

    languages: str
    engine: str

    @property
    def identity(self) -> str:
        """The version, languages and engine of the OCR, on which the text depends."""
        return f"ocr{OCR_VERSION}-{self.languages}-{self.engine.replace(' ', '-') or 'none'}"

    @property
    def described(self) -> str:
        """The OCR engine and its languages in words, for notes."""
        return f"{self.engine}, {self.languages}"

    def read(self, page: pypdfium2.PdfPage) -> list[PdfParagraph]:
        """Return the paragraphs of a page; raise TesseractFailed if tesseract fails."""
        if not self.engine:
            raise TesseractFailed(NOT_INSTALLED)
        dots, picture = _render_page(page)
        return ocr_paragraphs(recognise(picture, self.languages, dots))


def ocr_paragraphs(table: str) -> list[PdfParagraph]:
    """Return the paragraphs in tesseract's table of words. Each list item or numbered rule is a separate paragraph."""
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


def _is_blank(page: pypdfium2.PdfPage) -> bool:
    """Return whether nothing is visible on a page. False for pages with pictures, which take long to render."""
    if any(part.type == pdfium.FPDF_PAGEOBJ_IMAGE for part in page.get_objects()):
        return False
    _, picture = _render_page(page, _POINTS_PER_INCH)
    return not picture.partition(b"255\n")[2].strip(b"\xff")


def _render_page(page: pypdfium2.PdfPage, most: int = DOTS_PER_INCH) -> tuple[int, bytes]:
    """Render a page in grey as PGM; return the dots per inch (fewer than `most` for a huge page) and the picture."""
    inches = max(page.get_width() * page.get_height() / _POINTS_PER_INCH**2, 1e-6)
    dots = max(1, min(most, int((_MAX_PIXELS / inches) ** 0.5)))
    with closing(page.render(scale=dots / _POINTS_PER_INCH, grayscale=True)) as bitmap:
        width, height, stride = bitmap.width, bitmap.height, bitmap.stride
        shades = memoryview(bytes(bitmap.buffer))
        rows = b"".join(shades[row * stride : row * stride + width] for row in range(height))
    return dots, b"P5 %d %d 255\n" % (width, height) + rows


_MAX_BOOKMARKS = 20_000
_LARGER = 1.12  # the least font size of a heading, divided by that of the body text
_LONGEST = 150  # characters in a heading or title
_LONGEST_OVER_LINES = 200  # characters in a heading of several lines
_OFTEN = 2  # a bold line that occurs more often is a label, not a heading
_SHARE = 0.15  # share of all characters; a font size with a larger share is not a heading's
_MOST_LINES = 3  # the most lines of one heading
_LONGEST_NUMBER = 14  # characters in the number before a heading, such as "chapter12"
_MOST_TITLE_WORDS = 8  # words in an italic heading
_NEARLY = 0.95  # the least ratio of two font sizes that may be equal
_TITLE_LINES = 20  # lines that are searched for the title
_LEVELS = 4  # the most heading levels by font size
_NOT_WORDS = re.compile(r"[\W_]+")


def outline_titles(pdf: pypdfium2.PdfDocument) -> dict[int, list[tuple[str, int]]]:
    """Return the titles and levels (from 1) of the bookmarks, by the page (from 0) to which they lead."""
    titles: dict[int, list[tuple[str, int]]] = {}
    try:
        for bookmark in itertools.islice(pdf.get_toc(), _MAX_BOOKMARKS):
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            title = readable_text(bookmark.get_title())
            if page is not None and title:
                titles.setdefault(page, []).append((title, bookmark.level + 1))
    except (UnicodeDecodeError, pypdfium2.PdfiumError):
        # The bookmarks before the damaged one are still useful.
        return titles
    return titles


def headings_by_outline(lines: Sequence[PdfLine], bookmarks: Sequence[tuple[str, int]]) -> dict[int, int]:
    """Map the index of each line that is a bookmark's title, perhaps after a number, to the bookmark's level."""
    keys = [_title_key(line.text) for line in lines]
    levels: dict[int, int] = {}
    for title, level in bookmarks:
        if key := _title_key(title):
            levels |= dict.fromkeys(_title_lines(key, keys, levels), level)
    return levels


def _title_lines(title: str, keys: Sequence[str], taken: Mapping[int, int]) -> range:
    """Return the range of the first line, or consecutive lines, with this title; an empty range if there is none."""
    for count in range(1, _MOST_LINES + 1):
        for first in range(len(keys) - count + 1):
            lines = range(first, first + count)
            text = "".join(keys[first : first + count])
            is_numbered = len(text) - len(title) <= _LONGEST_NUMBER and any(map(str.isdigit, text))
            if text.endswith(title) and (text == title or is_numbered) and taken.keys().isdisjoint(lines):
                return lines
    return range(0)


def _title_key(text: str) -> str:
    return _NOT_WORDS.sub("", text.casefold())


@dataclass(frozen=True)
class Typography:
    """The font sizes by which headings are found in a document without bookmarks.

    `body` is the font size of most characters. `levels` maps larger sizes to heading levels. `labels` are repeated bold
    lines, such as table headers, which are not headings.
    """

    body: float
    levels: Mapping[float, int]
    labels: frozenset[str]


def measure_typography(pages: Sequence[Sequence[PdfLine]]) -> Typography:
    """Measure the font sizes and labels of a document. All heading sizes after the fourth get the fourth level."""
    letters: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            letters[line.size] += len(line.text)
    body = letters.most_common(1)[0][0] if letters else 0.0
    levels = _heading_levels(pages, body, letters)
    bold = Counter(line.text for lines in pages for line in lines if line.bold and line.size < body * _LARGER)
    return Typography(body, levels, frozenset(text for text, count in bold.items() if count > _OFTEN))


def _heading_levels(pages: Sequence[Sequence[PdfLine]], body: float, letters: Mapping[float, int]) -> dict[float, int]:
    """Map the font sizes of headings to heading levels: 1 for the largest size, 2 for the next, and so on up to 4.

    These sizes are clearly larger than `body` and each have less than 15 % of the text. From 5 pages on, a size that is
    on one page only, such as that of the title, is not counted: the next smaller size has the same level.
    """
    page_counts: Counter[float] = Counter()
    for lines in pages:
        page_counts.update({line.size for line in lines if line.size >= body * _LARGER and _may_be_heading(line)})
    most = sum(letters.values()) * _SHARE
    sizes = sorted((size for size in page_counts if letters[size] < most or len(pages) < 3), reverse=True)
    regular = [size for size in sizes if page_counts[size] > 1 or len(pages) < 5]
    return {size: min(sum(other > size for other in regular) + 1, _LEVELS) for size in sizes}


def headings_by_typography(lines: Sequence[PdfLine], typography: Typography) -> dict[int, int]:
    """Map the indexes of heading lines to levels. Headings are larger lines, and bold lines with a gap above."""
    levels: dict[int, int] = {}
    below = len(set(typography.levels.values())) + 1
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        after = lines[number + 1] if number + 1 < len(lines) else None
        if before and number - 1 in levels and _continues_heading(before, line):
            levels[number] = levels[number - 1]
            continue
        if not _may_be_heading(line, after):
            continue
        if line.size in typography.levels:
            levels[number] = numbered_level(line.text) or typography.levels[line.size]
            continue
        # The gap above a heading is wider than the gaps inside a paragraph.
        apart = before is None or before.bottom - line.top > 0.35 * line.size or line.top > before.top
        if line.text in typography.labels:
            continue
        is_bold = line.bold and apart and line.size >= typography.body
        # Italic letters of the same nominal size may measure slightly smaller.
        is_italic = line.size >= _NEARLY * typography.body and _is_italic_title(before, line, after, apart=apart)
        if is_bold or is_italic:
            levels[number] = numbered_level(line.text) or below
    return _drop_long_runs(lines, levels)


def _is_italic_title(before: PdfLine | None, line: PdfLine, after: PdfLine | None, *, apart: bool) -> bool:
    """Return whether a line is italic, has capitalised words, is not inside a paragraph and precedes upright text."""
    words = [word for word in line.text.split() if word[:1].isalpha() and len(word) > 3]
    titled = bool(words) and all(word[0].isupper() for word in words) and len(words) <= _MOST_TITLE_WORDS
    ended = before is None or before.text.endswith((".", "!", "?", ":"))
    over_text = after is not None and not after.italic and not after.bold and after.size <= line.size / _NEARLY
    return line.italic and not line.cells and titled and over_text and (apart or ended)


def _drop_long_runs(lines: Sequence[PdfLine], levels: Mapping[int, int]) -> dict[int, int]:
    """Remove runs of four or more lines of one font size, which are large prose, unless they are one long heading."""
    kept: dict[int, int] = {}
    run: list[int] = []
    for number in [*sorted(levels), len(lines) + 1]:
        if run and (number != run[-1] + 1 or lines[number].size != lines[run[-1]].size):
            texts = [lines[line].text for line in run]
            is_one = sum(map(len, texts)) <= _LONGEST_OVER_LINES and all(text[0].islower() for text in texts[1:])
            kept |= {line: levels[line] for line in run} if len(run) <= _MOST_LINES or is_one else {}
            run = []
        run.append(number)
    return kept


def _continues_heading(heading: PdfLine, line: PdfLine) -> bool:
    """Return whether a line in lower case is the next line of a heading: in its font, without a gap."""
    is_alike = (heading.size, heading.bold, heading.italic) == (line.size, line.bold, line.italic)
    is_below = -2.0 * line.size < heading.bottom - line.top <= 0.35 * line.size
    return is_alike and is_below and line.text[0].islower() and line.text[-1] not in ".;" and not line.cells


def _may_be_heading(line: PdfLine, after: PdfLine | None = None) -> bool:
    """Return whether a line may be a heading; one that ends with a comma only if the line `after` it continues it."""
    text = line.text
    ends = text[-1] in ".;" or (text[-1] == "," and not (after and _continues_heading(line, after)))
    if len(text) > _LONGEST or ends or text[0].islower() or sum(map(str.isalpha, text)) < 3:
        return False
    return not starts_item(text) or numbered_level(text) is not None


def find_title(lines: Sequence[PdfLine], body: float) -> str:
    """Return the largest lines at the top of a page as a title, or "" if none is clearly larger than the body text."""
    candidates = [
        number
        for number, line in enumerate(lines[:_TITLE_LINES])
        if line.size > 1.1 * body and sum(map(str.isalpha, line.text)) > 3 and numbered_level(line.text) is None
    ]
    if not candidates:
        return ""
    largest = max(candidates, key=lambda number: lines[number].size)
    least = 0.75 * lines[largest].size  # a smaller line is not part of the title
    first = last = largest
    while first - 1 in candidates and lines[first - 1].size >= least and last - first < 3:
        first -= 1
    while last + 1 in candidates and lines[last + 1].size >= least and last - first < 3:
        last += 1
    title = " ".join(line.text for line in lines[first : last + 1])
    return "" if len(title) > _LONGEST or _title_key(title) in ("contents", "tableofcontents", "index") else title


Key = TypeVar("Key")
_EDGE_LINES = 2  # lines at the top, and at the bottom, of a page that may be headers or footers ("running lines")
_NUMBER = r"(?:\d{1,4}|[ivxlc]{1,7})"
_ANY_NUMBER = re.compile(rf"(?<![^\W\d_]){_NUMBER}(?!\w)|\d+")
_WHOLE_NUMBER = re.compile(rf"(?<!\w)(?<!\w[-.,/]){_NUMBER}(?!\w)(?![-.,]\w)")  # not the parts of "2026-104"
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_ROMAN_NUMBER = re.compile("[ivxlc]{1,7}")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MIN_PAGES = 3  # the fewest pages on which a running line occurs
_POINTS = 6.0  # the height of the bands into which lines are sorted to compare their positions
_END_WORDS = 3  # words at the start, and at the end, of a line that are compared


def remove_running_lines(pages: Sequence[list[PdfLine]]) -> list[list[PdfLine]]:
    """Remove headers, footers and page numbers: lines on at least three pages and a fifth of all, and these.

    - If a third of the pages have such a line at the same height, any repeated line at that height is removed.
    - If the pages are numbered, a line that starts or ends with its page's number is removed.
    - "Ports Act 1990: Fees" is removed if a third of the pages have a line with the same first three words at the same
      height, and its other words ("Fees") are a line of their own elsewhere. Likewise for the last three words.

    Lines that differ in numbers other than the page's are different lines. A page keeps its lines if all would be
    removed and none is the same on other pages.
    """
    edges = _edge_keys([list(_edge_lines(lines)) for lines in pages])
    filled = sum(map(bool, pages))
    often = max(2 * _MIN_PAGES, filled / 3)
    keys = [[(edge, key) for edge, _, key in lines] for lines in edges]
    running = _frequent(keys, max(_MIN_PAGES, filled / 5))
    repeated = _frequent(keys, 2)
    bands = _frequent(
        ([(edge, _height_band(line)) for edge, line, key in lines if (edge, key) in running] for lines in edges),
        filled / 3,
    )
    offsets = _page_offsets(edges, max(2 * _MIN_PAGES, filled / 4))
    shared = _frequent(([end for line in lines for end, _ in _line_ends(*line)] for lines in edges), often)
    whole_lines = {line.text.casefold() for lines in pages for line in lines}

    def is_running(number: int, edge: str, line: PdfLine, key: str) -> bool:
        in_band = (edge, key) in repeated and (edge, _height_band(line)) in bands
        numbered = any((edge, offset) in offsets for offset in _number_offsets(line, number))
        named = any(end in shared and rest in whole_lines for end, rest in _line_ends(edge, line, key))
        return (edge, key) in running or in_band or numbered or named

    def is_header(edge: str, key: str) -> bool:
        return (edge, key) in running and ("#" not in key or not key.strip("# -"))

    kept: list[list[PdfLine]] = []
    for number, lines in enumerate(pages):
        dropped = {id(line) for edge, line, key in edges[number] if is_running(number, edge, line, key)}
        rest = [line for line in lines if id(line) not in dropped]
        kept.append(rest if rest or any(is_header(edge, key) for edge, _, key in edges[number]) else lines)
    return kept


def _page_offsets(edges: Sequence[Sequence[tuple[str, PdfLine, str]]], least: float) -> set[tuple[str, int]]:
    """Return the differences between printed page numbers and page indexes: several if chapters restart at page 1."""
    return _frequent(
        (
            [(edge, offset) for edge, line, _ in lines for offset in _number_offsets(line, number)]
            for number, lines in enumerate(edges)
        ),
        least,
    )


def _frequent(pages: Iterable[Iterable[Key]], least: float) -> set[Key]:
    """Return the keys (such as the texts or heights of lines) that occur on at least `least` pages."""
    counts = Counter(key for keys in pages for key in set(keys))
    return {key for key, count in counts.items() if count >= least}


def _edge_lines(lines: Sequence[PdfLine]) -> Iterator[tuple[str, PdfLine]]:
    """Yield a page's outermost lines, each with its edge ("top" or "bottom").

    Lines that only name the unit of a table, such as "(in thousands)", are skipped.
    """
    by_height = sorted((line for line in lines if not names_unit(line.text)), key=lambda line: -line.top)
    for line in by_height[:_EDGE_LINES]:
        yield "top", line
    for line in by_height[-_EDGE_LINES:]:
        yield "bottom", line


def _edge_keys(pages: Sequence[Sequence[tuple[str, PdfLine]]]) -> list[list[tuple[str, PdfLine, str]]]:
    """Add to each line its text in lower case, with page numbers replaced by #.

    Page numbers rise with the pages, on at least three of those that have a line with the same other text.
    """
    places: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for page, lines in enumerate(pages):
        for edge, line in lines:
            text = line.text.casefold()
            for place, number in enumerate(_numbers(text)):
                rows = places.setdefault((edge, _ANY_NUMBER.sub("#", text), place), [])
                rows.append((page, _number_value(number[0]) - page))
    found = set()
    for key, rows in places.items():
        for _, group in groupby(rows, key=lambda row: row[1]):
            run = [(*key, page) for page, _ in group]
            found |= set(run) if len(run) >= _MIN_PAGES else set()

    def key_of(page: int, edge: str, text: str) -> str:
        template = _ANY_NUMBER.sub("#", text)
        for place, number in reversed([*enumerate(_numbers(text))]):
            if (edge, template, place, page) in found:
                text = f"{text[: number.start()]}#{text[number.end() :]}"
        return "#" if _ROMAN_NUMBER.fullmatch(text) else text

    return [
        [(edge, line, key_of(page, edge, line.text.casefold())) for edge, line in lines]
        for page, lines in enumerate(pages)
    ]


def _numbers(text: str) -> list[re.Match[str]]:
    """Return the numbers in a line that may be its page's: whole words, or also parts of a label such as "3-12"."""
    return list((_WHOLE_NUMBER if _WORD.search(text) else _ANY_NUMBER).finditer(text))


def _number_value(number: str) -> int:
    if number.isdecimal():
        return int(number)
    digits = [_ROMAN[letter] for letter in number]
    return sum(-digit if digit < after else digit for digit, after in zip(digits, [*digits[1:], 0], strict=True))


def _line_ends(edge: str, line: PdfLine, key: str) -> list[tuple[tuple[str, int, str], str]]:
    """Return two keys of a line, each with the line's other words: one of its first three words, one of its last three.

    For "Ports Act 1990: Fees" at the top of a page, these are (("top", height, "ports act #: ..."), "fees") and
    (("top", height, "... act #: fees"), "ports"). `height` is the line's rounded position. Short lines give [].
    """
    words = key.split()
    if len(words) <= _END_WORDS:
        return []
    first, last = " ".join(words[:_END_WORDS]), " ".join(words[-_END_WORDS:])
    height = _height_band(line)
    return [
        ((edge, height, f"{first} ..."), " ".join(words[_END_WORDS:])),
        ((edge, height, f"... {last}"), " ".join(words[:-_END_WORDS])),
    ]


def _height_band(line: PdfLine) -> int:
    return round((line.top + line.bottom) / 2 / _POINTS)


def _number_offsets(line: PdfLine, page: int) -> set[int]:
    """Return how far numbers at a line's start and end are from the page's index (from 0): `("12 Fees", 10) -> {2}`."""
    words = line.text.split()
    return {int(word) - page for word in (words[0], words[-1]) if word.isdecimal() and len(word) <= 4}


# Names in the author property that are not authors: programs, software companies and user accounts.
_NO_AUTHORS = (
    *("unknown", "anonymous", "author", "user", "admin", "administrator", "owner", "default", "root", "none", "n/a"),
    *("microsoft", "adobe", "latex", "pdftex", "libreoffice", "openoffice", "acrobat", "quark", "indesign", "scan"),
)
_MAX_VALUE_LENGTH = 1000


def pdf_metadata(properties: Mapping[str, str]) -> dict[str, MetadataValue]:
    """Return the metadata from properties such as `Author` and `CreationDate`. Program names are not authors."""
    author, subject, keywords = (
        " ".join(properties.get(key, "").split())[:_MAX_VALUE_LENGTH] for key in ("Author", "Subject", "Keywords")
    )
    low = author.casefold()
    is_name = any(map(str.isalpha, low)) and low not in _NO_AUTHORS and low.split(" ", 1)[0] not in _NO_AUTHORS
    year = find_year(properties.get("CreationDate", ""), properties.get("ModDate", ""))
    return known_values(authors=author if is_name else "", year=year, subject=subject, keywords=keywords)


_REASONS = {
    pdfium.FPDF_ERR_PASSWORD: "is encrypted: a password is needed",
    pdfium.FPDF_ERR_SECURITY: "is encrypted in a way that cannot be opened",
    pdfium.FPDF_ERR_FORMAT: "is not a PDF, or too damaged to open",
}
# Titles that a program writes by default.
_PROGRAM_TITLES = ("microsoft word", "microsoft powerpoint", "untitled", "slide 1")
_FILE_ENDS = (".doc", ".docx", ".indd", ".pdf", ".dvi", ".odt", ".pptx", ".ppt", ".xls", ".xlsx", ".qxd", ".fm")


class PdfReader(DocumentReader):
    """Reads the text layer of a PDF with its filled form fields, and pages without one by OCR if that is on.

    Not thread-safe, as pdfium is not.
    """

    name: ClassVar[str] = "pdf"
    version: ClassVar[int] = 12

    def __init__(self, ocr: PageOcr | None = None) -> None:
        self._ocr = ocr

    @property
    def identity(self) -> str:
        """Identifies the reader: its name and version and, if OCR is on, the OCR's identity."""
        return super().identity + (f"+{self._ocr.identity}" if self._ocr else "")

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is encrypted or damaged."""
        data = read_bytes(path)
        try:
            pdf = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            reason = _REASONS.get(error.err_code or 0, f"cannot be opened as PDF: {error}")
            raise UnreadableDocument(reason) from error
        with closing(pdf):
            return _Pages(pdf, path.stem, self._ocr).document()


_INVISIBLE = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13  # a flag of text fields whose value is not shown
_BUTTONS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)


def _page_entries(page: pypdfium2.PdfPage) -> list[str]:
    """Return what people entered into a page: text boxes, and filled form fields as `name: value`, each once.

    The text layer lacks both.
    """
    entries = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if annotation and not pdfium.FPDFAnnot_GetFlags(annotation) & _INVISIBLE:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_FREETEXT:
                entries.append(
                    _pdfium_text(lambda *to, of=annotation: pdfium.FPDFAnnot_GetStringValue(of, b"Contents", *to))
                )
            elif kind == pdfium.FPDF_ANNOT_WIDGET and page.formenv:
                entries.append(_field_entry(page.formenv, annotation))
        pdfium.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(filter(None, entries)))


def _field_entry(form: pypdfium2.PdfFormEnv, field: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
    value = ""
    if kind in _BUTTONS and pdfium.FPDFAnnot_IsChecked(form, field):
        value = _pdfium_text(lambda *to: pdfium.FPDFAnnot_GetFormFieldExportValue(form, field, *to))
    elif kind in _CHOICES:
        value = _chosen_options(form, field)
    elif kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
        value = _pdfium_text(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, field, *to))
    if not value or (kind not in _CHOICES and pdfium.FPDFAnnot_GetFormFieldFlags(form, field) & _PASSWORD):
        return ""
    label = _pdfium_text(lambda *to: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, field, *to))
    name = _pdfium_text(lambda *to: pdfium.FPDFAnnot_GetFormFieldName(form, field, *to)).rpartition(".")[2]
    return f"{(label or name).rstrip(': ')}: {value}"


def _chosen_options(form: pypdfium2.PdfFormEnv, field: Any) -> str:
    """Return the labels of the chosen options of a list, or a value that was typed instead."""
    options = range(pdfium.FPDFAnnot_GetOptionCount(form, field))
    chosen = [option for option in options if pdfium.FPDFAnnot_IsOptionSelected(form, field, option)]
    labels = [
        _pdfium_text(lambda *to, of=option: pdfium.FPDFAnnot_GetOptionLabel(form, field, of, *to)) for option in chosen
    ]
    return ", ".join(labels) or _pdfium_text(lambda *to: pdfium.FPDFAnnot_GetFormFieldValue(form, field, *to))


def _pdfium_text(read: Callable[..., int]) -> str:
    """Return the text that a function of pdfium writes into a buffer of the length that it returns."""
    length = read(None, 0)
    buffer = (c_uint16 * (length // 2))()
    read(buffer, length)
    return readable_text(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").replace("\r", " "))


class _Pages:
    """The lines of all pages of an open PDF, with its font sizes and bookmarks."""

    def __init__(self, pdf: pypdfium2.PdfDocument, name: str, ocr: PageOcr | None) -> None:
        self.pdf, self.name, self.ocr = pdf, name, ocr
        self.damaged: list[int] = []
        self.unreadable: list[int] = []
        self.blank: list[int] = []
        self.read_by_ocr: list[int] = []
        self.ocr_failure = ""
        pdf.init_forms()
        self.entries: dict[int, list[str]] = {}
        read = [self._lines(number) for number in range(len(pdf))]
        noted = {*self.damaged, *self.blank}
        self.empty = [number for number, lines in enumerate(read, 1) if not lines and number not in noted]
        self.pages = [mark_table_rows(lines) for lines in remove_running_lines(read)]
        self.typography = measure_typography(self.pages)
        self.outline = outline_titles(pdf)

    def document(self) -> ParsedDocument:
        """Build the document page by page."""
        builder = DocumentBuilder()
        contents = [page_paragraphs(lines, self._headings(number, lines)) for number, lines in enumerate(self.pages)]
        self._run_ocr(contents)
        known = document_words([paragraph.text for content in contents for paragraph in content])
        for number, content in enumerate(contents):
            builder.start_page()
            for paragraph in content:
                paragraph.text = join_hyphenated_words(paragraph.text, known)
            _add_paragraphs(builder, content, resumes=not self.entries.get(number - 1))
            builder.add_lines(self.entries.get(number, ()))
        properties = self._properties()
        return builder.build(self._title(properties.get("Title", "")), pdf_metadata(properties), self._notes())

    def _lines(self, number: int) -> list[PdfLine]:
        try:
            with closing(self.pdf[number]) as page:
                self.entries[number] = _page_entries(page)
                lines = page_lines(page)
                if not lines and _is_blank(page):
                    self.blank.append(number + 1)
                return lines
        except UnreadablePage:
            self.unreadable.append(number + 1)
        except pypdfium2.PdfiumError:
            self.damaged.append(number + 1)
        return []

    def _run_ocr(self, contents: list[list[PdfParagraph]]) -> None:
        if self.ocr is None:
            return
        for number in self.empty:
            try:
                with closing(self.pdf[number - 1]) as page:
                    contents[number - 1] = self.ocr.read(page)
            except TesseractFailed as error:
                self.ocr_failure = str(error)
                return
            if contents[number - 1]:
                self.read_by_ocr.append(number)

    def _headings(self, number: int, lines: Sequence[PdfLine]) -> dict[int, int]:
        if self.outline:
            return headings_by_outline(lines, self.outline.get(number, ()))
        return headings_by_typography(lines, self.typography)

    def _properties(self) -> dict[str, str]:
        values: dict[str, str] = {}
        for key in ("Title", "Author", "Subject", "Keywords", "CreationDate", "ModDate"):
            try:
                value = readable_text(self.pdf.get_metadata_value(key))
            except UnicodeDecodeError:
                continue
            if value:
                values[key] = value
        return values

    def _title(self, title: str) -> str:
        """Return the PDF's title unless it looks generated, else the only top-level bookmark, else the largest line."""
        low = title.casefold()
        if title and not low.startswith(_PROGRAM_TITLES) and not low.endswith(_FILE_ENDS):
            return title
        tops = [title for titles in self.outline.values() for title, level in titles if level == 1]
        if len(tops) == 1:
            return tops[0]
        first: Sequence[PdfLine] = next((lines for lines in self.pages if lines), [])
        return find_title(first, self.typography.body) or self.name

    def _notes(self) -> tuple[str, ...]:
        missing = [number for number in self.empty if number not in self.read_by_ocr]
        empty = [number for number in missing if number not in self.unreadable]
        unreadable = [number for number in missing if number in self.unreadable]
        reason = self.ocr_failure or ("OCR found nothing" if self.ocr else OCR_IS_OFF)
        engine = self.ocr.described if self.ocr else ""
        notes = (
            (self.read_by_ocr, "was", "were", f"read by OCR ({engine})"),
            (empty, "has", "have", f"no text layer; {reason}"),
            (unreadable, "has", "have", f"an unreadable text layer and is left out; {reason}"),
            (self.blank, "is", "are", "blank"),
            (self.damaged, "is", "are", "damaged"),
        )
        texts = [
            f"{format_page_numbers(pages)} {one if len(pages) == 1 else many} {state}"
            for pages, one, many, state in notes
            if pages
        ]
        if count := self.pdf.count_attachments():
            texts.append(f"{count} attachment{'s are' if count > 1 else ' is'} not read")
        if self.pdf.get_formtype() == pdfium.FORMTYPE_XFA_FULL:
            texts.append("holds an XFA form, which is not read; print it to a PDF")
        return tuple(texts)


def _add_paragraphs(builder: DocumentBuilder, content: Sequence[PdfParagraph], *, resumes: bool) -> None:
    """Append the paragraphs of a page. If `resumes`, its first may continue the last paragraph of the page before."""
    header = ""
    for number, paragraph in enumerate(content):
        if paragraph.kind == "table":
            if paragraph.header is not None:
                builder.add(paragraph.text, "table", header=paragraph.header, tight=paragraph.tight)
                header = ""
                continue
            builder.add(paragraph.text, "table", header=header, tight=paragraph.tight)
            header = header or _table_header(content[number:])
            continue
        header = ""
        if paragraph.level:
            builder.add_heading(paragraph.text, paragraph.level)
        elif resumes and not number and builder.end and continues_on_next_page(builder.end, paragraph):
            builder.resume(paragraph.text)
        else:
            builder.add(paragraph.text, paragraph.kind, tight=paragraph.tight)


def _table_header(table: Sequence[PdfParagraph]) -> str:
    """Return the first row of a table if it has no digits and the next two rows have several cells, else ""."""
    first, following = table[0].text, table[1:3]
    alike = [row for row in following if row.kind == "table" and row.text.count(CELL_SEPARATOR) > 0]
    return first if len(alike) == 2 and not any(map(str.isdigit, first)) else ""


def format_page_numbers(numbers: Sequence[int]) -> str:
    """Format page numbers as `page 3` or `pages 3, 7-9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    listed = ", ".join("-".join(map(str, run)) for run in runs)
    return f"page {listed}" if len(numbers) == 1 else f"pages {listed}"
