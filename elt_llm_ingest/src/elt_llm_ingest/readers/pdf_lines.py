"""The lines of a PDF page with their place and type size, as pdfium finds them."""

import ctypes
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pypdfium2
import pypdfium2.raw as pdfium

from elt_llm_ingest.readers.pdf_raised import with_raised_figures

# pdfium writes U+FFFE for a hyphen at a line's end and takes the two lines for one.
HYPHEN_AT_LINE_END = "\ufffe"
_LIGATURES: dict[int, str | None] = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
    0xA0: " ", 0xAD: None, 0x200B: None, 0xFEFF: None, 0x2028: " ", 0x2029: " ", 0xFFFF: None,
}  # fmt: skip
_CONTROLS: dict[int, str | None] = {**dict.fromkeys(range(32)), 9: " ", 127: None}
_TRANSLATION = _CONTROLS | _LIGATURES
# Symbol fonts put their bullets into the C1 controls and the private use area.
_BULLET = re.compile(r"[\x00-\x08\x80-\x9f\ue000-\uf8ff]\s")
_UNPRINTABLE = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}")
_SPACES = re.compile(r"\s+")
_GAPS = re.compile(r"(?<=\S)\s+(?=\S)")
_CELL_ROOM = 0.9


@dataclass(frozen=True)
class Line:
    """One line: its text, its box in points (y upwards) and its type."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0
    size: float = 0.0
    bold: bool = False
    cells: tuple["Line", ...] = ()
    """The parts that stand side by side with room between them, if there are several."""


def page_lines(page: pypdfium2.PdfPage) -> list[Line]:
    """The lines of a page in the order of its content; empty if it has no text layer."""
    text_page = page.get_textpage()
    try:
        lines = [line for line in _lines(text_page, _text(text_page)) if line.text]
    finally:
        text_page.close()
    if page.get_rotation() and all(line.right - line.left > line.top - line.bottom for line in lines):
        lines.sort(key=lambda line: (-line.top, line.left))
    return merge_rows(lines)


def _text(text_page: pypdfium2.PdfTextPage) -> str:
    """The text with one character for each of pdfium's, so that positions are its own."""
    count = text_page.count_chars()
    text: str = text_page.get_text_range()
    if len(text) == count:
        return text
    codes = (pdfium.FPDFText_GetUnicode(text_page, position) for position in range(count))
    return "".join(chr(code) if code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF else " " for code in codes)


def _lines(text_page: pypdfium2.PdfTextPage, text: str) -> Iterator[Line]:
    position = 0
    for raw in text.split("\n"):
        bare = raw.strip()
        if bare:
            first = position + raw.index(bare[0])
            line = _placed(text_page, bare, first)
            parts = list(_parts(text_page, bare, first, line.size))
            yield replace(line, cells=tuple(_placed(text_page, *part) for part in parts)) if parts else line
        position += len(raw) + 1


def _parts(text_page: pypdfium2.PdfTextPage, bare: str, first: int, size: float) -> Iterator[tuple[str, int]]:
    """The parts of a line that stand wide apart, with the position of each; nothing if it is all one."""
    begin = 0
    for space in _GAPS.finditer(bare):
        before, after = _box(text_page, first + space.start() - 1), _box(text_page, first + space.end())
        if after.left - before.right > _CELL_ROOM * size:
            yield bare[begin : space.start()], first + begin
            begin = space.end()
    if begin:
        yield bare[begin:], first + begin


def readable(text: str) -> str:
    """Ligatures spelt out, symbol bullets as bullets, rows of dots shortened, white space single."""
    if _BULLET.match(text):
        text = "\u2022 " + text[1:]
    text = _LEADERS.sub("... ", text.translate(_TRANSLATION))
    return _SPACES.sub(" ", _UNPRINTABLE.sub("", text)).strip()


def _placed(text_page: pypdfium2.PdfTextPage, bare: str, first: int) -> Line:
    last = first + len(bare) - 1
    begin, end = _box(text_page, first), _box(text_page, last)
    size = pdfium.FPDFText_GetFontSize(text_page, first)
    # A font's own size can be 1 under a scaled matrix; the box says how large it is on the page.
    size = size if size > 1.5 else round(begin.top - begin.bottom, 1)
    return Line(
        readable(with_raised_figures(text_page, bare, first, size)),
        left=min(begin.left, end.left),
        right=max(begin.right, end.right),
        bottom=min(begin.bottom, end.bottom),
        top=max(begin.top, end.top),
        size=round(size, 1),
        bold=_is_bold(text_page, first) and _is_bold(text_page, last),
    )


def _box(text_page: pypdfium2.PdfTextPage, position: int) -> pdfium.FS_RECTF:
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, position, box)
    return box


def _is_bold(text_page: pypdfium2.PdfTextPage, position: int) -> bool:
    if pdfium.FPDFText_GetFontWeight(text_page, position) >= 600:
        return True
    name = ctypes.create_string_buffer(128)
    pdfium.FPDFText_GetFontInfo(text_page, position, name, 128, None)
    return b"bold" in name.value.lower() or b"black" in name.value.lower()


def merge_rows(lines: list[Line]) -> list[Line]:
    """Neighbours that stand side by side on one base line become one line: cells of a row, raised figures."""
    merged: list[Line] = []
    for line in lines:
        before = merged[-1] if merged else None
        if before and _beside(before, line):
            close = line.left - before.right < 0.12 * max(before.size, line.size)
            text = before.text + ("" if close else " ") + line.text
            bottom, top = min(before.bottom, line.bottom), max(before.top, line.top)
            wide = before if len(before.text) >= len(line.text) else line
            apart = line.left - before.right > _CELL_ROOM * max(before.size, line.size)
            cells = (*(before.cells or (before,)), *(line.cells or (line,))) if apart else before.cells
            merged[-1] = replace(
                wide, text=text, left=before.left, right=line.right, bottom=bottom, top=top, cells=cells
            )
        else:
            merged.append(line)
    return merged


def _beside(before: Line, line: Line) -> bool:
    shared = min(before.top, line.top) - max(before.bottom, line.bottom)
    height = min(before.top - before.bottom, line.top - line.bottom)
    return shared > 0.6 * height and -0.3 * line.size <= line.left - before.right < 40 * line.size
