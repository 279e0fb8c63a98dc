"""Find definitions by the markup of their terms: definition lists, `dfn`, and emphasis at the start of a paragraph."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from elt_llm_core.text.outline import Pair, Span

from elt_llm_consumer.definitions.abbreviations import is_short_form
from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import (
    DocumentLayout,
    definition_end,
    marker_style,
    one_line,
    trim_definition,
    trim_span,
)
from elt_llm_consumer.definitions.lists import EntryReader
from elt_llm_consumer.definitions.subject import (
    DefinedSubject,
    defines,
    distinguishes,
    is_phrase,
    meaning_start,
    skip_labels,
)
from elt_llm_consumer.definitions.vocabulary import CONTEXT_IN_BRACKETS, STRONGLY_DISTINGUISHING, VERB, pattern
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.sentences.words import word_list

_VALUE_HEADING: Final = pattern("value_heading")
_LINK = re.compile(r"(?:https?://|www\.|mailto:)\S{1,300}|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_PHONE = re.compile(r"(?:\+|\b0|\()\d[\d ()/.-]{5,24}\d")
_STREET: Final = pattern("street_address")
_TIMES: Final = word_list("time_values")
# These words make an entry a value only next to a number.
_UNITS: Final = word_list("unit_values")
_LABEL: Final = pattern("label_of_value")
_FIELD: Final = pattern("field_of_reference_page")
_NAME = re.compile(r"(?:(?:[A-Z]\.?|[^\W\d_][\w.'-]{1,30})\s){1,3}[^\W\d_][\w'-]{1,30}$")
_NUMBERED: Final = pattern("numbered_section")
_CODE = re.compile(r"-{1,2}\w|[/$\\<]|.{0,80}(?:->|\w\(\)|\w\([^()\s]{0,40}[,=])")
_ACTING = re.compile(r"[a-z]{3,20}ing\s\S{1,30}\s", re.IGNORECASE)
_REACH = 14
_SHARE = 0.5
_MAX_CONTACT_WORDS, _MAX_ADDRESS_WORDS = 3, 16  # words beside a telephone number or link, and of a postal address
_CALLED_LENGTH = 60  # maximum characters of "is called" and the like before a term


def _holds_values(entries: Sequence[tuple[str, str]], values: Sequence[bool]) -> bool:
    """Return whether the entries of a list are values, such as times and amounts, instead of definitions.

    A name of a person or place counts as a value if the list has other values, or consists only of names.
    """
    names = [value or _is_name(*entry) for entry, value in zip(entries, values, strict=True)]
    named = any(values) and sum(names) >= _SHARE * len(names)
    return sum(values) >= _SHARE * len(values) or named or (all(names) and len(names) > 1)


def _is_name(term: str, body: str) -> bool:
    """Return whether an entry's text is a name such as "Jules Verne". A long form does not count as a name."""
    return _NAME.match(body) is not None and body.istitle() and not is_short_form(term.strip())


def is_value(term: str, body: str, *, announced: bool = False) -> bool:
    """Return whether an entry gives a number, time, amount, address, option or section instead of a definition.

    Under a heading of definitions (`announced`), "type" and "default" are terms and not fields of a reference page.
    """
    if _CODE.match(term.strip()) or _NUMBERED.match(term.strip()):
        return True
    if not announced and _FIELD.fullmatch(term.strip()):
        return True
    if _LABEL.fullmatch(term.strip(" :")) and not (_is_meaning(body) or body[:1].islower()):
        return True
    without = _PHONE.sub(" ", _LINK.sub(" ", body))
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", without)]
    figures = any(map(str.isdigit, without))
    if all(word in _TIMES or (figures and word in _UNITS) for word in words):
        return True
    return is_contact(body) or (len(words) <= _MAX_ADDRESS_WORDS and _STREET.search(body) is not None)


def is_contact(body: str) -> bool:
    """Return whether a text is only a web address, mail address or telephone number, with a few words."""
    without = _PHONE.sub(" ", _LINK.sub(" ", body))
    return without != body and len(re.findall(r"[^\W\d_]+", without)) <= _MAX_CONTACT_WORDS


def _is_meaning(body: str) -> bool:
    """Return whether the text of an entry gives the meaning of a term by naming a kind of thing or activity.

    A sentence such as "The hall opens at nine" does not give a meaning.
    """
    near = " ".join(body.split(maxsplit=_REACH)[:_REACH])
    sentence = body[:1].isupper() and STRONGLY_DISTINGUISHING.search(near) is None
    return not sentence and (distinguishes(body) or _ACTING.match(body) is not None) and is_phrase(body)


_CLOSING = re.compile(r"[\"”“»’'\s]{0,3}(?:\([^()\n]{1,80}\)\s{0,2})?,?\s{0,2}")
_SIGN = re.compile(r"[\"”“»’']{0,2}\s{0,3}(?:\([^()\n]{1,80}\)\s{0,3})?[:–—=-]\s{1,3}(?=\S)")
_LEAD = re.compile(r"[\s,:–—-]{0,6}")
_TAIL = re.compile(r"[\s:.–—=-]{1,5}$")
_CALLED: Final = pattern("called_at_end")
_MAX_WORDS = 8
_OFTEN = 3  # minimum number of entries with the same term
_SURE, _LIKELY = 0.95, 0.85


def find_marked_terms(layout: DocumentLayout, settings: GlossarySection) -> Iterator[DefinitionDraft]:
    """Yield the definitions whose terms are marked up: first those in lists, then those in sentences."""
    if layout.document.marked:
        yield from _definition_lists(layout, settings)
        reader = _MarkedSentences(layout)
        yield from reader.instances()
        yield from reader.leading()


def _definition_lists(layout: DocumentLayout, settings: GlossarySection) -> Iterator[DefinitionDraft]:
    """Yield the entries of all definition lists, except for lists of values such as opening hours.

    A definition that is too long is shortened to its first paragraph.
    """
    text, marked = layout.text, layout.document.marked.definitions
    # A term that occurs in three or more entries, as in a list of changes, is a label instead of a term.
    bodies = {(text[one[0] : one[1]].casefold(), text[one[2] : one[3]].casefold()) for one in marked}
    counts = Counter(term for term, _ in bodies)
    for pairs in _entry_runs(marked, text):
        entries = [(text[one[0] : one[1]], one_line(text[one[2] : one[3]])) for one in pairs]
        announced = layout.in_region(pairs[0][0])
        names: dict[tuple[int, ...], list[Span]] = {}
        for one in pairs:
            names.setdefault(one[2:], []).append(one[:2])
        values = [is_value(term, body, announced=announced) for term, body in entries]
        if _holds_values(entries, values) or _is_value_list(layout, pairs[0][0]):
            continue
        for one, value, (term, body) in zip(pairs, values, entries, strict=True):
            if value or counts[term.casefold()] >= _OFTEN or not _may_be_term(term):
                continue
            end = one[3]
            if len(body) > settings.longest_definition and (stop := text.find("\n\n", one[2], end)) > 0:
                end = stop
            draft = _marked_draft(text, (one[0], one[1]), trim_definition(text, one[2], end), "list", _SURE)
            # Several terms with the same definition are names of one thing.
            yield replace(draft, aliases=tuple(text[slice(*other)] for other in names[one[2:]] if other != one[:2]))


def _entry_runs(pairs: Sequence[Pair], text: str) -> list[list[Pair]]:
    """Return the entries of each list in a group of its own. A list inside an entry is a separate list."""
    found: list[list[Pair]] = []
    by_end: dict[int, list[Pair]] = {}
    by_body: dict[tuple[int, int], list[Pair]] = {}
    for pair in pairs:
        group = by_body.get(pair[2:]) or by_end.get(_end_before(text, pair[0]))
        if group is None:
            found.append(group := [])
        group.append(pair)
        by_end.setdefault(pair[3], group)
        by_body[pair[2:]] = group
    return found


def _end_before(text: str, start: int) -> int:
    """Return the offset at which the text before a block ends, ignoring spaces and line breaks."""
    while start and text[start - 1] in "\n ":
        start -= 1
    return start


def _is_value_list(layout: DocumentLayout, start: int) -> bool:
    """Return whether the heading above a list, or the line before the list, announces addresses or opening hours."""
    path = layout.document.outline.section_path(start)
    end = _end_before(layout.text, start)
    before = layout.text[layout.text.rfind("\n", 0, end) + 1 : end]
    return any(_VALUE_HEADING.match(line.strip()) for line in (*path[-1:], before))


def _may_be_term(term: str) -> bool:
    return any(map(str.isalpha, term)) and len(term.split()) <= _MAX_WORDS


def _marked_draft(text: str, term: Span, body: Span, pattern: str, score: float) -> DefinitionDraft:
    """Return a possible definition. Its term has no final colon; "(AR)" after the term becomes its abbreviation."""
    start, end = trim_span(text, *term)
    tail = _TAIL.search(text[start:end])
    end = start + tail.start() if tail and tail.start() else end
    about = CONTEXT_IN_BRACKETS.search(text[start:end])
    short = about[1].strip("\"“”'‘’ ") if about and about.start() else ""
    if about and is_short_form(short):
        return DefinitionDraft((start, start + about.start()), body, pattern, score, short)
    return DefinitionDraft((start, end), body, pattern, score)


class _MarkedSentences:
    """Reads the definitions in sentences whose terms are marked up."""

    def __init__(self, layout: DocumentLayout) -> None:
        self._layout = layout
        self._text = layout.text
        self._marked = layout.document.marked
        self._entries = EntryReader(layout)
        self._listed = [pair[0] for pair in self._marked.definitions]
        self._reached = list(accumulate((pair[3] for pair in self._marked.definitions), max))
        self._starts = [piece.start for piece in layout.pieces]
        self._lines = [line.start for line in layout.lines]

    def instances(self) -> Iterator[DefinitionDraft]:
        """Yield the definitions of terms that are marked up within sentences.

        Markup inside the term of a list entry is ignored.
        """
        terms = [pair[:2] for pair in self._marked.definitions]
        starts = [start for start, _ in terms]
        for start, end in self._marked.terms:
            place = bisect_right(starts, start) - 1
            number = self._piece(start)
            if number is None or (place >= 0 and start < terms[place][1]) or not _may_be_term(self._text[start:end]):
                continue
            body, pattern = self._body(number, start, end)
            if body[1] > body[0]:
                yield _marked_draft(self._text, (start, end), body, pattern, _SURE)

    def _body(self, number: int, start: int, end: int) -> tuple[Span, str]:
        """Return the span and pattern of the definition of a marked term.

        The definition follows a sign ("**X**: ...") or verb, precedes "is called", or is the whole sentence.
        """
        piece = self._layout.pieces[number]
        stop = definition_end(self._layout, number, piece.end)
        begin = skip_labels(self._text, piece.start, start)
        found = self._after(start, end, piece.end)
        if found is not None:
            return trim_definition(self._text, found[0], stop), found[1]
        called = _CALLED.search(self._text, max(begin, start - _CALLED_LENGTH), start)
        if called is not None and called.start() > begin:
            return trim_span(self._text, begin, called.start()), "sentence"
        return trim_definition(self._text, begin, stop), "sentence"

    def _after(self, start: int, end: int, stop: int) -> tuple[int, str] | None:
        """Return the start of the definition that follows a marked-up term, and its pattern: "is" or "sentence".

        Return None unless a sign such as ":", or a verb such as "means" with a definition after it, follows the term.
        """
        sign = _SIGN.match(self._text, end, stop)
        if sign is not None:
            return sign.end(), "sentence"
        closing = _CLOSING.match(self._text, end, stop)
        verb = VERB.match(self._text, closing.end() if closing else end, stop)
        kind = verb.lastgroup if verb else None
        if verb is None or kind is None or kind == "meaning":
            return None
        subject = DefinedSubject(((start, end),), marked=True, sure=True, bold=True)
        lead = _LEAD.match(self._text, verb.end(), stop)
        begin = lead.end() if lead else verb.end()
        region = self._layout.in_region(start) or kind != "is"
        if not defines(self._text, subject, kind, begin, stop, region=region):
            return None
        return meaning_start(self._text, verb, begin), "is" if kind == "is" else "sentence"

    def leading(self) -> Iterator[DefinitionDraft]:
        """Yield the definitions in paragraphs that start with an emphasized term.

        Consecutive paragraphs are judged together: if at least half are surely definitions, all count as definitions.
        """
        run: list[tuple[int, DefinitionDraft, bool]] = []
        for start, end in self._marked.leading:
            found = self._lead(start, end)
            if found is None:
                continue
            if run and found[0] != run[-1][0] + 1:
                yield from _run_drafts(run)
                run = []
            run.append(found)
        yield from _run_drafts(run)

    def _lead(self, start: int, end: int) -> tuple[int, DefinitionDraft, bool] | None:
        """Read the definition in a paragraph that starts with an emphasized term; None if it contains none.

        Return the number of the definition's last line, the definition, and whether it surely is a definition.
        """
        number = bisect_right(self._lines, start) - 1
        piece = self._piece(start)
        place = bisect_right(self._listed, start) - 1
        in_list = place >= 0 and start < self._reached[place]
        if number < 0 or piece is None or in_list or self._layout.pieces[piece].kind == "row":
            return None
        line = self._layout.lines[number]
        term = self._text[start:end].strip(' :.–—-="“”')
        if line.end < end or not self._entries.is_term(term):
            return None
        found = self._after(start, end, line.end)
        if found is not None and not _SIGN.match(self._text, end, line.end):
            begin, sure = found[0], True
            stop = definition_end(self._layout, piece, self._layout.pieces[piece].end)
        else:
            begin, stop = self._rest(number, end, found[0] if found else None)
            sure = False
        body = trim_definition(self._text, begin, stop)
        line_text = one_line(self._text[slice(*body)])
        announces = self._layout.announces(term) or begin == stop or marker_style(self._text[begin : begin + 9])
        if announces or is_value(term, line_text):
            return None
        sure = sure or self._layout.in_region(start) or _is_meaning(line_text)
        if not sure and not is_phrase(line_text):
            return None
        pattern = found[1] if found and sure and begin == found[0] else "list"
        last = bisect_right(self._lines, body[1] - 1) - 1
        return last, _marked_draft(self._text, (start, end), body, pattern, _LIKELY), sure

    def _rest(self, number: int, end: int, after: int | None) -> tuple[int, int]:
        """Return the span of the text after a term. If the term is alone on its line, this is the text below it."""
        line = self._layout.lines[number]
        signed = self._text[:end].endswith((":", ".", "–", "—")) if end < len(self._text) else False
        rest = self._text[end : line.end].strip(' :"”’')
        if after is not None or (signed and rest):
            begin = after if after is not None else end
            piece = self._piece(line.end - 1)
            return begin, definition_end(self._layout, piece, line.end) if piece is not None else line.end
        if rest[:1].isupper() and self._layout.in_region(line.start):  # a tab may separate the term and its text
            return end, line.end
        below = self._layout.lines[number + 1] if number + 1 < len(self._layout.lines) else None
        if rest or below is None or below.start in self._layout.heading_lines:
            return end, end
        return below.start, below.end

    def _piece(self, offset: int) -> int | None:
        """Return the index of the sentence, item or row that contains `offset`; None in page headers and headings."""
        number = bisect_right(self._starts, offset) - 1
        line = bisect_right(self._lines, offset) - 1
        if number < 0 or line < 0 or offset >= self._layout.pieces[number].end:
            return None
        return None if self._lines[line] in self._layout.heading_lines else number


def _run_drafts(run: Sequence[tuple[int, DefinitionDraft, bool]]) -> Iterator[DefinitionDraft]:
    """Yield the sure definitions in consecutive paragraphs; if at least half of the paragraphs are sure, yield all."""
    share = sum(sure for _, _, sure in run) / len(run) if run else 0
    for _, draft, sure in run:
        if sure or (len(run) > 1 and share >= _SHARE):
            yield draft
