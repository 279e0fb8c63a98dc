"""Lines of a page joined into paragraphs; rules, list items and rows keep lines of their own."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from elt_llm_ingest.parsed_document import BlockKind
from elt_llm_ingest.readers.headings import begins_item, begins_rule
from elt_llm_ingest.readers.pdf_lines import HYPHEN_AT_LINE_END, Line

_NEIGHBOURS = 8
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(rf"([^\W\d_]{{0,80}})({HYPHEN_AT_LINE_END})([^\W\d_]{{0,80}})")
_ENDS_PARAGRAPH = (".", ":", "!", "?", ";")


@dataclass
class Paragraph:
    """Text of neighbouring lines. `level` is set for headings; `tight`: no room above, so no empty line before."""

    text: str
    kind: BlockKind
    level: int = 0
    tight: bool = False


def paragraphs(lines: Sequence[Line], headings: Mapping[int, int]) -> list[Paragraph]:
    """The paragraphs of one page; a heading over two lines is one."""
    rights = _right_edges(lines)
    room = _room_between(lines)
    found: list[Paragraph] = []
    for number, line in enumerate(lines):
        level = headings.get(number, 0)
        before = lines[number - 1] if number else None
        if before and _continues(found[-1], before, line, level, rights[number - 1], room):
            found[-1].text = _joined(found[-1].text, line.text)
        else:
            tight = before is not None and not _gap(before, line, room) and not level and not found[-1].level
            found.append(Paragraph(line.text, "heading" if level else _kind(line), level, tight))
    return found


def _kind(line: Line) -> BlockKind:
    if line.cells:
        return "table"
    return "rule" if begins_rule(line.text[:80]) else "list" if begins_item(line.text[:80]) else "prose"


def _right_edges(lines: Sequence[Line]) -> list[float]:
    """How far right the lines around each line reach, of those in its column; one that sticks out does not count."""
    edges: list[float] = []
    for number, line in enumerate(lines):
        around = lines[max(0, number - _NEIGHBOURS) : number + _NEIGHBOURS]
        reach = sorted(other.right for other in around if abs(other.left - line.left) < 6 * max(line.size, 1))
        edges.append(reach[-2] if len(reach) > 3 else reach[-1])
    return edges


def _room_between(lines: Sequence[Line]) -> float:
    """The usual room between two lines of the page, in points; what is clearly more parts paragraphs."""
    rooms = [before.bottom - line.top for before, line in pairwise(lines) if abs(before.size - line.size) < 0.2]
    return statistics.median([room for room in rooms if room > -2] or [0.0])


def _continues(paragraph: Paragraph, before: Line, line: Line, level: int, right: float, room: float) -> bool:
    """Whether `line` goes on with the paragraph that `before` belongs to."""
    if paragraph.level or level:
        return paragraph.level == level and abs(before.size - line.size) < 0.2 and not _gap(before, line, room)
    if _kind(line) != "prose" or before.cells or not _alike(before, line):
        return False
    if before.text.endswith(HYPHEN_AT_LINE_END):
        return True
    if line.top > before.top:
        # The next column: its place says nothing about whether the paragraph goes on.
        return _open(before.text) and line.text[:1].islower()
    if _gap(before, line, room) or _had_room(before, line, right):
        return False
    return not (line.left > before.left + line.size and before.text.endswith(_ENDS_PARAGRAPH))


def _had_room(before: Line, line: Line, right: float) -> bool:
    """Whether the first word of `line` would have fitted on the line before: then the line was ended on purpose."""
    word = line.text.split(" ", 1)[0]
    width = (line.right - line.left) * len(word) / len(line.text)
    return right - before.right > 1.15 * width + 0.6 * line.size


def _alike(before: Line, line: Line) -> bool:
    """Whether two lines are both words of one size; rows of figures stay rows."""
    same_size = abs(before.size - line.size) <= 0.1 * before.size
    return same_size and _has_letters(before.text) and _has_letters(line.text)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _open(text: str) -> bool:
    return not text.endswith(_ENDS_PARAGRAPH)


def _gap(before: Line, line: Line, room: float) -> bool:
    """Whether there is more than the usual room between two lines, or the second stands in another column."""
    size = max(before.size, line.size)
    space = before.bottom - line.top
    return space > max(0.45 * size, room + 0.3 * size) or space < -2.0 * size


def goes_on(last: str, first: Paragraph) -> bool:
    """Whether a page's first paragraph goes on with the last one of the page before."""
    return first.kind == "prose" and _open(last) and first.text[:1].islower()


def _joined(text: str, more: str) -> str:
    hyphen = len(text) > 1 and text[-1] == "-" and text[-2].isalpha() and more[:1].islower()
    if hyphen or text.endswith(HYPHEN_AT_LINE_END):
        return text[:-1] + HYPHEN_AT_LINE_END + more
    return f"{text} {more}"


def vocabulary(texts: Sequence[str]) -> set[str]:
    """The words that stand whole somewhere in a document, lower case."""
    return {word.casefold() for text in texts for word in _WORD.findall(_PARTS.sub(" ", text))}


def mend_hyphens(text: str, known: set[str]) -> str:
    """Words parted at line ends put together; the hyphen stays where the document has both halves but not the whole."""

    def mended(match: re.Match[str]) -> str:
        first, last = match.group(1), match.group(3)
        whole = (first + last).casefold() in known
        halves = first.casefold() in known and last.casefold() in known and len(last) > 2
        keep = (halves and not whole) or not first or last[:1].isupper() or not last
        return f"{first}-{last}" if keep else first + last

    return _PARTS.sub(mended, text) if HYPHEN_AT_LINE_END in text else text
