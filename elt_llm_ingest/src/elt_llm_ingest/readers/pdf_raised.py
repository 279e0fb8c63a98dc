"""Raised figures that refer to a footnote, set apart from the word they follow: `areas [1]`, not `areas1`."""

import ctypes
import re

import pypdfium2
import pypdfium2.raw as pdfium

# Three letters at least before it: the figure of km2 is no reference.
_CANDIDATE = re.compile(r"(?:[^\W\d_]{3}|[.,;:!?)\]\u201d\u2019\"'])(\d{1,3})(?!\w)")
_LEAST_RISE = 0.2  # of the type size


def with_raised_figures(text_page: pypdfium2.PdfTextPage, text: str, first: int, size: float) -> str:
    """The text of a line, which begins at character `first` of the page and is `size` points large."""
    parts: list[str] = []
    end = 0
    for match in _CANDIDATE.finditer(text):
        start = match.start(1)
        if _height(text_page, first + start) - _height(text_page, first + start - 1) > _LEAST_RISE * size:
            parts += [text[end:start], f" [{match.group(1)}]"]
            end = match.end(1)
    return "".join(parts) + text[end:]


def _height(text_page: pypdfium2.PdfTextPage, position: int) -> float:
    """Where the base line of a character stands on the page, in points."""
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, position, x, y)
    return y.value
