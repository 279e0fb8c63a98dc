"""Terms that HTML marks: `dl` with `dt` and `dd`, `dfn`, and emphasis with which a paragraph begins."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from elt_llm_core.marked_terms import Span

from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.term_marks import DefinitionList

EMPHASIS = frozenset(("b", "strong", "i", "em", "dfn"))
_SPACE = re.compile(r"\s+")
_QUOTES = "\"'\u2018\u201c\u201e\u00ab ("


class DefinitionLists:
    """Follows the definition lists of a page, one within another, while their text is written."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._lists = [DefinitionList(builder.marks)]
        self._begun: list[int] = []

    def enter(self, tag: str) -> None:
        """An element begins, and nothing of it is written yet."""
        if tag == "dl":
            self._lists.append(DefinitionList(self._builder.marks))
        elif tag in ("dt", "dd"):
            self._begun.append(self._builder.count)

    def leave(self, tag: str) -> None:
        """An element ends, and all of it is written."""
        if tag == "dl":
            self._lists.pop().end()
        elif tag == "dt":
            begun = self._begun.pop()
            self._lists[-1].term(self._builder.span(begun, begun + 1))
        elif tag == "dd":
            self._lists[-1].body(self._builder.span(self._begun.pop()))

    def end(self) -> None:
        """The page ends."""
        self._lists[-1].end()


class LineMarks:
    """The emphasis within one line, by the pieces of text that the line is put together from.

    Nothing is gone through twice, so that no depth of nesting takes long.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        # Of those open: how many began in a line that has ended, and in this line or an empty one before it.
        self._ended = self._earlier = 0
        self._closed: list[tuple[int, int, bool]] = []

    def open(self, tag: str, piece: int) -> None:
        """Emphasis begins with the piece of that number."""
        self._open.append((tag, piece))

    def close(self, piece: int) -> None:
        """The emphasis begun last ends before the piece of that number, unless its line ended before it."""
        if not self._open:
            return
        tag, begun = self._open.pop()
        place = len(self._open)
        begun = 0 if place < self._earlier else begun
        if place >= self._ended and piece > begun:
            self._closed.append((begun, piece, tag == "dfn"))
        self._ended, self._earlier = min(self._ended, place), min(self._earlier, place)

    def take(self, pieces: Sequence[str]) -> list[tuple[Span, bool]]:
        """Spans of the emphasised words in the line as it is shown, and whether they are instances that define.

        The line ends with it: what is still open is emphasised to its end, and not beyond; an element may begin
        before the paragraph it emphasises.
        """
        raw = "".join(pieces)
        closed, self._closed = self._closed, []
        if raw.strip():
            still = enumerate(self._open[self._ended :], self._ended)
            closed += [(0 if at < self._earlier else one[1], len(pieces), one[0] == "dfn") for at, one in still]
            self._ended = len(self._open)
        self._earlier = len(self._open)
        if not closed:
            return []
        offsets = [0, *accumulate(map(len, pieces))]
        spans = [(_stripped(raw, offsets[begun], offsets[end]), is_dfn) for begun, end, is_dfn in closed]
        spans = [(span, is_dfn) for span, is_dfn in spans if span[1] > span[0]]
        shown = _shown(raw, sorted({offset for span, _ in spans for offset in span}))
        return sorted(((shown[start], shown[end]), is_dfn) for (start, end), is_dfn in spans)


def mark_line(builder: DocumentBuilder, marks: Sequence[tuple[Span, bool]], marker: str) -> None:
    """Keep the marks of the block written last: all instances, and the emphasis at its beginning after its marker."""
    span = builder.span(builder.count - 1)
    if span is None:
        return
    start = span[0]
    for (begin, stop), is_dfn in marks:
        if is_dfn:
            builder.marks.name(start + begin, start + stop)
    text = builder.end
    for first, stop in _first_run(text, [marked for marked, is_dfn in marks if not is_dfn]):
        # Emphasis may begin before the item it stands in.
        begin = max(first, len(marker) + 1) if marker and text.startswith(f"{marker} ") else first
        if text[:begin].removeprefix(marker).strip(_QUOTES) == "":
            builder.marks.lead(start + begin, start + stop)


def _first_run(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The first emphasis with all that goes on with it, only white space between; none without emphasis."""
    if not spans:
        return
    begin, stop = spans[0]
    for start, end in spans[1:]:
        if text[stop:start].strip():
            break
        stop = max(stop, end)
    yield begin, stop


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    words = part.strip()
    begin = start + len(part) - len(part.lstrip()) if words else start
    return begin, begin + len(words)


def _shown(raw: str, offsets: Sequence[int]) -> dict[int, int]:
    """Where offsets, ascending and none within white space, lie once white space is one blank and none leads."""
    found: dict[int, int] = {}
    before, length = 0, 0
    for offset in offsets:
        part = _SPACE.sub(" ", raw[before:offset])
        length += len(part.lstrip() if not length else part)
        found[offset] = length
        before = offset
    return found
