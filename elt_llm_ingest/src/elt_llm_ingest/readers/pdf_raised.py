"""Raised figures that refer to a footnote, set apart from the word they follow: `areas [1]`, not `areas1`."""

import ctypes
import re

import pypdfium2
import pypdfium2.raw as pdfium

# Three letters at least before it: the figure of km2 is no reference.
_CANDIDATE = re.compile(r"(?:[^\W\d_]{3}|[.,;:!?)\]\u201d\u2019\"'])(\d{1,3})(?!\w)")
_AT_LINE_START = re.compile(r"(\d{1,3})\s?(?=[^\W\d_]|[\u201c\"'(])")
_LEAST_RISE = 0.2  # of the type size


def with_raised_figures(text_page: pypdfium2.PdfTextPage, text: str, first: int, size: float) -> str:
    """The text of a line, which begins at character `first` of the page and is `size` points large."""

    def is_raised(figure: int, beside: int) -> bool:
        return _height(text_page, first + figure) - _height(text_page, first + beside) > _LEAST_RISE * size

    parts: list[str] = []
    end = 0
    if (note := _AT_LINE_START.match(text)) and is_raised(0, note.end()):
        parts, end = [f"[{note.group(1)}] "], note.end()
    for match in _CANDIDATE.finditer(text, end):
        start = match.start(1)
        if is_raised(start, start - 1):
            parts += [text[end:start], f" [{match.group(1)}]"]
            end = match.end(1)
    return "".join(parts) + text[end:]


def _height(text_page: pypdfium2.PdfTextPage, position: int) -> float:
    """Where the base line of a character stands on the page, in points."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, position, x, y)
    return y.value
