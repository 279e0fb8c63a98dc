"""Terms that the markup of a file names: entries of definition lists, `dfn`, emphasis with which a paragraph begins."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from elt_llm_core.marked_terms import Pair, Span

from elt_llm_consumer.definitions.abbreviations import is_short_form
from elt_llm_consumer.definitions.defining import defines, is_phrase
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.entries import Entries
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.spans import Extent, one_line, trimmed, trimmed_definition
from elt_llm_consumer.definitions.subject import Subject, after_labels
from elt_llm_consumer.definitions.values import announces_values, holds_values, is_meaning, is_value
from elt_llm_consumer.definitions.wording import ABOUT, VERB
from elt_llm_consumer.sections.glossary import GlossarySection

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_CLOSING = re.compile(r"[\"”“»’'\s]{0,3}(?:\([^()\n]{1,80}\)\s{0,2})?,?\s{0,2}")
_SIGN = re.compile(r"[\"”“»’']{0,2}\s{0,3}(?:\([^()\n]{1,80}\)\s{0,3})?[:–—=-]\s{1,3}(?=\S)")
_LEAD = re.compile(r"[\s,:–—-]{0,6}")
_TAIL = re.compile(r"[\s:.–—=-]{1,5}$")
_CALLED = re.compile(
    r"\s(?:is|are|shall\s+be|will\s+be)\s+(?:also\s+)?(?:called|known\s+as|referred\s+to\s+as|termed|named)\s+"
    r"(?:(?:the|an?)\s+)?[\"“„‘']?$"
)
_MOST_WORDS = 8
_OFTEN = 3  # entries of a term, each of which says something else
_SHARE = 0.5
_SURE, _LIKELY = 0.95, 0.85


def marked(layout: Layout, settings: GlossarySection) -> Iterator[Draft]:
    """The definitions whose terms are marked as such, list by list, then sentence by sentence; none without markup."""
    if layout.document.marked:
        yield from _definition_lists(layout, settings)
        reader = _Sentences(layout)
        yield from reader.instances()
        yield from reader.leading()


def _definition_lists(layout: Layout, settings: GlossarySection) -> Iterator[Draft]:
    """The entries of definition lists that are no lists of values; a body that is too long by its first paragraph."""
    text = layout.text
    labels = _labels(layout.document.marked.definitions, text)
    for pairs in _lists(layout.document.marked.definitions, text):
        entries = [(text[one[0] : one[1]], one_line(text[one[2] : one[3]])) for one in pairs]
        values = [is_value(term, body) for term, body in entries]
        if holds_values(entries, values) or _set_apart(layout, pairs[0][0]):
            continue
        for one, value, (term, body) in zip(pairs, values, entries, strict=True):
            if value or term.casefold() in labels or not _may_be_term(term):
                continue
            end = one[3]
            if len(body) > settings.longest_definition and (stop := text.find("\n\n", one[2], end)) > 0:
                end = stop
            yield _draft(text, (one[0], one[1]), trimmed_definition(text, one[2], end), "list", _SURE)


def _labels(pairs: Sequence[Pair], text: str) -> frozenset[str]:
    """Terms that entry after entry begins with: they say what kind of thing it tells, as in a list of changes."""
    bodies = {(text[one[0] : one[1]].casefold(), text[one[2] : one[3]].casefold()) for one in pairs}
    return frozenset(term for term, count in Counter(term for term, _ in bodies).items() if count >= _OFTEN)


def _lists(pairs: Sequence[Pair], text: str) -> list[list[Pair]]:
    """The entries that follow one another, list by list; a list within an entry of another stands for itself."""
    found: list[list[Pair]] = []
    by_end: dict[int, list[Pair]] = {}
    by_body: dict[tuple[int, int], list[Pair]] = {}
    for pair in pairs:
        group = by_body.get(pair[2:]) or by_end.get(_end_before(text, pair[0]))
        if group is None:
            group = []
            found.append(group)
        group.append(pair)
        by_end.setdefault(pair[3], group)
        by_body[pair[2:]] = group
    return found


def _end_before(text: str, start: int) -> int:
    """Where the words before a block end: blocks are parted by one line end or two."""
    while start and text[start - 1] in "\n ":
        start -= 1
    return start


def _set_apart(layout: Layout, start: int) -> bool:
    """Whether the heading over a list, or the line before it, says that it holds addresses or hours."""
    path = layout.document.outline.section_path(start)
    end = _end_before(layout.text, start)
    before = layout.text[layout.text.rfind("\n", 0, end) + 1 : end]
    return any(announces_values(line.strip()) for line in (*path[-1:], before))


def _may_be_term(term: str) -> bool:
    return any(map(str.isalpha, term)) and len(term.split()) <= _MOST_WORDS


def _draft(text: str, term: Span, body: Span, pattern: str, score: float) -> Draft:
    """A draft whose term is told without its short form in brackets, which is kept beside it, and without a colon."""
    start, end = trimmed(text, *term)
    tail = _TAIL.search(text[start:end])
    end = start + tail.start() if tail and tail.start() else end
    about = ABOUT.search(text[start:end])
    short = about[1].strip("\"“”'‘’ ") if about and about.start() else ""
    if about and is_short_form(short):
        return Draft((start, start + about.start()), body, pattern, score, short)
    return Draft((start, end), body, pattern, score)


class _Sentences:
    """Reads what sentences say of the terms that are marked in them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._text = layout.text
        self._marked = layout.document.marked
        self._entries = Entries(layout)
        self._extent = Extent(layout)
        self._listed = [pair[0] for pair in self._marked.definitions]
        self._reached = list(accumulate((pair[3] for pair in self._marked.definitions), max))
        self._starts = [piece.start for piece in layout.pieces]
        self._lines = [line.start for line in layout.lines]

    def instances(self) -> Iterator[Draft]:
        """What the sentences say whose term is marked; those that stand in a term of a list are that term."""
        terms = [pair[:2] for pair in self._marked.definitions]
        starts = [start for start, _ in terms]
        for start, end in self._marked.terms:
            place = bisect_right(starts, start) - 1
            number = self._piece(start)
            if number is None or (place >= 0 and start < terms[place][1]) or not _may_be_term(self._text[start:end]):
                continue
            body, pattern = self._said(number, start, end)
            if body[1] > body[0]:
                yield _draft(self._text, (start, end), body, pattern, _SURE)

    def _said(self, number: int, start: int, end: int) -> tuple[Span, str]:
        """What pieces[number] says of the term in it: after a sign or verb, before "is called", else all of it."""
        piece = self._layout.pieces[number]
        stop = self._extent.end(number, piece.end)
        begin = after_labels(self._text, piece.start, start)
        found = self._after(start, end, piece.end)
        if found is not None:
            return trimmed_definition(self._text, found[0], stop), found[1]
        called = _CALLED.search(self._text, max(begin, start - 60), start)
        if called is not None and called.start() > begin:
            return trimmed(self._text, begin, called.start()), "sentence"
        return trimmed_definition(self._text, begin, stop), "sentence"

    def _after(self, start: int, end: int, stop: int) -> tuple[int, str] | None:
        """Where a definition begins after its term, and its pattern; None where neither sign nor verb leads to it."""
        sign = _SIGN.match(self._text, end, stop)
        if sign is not None:
            return sign.end(), "sentence"
        closing = _CLOSING.match(self._text, end, stop)
        verb = VERB.match(self._text, closing.end() if closing else end, stop)
        kind = verb.lastgroup if verb else None
        if verb is None or kind is None or kind == "meaning":
            return None
        subject = Subject(((start, end),), marked=True, sure=True, bold=True)
        lead = _LEAD.match(self._text, verb.end(), stop)
        begin = lead.end() if lead else verb.end()
        region = self._layout.in_region(start) or kind != "is"
        if not defines(self._text, subject, kind, begin, stop, region=region):
            return None
        return begin, "is" if kind == "is" else "sentence"

    def leading(self) -> Iterator[Draft]:
        """The paragraphs that begin with their term in other type, run by run."""
        run: list[tuple[int, Draft, bool]] = []
        for start, end in self._marked.leading:
            found = self._lead(start, end)
            if found is None:
                continue
            if run and found[0] != run[-1][0] + 1:
                yield from _of_run(run)
                run = []
            run.append(found)
        yield from _of_run(run)

    def _lead(self, start: int, end: int) -> tuple[int, Draft, bool] | None:
        """The line of a term, its draft, and whether it is sure that it defines; None if it does not look so."""
        number = bisect_right(self._lines, start) - 1
        piece = self._piece(start)
        if number < 0 or piece is None or self._in_list(start) or self._layout.pieces[piece].kind == "row":
            return None
        line = self._layout.lines[number]
        term = self._text[start:end].strip(' :.–—-="“”')
        if line.end < end or not self._entries.is_term(term):
            return None
        found = self._after(start, end, line.end)
        if found is not None and not _SIGN.match(self._text, end, line.end):
            begin, stop, sure = found[0], self._extent.end(piece, self._layout.pieces[piece].end), True
        else:
            begin, stop, sure = self._rest(number, end, found[0] if found else None)
        body = trimmed_definition(self._text, begin, stop)
        if body[1] <= body[0] or is_value(term, one_line(self._text[slice(*body)])):
            return None
        said = one_line(self._text[slice(*body)])
        sure = sure or self._layout.in_region(start) or is_meaning(said)
        if not sure and not is_phrase(said):
            return None
        pattern = found[1] if found and sure and begin == found[0] else "list"
        last = bisect_right(self._lines, body[1] - 1) - 1
        return last, _draft(self._text, (start, end), body, pattern, _LIKELY), sure

    def _rest(self, number: int, end: int, after: int | None) -> tuple[int, int, bool]:
        """Begin and end of what stands after a term and its sign, or below it where it stands alone."""
        line = self._layout.lines[number]
        signed = self._text[:end].endswith((":", ".", "–", "—")) if end < len(self._text) else False
        rest = self._text[end : line.end].strip(' :"”’')
        if after is not None or (signed and rest):
            begin = after if after is not None else end
            piece = self._piece(line.end - 1)
            return begin, self._extent.end(piece, line.end) if piece is not None else line.end, False
        below = self._layout.lines[number + 1] if number + 1 < len(self._layout.lines) else None
        if rest or below is None or below.start in self._layout.heading_lines:
            return end, end, False
        return below.start, below.end, False

    def _in_list(self, start: int) -> bool:
        """Whether a place lies in an entry of a definition list."""
        place = bisect_right(self._listed, start) - 1
        return place >= 0 and start < self._reached[place]

    def _piece(self, offset: int) -> int | None:
        """The sentence that holds `offset`; None in furniture and headings."""
        number = bisect_right(self._starts, offset) - 1
        line = bisect_right(self._lines, offset) - 1
        if number < 0 or line < 0 or offset >= self._layout.pieces[number].end:
            return None
        return None if self._lines[line] in self._layout.heading_lines else number


def _of_run(run: Sequence[tuple[int, Draft, bool]]) -> Iterator[Draft]:
    """The drafts of paragraphs that follow one another: all, if most define, else those that surely do."""
    share = sum(sure for _, _, sure in run) / len(run) if run else 0
    for _, draft, sure in run:
        if sure or (len(run) > 1 and share >= _SHARE):
            yield draft
