"""One entry of a list of definitions: "X: ...", "X - ...", a line and what is said below it, a heading and its text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from elt_llm_query.answer.pieces import is_row

from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout, Line
from elt_llm_consumer.definitions.rules_of_reading import is_rule_of_reading
from elt_llm_consumer.definitions.run_in import is_note, numbered, run_in
from elt_llm_consumer.definitions.spans import marker_style, trimmed_definition
from elt_llm_consumer.definitions.subject import QUOTED, after_labels, names_beside, quoted_span
from elt_llm_consumer.definitions.wording import ABOUT, FINITE, NOT_FIRST, VERB

# ruff: noqa: RUF001 - the look-alike dashes are what this file is about.
_ENTRY = re.compile(
    r"(?P<term>[^\s:|–—(\[](?:[^:|\n–—(]|\([^()\n]{1,60}\)){0,90}?)(?:\s{0,3}(?P<colon>:)|\s{1,3}(?P<dash>--?|[–—=]|\.{3,40})"
    r"|(?P<gap>[ \t]{1,60}))\s{1,60}(?=\S)"
)
_AFTER_MARKED = re.compile(r"\s{0,9}(?P<sign>[:–—=-]|\.(?=\s))?\s{1,60}(?=\S)")
_MARKDOWN_BODY = re.compile(r":\s+")
_FINAL = re.compile(r"[.!?;,:]\W{0,3}$")
_GENERIC = re.compile(
    r"(?:general|introduction|scope|purpose|overview|notes?|references?|examples?|see also|interpretation|definitions?"
    r"|glossary|abbreviations?|acronyms?|background|summary|index|warning|source|sources|version|date|author|status|"
    r"applies to|allgemeines|hinweis|quelle)s?$",
    re.IGNORECASE,
)
_PRONOUNS = re.compile(
    r"(?:you|your|yours|we|us|our|ours|i|me|my)(?:\s?[/,]\s?(?:or\s|and\s)?(?:yours?|you|us|ours?|we|me|my)){1,4}$",
    re.IGNORECASE,
)
_MOST_WORDS = 9
_SHORTEST_BELOW = 10  # characters of a definition on a line of its own


@dataclass(frozen=True)
class Entry:
    """A definition, the number of the line after it, and how it is written, which others of its list share."""

    draft: Draft
    following: int
    way: str


class Entries:
    """Reads one entry after another from lines."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def entry(self, lines: Sequence[Line], number: int, *, announced: bool, small: bool = False) -> Entry | None:
        """The entry that begins with lines[number]; `announced`: under a heading that says so, where headings count.

        `small`: entries may run into their definitions without a sign or a capital.
        """
        line = lines[number]
        if is_row(line.text) or self._layout.is_contents(line.text):
            return None
        if line.start in self._layout.heading_lines:
            return self._under_heading(lines, number) if announced else None
        if announced and (found := numbered(lines, number)) is not None:
            draft = self._draft(found.term, found.begin, found.end, 0.95)
            return Entry(replace(draft, aliases=found.aliases), found.following, "numbered")
        inline = self._inline(line) or (self._run_in(line, small=small) if announced else None)
        if inline is not None:
            term, body, way = inline
            last = self._last(lines, number, line)
            return Entry(self._draft(term, body, lines[last].end, 0.95), last + 1, marker_style(line.text) + way)
        return self._below(lines, number)

    def _run_in(self, line: Line, *, small: bool) -> tuple[tuple[int, int], int, str] | None:
        """As `_inline`, of an entry without any sign between the two."""
        found = run_in(line, small=small) if line.apart else None
        start = after_labels(line.text, 0, len(line.text))
        return self._at(line, start, found[0], found[1], "run in") if found else None

    def _inline(self, line: Line) -> tuple[tuple[int, int], int, str] | None:
        """Term, beginning of the body, and way of writing of "X: ..." and its kin."""
        start = after_labels(line.text, 0, len(line.text))
        marked = QUOTED.match(line.text, start)
        if marked:
            sign = _AFTER_MARKED.match(line.text, marked.end())
            begin, end = quoted_span(marked)
            inner = line.text[begin:end].rstrip()
            if not sign or (not sign["sign"] and not inner.endswith((":", "."))):
                return None
            return self._at(line, begin, begin + len(inner.rstrip(":. ")), sign.end(), (sign["sign"] or ":") + "marked")
        found = _ENTRY.match(line.text, start)
        if found is None or not self.is_term(found["term"]):
            return None
        least = 2 if self._layout.in_region(line.start) else 4
        if found["gap"] and found.end() - found.start("gap") < least:
            return None
        if found["colon"] is None and VERB.search(line.text, start, found.end()):
            return None
        sign_of = found["colon"] or (found["dash"] or " ")[:1]
        return self._at(
            line, found.start("term"), found.start("term") + len(found["term"].rstrip()), found.end(), sign_of
        )

    def _at(self, line: Line, begin: int, end: int, body: int, way: str) -> tuple[tuple[int, int], int, str] | None:
        term = line.text[begin:end]
        if not any(map(str.isalpha, term)) or _GENERIC.match(term) or body >= len(line.text) or is_note(line.text):
            return None
        return (line.start + begin, line.start + end), line.start + body, way

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
            if not deeper and ((style and style == own) or self._inline(line) is not None):
                break
            goes_on = deeper or (style and _opens(lines[last])) or self._cut(lines[last], line)
            if line.apart and not goes_on:
                break
            last = place
        return last

    def _cut(self, before: Line, line: Line) -> bool:
        """Whether a page cut a sentence in two."""
        cut = self._layout.page_between(before.start, line.start)
        return cut and not _FINAL.search(before.text) and line.text[:1].islower()

    def _under_heading(self, lines: Sequence[Line], number: int) -> Entry | None:
        """A heading that is a term, and the text under it."""
        line, text = lines[number], self._layout.text
        begin = after_labels(text, line.start + len(line.text) - len(line.text.lstrip("# ")), line.end)
        marked = QUOTED.match(text, begin, line.end)
        begin, end = quoted_span(marked) if marked and marked.end() == line.end else (begin, line.end)
        last = number
        while last + 1 < len(lines) and self._is_text(lines[last + 1]):
            last += 1
        if last == number or not self.is_term(text[begin:end]) or end - begin < 3 or VERB.search(text, begin, end):
            return None
        below = lines[number + 1]
        over_table = last + 1 < len(lines) and is_row(lines[last + 1].text)
        if over_table or self._inline(below) or self._below(lines, number + 1):
            return None
        if not marked and is_rule_of_reading(text[begin:end], text[below.start : lines[last].end]):
            return None
        return Entry(self._draft((begin, end), below.start, lines[last].end, 0.9), last + 1, "heading")

    def _is_text(self, line: Line) -> bool:
        return line.start not in self._layout.heading_lines and not is_row(line.text)

    def _below(self, lines: Sequence[Line], number: int) -> Entry | None:
        """A short line that is a term, and the lines below: further in, after ": ", or a sentence."""
        line = lines[number]
        below = lines[number + 1] if number + 1 < len(lines) else None
        if below is None or not self._is_text(below) or not self.is_term(line.text):
            return None
        if _FINAL.search(line.text) or marker_style(line.text):
            return None
        colon = _MARKDOWN_BODY.match(below.text)
        if below.indent > line.indent or colon:
            last = self._indented(lines, number + 1, line.indent, colon=colon is not None)
            begin = below.start + (colon.end() if colon else 0)
            return Entry(self._draft(_bare(line), begin, lines[last].end, 0.95), last + 1, "indented")
        if not (line.apart or not number or _FINAL.search(lines[number - 1].text)) or not self._is_sentence(below):
            return None
        last = self._last_below(lines, number + 1)
        if is_rule_of_reading(line.text, self._layout.text[below.start : lines[last].end]):
            return None
        return Entry(self._draft(_bare(line), below.start, lines[last].end, 0.85), last + 1, "below")

    def _is_sentence(self, line: Line) -> bool:
        """Whether a line is one that may say what the short line above it means."""
        text = line.text
        if marker_style(text) or self._inline(line) or len(text) < _SHORTEST_BELOW:
            return False
        return bool(_FINAL.search(text)) and not text[:1].islower() and not VERB.match(text)

    def _indented(self, lines: Sequence[Line], number: int, indent: int, *, colon: bool) -> int:
        last = number
        for place in range(number + 1, len(lines)):
            line = lines[place]
            if line.start in self._layout.heading_lines or (line.indent <= indent and not (colon and not line.apart)):
                break
            last = place
        return last

    def _last_below(self, lines: Sequence[Line], number: int) -> int:
        """The last line of what is said below a term: until a line that could be the next term."""
        last = number
        for place in range(number + 1, len(lines)):
            line = lines[place]
            if not self._is_text(line):
                break
            if not (marker_style(line.text) and _opens(lines[last])):
                ended = bool(_FINAL.search(lines[last].text)) or (marker_style(lines[last].text) and line.apart)
                next_term = self.is_term(line.text) and not _FINAL.search(line.text)
                if ended and (next_term or line.apart):
                    break
            last = place
        return last

    def is_term(self, text: str) -> bool:
        """Whether words are short and plain enough to be a term."""
        if QUOTED.fullmatch(text.strip()):
            return True
        bare = ABOUT.sub("", text).strip('*_`"“”: ')
        if _PRONOUNS.match(bare):
            return True
        words = bare.casefold().split()
        if not words or len(words) > _MOST_WORDS or words[0] in NOT_FIRST or _GENERIC.match(bare):
            return False
        plain = any(map(str.isalpha, bare)) and not any(sign in bare for sign in ".!?;|,")
        return plain and FINITE.search(bare) is None

    def _draft(self, term: tuple[int, int], begin: int, end: int, score: float) -> Draft:
        rest, short, aliases = names_beside(self._layout.text[slice(*term)], 1)
        if short or aliases:
            term = (term[0], term[0] + len(rest.rstrip()))
        body = trimmed_definition(self._layout.text, begin, end)
        return Draft(term, body, "list", score, short, aliases=aliases)


def _opens(line: Line) -> bool:
    return line.text.endswith((":", ";", ",", " and", " or")) or bool(marker_style(line.text))


def _bare(line: Line) -> tuple[int, int]:
    """The term on a line of its own, without marks around it."""
    marked = QUOTED.match(line.text)
    begin, end = quoted_span(marked) if marked and marked.end() == len(line.text) else (0, len(line.text))
    return line.start + begin, line.start + end
