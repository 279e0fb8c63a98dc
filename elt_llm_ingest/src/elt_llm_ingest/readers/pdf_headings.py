"""Which lines of a PDF are headings: those its outline names, else those set larger or bolder than the body."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pypdfium2

from elt_llm_ingest.readers.headings import begins_item, numbered_level
from elt_llm_ingest.readers.pdf_lines import Line, readable

_MOST_BOOKMARKS = 20_000
_LARGER = 1.12
_LONGEST = 150
_OFTEN = 2
_SHARE = 0.15
_MOST_LINES = 3
_TITLE_LINES = 20
_NO_TITLES = ("contents", "tableofcontents", "index")
_LEVELS = 4
_NOT_WORDS = re.compile(r"[\W_]+")


def outline_of(pdf: pypdfium2.PdfDocument) -> dict[int, list[tuple[str, int]]]:
    """Per page (from 0): the titles of its bookmarks and their levels, from 1."""
    found: dict[int, list[tuple[str, int]]] = {}
    try:
        for bookmark in itertools.islice(pdf.get_toc(), _MOST_BOOKMARKS):
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            title = readable(bookmark.get_title())
            if page is not None and title:
                found.setdefault(page, []).append((title, bookmark.level + 1))
    except (UnicodeDecodeError, pypdfium2.PdfiumError):
        # A damaged outline: what was found before the damage still helps.
        return found
    return found


def headings_by_outline(lines: Sequence[Line], bookmarks: Sequence[tuple[str, int]]) -> dict[int, int]:
    """Line number to level, for the first lines that say what a bookmark says, a number before it allowed."""
    keys = [_key(line.text) for line in lines]
    found: dict[int, int] = {}
    for title, level in bookmarks:
        wanted = _key(title)
        if wanted:
            found |= dict.fromkeys(_lines_that_say(wanted, keys, found), level)
    return found


def _lines_that_say(wanted: str, keys: Sequence[str], taken: Mapping[int, int]) -> range:
    """The first line, or the lines one under the other, that a title stands on; empty if there are none."""
    for count in range(1, _MOST_LINES + 1):
        for first in range(len(keys) - count + 1):
            lines = range(first, first + count)
            if not any(line in taken for line in lines) and _says("".join(keys[first : first + count]), wanted):
                return lines
    return range(0)


def _says(line: str, title: str) -> bool:
    return line.endswith(title) and (line == title or (len(line) - len(title) <= 14 and any(map(str.isdigit, line))))


def _key(text: str) -> str:
    return _NOT_WORDS.sub("", text.casefold())


@dataclass(frozen=True)
class Typography:
    """How a document without an outline sets its headings.

    `body` is the type size most characters have; `levels` the heading level of each larger size; `labels` are
    bold lines that come again and again, such as the head of a table, and open no section.
    """

    body: float
    levels: Mapping[float, int]
    labels: frozenset[str]


def typography_of(pages: Sequence[Sequence[Line]]) -> Typography:
    """Sizes and labels of a whole document; sizes beyond the fourth share its level."""
    body = _body_size(pages)
    levels = _levels(pages, body)
    bold = Counter(line.text for lines in pages for line in lines if line.bold and line.size < body * _LARGER)
    return Typography(body, levels, frozenset(text for text, count in bold.items() if count > _OFTEN))


def _levels(pages: Sequence[Sequence[Line]], body: float) -> dict[float, int]:
    """Levels of the sizes above `body` that few characters have; those of one page only, such as a cover's, are 1."""
    letters: Counter[float] = Counter()
    found_on: Counter[float] = Counter()
    for lines in pages:
        found_on.update({line.size for line in lines if line.size >= body * _LARGER and _could_be(line)})
        for line in lines:
            letters[line.size] += len(line.text)
    most = sum(letters.values()) * _SHARE
    sizes = sorted((size for size in found_on if letters[size] < most or len(pages) < 3), reverse=True)
    regular = [size for size in sizes if found_on[size] > 1 or len(pages) < 5]
    return {size: min(sum(other > size for other in regular) + 1, _LEVELS) for size in sizes}


def _body_size(pages: Sequence[Sequence[Line]]) -> float:
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def headings_by_type(lines: Sequence[Line], typography: Typography) -> dict[int, int]:
    """Line number to level: larger lines, and bold ones that stand apart and are no labels."""
    found: dict[int, int] = {}
    below = len(set(typography.levels.values())) + 1
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        if not _could_be(line):
            continue
        if line.size in typography.levels:
            found[number] = numbered_level(line.text) or typography.levels[line.size]
        elif line.size >= typography.body and line.bold and _apart(before, line) and line.text not in typography.labels:
            found[number] = numbered_level(line.text) or below
    return _without_long_runs(lines, found)


def _without_long_runs(lines: Sequence[Line], found: Mapping[int, int]) -> dict[int, int]:
    """Four lines and more of one size, one under the other, are large prose, not a heading."""
    kept: dict[int, int] = {}
    run: list[int] = []
    for number in [*sorted(found), len(lines) + 1]:
        if run and (number != run[-1] + 1 or lines[number].size != lines[run[-1]].size):
            kept |= {line: found[line] for line in run} if len(run) <= _MOST_LINES else {}
            run = []
        run.append(number)
    return kept


def _could_be(line: Line) -> bool:
    text = line.text
    if len(text) > _LONGEST or text[-1] in ".,;" or text[0].islower() or sum(map(str.isalpha, text)) < 3:
        return False
    return not begins_item(text) or numbered_level(text) is not None


def _apart(before: Line | None, line: Line) -> bool:
    """Whether there is more room above a line than between the lines of a paragraph."""
    return before is None or before.bottom - line.top > 0.35 * line.size or line.top > before.top


def _could_be_title(text: str) -> bool:
    return sum(map(str.isalpha, text)) > 3 and numbered_level(text) is None


def title_in(lines: Sequence[Line], body: float) -> str:
    """The largest lines of a title page, neighbours of nearly that size with them; empty if none stands out."""
    worthy = [n for n, line in enumerate(lines[:_TITLE_LINES]) if line.size > 1.1 * body and _could_be_title(line.text)]
    if not worthy:
        return ""
    largest = max(worthy, key=lambda number: lines[number].size)
    least = 0.75 * lines[largest].size
    first = last = largest
    while first - 1 in worthy and lines[first - 1].size >= least and last - first < 3:
        first -= 1
    while last + 1 in worthy and lines[last + 1].size >= least and last - first < 3:
        last += 1
    title = " ".join(line.text for line in lines[first : last + 1])
    return "" if len(title) > _LONGEST or _key(title) in _NO_TITLES else title
