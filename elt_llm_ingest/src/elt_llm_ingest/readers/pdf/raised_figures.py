"""Distinguish the raised numbers of a PDF page: exponents, and numbers that refer to notes."""

import re
from collections.abc import Iterator

from elt_llm_ingest.readers.pdf.text_layer import PageText

# A note number must follow three letters or a punctuation mark: the 2 in km2 is no note number.
_CANDIDATE = re.compile(r"(?:[^\W\d_]{3}|[.,;:!?)\]\u201d\u2019\"'])(\d{1,3})(?!\w)")
_AT_LINE_START = re.compile(r"(\d{1,3})\s?(?=[^\W\d_]|[\u201c\"'(])")
_LEAST_RISE = 0.2  # the least rise of a raised number above the base line, as a share of the font size
_NUMBER = re.compile(r"[-+\u2212\u2013]?\d+")
_LESS_HIGH = 0.9  # the greatest height of a raised number after a number, as a share of the height of that number
_BESIDE = 0.3  # the widest gap between two neighbouring characters, as a share of their height
# After such a number, a raised number refers to a note: 2019, 1,200. After a price, it can also be the pence.
_NO_BASE = re.compile(r"(?:\d{4}|\d[,'\u2019]\d{3})$")
_NOTE_START = re.compile(r"^(\d{1,3})[.)]?\s{0,3}(?=[^\s\d.,;:)])", re.MULTILINE)
_PRICE = re.compile(r"[$\u20ac\u00a3\u00a5]\s?[\d.,]{0,12}$")


def mark_raised_figures(page_text: PageText, text: str, first: int, size: float) -> str:
    """Mark the raised numbers of a line whose first character is at `first`, in this font size.

    References to notes are put in brackets, and exponents follow a `^`: "fee¹ of 2³²" -> "fee [1] of 2^32".
    """

    def is_raised(figure: int, beside: int) -> bool:
        return page_text.base_line(first + figure) - page_text.base_line(first + beside) > _LEAST_RISE * size

    marked = list(_after_numbers(page_text, text, first, size))
    if (note := _AT_LINE_START.match(text)) and is_raised(0, note.end()):
        marked.append((0, note.end(), f"[{note.group(1)}] "))
    for match in _CANDIDATE.finditer(text):
        start, end = match.span(1)
        if is_raised(start, start - 1):
            marked.append((start, end, f" [{match.group(1)}]"))
    parts: list[str] = []
    done = 0
    for start, end, shown in sorted(marked, key=lambda one: one[0]):
        if start >= done:
            parts += [text[done:start], shown]
            done = end
    return "".join(parts) + text[done:]


def _after_numbers(page_text: PageText, text: str, first: int, size: float) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each raised number after a number in a line, and how it is written."""

    def is_raised(figure: int, base: int) -> bool:
        rise = page_text.base_line(figure) - page_text.base_line(base)
        return _LEAST_RISE * size < rise < size and _is_lower(page_text, figure, base)

    for match in _NUMBER.finditer(text):
        start, last = first + match.start(), first + match.end() - 1
        base = _left_of(page_text, start)
        if base < 0 or not page_text.text[base].isdigit() or not is_raised(start, base):
            digit = start + (not match.group()[0].isdigit())
            if last == digit or not is_raised(last, digit):
                continue
            start = last
            while is_raised(start - 1, digit):
                start -= 1
            base = start - 1
        if shown := _written(page_text, start, last, base):
            yield start - first, match.end(), shown


def _is_lower(page_text: PageText, one: int, other: int) -> bool:
    low, high = page_text.box(one), page_text.box(other)
    return bool(low.top - low.bottom < _LESS_HIGH * (high.top - high.bottom))


def _left_of(page_text: PageText, position: int) -> int:
    """Return the position of the character before another if it is directly to the left of it, else -1."""
    before = position - 1
    while before >= 0 and page_text.text[before] in "\r\n":
        before -= 1
    if before < 0:
        return -1
    box = page_text.box(position)
    height = box.top - box.bottom
    is_level = abs(page_text.base_line(position) - page_text.base_line(before)) < height
    return before if is_level and abs(box.left - page_text.box(before).right) < _BESIDE * height else -1


def _written(page_text: PageText, start: int, last: int, base: int) -> str:
    """Return a raised number after a number as it is written: "^32" for an exponent, " [1]" for a note, or ""."""
    figure, number = page_text.text[start : last + 1], page_text.text[max(0, base - 15) : base + 1]
    is_note = _has_note(page_text, figure, base)
    if page_text.text[last + 1 : last + 4].lstrip()[:1] in ("/", "\u2044") or (_PRICE.search(number) and not is_note):
        return ""  # the numerator of a fraction, or the pence
    if is_note or (figure.isdigit() and (_NO_BASE.search(number) or (figure == "1" and not number.endswith("10")))):
        return f" [{figure}]"
    return f"^{figure}" if figure == "0" or not figure.startswith("0") else ""


def _has_note(page_text: PageText, figure: str, base: int) -> bool:
    """Return whether a line of the page starts with this number as a note: the number is raised, or the text small."""
    return any(
        line.group(1) == figure
        and _left_of(page_text, line.start()) < 0
        and (
            page_text.base_line(line.start()) > page_text.base_line(line.end())
            or _is_lower(page_text, line.end(), base)
        )
        for line in _NOTE_START.finditer(page_text.text)
    )
