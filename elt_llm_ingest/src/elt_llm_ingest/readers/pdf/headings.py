"""Find the headings of a PDF by its outline or, if it has none, by larger or bolder type."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pypdfium2

from elt_llm_ingest.readers.headings import numbered_level, starts_item
from elt_llm_ingest.readers.pdf.layout import PdfLine, readable_text

_MAX_BOOKMARKS = 20_000
_LARGER = 1.12
_LONGEST = 150
_OFTEN = 2
_SHARE = 0.15
_MOST_LINES = 3
_MOST_TITLE_WORDS = 8
_NEARLY = 0.95
_TITLE_LINES = 20
_NOT_TITLES = ("contents", "tableofcontents", "index")
_LEVELS = 4
_NOT_WORDS = re.compile(r"[\W_]+")


def outline_titles(pdf: pypdfium2.PdfDocument) -> dict[int, list[tuple[str, int]]]:
    """Return the titles and levels (from 1) of the bookmarks for each page (from 0)."""
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
    """Map the numbers of lines with the text of a bookmark, possibly after a number, to the bookmark's level."""
    keys = [_title_key(line.text) for line in lines]
    levels: dict[int, int] = {}
    for title, level in bookmarks:
        if key := _title_key(title):
            levels |= dict.fromkeys(_title_lines(key, keys, levels), level)
    return levels


def _title_lines(title: str, keys: Sequence[str], taken: Mapping[int, int]) -> range:
    """Return the first line, or consecutive lines, that hold a title; an empty range if there are none."""
    for count in range(1, _MOST_LINES + 1):
        for first in range(len(keys) - count + 1):
            lines = range(first, first + count)
            text = "".join(keys[first : first + count])
            is_numbered = len(text) - len(title) <= 14 and any(map(str.isdigit, text))
            if text.endswith(title) and (text == title or is_numbered) and taken.keys().isdisjoint(lines):
                return lines
    return range(0)


def _title_key(text: str) -> str:
    return _NOT_WORDS.sub("", text.casefold())


@dataclass(frozen=True)
class Typography:
    """The typography of the headings in a document without an outline.

    `body` is the type size of most characters. `levels` is the heading level of each larger size. `labels` are bold
    lines that repeat, such as the header of a table, and are no headings.
    """

    body: float
    levels: Mapping[float, int]
    labels: frozenset[str]


def measure_typography(pages: Sequence[Sequence[PdfLine]]) -> Typography:
    """Measure the sizes and labels of a whole document. All sizes after the fourth share the level of the fourth."""
    letters: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            letters[line.size] += len(line.text)
    body = letters.most_common(1)[0][0] if letters else 0.0
    levels = _heading_levels(pages, body, letters)
    bold = Counter(line.text for lines in pages for line in lines if line.bold and line.size < body * _LARGER)
    return Typography(body, levels, frozenset(text for text, count in bold.items() if count > _OFTEN))


def _heading_levels(pages: Sequence[Sequence[PdfLine]], body: float, letters: Mapping[float, int]) -> dict[float, int]:
    """Return the levels of sizes above `body` with few characters. A size on a single page lowers no other level."""
    page_counts: Counter[float] = Counter()
    for lines in pages:
        page_counts.update({line.size for line in lines if line.size >= body * _LARGER and _may_be_heading(line)})
    most = sum(letters.values()) * _SHARE
    sizes = sorted((size for size in page_counts if letters[size] < most or len(pages) < 3), reverse=True)
    regular = [size for size in sizes if page_counts[size] > 1 or len(pages) < 5]
    return {size: min(sum(other > size for other in regular) + 1, _LEVELS) for size in sizes}


def headings_by_typography(lines: Sequence[PdfLine], typography: Typography) -> dict[int, int]:
    """Map line numbers to heading levels, for larger lines and for bold lines with a gap above."""
    levels: dict[int, int] = {}
    below = len(set(typography.levels.values())) + 1
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        if not _may_be_heading(line):
            continue
        if line.size in typography.levels:
            levels[number] = numbered_level(line.text) or typography.levels[line.size]
            continue
        # A heading has more room above it than the lines of a paragraph have between them.
        apart = before is None or before.bottom - line.top > 0.35 * line.size or line.top > before.top
        if line.text in typography.labels:
            continue
        after = lines[number + 1] if number + 1 < len(lines) else None
        is_bold = line.bold and apart and line.size >= typography.body
        # Type of the same size in another style may measure slightly smaller.
        is_italic = line.size >= _NEARLY * typography.body and _is_italic_title(before, line, after, apart=apart)
        if is_bold or is_italic:
            levels[number] = numbered_level(line.text) or below
    return _drop_long_runs(lines, levels)


def _is_italic_title(before: PdfLine | None, line: PdfLine, after: PdfLine | None, *, apart: bool) -> bool:
    """Whether an italic line with capitals in its words precedes upright text, outside a paragraph."""
    words = [word for word in line.text.split() if word[:1].isalpha() and len(word) > 3]
    titled = bool(words) and all(word[0].isupper() for word in words) and len(words) <= _MOST_TITLE_WORDS
    ended = before is None or before.text.endswith((".", "!", "?", ":"))
    over_text = after is not None and not after.italic and not after.bold and after.size <= line.size / _NEARLY
    return line.italic and not line.cells and titled and over_text and (apart or ended)


def _drop_long_runs(lines: Sequence[PdfLine], levels: Mapping[int, int]) -> dict[int, int]:
    """Remove four or more consecutive lines of one size from the headings, because these are prose in large type."""
    kept: dict[int, int] = {}
    run: list[int] = []
    for number in [*sorted(levels), len(lines) + 1]:
        if run and (number != run[-1] + 1 or lines[number].size != lines[run[-1]].size):
            kept |= {line: levels[line] for line in run} if len(run) <= _MOST_LINES else {}
            run = []
        run.append(number)
    return kept


def _may_be_heading(line: PdfLine) -> bool:
    text = line.text
    if len(text) > _LONGEST or text[-1] in ".,;" or text[0].islower() or sum(map(str.isalpha, text)) < 3:
        return False
    return not starts_item(text) or numbered_level(text) is not None


def find_title(lines: Sequence[PdfLine], body: float) -> str:
    """Return the largest neighbouring lines of a title page, or "" if no line is larger than the body."""
    candidates = [
        number
        for number, line in enumerate(lines[:_TITLE_LINES])
        if line.size > 1.1 * body and sum(map(str.isalpha, line.text)) > 3 and numbered_level(line.text) is None
    ]
    if not candidates:
        return ""
    largest = max(candidates, key=lambda number: lines[number].size)
    least = 0.75 * lines[largest].size
    first = last = largest
    while first - 1 in candidates and lines[first - 1].size >= least and last - first < 3:
        first -= 1
    while last + 1 in candidates and lines[last + 1].size >= least and last - first < 3:
        last += 1
    title = " ".join(line.text for line in lines[first : last + 1])
    return "" if len(title) > _LONGEST or _title_key(title) in _NOT_TITLES else title
