"""Read glossaries written as lists, in which a colon, dash, indent, number or nothing separates terms and meanings."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Final

from elt_llm_core.text.languages import languages, words
from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.defining_sentences import gives_meaning
from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import DocumentLayout, TextLine, marker_style, one_line, trim_definition
from elt_llm_consumer.definitions.subject import (
    QUOTED_TERM,
    distinguishes,
    is_phrase,
    quoted_span,
    skip_labels,
    split_other_names,
)
from elt_llm_consumer.definitions.vocabulary import CONTEXT_IN_BRACKETS, FINITE, NOT_FIRST, NOT_WITHIN, VERB, pattern
from elt_llm_consumer.sentences.words import ARTICLES

_READING: Final = pattern("reading_rule")
_TITLE: Final = pattern("reading_rule_title")
_INCLUDES: Final = re.compile(r"(?:an?|any|every|each|the)\s[\w-]{1,30}\s(?:also\s)?includes?\s", re.IGNORECASE)
_LEADING_NUMBER: Final = re.compile(r"[\W\d]{0,12}")
_REACH = 400  # maximum characters of a text that are checked


def is_interpretation_rule(title: str, body: str) -> bool:
    """Return whether a text is an interpretation rule, such as "The singular includes the plural"."""
    near = " ".join(body[:_REACH].split())
    if gives_meaning(near) or _READING.search(near) is not None:
        return True
    means = distinguishes(near) and _INCLUDES.match(near) is None
    return not means and _TITLE.match(_LEADING_NUMBER.sub("", fold(title), count=1)) is not None


_CAPITAL: Final = pattern("run_in_capital")
_SMALL: Final = pattern("run_in_small")
_LABEL: Final = re.compile(r"(?:\*\*|__)?\d{1,3}(?:\.\d{1,3}){1,4}\.?(?:\s{1,9}|$)")
_NOTE: Final = re.compile(r"(?:note|example|anmerkung|beispiel)s?\b|\[?(?:source|quelle)\b", re.IGNORECASE)
# A note of a standard below a definition: "Note 1 to entry: ...".
_ENTRY_NOTE: Final = re.compile(r"note\s(?:\d{1,2}\s)?to\sentry\b", re.IGNORECASE)
# "Abstract type. A type ...": a term and a full stop before its definition.
_STOPPED: Final = re.compile(r"(?P<term>[^\W\d_][^.:;!?|\n]{1,60})\.\s{1,3}(?=[\"“„(]?[A-ZÄÖÜ])")
_JOINING: Final = frozenset(("of", "for", "to", "by", "with", "from", "in", "on", "at", "and", "or", "as", "not"))
_THE: Final = ARTICLES | {word.title() for word in ARTICLES}
_MAX_LINES = 12


def _read_run_in(line: TextLine, style: str = "") -> tuple[int, int] | None:
    """Return the end of the term and the start of its definition in a line such as "Quorum The number of members".

    Return None if the line does not define a term. `style` is the further form that most entries of the list have:
    "small" (the definition starts in lower case), "stopped" (a full stop ends the term), "short" (any text follows a
    short form), or "" for none.
    """
    text = line.text
    start = skip_labels(text, 0, len(text))
    first, _, rest = text[start:].partition(" ")
    if is_short_form(first) and long_form(first, rest.rstrip(" .")) == (0, len(rest.rstrip(" ."))):
        return start + len(first), start + len(first) + 1
    if style == "stopped" and (found := _STOPPED.match(text, start)):
        return found.end("term"), found.end()
    if style == "short" and is_short_form(first) and rest[:1].isupper() and is_phrase(rest):
        return start + len(first), start + len(first) + 1
    found = _CAPITAL.match(text, start) or (_SMALL.match(text, start) if style == "small" else None)
    if found is None or not _is_name(found["term"]) or not distinguishes(found["body"]):
        return None
    return found.end("term"), found.start("body")


def _is_plain(text: str) -> bool:
    words = text.split()
    return len(words) <= 6 and not any(sign in text for sign in ".,;:|") and _is_name(text)


def _is_name(term: str) -> bool:
    words = [word.strip("'’()").casefold() for word in term.split()]
    if not words or words[0] in NOT_FIRST or any(word in NOT_WITHIN for word in words):
        return False
    return words[-1] not in _JOINING and words[0] not in ("a", "an", "the")


_ENTRY: Final = pattern("list_entry")
# "To apply any procedure", "Making copies of it": the meaning of a term in quotes.
_DOING = re.compile(r"(?:To\s[a-z]{2,20}|[A-Z][a-z]{2,20}ing)\s\S{1,30}\s")
# The next term in quotes in the text of an entry: "`Work' Any work. `Derived Work' Any work that is derived from it."
_NEXT_QUOTED = re.compile(
    r"(?<=[.;]\s)[`‘“„\"](?P<term>[^`‘’“”„\"'\n.;]{2,60})['’”“\"]\s(?=(?P<body>[A-ZÄÖÜ][^\n]{10,200}))"
)
_AFTER_MARKED = re.compile(r"\s{0,9}(?P<sign>[:–—=-]|\.(?=\s))?(?:\s{1,60}(?=\S)|(?<=[”’»]:)(?=[^\W\d_]))")
# A short form between a marked term and the sign after it: "**Cross-Site Scripting** (XSS) - ...".
_BRACKET_AFTER_MARKED = re.compile(r"\s\([^()\n]{1,40}\)(?=\s?[:–—=-])")
_OR: Final = pattern("or_between_quotes")
_QUOTES: Final = "\"“”„«»‘’'*_ "
_MARKDOWN_BODY = re.compile(r":\s+")
_FINAL = re.compile(r"[.!?;,:]\W{0,3}$")
# A sign before each term, as in RFC 4949: "$ access control".
_TERM_MARK = re.compile(r"[$§►▶→◆]\s{1,9}")
_SEE_AFTER = re.compile(r"\s{1,9}see(?:\salso)?$", re.IGNORECASE)
_SIGN_AT_END = re.compile(r"\s(?:--?|[–—=])$")
_GENERIC: Final = pattern("generic_heading")
_PRONOUNS: Final = pattern("pronoun_term")
_CHAPTERS: Final = words("chapter_titles", languages())
_ONLY_LABEL = re.compile(r"\(?\w{1,3}[.)]?$")
_WORDS_AFTER_TERM = re.compile(r"\s[^\W\d_]")
# A dot inside a word belongs to a term, as in "X.509"; a dot before a blank ends a sentence.
_NO_TERM_SIGN = re.compile(r"[!?;|,]|\.(?:\s|$)|^\[[^\]]*\]$")
_MAX_WORDS = 9
_MAX_INVERTED_WORDS = 5  # maximum number of words in a term such as "Head, closed branch"
_MIN_TERMS = 5  # minimum number of terms that show the usual indent of a list
_MIN_BODY_LENGTH = 10  # minimum characters of a definition that starts on its own line


@dataclass(frozen=True)
class ListEntry:
    """A list entry: its possible definition, the number of the line after it, and the style in which it is written."""

    draft: DefinitionDraft
    following: int
    way: str


class EntryReader:
    """Reads the entries of a glossary, one at a time, from the lines of a document."""

    def __init__(self, layout: DocumentLayout) -> None:
        self._layout = layout

    def entry(self, lines: Sequence[TextLine], number: int, *, announced: bool, style: str = "") -> ListEntry | None:
        """Return the entry that starts with lines[number], or None.

        `announced` means that the line is under a heading of definitions, where subheadings may be terms. `style` is
        the way in which definitions follow their terms in this list (see `_read_run_in`).
        """
        line = lines[number]
        if self._layout.is_row(line) or self._layout.is_contents(line.text):
            return None
        if line.start in self._layout.heading_lines:
            return self._under_heading(lines, number) if announced else None
        if announced and (numbered := self._numbered(lines, number)) is not None:
            return numbered
        inline = self._inline(line) or self._signed_at_end(lines, number)
        if inline is None and announced and line.apart and (found := self.run_in(line, style)):
            start = skip_labels(line.text, 0, len(line.text))
            inline = self._at(line, start, *found, "run in")
        if inline is not None:
            term, body, way = inline
            last = self.last_line(lines, number)
            return ListEntry(self._draft(term, body, lines[last].end, 0.95), last + 1, marker_style(line.text) + way)
        return self._below(lines, number)

    def run_in(self, line: TextLine, style: str) -> tuple[int, int] | None:
        """Return the end of a term at the start of a line and the start of its definition, or None (`_read_run_in`)."""
        found = _read_run_in(line, style)
        return found if found and self.is_term(line.text[skip_labels(line.text, 0, found[0]) : found[0]]) else None

    def _numbered(self, lines: Sequence[TextLine], number: int) -> ListEntry | None:
        """Return the entry on the lines below a number such as "3.1": term, other names, meaning, notes; else None."""
        label = _LABEL.match(lines[number].text)
        if label is None:
            return None
        entry = list(lines[number + 1 : number + 1 + _MAX_LINES])
        stop = next((place for place, line in enumerate(entry) if _LABEL.match(line.text)), len(entry))
        body_end = next((place for place, line in enumerate(entry[:stop]) if _NOTE.match(line.text)), stop)
        names = [(line.start, line.text) for line in entry[:body_end]]
        if rest := lines[number].text[label.end() :].rstrip("*_: "):
            names.insert(0, (lines[number].start + label.end(), rest))
        if len(names) < 2 or not _is_plain(names[0][1]):
            return None
        body = next((place for place, (_, text) in enumerate(names) if place and not _is_plain(text)), len(names) - 1)
        if not names[body][1][:1].islower() or any(text[:1].isupper() for _, text in names[body + 1 :]):
            return None
        start, term = names[0]
        draft = self._draft((start, start + len(term)), names[body][0], entry[body_end - 1].end, 0.95)
        aliases = tuple(text for _, text in names[1:body])
        return ListEntry(replace(draft, aliases=aliases), number + 1 + body_end, "numbered")

    def _inline(self, line: TextLine) -> tuple[tuple[int, int], int, str] | None:
        """For an entry such as "X: ...", return the term's span, the definition's start, and the style; else None."""
        start = skip_labels(line.text, 0, len(line.text))
        if marked := QUOTED_TERM.match(line.text, start):
            return self._after_marked(line, marked)
        mark = _TERM_MARK.match(line.text, start)
        found = _ENTRY.match(line.text, mark.end() if mark else start)
        return self._plain_entry(line, found) if found else None

    def _after_marked(self, line: TextLine, marked: "re.Match[str]") -> tuple[tuple[int, int], int, str] | None:
        begin, end = quoted_span(marked)
        last = marked.end()
        while (joined := _OR.match(line.text, end)) and (other := QUOTED_TERM.match(line.text, joined.end())):
            end = quoted_span(other)[1]
            last = other.end() + line.text.startswith(")", other.end())
        if bracket := _BRACKET_AFTER_MARKED.match(line.text, last):
            end = last = bracket.end()
        sign = _AFTER_MARKED.match(line.text, last)
        inner = line.text[begin:end].rstrip()
        signed = sign is not None and (sign["sign"] or inner.endswith((":", ".")))
        if sign and not signed and self._is_run_in(line, begin, sign.end()):
            return self._at(line, begin, end, sign.end(), "run in marked")
        if not sign or not signed:
            return None
        return self._at(
            line, begin, begin + len(inner.rstrip(":. ")), sign.end(), (sign["sign"] or inner[-1]) + "marked"
        )

    def _is_run_in(self, line: TextLine, begin: int, body: int) -> bool:
        """Return whether a phrase with a capital follows a term in quotes: "`Work' Any work ..."."""
        meaning = line.text[body:]
        quoted = line.text[begin - 1 : begin] in ('"', "“", "„", "`", "‘")
        bold = line.text[max(0, begin - 2) : begin] in ("**", "__") or meaning.split()[0].casefold() in ARTICLES
        emphasised = line.text[begin - 1 : begin] in ("*", "_") and bold and self._layout.in_region(line.start)
        named = any(map(str.isalpha, line.text[begin : body - 1]))
        headed = emphasised and named and (meaning[:1] == "[" or meaning[:1].isupper())
        defines = is_phrase(meaning) and (headed or distinguishes(meaning) or _DOING.match(meaning) is not None)
        return line.apart and defines and (emphasised or (quoted and meaning[:1].isupper()))

    def _plain_entry(self, line: TextLine, found: "re.Match[str]") -> tuple[tuple[int, int], int, str] | None:
        if found["colon"] and (see := _SEE_AFTER.search(found["term"])) and self.is_term(found["term"][: see.start()]):
            end = found.start("term") + see.start()
            return self._at(line, found.start("term"), end, end + 1, "see")
        least = 2 if self._layout.in_region(line.start) else 4
        too_close = found["gap"] and found.end() - found.start("gap") < least
        if too_close or not self.is_term(found["term"]):
            return None
        if found["colon"] is None and VERB.search(line.text, found.start(), found.end()):
            return None
        sign_of = found["colon"] or ("-" if found["dash"] and found["dash"][0] in "-–—" else (found["dash"] or " ")[:1])
        return self._at(
            line, found.start("term"), found.start("term") + len(found["term"].rstrip()), found.end(), sign_of
        )

    def _signed_at_end(self, lines: Sequence[TextLine], number: int) -> tuple[tuple[int, int], int, str] | None:
        """Return the term's span, the definition's start, and the style of an entry such as "**X** -"; else None.

        The first line of such an entry has only the term and a sign. The definition starts on the line below.
        """
        line, below = lines[number], lines[number + 1] if number + 1 < len(lines) else None
        sign = _SIGN_AT_END.search(line.text)
        start = skip_labels(line.text, 0, len(line.text))
        marked = QUOTED_TERM.match(line.text, start)
        if sign is None or marked is None or marked.end() != sign.start() or below is None or below.apart:
            return None
        begin, end = quoted_span(marked)
        return (line.start + begin, line.start + end), below.start, sign.group().strip() + "marked"

    def _at(self, line: TextLine, begin: int, end: int, body: int, way: str) -> tuple[tuple[int, int], int, str] | None:
        term = line.text[begin:end]
        marked = way.endswith("marked") and self._layout.in_region(line.start)
        lettered = marked or any(map(str.isalpha, term))
        if not lettered or _GENERIC.match(term) or body >= len(line.text) or _NOTE.match(line.text):
            return None
        return (line.start + begin, line.start + end), line.start + body, way

    def last_line(self, lines: Sequence[TextLine], number: int) -> int:
        """Return the number of the entry's last line, before the next entry or an unrelated paragraph."""
        first = lines[number]
        own = marker_style(first.text)
        for place in range(number + 1, len(lines)):
            above, line = lines[place - 1 : place + 1]
            deeper = line.indent > first.indent
            style = marker_style(line.text)
            if not self._is_text(line) or (not deeper and ((style and style == own) or self._inline(line) is not None)):
                return place - 1
            below = lines[place + 1] if place + 1 < len(lines) else line
            if line.indent == first.indent < below.indent and self.is_alone(line) and _FINAL.search(above.text):
                return place - 1
            cut = self._layout.page_between(above.start, line.start) and line.text[:1].islower()
            goes_on = deeper or (style and _opens_definition(above)) or (cut and not _FINAL.search(above.text))
            if line.apart and not goes_on:
                return place - 1
        return len(lines) - 1

    def _under_heading(self, lines: Sequence[TextLine], number: int) -> ListEntry | None:
        """Return the entry whose term is a heading and whose definition is the text under the heading, or None."""
        line, text = lines[number], self._layout.text
        begin = skip_labels(text, line.start + len(line.text) - len(line.text.lstrip("# ")), line.end)
        marked = QUOTED_TERM.match(text, begin, line.end)
        begin, end = quoted_span(marked) if marked and marked.end() == line.end else (begin, line.end)
        last = number
        while last + 1 < len(lines) and self._is_text(lines[last + 1]) and not _ENTRY_NOTE.match(lines[last + 1].text):
            last += 1
        if last == number or not self.is_term(text[begin:end]) or end - begin < 3 or VERB.search(text, begin, end):
            return None
        below = lines[number + 1]
        over_table = last + 1 < len(lines) and self._layout.is_row(lines[last + 1])
        listed = sum(self._inline(line) is not None for line in lines[number + 1 : last + 1])
        over_list = listed >= _MIN_RUN and 2 * listed > last - number
        if over_table or over_list or self._inline(below) or self._below(lines, number + 1):
            return None
        if not marked and is_interpretation_rule(text[begin:end], text[below.start : lines[last].end]):
            return None
        return ListEntry(self._draft((begin, end), below.start, lines[last].end, 0.9), last + 1, "heading")

    def _is_text(self, line: TextLine) -> bool:
        return line.start not in self._layout.heading_lines and not self._layout.is_row(line)

    def _below(self, lines: Sequence[TextLine], number: int) -> ListEntry | None:
        """Return the entry whose term is a short line and whose definition consists of the lines below it, or None."""
        line = lines[number]
        below = lines[number + 1] if number + 1 < len(lines) else None
        if below and line.apart and below.apart and line.text.endswith(":") and self._layout.in_region(line.start):
            line = replace(line, end=line.end - 1, text=line.text[:-1])  # "Dataset:" above its paragraph
        if below is None or not self.is_alone(line) or self._goes_on(lines, number):
            return None
        # In the indented text below a term, a tab is only a wide blank.
        is_row = self._layout.is_row(below) and (below.indent <= line.indent or "|" in below.text)
        if is_row or below.start in self._layout.heading_lines or _ENTRY_NOTE.match(below.text):
            return None
        term = _bare_term(line)
        colon = _MARKDOWN_BODY.match(below.text)
        if below.indent > line.indent or colon:
            last = self._indented(lines, number + 1, line.indent, colon=colon is not None)
            begin = below.start + (colon.end() if colon else 0)
            return ListEntry(self._draft(term, begin, lines[last].end, 0.95), last + 1, "indented")
        text = below.text
        apart = line.apart or not number or _FINAL.search(lines[number - 1].text)
        plain = len(text) >= _MIN_BODY_LENGTH and not text[:1].islower() and not marker_style(text)
        bold = self._layout.in_region(line.start) and QUOTED_TERM.fullmatch(line.text) is not None
        # Below a term in bold, the paragraph has any form.
        of_other = not bold and (not _FINAL.search(text) or self._inline(below) is not None)
        if not apart or not plain or of_other or VERB.match(text) or QUOTED_TERM.match(text):
            return None
        gap = (at - 1 for at in range(number + 2, len(lines)) if lines[at].apart)
        last = next(gap, len(lines) - 1) if bold else self._last_below(lines, number + 1)
        if is_interpretation_rule(line.text, self._layout.text[below.start : lines[last].end]):
            return None
        return ListEntry(self._draft(term, below.start, lines[last].end, 0.85), last + 1, "below")

    def _goes_on(self, lines: Sequence[TextLine], number: int) -> bool:
        """Return whether a line without blank line above it is the end of the sentence on the line above."""
        above, line = lines[max(0, number - 1)], lines[number]
        if not number or line.apart:
            return False
        open_end = above.indent == line.indent and self._is_text(above) and not _FINAL.search(above.text)
        return open_end and not self.is_alone(above)

    def usual_indent(self, lines: Sequence[TextLine]) -> int:
        """Return the indent of the terms in a list whose definitions are the more deeply indented lines below them.

        It is the most frequent indent of such terms. Return 0 unless at least five terms, and more than half of them,
        have it.
        """
        terms = (line for line, below in pairwise(lines) if below.indent > line.indent and self.is_alone(line))
        indents = Counter(line.indent for line in terms)
        indent, count = max(indents.items(), key=itemgetter(1), default=(0, 0))
        return indent if count >= _MIN_TERMS and 2 * count > indents.total() else 0

    def is_alone(self, line: TextLine) -> bool:
        """Return whether a line may be the term of an entry whose text is below, such as "Branch, closed"."""
        name, comma, qualifier = line.text.partition(", ")
        parts = (name, qualifier) if comma and len(line.text.split()) <= _MAX_INVERTED_WORDS else (line.text,)
        return all(map(self.is_term, parts)) and not _FINAL.search(line.text) and not marker_style(line.text)

    def _indented(self, lines: Sequence[TextLine], number: int, indent: int, *, colon: bool) -> int:
        for place in range(number + 1, len(lines)):
            line = lines[place]
            if line.start in self._layout.heading_lines or (line.indent <= indent and not (colon and not line.apart)):
                return place - 1
        return len(lines) - 1

    def _last_below(self, lines: Sequence[TextLine], number: int) -> int:
        """Return the number of the last line of the text below a term, before a line that may be the next term."""
        for place in range(number + 1, len(lines)):
            above, line = lines[place - 1 : place + 1]
            if not self._is_text(line):
                return place - 1
            if not (marker_style(line.text) and _opens_definition(above)):
                ended = bool(_FINAL.search(above.text)) or (marker_style(above.text) and line.apart)
                next_term = self.is_term(line.text) and not _FINAL.search(line.text)
                if ended and (next_term or line.apart):
                    return place - 1
        return len(lines) - 1

    def is_term(self, text: str) -> bool:
        """Return whether a text is short and plain enough to be a term."""
        if QUOTED_TERM.fullmatch(text.strip()):
            return True
        bare = CONTEXT_IN_BRACKETS.sub("", text).strip('*_`"“”: ')
        if _PRONOUNS.match(bare):
            return True
        words = bare.casefold().split()
        if not words or len(words) > _MAX_WORDS or words[0] in NOT_FIRST or _GENERIC.match(bare) or bare in _THE:
            return False
        plain = any(map(str.isalpha, bare)) and _NO_TERM_SIGN.search(bare) is None
        return plain and FINITE.search(bare) is None

    def introduced(self, lines: Sequence[TextLine], number: int, *, listed: bool) -> DefinitionDraft | None:
        """Return the definition in an item "1. „Frist“ die Zeit", if `listed` also "1. ist Nutzer jeder, der"."""
        line, text = lines[number], self._layout.text
        start = skip_labels(line.text, 0, len(line.text))
        end = lines[self.last_line(lines, number)].end
        if listed and (found := _VERB_FIRST.match(text, line.start + start, end)):
            return self._draft(found.span(found.lastgroup or 0), found.end(), end, 0.95)
        if listed and (inline := self._inline(line)) and inline[2].startswith(":"):
            return self._draft(*inline[:2], end, 0.95)
        marked = QUOTED_TERM.match(line.text, start)
        item = start or (number and _ONLY_LABEL.match(lines[number - 1].text))
        if not item or marked is None or marked["double"] is None:
            return None
        body = line.start + marked.end() + 1
        meaning = text[body:end]
        if not _WORDS_AFTER_TERM.match(text, body - 1) or VERB.match(meaning) or not is_phrase(meaning):
            return None
        begin, stop = quoted_span(marked)
        return self._draft((line.start + begin, line.start + stop), body, end, 0.95)

    def _draft(self, term: tuple[int, int], begin: int, end: int, score: float) -> DefinitionDraft:
        name, *others = _OR.split(self._layout.text[slice(*term)])
        rest, short, aliases = split_other_names(name, 1)
        aliases += tuple(other.strip(_QUOTES) for other in others)
        if short or aliases:
            term = (term[0], term[0] + len(rest.rstrip()))
        body = trim_definition(self._layout.text, begin, end)
        return DefinitionDraft(term, body, "list", score, short, aliases=aliases)


def _opens_definition(line: TextLine) -> bool:
    return line.text.endswith((":", ";", ",", " and", " or")) or bool(marker_style(line.text))


def _bare_term(line: TextLine) -> tuple[int, int]:
    """Return the span of the term in a line that holds only the term, without quotes and emphasis around it."""
    marked = QUOTED_TERM.match(line.text)
    mark = _TERM_MARK.match(line.text)
    whole = (mark.end() if mark else 0, len(line.text))
    begin, end = quoted_span(marked) if marked and marked.end() == len(line.text) else whole
    return line.start + begin, line.start + end


_INTRODUCTION: Final = pattern("list_introduction")
_VERB_FIRST: Final = pattern("verb_first_entry")
_CUE: Final = pattern("list_announcement")
_NUMBER_WORD = re.compile(r"(?:one|two|three|four|five|six|ten|half|\d)", re.IGNORECASE)
_ACTING = re.compile(r"[a-z]{3,20}ing\s", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w'’ /&()-]{0,90}$")
_STYLES = ("small", "stopped", "short")
_SHARE, _MIN_RUN, _NAMES = 0.7, 3, 0.8


def find_in_lists(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield the definitions in lists: first in the sections that define terms, then elsewhere."""
    for draft in (*_page_drafts(layout), *_unsplit_drafts(layout)):
        found = list(_NEXT_QUOTED.finditer(layout.text, *draft.body)) if layout.text[draft.term[0] - 1] in "`‘" else []
        following = [one for one in found if is_phrase(one["body"])]
        ends = [*(one.start() for one in following), draft.body[1]]
        yield replace(draft, body=trim_definition(layout.text, draft.body[0], ends[0]))
        for one, end in zip(following, ends[1:], strict=True):
            body = trim_definition(layout.text, one.end(), end)
            yield DefinitionDraft(one.span("term"), body, draft.pattern, draft.score)


def _page_drafts(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield the definition on a page in a folder "glossary": its title is the term, its first paragraph the meaning."""
    folders = layout.document.source.replace("_", " ").split("/")[:-1]
    lines, titled = layout.lines, any(one.start == 0 for one in layout.document.outline.sections)
    below = next((place for place, line in enumerate(lines) if line.start not in layout.heading_lines), 0)
    if titled and below and not layout.regions and any(map(layout.announces, folders)):
        entries, start = EntryReader(layout), lines[0].end - len(lines[0].text.lstrip("#= "))
        if entries.is_term(layout.text[start : lines[0].end]) and not marker_style(lines[below].text):
            body = trim_definition(layout.text, lines[below].start, lines[entries.last_line(lines, below)].end)
            yield DefinitionDraft((start, lines[0].end), body, "list", 0.9)


def _unsplit_drafts(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    for start, end in layout.regions:
        lines = layout.lines_between(start, end)
        headed = bool(lines) and layout.announces(lines[0].text.strip("#=* "))
        yield from _section_drafts(layout, lines[1:] if headed else lines)
    yield from _introduced_drafts(layout)
    yield from _run_drafts(layout, [line for line in layout.lines if not layout.in_region(line.start)])


def _section_drafts(layout: DocumentLayout, lines: Sequence[TextLine]) -> Iterator[DefinitionDraft]:
    # Entries without a sign after the term are read only here: elsewhere, most paragraphs look like such entries.
    begins = [line for line in lines if line.apart]
    entries = EntryReader(layout)
    counts = {style: sum(map(bool, (entries.run_in(line, style) for line in begins))) for style in _STYLES}
    style = max((one for one in _STYLES if counts[one] > max(1, len(begins) / 2)), key=counts.__getitem__, default="")
    indent = entries.usual_indent(lines)
    titles = [line.text.lstrip("# ") for line in lines if line.start in layout.heading_lines]
    chapters = sum(one[skip_labels(one, 0, len(one)) :].casefold() in _CHAPTERS for one in titles) > 1
    number = 0
    while number < len(lines):
        outer = number + 1 < len(lines) and lines[number].indent < min(indent, lines[number + 1].indent)
        entry = None if outer else entries.entry(lines, number, announced=True, style=style)
        # In a document with marked-up definition lists, a heading with text below is a chapter and not a term.
        if entry is not None and not (entry.way == "heading" and (chapters or layout.document.marked.definitions)):
            yield entry.draft
        number = entry.following if entry is not None else number + 1


def _introduced_drafts(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield the definitions in the lists below lines such as "Im Sinne dieser Ordnung bezeichnet der Ausdruck:"."""
    entries, lines = EntryReader(layout), layout.lines
    below = listed = False
    style, last = "", (0, "")  # the marker of the items of the list, and the label of the last one
    for number, line in enumerate(lines):
        own = marker_style(line.text)
        if _INTRODUCTION.search(line.text):
            below = listed = True
            style, last = marker_style(lines[min(number + 1, len(lines) - 1)].text), (0, "")
        elif line.start in layout.heading_lines:
            below = False
        elif below:
            # After "h)", "i)" is a letter; "(2)" after "6." starts another paragraph.
            name = line.text.split(maxsplit=1)[0].strip("().")
            label = (len(name.rstrip("abcdefgh") or name), name)  # (1, "c") for "c)", (2, "10") for "10."
            following = label > last and (own == style or (style, own) == ("a", "i"))
            next_item = following or style == own == "i" if style else own in ("", "-") and line.apart
            last = label if following else last
            draft = entries.introduced(lines, number, listed=listed and next_item)
            # Another paragraph ends a list without markers.
            listed = listed and bool(style or draft or own or line.indent or not line.apart)
            if draft:
                yield draft


def _run_drafts(layout: DocumentLayout, lines: Sequence[TextLine]) -> Iterator[DefinitionDraft]:
    """Yield the definitions in groups of consecutive entries.

    A group has at least three entries, or fewer if the terms are in bold or a line above announces definitions.
    """
    entries = EntryReader(layout)
    number, last = 0, -1
    while number < len(lines):
        run: list[ListEntry] = []
        place = number
        while place < len(lines) and (entry := entries.entry(lines, place, announced=False)):
            if run and run[-1].way != entry.way:
                break
            run.append(entry)
            place = entry.following
        after = last >= 0 and not any(line.start in layout.heading_lines for line in lines[last:number])
        if run and _defines(layout, run, lines[number - 1] if number else None, after=after):
            last = place
            yield from (entry.draft for entry in run)
        number = max(place, number + 1)


def _defines(layout: DocumentLayout, run: Sequence[ListEntry], before: TextLine | None, *, after: bool) -> bool:
    """Return whether consecutive entries define terms.

    `before` is the line above them. `after` means that other entries under the same heading define terms.
    """
    names = sum(map(bool, (_NAME.match(layout.text[slice(*entry.draft.term)]) for entry in run))) / len(run)
    bodies = [one_line(layout.text[slice(*entry.draft.body)]) for entry in run]
    stopped = run[0].way.endswith(".marked")
    share = sum(_is_entry_meaning(body, stopped=stopped) for body in bodies) / len(bodies)
    if before is not None and _CUE.search(before.text):
        return share >= 0.5 and names >= _NAMES
    bold = all(entry.way.endswith("marked") for entry in run)
    return names == 1 and share >= _SHARE and len(run) >= (2 if bold or after else _MIN_RUN)


def _is_entry_meaning(body: str, *, stopped: bool) -> bool:
    """Return whether the text of an entry is a meaning, such as "a person who ...", and not a sentence or number.

    After a full stop (`stopped`), "Lending tools to members ..." describes a service.
    """
    if _NUMBER_WORD.match(body):
        return False
    acting = not stopped and _ACTING.match(body) is not None and len(body.split()) > 2
    return (acting or distinguishes(body)) and is_phrase(body) and not body.endswith(":")
