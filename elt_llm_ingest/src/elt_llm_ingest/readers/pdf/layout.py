"""Analyse the layout of a PDF page: lines with position and font size, table rows, footnote marks and paragraphs."""

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import pypdfium2

from elt_llm_ingest.parsing.parsed_document import BlockKind
from elt_llm_ingest.readers.headings import kind_of_line
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


# pdfium replaces a hyphen at the end of a line with U+FFFE, and joins the line to the next one.
HYPHEN_AT_LINE_END = "\ufffe"
_LIGATURES: dict[int, str | None] = {
    0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st",
    0xA0: " ", 0xAD: None, 0x200B: None, 0xFEFF: None, 0x2028: " ", 0x2029: " ", 0xFFFF: None,
}  # fmt: skip
_CONTROLS: dict[int, str | None] = {**dict.fromkeys(range(32)), 9: " ", 127: None}
_TRANSLATION = _CONTROLS | _LIGATURES
# Symbol fonts encode their bullets as C1 control characters or in the private use area.
_BULLET = re.compile(r"[\x00-\x08\x80-\x9f\ue000-\uf8ff]\s")
_UNPRINTABLE = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}")
_SPACES = re.compile(r"\s+")
_GAPS = re.compile(r"(?<=\S)\s+(?=\S)")
_NO_BLANK = 0.12  # font sizes; a narrower gap is inside a word
_LEAST_SHARED = 0.6  # the least vertical overlap of two parts of one line, as a share of the smaller height
_SAME_SIZE = 0.2  # points; font sizes with a smaller difference count as equal
_CELL_ROOM = 0.9  # font sizes; a wider gap separates the cells of a row
# A currency sign after a figure belongs to the next column, however close it is.
_FIGURE_ROOM = 0.4  # font sizes; a wider gap separates a figure and a currency sign
_BETWEEN_FIGURES = re.compile(r"[\d)%]\s+[$\u20ac\u00a3\u00a5]")


@dataclass(frozen=True)
class PdfLine:
    """One line of a page: its text, its box in points (y upwards), and the size and style of its font."""

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
    header: str | None = None
    """For a row of a table of numbers: the table's unit and column heads, or "". None for other lines."""


class UnreadablePage(Exception):
    """A page has no readable text, because its fonts do not define which letters they draw."""


def page_lines(page: pypdfium2.PdfPage) -> list[PdfLine]:
    """Return a page's lines, mostly in the order in which the file draws them; an empty list without a text layer.

    Each row of a table of numbers becomes one line, even if the file draws the table column by column. The lines of a
    rotated page are sorted from top to bottom. Raises UnreadablePage for a meaningless text layer.
    """
    with closing(PageText(page)) as page_text:
        if page_text.is_unreadable():
            raise UnreadablePage
        lines = [line for line in _split_lines(page_text) if line.text]
    if page.get_rotation() and all(line.right - line.left > line.top - line.bottom for line in lines):
        lines.sort(key=lambda line: (-line.top, line.left))
    return rows_by_height(merge_rows(lines))


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
    """Yield the parts of a line between wide gaps, with their positions in the page; nothing without a wide gap."""
    start = 0
    for space in _GAPS.finditer(bare):
        before = page_text.box(first + space.start() - 1)
        room = _FIGURE_ROOM if _BETWEEN_FIGURES.match(bare, space.start() - 1) else _CELL_ROOM
        if page_text.box(first + space.end()).left - before.right > room * size:
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
    # If a matrix scales the font, the font size can be 1. The box has the real size of the text on the page.
    size = size if size > 1.5 else round(left.top - left.bottom, 1)  # points
    return PdfLine(
        readable_text(mark_raised_figures(page_text, bare, first, size)),
        left=min(left.left, right.left),
        right=max(left.right, right.right),
        bottom=min(left.bottom, right.bottom),
        top=max(left.top, right.top),
        size=round(size, 1),
        bold=page_text.is_bold(first) and page_text.is_bold(last),
        italic=page_text.is_italic(first) and page_text.is_italic(last),
    )


def merge_rows(lines: list[PdfLine]) -> list[PdfLine]:
    """Merge neighbouring parts of one line, such as the cells of a row or raised numbers."""
    merged: list[PdfLine] = []
    for line in lines:
        before = merged[-1] if merged else None
        if before and _is_beside(before, line):
            close = line.left - before.right < _NO_BLANK * max(before.size, line.size)
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
    return shared > _LEAST_SHARED * height and -0.3 * line.size <= line.left - before.right < 40 * line.size


CELL_SEPARATOR = " | "
_SAME_PLACE = 3.0  # points; edges with a smaller distance count as equal
_MOST_WRAPPED = 3  # the most lines of a first cell
_NEAR = 6  # the number of lines above, and below, with which a line is compared
_MARKER = re.compile(r"\(?(?:[A-Z]?\d{0,4}(?:\.\d{1,3}){0,5}|[A-Za-z]|[ivxIVX]{1,5})[.):]?|[^\w\s]")


def mark_table_rows(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Put separators between the cells of each table row. A line that continues a cell is added to its row."""
    lines = _join_wrapped_cells(join_figure_rows(lines))
    marked: list[PdfLine] = []
    for number, line in enumerate(lines):
        row = marked[-1] if marked and marked[-1].cells and marked[-1].header is None else None
        if line.header is not None:
            marked.append(line)
        elif _is_row(lines, number):
            marked.append(replace(line, text=CELL_SEPARATOR.join(cell.text for cell in line.cells)))
        elif row and _is_beside_cells(row, line):
            marked[-1] = replace(row, text=f"{row.text}{CELL_SEPARATOR}{line.text}", cells=(*row.cells, line))
        elif row and _is_below(row, line, row.cells[1:]):
            marked[-1] = replace(row, text=f"{row.text} {line.text}", bottom=min(row.bottom, line.bottom))
        else:
            marked.append(replace(line, cells=()))
    return marked


def _join_wrapped_cells(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Make one row of the lines of a first cell and the line beside its first one, which comes after all of them."""
    joined, number = list[PdfLine](), 0
    while number < len(lines):
        first, last = lines[number], number + 1
        while last < len(lines) and not lines[last].cells and _is_below(lines[last - 1], lines[last], (first,)):
            last += 1
        cell, beside = replace(first, text=" ".join(line.text for line in lines[number:last])), lines[last : last + 1]
        # A first cell that ends with a full stop is prose beside prose.
        wrapped = not first.cells and 1 < last - number <= _MOST_WRAPPED and not cell.text.endswith(".")
        rows = [replace(cell, cells=(cell, line), bottom=line.bottom) for line in beside if _is_level(first, line)]
        near, below = joined[-_NEAR:], lines[last + 1 : last + 1 + _NEAR]
        is_row = wrapped and rows and not beside[0].cells and _is_row([*near, *rows, *below], len(near))
        joined += rows if is_row else [first]
        number = last + 1 if is_row else number + 1
    return joined


def _is_row(lines: Sequence[PdfLine], number: int) -> bool:
    """Return whether a line is a table row: a cell after the first starts at the same x as a cell of a nearby line."""
    if not _has_cells(lines[number]):
        return False
    near = [*lines[max(0, number - _NEAR) : number], *lines[number + 1 : number + 1 + _NEAR]]
    starts = [cell.left for cell in lines[number].cells[1:]]
    cells = [cell for other in near if _has_cells(other) for cell in other.cells[1:]]
    return any(abs(cell.left - start) < _SAME_PLACE for cell in cells for start in starts)


def _has_cells(line: PdfLine) -> bool:
    return len(line.cells) > 2 or (len(line.cells) == 2 and not _MARKER.fullmatch(line.cells[0].text))


def _is_beside_cells(row: PdfLine, line: PdfLine) -> bool:
    """Return whether a line is to the right of all cells of a row, on the base line of the first cell."""
    first = row.cells[0]
    shared = min(first.top, line.top) - max(first.bottom, line.bottom)
    return shared > _LEAST_SHARED * (first.top - first.bottom) and line.left > row.cells[-1].left + _SAME_PLACE


def _is_below(row: PdfLine, line: PdfLine, cells: Sequence[PdfLine]) -> bool:
    """Return whether a line is close below a row, at the left edge of one of the `cells`."""
    close = row.bottom - line.top < 0.6 * line.size and line.top < (row.cells or (row,))[0].top
    return close and any(abs(line.left - cell.left) < _SAME_PLACE for cell in cells)


_FIGURE = re.compile(
    r"[-\u2212\u2013(]{0,2}\s?[$\u20ac\u00a3\u00a5]?\s?[-\u2212\u2013(]?\d{1,3}(?:[\d,.'\u2019 ]{0,20}\d)?\s?%?\s?\)?%?"
    r"(?:\s?\[\d{1,3}\]|\^[-+\u2212\u2013]?\d{1,3})?"
    r"|[-\u2212\u2013\u2014]"
)
_SIGN = re.compile(r"[$\u20ac\u00a3\u00a5(]{1,2}")
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d(?:[/\u2013-]\d\d(?:\d\d)?)?")
_UNIT = re.compile(
    r"(?i)\W{0,3}(?:(?:all )?(?:amounts|figures) )?(?:are |expressed |stated |shown ){0,2}(?:in )?"
    r"(?:[$\u20ac\u00a3\u00a5]\W?|us ?\$ ?|(?:eur|usd|gbp|chf) )?(?:thousands?|millions?|billions?|mio|teur"
    r"|'?000s?|m|euros?|eur|dollars|pounds|percent|(?:mega|kilo)?(?:litres|tonnes))\b"
    r"(?: of [\w .]{1,30}| ?[\u20ac$])?(?:, [\w -]{1,40})?\W{0,3}"
)
_FEWEST_FIGURE_ROWS = 2
_MOST_HEAD_LINES = 4  # the most lines of column heads above a table
_LONGEST_LABEL = 90  # characters in the label of a row
_MOST_LINES_OF_TABLE = 300


def join_figure_rows(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Rebuild tables of numbers, such as financial statements, with one line per row and one for the column heads.

    A number belongs to the column at its position. If a row has no number in a column, its cell is empty. A separate
    currency sign or bracket is joined to its number.
    """
    joined = [replace(line, cells=_joined_signs(line.cells)) if line.cells else line for line in lines]
    result: list[PdfLine] = []
    position = 0
    while position < len(joined):
        end = _table_end(joined, position)
        if end - position < _FEWEST_FIGURE_ROWS or not _shares_columns(joined[position:end]):
            end = max(end, position + 1)
            result += joined[position:end]
            position = end
            continue
        columns = _columns(joined[position:end])
        groups = _groups_above(result, joined[position])
        heads = _head_lines(result[: len(result) - groups], columns)
        start = position - (groups if heads else 0)
        above = result[: len(result) - (position - start) - len(heads)]
        result = above + _table_lines(heads, joined[start:end], columns, _unit(above))
        position = end
    return result


def rows_by_height(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Rebuild the rows of a table of numbers that the file draws column by column.

    A number is joined to the line on its left that has the same base line: "Fees", "Rent", "Tax", "10", "20", "30" ->
    "Fees 10", "Rent 20", "Tax 30". The rows are sorted from top to bottom. Lines without such a table are unchanged.
    """
    rows: list[PdfLine] = []
    grown: list[PdfLine] = []
    for line in lines:
        parts = line.cells or (line,)
        near = range(max(0, len(rows) - _MOST_LINES_OF_TABLE), len(rows)) if _is_figures(parts) else ()
        own = next((number for number in near if _is_level(rows[number], line)), None)
        if own is None:
            rows.append(line)
            continue
        cells = tuple(sorted((*(rows[own].cells or (rows[own],)), *parts), key=lambda cell: cell.left))
        text = " ".join(cell.text for cell in cells)
        rows[own] = replace(rows[own], text=text, left=cells[0].left, right=cells[-1].right, cells=cells)
        grown.append(rows[own])
    # A few figures on the base lines of other text may just be in the second of two columns of text.
    by_column = len({row.bottom for row in grown}) > _FEWEST_FIGURE_ROWS
    return (_from_top(rows, grown) if by_column else None) or list(lines)


def _from_top(rows: list[PdfLine], grown: Sequence[PdfLine]) -> list[PdfLine] | None:
    """Sort the lines of a table that was drawn column by column, and its column heads, from top to bottom.

    Return None if some lines are still side by side: sorting would then mix two columns of text.
    """
    lowest = min(row.bottom for row in grown)
    parts = [number for number, row in enumerate(rows) if len(row.cells) > 1 or _YEAR.fullmatch(row.text)]
    first, *_, last = [number for number in parts if rows[number].bottom >= lowest]
    table = sorted(rows[first : last + 1], key=lambda row: -row.top)
    if any(above.bottom < (below.bottom + below.top) / 2 for above, below in pairwise(table)):
        return None
    return [*rows[:first], *table, *rows[last + 1 :]]


def _is_figures(cells: Sequence[PdfLine]) -> bool:
    return all(_FIGURE.fullmatch(cell.text) or _SIGN.fullmatch(cell.text) or cell.text == ")" for cell in cells)


def _is_level(row: PdfLine, line: PdfLine) -> bool:
    """Return whether a line is to the right of a row, on the same base line and in the same font size."""
    return (
        line.left >= row.right - 1
        and abs(row.bottom - line.bottom) < 0.35 * line.size
        and abs(row.size - line.size) < 1
    )


def _joined_signs(cells: Sequence[PdfLine]) -> tuple[PdfLine, ...]:
    """Join a currency sign or opening bracket to the next number, and a percent sign or bracket to the previous one."""
    joined: list[PdfLine] = []
    for cell in cells:
        before = joined[-1] if joined else None
        sign = before and _SIGN.fullmatch(before.text) and _FIGURE.fullmatch(cell.text)
        if before and (sign or (cell.text in (")", "%", "%)") and _FIGURE.fullmatch(before.text))):
            joined[-1] = replace(cell, text=before.text + cell.text, left=before.left)
        else:
            joined.append(cell)
    return tuple(joined)


def _is_figure_row(line: PdfLine) -> bool:
    """Return whether a line consists of a label and numbers that are not all years."""
    label = line.cells[0].text if len(line.cells) > 1 else ""
    named = any(map(str.isalpha, label)) and len(label) <= _LONGEST_LABEL and not label.endswith("...")
    return named and _is_figures(line.cells[1:]) and not all(_YEAR.fullmatch(cell.text) for cell in line.cells[1:])


def _table_end(lines: Sequence[PdfLine], start: int) -> int:
    """Return the end of the table that starts at `start`. Up to two lines (groups, wrapped labels) may interrupt it."""
    if not _is_figure_row(lines[start]):
        return start
    end = position = start
    between = 0
    while position < len(lines) and between <= 2:
        if _is_figure_row(lines[position]):
            end, between = position + 1, 0
        elif lines[position].cells or not _is_group(lines[start], lines[position]):
            break
        else:
            between += 1
        position += 1
    return end


def _is_group(first: PdfLine, line: PdfLine) -> bool:
    """Return whether a line may name a group of rows: it starts near the row labels and ends before the numbers."""
    near = abs(line.left - first.left) < 4 * line.size and line.right < first.cells[1].left
    return near and line.text[-1] not in ".;"


def _groups_above(above: Sequence[PdfLine], row: PdfLine) -> int:
    """Return the number of lines right above the first row that name a group of rows, at most 2."""
    return len(list(takewhile(lambda line: not line.cells and _is_group(row, line), reversed(above[-2:]))))


def _columns(rows: Sequence[PdfLine]) -> list[tuple[float, float]]:
    """Return the left and right edges of the columns of numbers. Cells that overlap are in one column."""
    columns: list[tuple[float, float]] = []
    for cell in sorted((cell for row in rows for cell in row.cells[1:]), key=lambda cell: cell.right):
        left = cell.left
        while columns and left < columns[-1][1]:
            left = min(left, columns.pop()[0])
        columns.append((left, cell.right))
    return columns


def _shares_columns(rows: Sequence[PdfLine]) -> bool:
    """Return whether the numbers of the rows form columns: two neighbouring rows end at the same right edge."""
    rights = [row.cells[-1].right for row in rows if row.cells]
    return any(abs(one - other) < 2 * _SAME_PLACE for one, other in pairwise(rights))


def _head_lines(above: Sequence[PdfLine], columns: Sequence[tuple[float, float]]) -> list[PdfLine]:
    """Return the lines with column heads right above a table of numbers, from top to bottom, at most four.

    In such a line, each cell is above a column of numbers. Only the first cell may be above the row labels instead.
    """
    heads: list[PdfLine] = []
    for line in reversed(above[-_MOST_HEAD_LINES:]):
        cells = line.cells or (line,)
        over = [cell for cell in cells if cell.right > columns[0][0] - 2 * line.size]
        named = over and len(over) >= len(cells) - 1 and cells[0].right < columns[0][0] + line.size
        named = named or len(cells) - 1 == len(columns)  # centred heads may be far from right-aligned figures
        is_text = not line.cells and (line.text[-1] in ".;:" or line.left < columns[0][0] - 6 * line.size)
        if line.header is not None or is_text or "..." in line.text or not (named or len(over) == len(cells)):
            break
        heads.insert(0, line)
    return heads


def _unit(above: Sequence[PdfLine]) -> str:
    """Return the unit, in brackets, that one of the three lines above names, such as "(in thousands)", or ""."""
    texts = [line.text for line in reversed(above[-3:]) if not line.cells and names_unit(line.text)]
    return f"({texts[0].strip('() ')})" if texts else ""


def names_unit(text: str) -> bool:
    """Return whether a line only names the unit of the numbers in a table, such as "(in thousands of euros)"."""
    return len(text) < _LONGEST_LABEL and bool(_UNIT.fullmatch(text))


def _table_lines(
    heads: Sequence[PdfLine], rows: Sequence[PdfLine], columns: Sequence[tuple[float, float]], unit: str
) -> list[PdfLine]:
    """Return a table's lines: its column heads, joined to one row if possible, and each row with all columns."""
    names = [" ".join(filter(None, parts)) for parts in zip(*(_names(head, columns) for head in heads), strict=True)]
    first = " ".join(head.cells[0].text for head in heads if head.cells and head.cells[0].right < columns[0][0])
    header = CELL_SEPARATOR.join([first or unit, *names]).strip() if any(names) else ""
    if not {word for head in heads for word in head.text.split()} <= set(header.split()):
        header = ""  # losing words would be worse than no column heads
    result = [replace(heads[-1], text=header, header="")] if header else list(heads)
    for row in rows:
        if row.cells:
            cells = [_over(row, column, first=1) for column in columns]
            text = CELL_SEPARATOR.join([row.cells[0].text, *cells])
            result.append(replace(row, text=text, header=header))
        else:
            result.append(replace(row, header=header))
    return result


def _names(head: PdfLine, columns: Sequence[tuple[float, float]]) -> list[str]:
    """Return the text of a line of column heads above each column. A head over several columns is repeated."""
    named = head.cells[-len(columns) :]
    all_over = len(head.cells) == len(columns) and named[0].right > columns[0][0] - 2 * head.size
    if all_over or len(head.cells) - 1 == len(columns):
        return [cell.text for cell in named]
    half = len(head.text) // 2
    if not head.cells and head.text[:half] == head.text[half + 1 :]:  # the same head twice, close together
        return [head.text[:half]] * len(columns)
    return [_over(head, column) for column in columns]


def _over(line: PdfLine, column: tuple[float, float], first: int = 0) -> str:
    """Return the text of the cells of a line that overlap a column."""
    cells = (line.cells or (line,))[first:]
    return " ".join(cell.text for cell in cells if cell.left < column[1] and cell.right > column[0])


_NEIGHBOURS = 8  # the number of lines above, and below, that are measured
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(rf"([^\W\d_]{{0,80}})({HYPHEN_AT_LINE_END})([^\W\d_]{{0,80}})")
_ENDS_PARAGRAPH = (".", ":", "!", "?", ";")


@dataclass
class PdfParagraph:
    """The text of neighbouring lines. `level` is the heading level, or 0. `tight` is true if there is no gap above."""

    text: str
    kind: BlockKind
    level: int = 0
    tight: bool = False
    header: str | None = None


def page_paragraphs(lines: Sequence[PdfLine], headings: Mapping[int, int]) -> list[PdfParagraph]:
    """Join the lines of one page to paragraphs. `headings` maps the numbers of lines to heading levels."""
    rights = _right_edges(lines)
    # The usual gap between two lines of the page, in points. A clearly larger gap separates paragraphs.
    gaps = [before.bottom - line.top for before, line in pairwise(lines) if abs(before.size - line.size) < _SAME_SIZE]
    usual = statistics.median([gap for gap in gaps if gap > -2] or [0.0])
    paragraphs: list[PdfParagraph] = []
    for number, line in enumerate(lines):
        # Totals and the names of groups of rows are often bold, but are rows of their table.
        level = headings.get(number, 0) if line.header is None else 0
        before, last = (lines[number - 1], paragraphs[-1]) if number else (None, None)
        if before and last and _continues_paragraph(last, before, line, level, rights[number - 1], usual):
            last.text = _join_lines(last.text, line.text)
        else:
            has_gap = before is None or last is None or bool(last.level) or _has_gap(before, line, usual)
            tight = not has_gap and not level
            kind: BlockKind = "heading" if level else _paragraph_kind(line)
            paragraphs.append(PdfParagraph(line.text, kind, level, tight, None if level else line.header))
    return paragraphs


def _paragraph_kind(line: PdfLine) -> BlockKind:
    return "table" if line.cells or line.header is not None else kind_of_line(line.text)


def _right_edges(lines: Sequence[PdfLine]) -> list[float]:
    """Return, for each line, the x position at which the full lines of its text column end.

    This is the second largest right end of the lines around it that start at about the same x, since one line may be
    too long. If there are at most three such lines, it is the largest right end.
    """
    edges: list[float] = []
    for number, line in enumerate(lines):
        around = lines[max(0, number - _NEIGHBOURS) : number + _NEIGHBOURS]
        reach = sorted(other.right for other in around if abs(other.left - line.left) < 6 * max(line.size, 1))
        edges.append(reach[-2] if len(reach) > 3 else reach[-1])
    return edges


def _continues_paragraph(
    paragraph: PdfParagraph, before: PdfLine, line: PdfLine, level: int, right: float, usual: float
) -> bool:
    """Return whether `line` continues the paragraph that ends with the line `before`."""
    if paragraph.level or level:
        return (
            paragraph.level == level and abs(before.size - line.size) < _SAME_SIZE and not _has_gap(before, line, usual)
        )
    same_size = abs(before.size - line.size) <= 0.1 * before.size
    # Rows of numbers are separate paragraphs.
    are_words = all(any(map(str.isalpha, text)) for text in (before.text, line.text))
    if _paragraph_kind(line) != "prose" or before.cells or not same_size or not are_words:
        return False
    if before.text.endswith(HYPHEN_AT_LINE_END):
        return True
    if line.top > before.top:
        # The line is in the next column, so its position does not show whether it continues the paragraph.
        return _is_open(before.text) and line.text[:1].islower()
    # If the first word would have fitted on the previous line, the author ended that line on purpose.
    word_width = (line.right - line.left) * len(line.text.split(" ", 1)[0]) / len(line.text)
    if _has_gap(before, line, usual) or right - before.right > 1.15 * word_width + 0.6 * line.size:
        return False
    return not (line.left > before.left + line.size and before.text.endswith(_ENDS_PARAGRAPH))


def _is_open(text: str) -> bool:
    return not text.endswith(_ENDS_PARAGRAPH)


def _has_gap(before: PdfLine, line: PdfLine, usual: float) -> bool:
    """Return whether the gap between two lines is wider than usual, or the second line is in another column."""
    # If the second line is far above the bottom of the first, it is in another column.
    size = max(before.size, line.size)
    space = before.bottom - line.top
    return space > max(0.45 * size, usual + 0.3 * size) or space < -2.0 * size


def continues_on_next_page(last: str, first: PdfParagraph) -> bool:
    """Return whether the first paragraph of a page continues the last paragraph of the previous page."""
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
    """Join words that are split at a line end. Keep the hyphen if both halves, but not the whole word, are `known`."""

    def join(match: re.Match[str]) -> str:
        first, last = match.group(1), match.group(3)
        whole = (first + last).casefold() in known
        halves = first.casefold() in known and last.casefold() in known and len(last) > 2
        keep = (halves and not whole) or not first or last[:1].isupper() or not last
        return f"{first}-{last}" if keep else first + last

    return _PARTS.sub(join, text) if HYPHEN_AT_LINE_END in text else text
