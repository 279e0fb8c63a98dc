"""Running headers and footers: lines at the edge of page after page that say the same but for their digits."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from elt_llm_ingest.readers.pdf_lines import Line

_EDGE_LINES = 2
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,7}\b")
_LEAST_PAGES = 3
_POINTS = 6.0
_END_WORDS = 3


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages without what repeats at the same edge on three pages and a fifth of all.

    Where many pages have such a line at one height, chapter names at that height go too if they repeat at all;
    where the pages are numbered, so do the lines that begin or end with their page's number; and so do lines that
    begin or end alike at one height on a third of the pages, if the rest of them stands on a line of its own
    elsewhere, as a chapter's name beside the book's does: then nothing is lost.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for lines in pages:
        seen.update({(edge, key) for edge, _, key in _edges(lines)})
    filled = sum(1 for lines in pages if lines)
    running = {found for found, count in seen.items() if count >= max(_LEAST_PAGES, filled / 5)}
    bands = _bands(pages, running, filled)

    numbering = _numbering(pages, filled)
    shared = _shared_ends(pages, filled)
    said = {_key(line) for lines in pages for line in lines}

    def repeats(number: int, edge: str, line: Line, key: str) -> bool:
        in_band = seen[edge, key] > 1 and _band(line) in bands[edge]
        numbered = bool(_numbers_of(line, number) & numbering[edge])
        named = any(end in shared and rest in said for end, rest in _ends(edge, line, key))
        return (edge, key) in running or in_band or numbered or named

    kept: list[list[Line]] = []
    for number, lines in enumerate(pages):
        dropped = {id(line) for edge, line, key in _edges(lines) if repeats(number, edge, line, key)}
        kept.append([line for line in lines if id(line) not in dropped])
    return kept


def _edges(lines: Sequence[Line]) -> Iterator[tuple[str, Line, str]]:
    """The outermost lines of a page with their edge and what they say but for digits."""
    by_height = sorted(lines, key=lambda line: -line.top)
    for line in by_height[:_EDGE_LINES]:
        yield "top", line, _key(line)
    for line in by_height[-_EDGE_LINES:]:
        yield "bottom", line, _key(line)


def _bands(pages: Sequence[list[Line]], running: set[tuple[str, str]], filled: int) -> dict[str, set[int]]:
    """Heights at which a running line stands on a third of the pages."""
    heights: Counter[tuple[str, int]] = Counter()
    for lines in pages:
        heights.update({(edge, _band(line)) for edge, line, key in _edges(lines) if (edge, key) in running})
    bands: dict[str, set[int]] = defaultdict(set)
    for (edge, height), count in heights.items():
        if count >= filled / 3:
            bands[edge].add(height)
    return bands


def _shared_ends(pages: Sequence[list[Line]], filled: int) -> set[tuple[str, int, str]]:
    """Beginnings and ends of lines that a third of the pages have at one height of one edge."""
    seen: Counter[tuple[str, int, str]] = Counter()
    for lines in pages:
        seen.update({end for edge, line, key in _edges(lines) for end, _ in _ends(edge, line, key)})
    return {end for end, count in seen.items() if count >= max(2 * _LEAST_PAGES, filled / 3)}


def _ends(edge: str, line: Line, key: str) -> list[tuple[tuple[str, int, str], str]]:
    """The first words and the last words of a line, where they stand, each with the rest of it."""
    words = key.split()
    if len(words) <= _END_WORDS:
        return []
    begin, end = " ".join(words[:_END_WORDS]), " ".join(words[-_END_WORDS:])
    height = _band(line)
    return [
        ((edge, height, f"{begin} ..."), " ".join(words[_END_WORDS:])),
        ((edge, height, f"... {end}"), " ".join(words[:-_END_WORDS])),
    ]


def _key(line: Line) -> str:
    return _DIGITS.sub("#", line.text.casefold())


def _band(line: Line) -> int:
    return round((line.top + line.bottom) / 2 / _POINTS)


def _numbering(pages: Sequence[list[Line]], filled: int) -> dict[str, set[int]]:
    """How far the printed page numbers are ahead of the count, at each edge; several where parts number anew."""
    ahead: Counter[tuple[str, int]] = Counter()
    for number, lines in enumerate(pages):
        ahead.update({(edge, offset) for edge, line, _ in _edges(lines) for offset in _numbers_of(line, number)})
    found: dict[str, set[int]] = defaultdict(set)
    for (edge, offset), count in ahead.items():
        if count >= max(2 * _LEAST_PAGES, filled / 4):
            found[edge].add(offset)
    return found


def _numbers_of(line: Line, page: int) -> set[int]:
    """What the numbers at the ends of a line are ahead of the page's own, from 0."""
    words = line.text.split()
    return {int(word) - page for word in (words[0], words[-1]) if word.isdecimal() and len(word) <= 4}
