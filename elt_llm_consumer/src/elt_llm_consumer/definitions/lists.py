"""Glossaries as lists under a heading that announces them: "X: ...", "X - ...", a line and what is said below it."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_query.answer.pieces import is_row

from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout, Line
from elt_llm_consumer.definitions.spans import marker_style, trimmed_definition
from elt_llm_consumer.definitions.subject import QUOTED, after_labels, quoted_span
from elt_llm_consumer.definitions.wording import ABOUT, NOT_FIRST, VERB

# ruff: noqa: RUF001 - the look-alike dashes are what this file is about.
_ENTRY = re.compile(
    r"(?P<term>[^\s:|–—][^:|\n–—]{0,90}?)(?:\s*(?P<colon>:)|\s+(?P<dash>[-–—=]|\.{3,40})|(?P<gap>[ \t]{3,60}))\s+(?=\S)"
)
_MARKED_ENTRY = re.compile(r"\s*(?P<sign>[:–—=-]|\.(?=\s))?\s+(?=\S)")
_MARKDOWN_BODY = re.compile(r":\s+")
_FINAL = re.compile(r"[.!?;,:]\W{0,3}$")
_GENERIC = re.compile(
    r"(?:general|introduction|scope|purpose|overview|notes?|references?|examples?|see also|interpretation|definitions?|glossary|"
    r"abbreviations?|acronyms?|background|summary|contents|index|terms?|warning|source|sources|version|date|author|status|"
    r"applies to|allgemeines|hinweis|quelle)s?$",
    re.IGNORECASE,
)
_MOST_WORDS = 9


class Lists:
    """Reads the entries of the sections that announce definitions."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def drafts(self) -> Iterator[Draft]:
        """The definitions of all those sections, in order."""
        for start, end in self._layout.regions:
            lines = [line for line in self._layout.lines if start <= line.start < end]
            if lines:
                yield from self._section(lines[1:])

    def _section(self, lines: Sequence[Line]) -> Iterator[Draft]:
        number = 0
        while number < len(lines):
            found = self._entry(lines, number)
            if found is None:
                number += 1
                continue
            draft, number = found
            yield draft

    def _entry(self, lines: Sequence[Line], number: int) -> tuple[Draft, int] | None:
        """The entry that begins with a line, and the number of the line after it."""
        line = lines[number]
        if is_row(line.text) or self._layout.is_contents(line.text):
            return None
        if line.start in self._layout.heading_lines:
            return self._under_heading(lines, number)
        inline = self._inline(line)
        if inline is not None:
            term, body, score = inline
            last = self._last(lines, number, line)
            return self._draft(term, body, lines[last].end, score), last + 1
        return self._below(lines, number)

    def _inline(self, line: Line) -> tuple[tuple[int, int], int, float] | None:
        """Term and body of "X: ..." and its kin on one line."""
        start = after_labels(line.text, 0, len(line.text))
        marked = QUOTED.match(line.text, start)
        if marked:
            sign = _MARKED_ENTRY.match(line.text, marked.end())
            begin, end = quoted_span(marked)
            inner = line.text[begin:end].rstrip()
            if not sign or (not sign["sign"] and not inner.endswith((":", "."))):
                return None
            return self._at(line, begin, begin + len(inner.rstrip(":. ")), sign.end(), 0.95)
        found = _ENTRY.match(line.text, start)
        if found is None or not self._is_term(found["term"]):
            return None
        if found["colon"] is None and VERB.search(line.text, start, found.end()):
            return None
        return self._at(line, found.start("term"), found.start("term") + len(found["term"].rstrip()), found.end(), 0.9)

    def _at(
        self, line: Line, begin: int, end: int, body: int, score: float
    ) -> tuple[tuple[int, int], int, float] | None:
        if begin >= end or not any(map(str.isalpha, line.text[begin:end])) or _GENERIC.match(line.text[begin:end]):
            return None
        return (line.start + begin, line.start + end), line.start + body, score

    def _last(self, lines: Sequence[Line], number: int, first: Line) -> int:
        """The last line of an entry: until the next one of its kind, or a paragraph that is none of it."""
        own = marker_style(first.text)
        last = number
        for place in range(number + 1, len(lines)):
            line = lines[place]
            deeper = line.indent > first.indent
            style = marker_style(line.text)
            if line.start in self._layout.heading_lines or is_row(line.text):
                break
            if style and style == own and not deeper:
                break
            if self._inline(line) is not None and not deeper:
                break
            if (
                line.apart
                and not deeper
                and not (style and self._opens(lines[last]))
                and not self._cut(lines[last], line)
            ):
                break
            last = place
        return last

    def _opens(self, line: Line) -> bool:
        return line.text.endswith((":", ";", ",", " and", " or")) or bool(marker_style(line.text))

    def _cut(self, before: Line, line: Line) -> bool:
        """Whether a page cut a sentence in two."""
        cut = self._layout.page_between(before.start, line.start)
        return cut and not _FINAL.search(before.text) and line.text[:1].islower()

    def _under_heading(self, lines: Sequence[Line], number: int) -> tuple[Draft, int] | None:
        """A heading that is a term, and the text under it."""
        line = lines[number]
        text = self._layout.text
        begin = line.start + len(line.text) - len(line.text.lstrip("#").lstrip())
        begin = after_labels(text, begin, line.end)
        marked = QUOTED.match(text, begin, line.end)
        begin, end = quoted_span(marked) if marked and marked.end() == line.end else (begin, line.end)
        last = number
        for place in range(number + 1, len(lines)):
            if lines[place].start in self._layout.heading_lines or is_row(lines[place].text):
                break
            last = place
        if last == number or not self._is_term(text[begin:end]) or end - begin < 3:
            return None
        below = lines[number + 1]
        if self._inline(below) or self._below(lines, number + 1) or VERB.search(text[begin:end]):
            return None
        return self._draft((begin, end), below.start, lines[last].end, 0.9), last + 1

    def _below(self, lines: Sequence[Line], number: int) -> tuple[Draft, int] | None:
        """A short line that is a term, and what stands on the lines below: further in, after ": ", or in a sentence."""
        line = lines[number]
        if (
            number + 1 >= len(lines)
            or not self._is_term(line.text)
            or _FINAL.search(line.text)
            or marker_style(line.text)
        ):
            return None
        below = lines[number + 1]
        colon = _MARKDOWN_BODY.match(below.text)
        if below.start in self._layout.heading_lines or is_row(below.text):
            return None
        term = self._bare(line)
        if below.indent > line.indent or colon:
            last = self._indented(lines, number + 1, line.indent, colon=colon is not None)
            return self._draft(term, below.start + (colon.end() if colon else 0), lines[last].end, 0.95), last + 1
        if not line.apart and number and not _FINAL.search(lines[number - 1].text):
            return None
        if marker_style(below.text) or self._inline(below) or len(below.text) < 20 or not _FINAL.search(below.text):
            return None
        if below.text[:1].islower() or VERB.match(below.text):
            return None
        last = self._last_below(lines, number + 1)
        return self._draft(term, below.start, lines[last].end, 0.85), last + 1

    def _indented(self, lines: Sequence[Line], number: int, indent: int, *, colon: bool) -> int:
        last = number
        for place in range(number + 1, len(lines)):
            line = lines[place]
            if line.indent <= indent and not (colon and not line.apart):
                break
            if line.start in self._layout.heading_lines:
                break
            last = place
        return last

    def _last_below(self, lines: Sequence[Line], number: int) -> int:
        """The last line of what is said below a term: until a line that could be the next term."""
        last = number
        for place in range(number + 1, len(lines)):
            line = lines[place]
            if line.start in self._layout.heading_lines or is_row(line.text):
                break
            if marker_style(line.text) and self._opens(lines[last]):
                last = place
                continue
            ended = bool(_FINAL.search(lines[last].text))
            if (ended and self._is_term(line.text) and not _FINAL.search(line.text)) or (line.apart and ended):
                break
            last = place
        return last

    def _bare(self, line: Line) -> tuple[int, int]:
        marked = QUOTED.match(line.text)
        if marked and marked.end() == len(line.text):
            begin, end = quoted_span(marked)
            return line.start + begin, line.start + end
        return line.start, line.end

    def _is_term(self, text: str) -> bool:
        bare = ABOUT.sub("", text).strip('*_`"“”: ')
        words = bare.casefold().split()
        return bool(
            words
            and len(words) <= _MOST_WORDS
            and words[0] not in NOT_FIRST
            and not _GENERIC.match(bare)
            and any(map(str.isalpha, bare))
            and not any(sign in bare for sign in ".!?;|,") | bare.replace(".", "").isdigit()
        ) or bool(QUOTED.fullmatch(text.strip()))

    def _draft(self, term: tuple[int, int], begin: int, end: int, score: float) -> Draft:
        return Draft(term, trimmed_definition(self._layout.text, begin, end), "list", score)
