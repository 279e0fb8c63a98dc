"""Analyse the layout of a PDF page: lines with position and type size, table rows, footnote marks and paragraphs."""

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2

from elt_llm_ingest.parsing.parsed_document import BlockKind
from elt_llm_ingest.readers.headings import kind_of_line
from elt_llm_ingest.readers.pdf.text_layer import PageText

# At least three letters precede the number, since the number in km2 is no reference.
_CANDIDATE = re.compile(r"(?:[^\W\d_]{3}|[.,;:!?)\]\u201d\u2019\"'])(\d{1,3})(?!\w)")
_AT_LINE_START = re.compile(r"(\d{1,3})\s?(?=[^\W\d_]|[\u201c\"'(])")
_LEAST_RISE = 0.2  # of the type size


def bracket_raised_figures(page_text: PageText, text: str, first: int, size: float) -> str:
    """Put raised numbers of a line, which refer to notes, in brackets. `size` is the type size in points."""

    def is_raised(figure: int, beside: int) -> bool:
        return page_text.base_line(first + figure) - page_text.base_line(first + beside) > _LEAST_RISE * size

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


# pdfium writes U+FFFE for a hyphen at the end of a line and joins the two lines.
HYPHEN_AT_LINE_END = "\ufffe"
_LIGATURES: dict[int, str | None] = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
    0xA0: " ", 0xAD: None, 0x200B: None, 0xFEFF: None, 0x2028: " ", 0x2029: " ", 0xFFFF: None,
}  # fmt: skip
_CONTROLS: dict[int, str | None] = {**dict.fromkeys(range(32)), 9: " ", 127: None}
_TRANSLATION = _CONTROLS | _LIGATURES
# Symbol fonts have their bullets in the C1 controls and the private use area.
_BULLET = re.compile(r"[\x00-\x08\x80-\x9f\ue000-\uf8ff]\s")
_UNPRINTABLE = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}")
_SPACES = re.compile(r"\s+")
_GAPS = re.compile(r"(?<=\S)\s+(?=\S)")
_CELL_ROOM = 0.9


@dataclass(frozen=True)
class PdfLine:
    """One line of a page: its text, its box in points (y upwards) and its type."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0
    size: float = 0.0
    bold: bool = False
    italic: bool = False
    cells: tuple["PdfLine", ...] = ()
    """The parts of a line with wide gaps between them; empty if the line has no wide gap."""


class UnreadablePage(Exception):
    """The fonts of a page do not define which letters they draw."""


def page_lines(page: pypdfium2.PdfPage) -> list[PdfLine]:
    """Return the lines of a page in the order of its content; an empty list if it has no text layer.

    Raises UnreadablePage if the text layer is meaningless.
    """
    page_text = PageText(page)
    try:
        if page_text.is_unreadable():
            raise UnreadablePage
        lines = [line for line in _split_lines(page_text) if line.text]
    finally:
        page_text.close()
    if page.get_rotation() and all(line.right - line.left > line.top - line.bottom for line in lines):
        lines.sort(key=lambda line: (-line.top, line.left))
    return merge_rows(lines)


def _split_lines(page_text: PageText) -> Iterator[PdfLine]:
    position = 0
    for raw in page_text.text.split("\n"):
        bare = raw.strip()
        if bare:
            first = position + raw.index(bare[0])
            line = _place_line(page_text, bare, first)
            parts = list(_line_parts(page_text, bare, first, line.size))
            yield replace(line, cells=tuple(_place_line(page_text, *part) for part in parts)) if parts else line
        position += len(raw) + 1


def _line_parts(page_text: PageText, bare: str, first: int, size: float) -> Iterator[tuple[str, int]]:
    """Yield the parts of a line between wide gaps with their positions, or nothing if there is no wide gap."""
    start = 0
    for space in _GAPS.finditer(bare):
        before = page_text.box(first + space.start() - 1)
        if page_text.box(first + space.end()).left - before.right > _CELL_ROOM * size:
            yield bare[start : space.start()], first + start
            start = space.end()
    if start:
        yield bare[start:], first + start


def readable_text(text: str) -> str:
    """Return the text with ligatures expanded, plain bullets, shortened dot leaders and single blanks."""
    if _BULLET.match(text):
        text = "\u2022 " + text[1:]
    text = _LEADERS.sub("... ", text.translate(_TRANSLATION))
    return _SPACES.sub(" ", _UNPRINTABLE.sub("", text)).strip()


def _place_line(page_text: PageText, bare: str, first: int) -> PdfLine:
    last = first + len(bare) - 1
    left, right = page_text.box(first), page_text.box(last)
    size = page_text.font_size(first)
    # Under a scaled matrix the font size can be 1. The box has the size of the type on the page.
    size = size if size > 1.5 else round(left.top - left.bottom, 1)
    return PdfLine(
        readable_text(bracket_raised_figures(page_text, bare, first, size)),
        left=min(left.left, right.left),
        right=max(left.right, right.right),
        bottom=min(left.bottom, right.bottom),
        top=max(left.top, right.top),
        size=round(size, 1),
        bold=_is_bold(page_text, first) and _is_bold(page_text, last),
        italic=_is_italic(page_text, first) and _is_italic(page_text, last),
    )


def _is_bold(page_text: PageText, position: int) -> bool:
    if page_text.font_weight(position) >= 600:
        return True
    name = page_text.font_name(position)
    return b"bold" in name or b"black" in name


def _is_italic(page_text: PageText, position: int) -> bool:
    name = page_text.font_name(position)
    return b"italic" in name or b"oblique" in name


def merge_rows(lines: list[PdfLine]) -> list[PdfLine]:
    """Merge neighbouring parts on one base line, such as the cells of a row or raised numbers, into one line."""
    merged: list[PdfLine] = []
    for line in lines:
        before = merged[-1] if merged else None
        if before and _is_beside(before, line):
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


def _is_beside(before: PdfLine, line: PdfLine) -> bool:
    shared = min(before.top, line.top) - max(before.bottom, line.bottom)
    height = min(before.top - before.bottom, line.top - line.bottom)
    return shared > 0.6 * height and -0.3 * line.size <= line.left - before.right < 40 * line.size


CELL_SEPARATOR = " | "
_SAME_PLACE = 3.0
_NEAR = 6
_MARKER = re.compile(r"\(?(?:[A-Z]?\d{0,4}(?:\.\d{1,3}){0,5}|[A-Za-z]|[ivxIVX]{1,5})[.):]?|[^\w\s]")


def mark_table_rows(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Separate the cells of each line that is a table row. A line that continues a cell joins the row of the cell."""
    marked: list[PdfLine] = []
    for number, line in enumerate(lines):
        row = marked[-1] if marked and marked[-1].cells else None
        if _is_row(lines, number):
            marked.append(replace(line, text=CELL_SEPARATOR.join(cell.text for cell in line.cells)))
        elif row and _is_beside_cells(row, line):
            marked[-1] = replace(row, text=f"{row.text}{CELL_SEPARATOR}{line.text}", cells=(*row.cells, line))
        elif row and _is_below_cell(row, line):
            marked[-1] = replace(row, text=f"{row.text} {line.text}", bottom=min(row.bottom, line.bottom))
        else:
            marked.append(replace(line, cells=()))
    return marked


def _is_row(lines: Sequence[PdfLine], number: int) -> bool:
    """Whether a nearby line has a cell at the same left edge as this line. The marker of a list item is no cell."""
    if not _has_cells(lines[number]):
        return False
    near = [*lines[max(0, number - _NEAR) : number], *lines[number + 1 : number + 1 + _NEAR]]
    starts = [cell.left for cell in lines[number].cells[1:]]
    cells = [cell for other in near if _has_cells(other) for cell in other.cells[1:]]
    return any(abs(cell.left - start) < _SAME_PLACE for cell in cells for start in starts)


def _has_cells(line: PdfLine) -> bool:
    return len(line.cells) > 2 or (len(line.cells) == 2 and not _MARKER.fullmatch(line.cells[0].text))


def _is_beside_cells(row: PdfLine, line: PdfLine) -> bool:
    """Whether a line is to the right of all cells of a row, on the base line of the first cell."""
    first = row.cells[0]
    shared = min(first.top, line.top) - max(first.bottom, line.bottom)
    return shared > 0.6 * (first.top - first.bottom) and line.left > row.cells[-1].left + _SAME_PLACE


def _is_below_cell(row: PdfLine, line: PdfLine) -> bool:
    """Whether a line is close below a cell of the row, other than the first cell."""
    close = row.bottom - line.top < 0.6 * line.size and line.top < row.cells[0].top
    return close and any(abs(line.left - cell.left) < _SAME_PLACE for cell in row.cells[1:])


_NEIGHBOURS = 8
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(rf"([^\W\d_]{{0,80}})({HYPHEN_AT_LINE_END})([^\W\d_]{{0,80}})")
_ENDS_PARAGRAPH = (".", ":", "!", "?", ";")


@dataclass
class PdfParagraph:
    """The text of neighbouring lines. `level` is set for headings. `tight` is set if there is no gap above."""

    text: str
    kind: BlockKind
    level: int = 0
    tight: bool = False


def page_paragraphs(lines: Sequence[PdfLine], headings: Mapping[int, int]) -> list[PdfParagraph]:
    """Join the lines of one page to paragraphs. A heading over two lines becomes one paragraph."""
    rights = _right_edges(lines)
    # The usual gap between two lines of the page, in points; a clearly larger one separates paragraphs.
    gaps = [before.bottom - line.top for before, line in pairwise(lines) if abs(before.size - line.size) < 0.2]
    usual = statistics.median([gap for gap in gaps if gap > -2] or [0.0])
    paragraphs: list[PdfParagraph] = []
    for number, line in enumerate(lines):
        level = headings.get(number, 0)
        before, last = (lines[number - 1], paragraphs[-1]) if number else (None, None)
        if before and last and _continues_paragraph(last, before, line, level, rights[number - 1], usual):
            last.text = _join_lines(last.text, line.text)
        else:
            has_gap = before is None or last is None or bool(last.level) or _has_gap(before, line, usual)
            tight = not has_gap and not level
            paragraphs.append(PdfParagraph(line.text, "heading" if level else _paragraph_kind(line), level, tight))
    return paragraphs


def _paragraph_kind(line: PdfLine) -> BlockKind:
    return "table" if line.cells else kind_of_line(line.text)


def _right_edges(lines: Sequence[PdfLine]) -> list[float]:
    """Return the right edge of the column of each line, measured on nearby lines without the longest."""
    edges: list[float] = []
    for number, line in enumerate(lines):
        around = lines[max(0, number - _NEIGHBOURS) : number + _NEIGHBOURS]
        reach = sorted(other.right for other in around if abs(other.left - line.left) < 6 * max(line.size, 1))
        edges.append(reach[-2] if len(reach) > 3 else reach[-1])
    return edges


def _continues_paragraph(
    paragraph: PdfParagraph, before: PdfLine, line: PdfLine, level: int, right: float, usual: float
) -> bool:
    """Whether `line` continues the paragraph that ends with the line `before`."""
    if paragraph.level or level:
        return paragraph.level == level and abs(before.size - line.size) < 0.2 and not _has_gap(before, line, usual)
    same_size = abs(before.size - line.size) <= 0.1 * before.size
    # Rows of numbers stay separate.
    are_words = all(any(map(str.isalpha, text)) for text in (before.text, line.text))
    if _paragraph_kind(line) != "prose" or before.cells or not same_size or not are_words:
        return False
    if before.text.endswith(HYPHEN_AT_LINE_END):
        return True
    if line.top > before.top:
        # In the next column, the position of the line does not show whether the paragraph continues.
        return _is_open(before.text) and line.text[:1].islower()
    # If the first word would have fitted on the previous line, that line was ended on purpose.
    word_width = (line.right - line.left) * len(line.text.split(" ", 1)[0]) / len(line.text)
    if _has_gap(before, line, usual) or right - before.right > 1.15 * word_width + 0.6 * line.size:
        return False
    return not (line.left > before.left + line.size and before.text.endswith(_ENDS_PARAGRAPH))


def _is_open(text: str) -> bool:
    return not text.endswith(_ENDS_PARAGRAPH)


def _has_gap(before: PdfLine, line: PdfLine, usual: float) -> bool:
    """Whether the gap between two lines is wider than usual, or the second line is in another column."""
    size = max(before.size, line.size)
    space = before.bottom - line.top
    return space > max(0.45 * size, usual + 0.3 * size) or space < -2.0 * size


def continues_on_next_page(last: str, first: PdfParagraph) -> bool:
    """Whether the first paragraph of a page continues the last paragraph of the previous page."""
    return first.kind == "prose" and _is_open(last) and first.text[:1].islower()


def _join_lines(text: str, more: str) -> str:
    hyphen = len(text) > 1 and text[-1] == "-" and text[-2].isalpha() and more[:1].islower()
    if hyphen or text.endswith(HYPHEN_AT_LINE_END):
        return text[:-1] + HYPHEN_AT_LINE_END + more
    return f"{text} {more}"


def document_words(texts: Sequence[str]) -> set[str]:
    """Return the lower-case words of a document, without words that are hyphenated at a line end."""
    return {word.casefold() for text in texts for word in _WORD.findall(_PARTS.sub(" ", text))}


def join_hyphenated_words(text: str, known: set[str]) -> str:
    """Join words that are split at a line end. Keep the hyphen if `known` has both halves but not the whole word."""

    def join(match: re.Match[str]) -> str:
        first, last = match.group(1), match.group(3)
        whole = (first + last).casefold() in known
        halves = first.casefold() in known and last.casefold() in known and len(last) > 2
        keep = (halves and not whole) or not first or last[:1].isupper() or not last
        return f"{first}-{last}" if keep else first + last

    return _PARTS.sub(join, text) if HYPHEN_AT_LINE_END in text else text
