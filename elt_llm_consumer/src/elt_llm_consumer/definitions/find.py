"""Find every definition in a job's texts, every entry that looks like one but was not read as one, and every change."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from elt_llm_core.text.languages import alternatives, word_pattern
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.outline import Span

from elt_llm_consumer.definitions.abbreviations import (
    find_abbreviations,
    find_bracketed_terms,
    is_short_form,
    long_form,
)
from elt_llm_consumer.definitions.defining_sentences import find_in_sentences
from elt_llm_consumer.definitions.definition import Definition, DefinitionDraft, term_key
from elt_llm_consumer.definitions.layout import DocumentLayout, one_line, trim_span, with_marks
from elt_llm_consumer.definitions.lists import EntryReader, find_in_lists
from elt_llm_consumer.definitions.markup import find_marked_terms, is_contact, is_value
from elt_llm_consumer.definitions.subject import skip_labels
from elt_llm_consumer.definitions.tables import DefinitionTables
from elt_llm_consumer.definitions.vocabulary import PLACE, SEE, VERB, pattern, patterns
from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.sentences.words import word_list

_ONLY_LABEL = re.compile(r"\w+:$")
_QUESTION = re.compile(r"[?]\W{0,3}$")
_NUMBERED = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,5}\.?\s")
_VARIABLE = re.compile(r"<[^<>]{1,80}>$")
_ONLY_NUMBERS = re.compile(r"[\W\d_]{1,200}$")
_CAPTION = re.compile(
    r"(?:table|fig(?:ure|\.)|tab(?:elle|\.)|abb(?:ildung|\.))\s?\d{1,3}(?:[.-]\d{1,3}){0,2}[a-z]?$", re.IGNORECASE
)
_RULE_NAME = re.compile(r"(?:[A-Z]{0,2}\d{1,3}(?:\.\d{1,3}){0,3}|\W{1,5}|(?:page|seite)\s\d{1,4})$", re.IGNORECASE)

_TERM_MARKS: Final = frozenset("*_$§►▶→◆")
_ELSEWHERE: Final = pattern("defined_elsewhere")
_IS = re.compile(r"\b(?:is|are)\s{0,9}$", re.IGNORECASE)
_OF_OTHERS: Final = pattern("of_other_documents")
_OURS = re.compile(r"(?:this|these|our)\s", re.IGNORECASE)


def _is_definition(
    layout: DocumentLayout, draft: DefinitionDraft, settings: GlossarySection, skipped: Collection[tuple[str, ...]]
) -> bool:
    """Return whether a possible definition is a real definition, and the settings include it.

    `skipped` has the keys of the terms that the settings exclude.
    """
    term, body = one_line(layout.text[slice(*draft.term)]), one_line(layout.text[slice(*draft.body)])
    if draft.pattern not in settings.patterns or not term or len(term) > settings.longest_term:
        return False
    if not settings.shortest_definition <= len(body) <= settings.longest_definition:
        return False
    if _NUMBERED.match(term) and _NUMBERED.match(body):  # a row of a table of contents is not a definition
        return False
    if _is_label(layout, draft, term) or _is_elsewhere(layout, draft, body) or _QUESTION.search(term):
        return False
    if _ONLY_NUMBERS.match(body) or _ONLY_LABEL.match(body) or (draft.pattern == "list" and is_contact(body)):
        return False
    asks = draft.pattern != "table" and _QUESTION.search(body)
    key = term_key(term)
    return not asks and key != term_key(body) and key not in skipped


def _is_label(layout: DocumentLayout, draft: DefinitionDraft, term: str) -> bool:
    """Return whether `term` is only a label: a variable, a caption, the number of a rule, or a page number.

    In a glossary, a number that is marked up as a term is not a label: "**508** - the rule on access".
    """
    if _VARIABLE.match(term) or _CAPTION.match(term):
        return True
    if not (_RULE_NAME.match(term) or _ONLY_NUMBERS.match(term)):
        return False
    before = layout.text[max(0, draft.term[0] - 2) : draft.term[0]]
    marked = draft.pattern == "list" and before[:1] in _TERM_MARKS
    return not (marked and layout.in_region(draft.term[0]))


def _is_elsewhere(layout: DocumentLayout, draft: DefinitionDraft, body: str) -> bool:
    """Return whether a possible definition only refers to a definition in a text that the job does not read."""
    found = _ELSEWHERE.match(body)
    before = layout.text[max(0, draft.body[0] - 12) : draft.body[0]]
    if found is None or not _IS.search(before):
        return False
    target = found["target"]
    place = PLACE.match(target)
    if place is not None and any(map(str.isdigit, place[1])):
        return _OF_OTHERS.search(target) is not None
    titles = (fold(section.title) for section in layout.document.outline.sections)
    return not _OURS.match(target) and not any(title.endswith(fold(target)) for title in titles)


_SIGNS_AROUND: Final = re.compile(r"^(?:[\"“”:,\s]|[*_](?!-)|[$§►▶→◆]\s)+|[\"“”*_:,\s]+$")
# The mark before a definition in RFC 4949 that shows its type, as in "(I) A value" and "(N) /PKI/ See: key".
_ANNOTATION: Final = re.compile(r"(?:\([A-Z]{1,2}\)\s{1,9}|/[^/\n]{2,40}/\s{1,9}){1,2}")
_SMALL: Final = alternatives(word_list("skipped_in_initials"))
# A text that is only a name: capitalized words, with lower-case words such as "of" between some of them.
_PROPER_NAME: Final = re.compile(
    rf"(?:(?i:{_SMALL})\s+)?(?P<name>[A-ZÄÖÜ][\w'’/-]*(?:\s+(?:(?:{_SMALL})\s+){{0,3}}[A-ZÄÖÜ\d][\w'’/-]*)+)"
)
_BULLET: Final = re.compile(r"[-*+•–—▪◦‣●○■□·]\s")
_MAX_BEFORE_TERM = 8  # maximum characters of a bullet and quotes before a term
# The bars between the lines of a table cell that extends over several rows.
_BARS = re.compile(r"\s\|(?=\s|$)|\n\s{0,20}\|")
_NAME_IN_BODY: Final = pattern("name_in_body")
_NAMES_BETWEEN: Final = pattern("names_between")
_NAME_MARKS: Final = "\"“”'‘’„*_ "
_DEFAULT = GlossarySection()


def find_definitions(corpus: Corpus, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """Return all definitions, in the order of the texts. The running time is linear in the length of the texts."""
    return [definition for document in corpus.documents for definition in definitions_in_document(document, settings)]


def definitions_in_document(document: CorpusDocument, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """Return the definitions in one document, in order.

    If possible definitions overlap, the one that the most reliable pattern found is kept.
    """
    layout = DocumentLayout(document, settings)
    drafts = []
    for draft in _drafts(layout, settings):
        whole = _whole_item_draft(layout, _draft_in_entry(layout, _single_name_draft(layout, draft)))
        drafts.append(_reclassified_draft(layout, _shortened_draft(layout, whole, settings)))
    skipped = frozenset(map(term_key, settings.skip_terms))
    kept = _without_duplicates([draft for draft in drafts if _is_definition(layout, draft, settings, skipped)])
    defined = {_key(layout, draft) for draft in kept if draft.pattern in ("table", "list", "sentence")}
    # "(the Contents)", without quotes, only mentions a term that is defined elsewhere.
    mentions = {one for one in kept if one.pattern == "brackets" and layout.text.startswith(")", one.term[1])}
    return [_definition(layout, one) for one in kept if one not in mentions or _key(layout, one) not in defined]


def _key(layout: DocumentLayout, draft: DefinitionDraft) -> tuple[str, ...]:
    return term_key(layout.text[slice(*draft.term)])


def _drafts(layout: DocumentLayout, settings: GlossarySection) -> Iterator[DefinitionDraft]:
    marked = list(find_marked_terms(layout, settings))
    # Markup shows where the entries of a list are, so "x: int = 0" inside an entry is not another entry.
    bodies = sorted(draft.body for draft in marked if draft.pattern == "list")
    yield from marked
    yield from DefinitionTables(layout, settings).drafts()
    listed = [draft for draft in find_in_lists(layout) if not _around(draft.term[0], bodies)]
    begins = sorted(draft.body[0] for draft in listed)
    # The line of a term and the text below it are not one sentence.
    yield from (draft for draft in find_in_sentences(layout) if not _is_crossed(draft.term, begins))
    yield from listed
    yield from find_bracketed_terms(layout)
    yield from find_abbreviations(layout)


# The label before a name in quotes, and the signs between two such names: '(a) "PHI" or "Data"'.
_LABEL_OF_NAME: Final = re.compile(r"\(?\w{1,4}[.)]\s{1,9}(?=[\"“„])")
_BETWEEN_QUOTED: Final = word_pattern(
    r"[,;]?[\"”]\s{0,9}(?:[,;/&]\s{0,9})?(?:@item_conjunctions@\s{1,9})?(?:the\s{1,9})?[\"“„]", re.IGNORECASE
)


def _single_name_draft(layout: DocumentLayout, draft: DefinitionDraft) -> DefinitionDraft:
    """Make the first of several names in quotes the term, the others its aliases; start the meaning after "means"."""
    text, (start, end), (first, last) = layout.text, draft.term, draft.body
    label = _LABEL_OF_NAME.match(text, start, end)
    start = label.end() if label else start
    name, *others = _BETWEEN_QUOTED.split(text[start:end])
    verb = VERB.match(text, first, last) if draft.pattern in ("list", "table") else None
    if verb is not None and verb.lastgroup in ("means", "refers"):
        first = trim_span(text, verb.end(), last)[0]
    aliases = (*draft.aliases, *(other.strip(_NAME_MARKS + ",;") for other in others))
    return replace(draft, term=(start, start + len(name) if others else end), body=(first, last), aliases=aliases)


def _is_crossed(span: Span, offsets: Sequence[int]) -> bool:
    """Return whether any of `offsets`, which are in ascending order, is inside a span."""
    number = bisect_right(offsets, span[0])
    return number < len(offsets) and offsets[number] < span[1]


def _draft_in_entry(layout: DocumentLayout, draft: DefinitionDraft) -> DefinitionDraft:
    """If a definition starts in an entry of a definition list, cut it off at the end of that entry."""
    pairs, start = layout.document.marked.definitions, draft.body[0]
    last = bisect_right(pairs, start, key=lambda pair: pair[0])
    end = next((pair[3] for pair in reversed(pairs[max(0, last - _MAX_NESTED) : last]) if start < pair[3]), None)
    if end is None or end >= draft.body[1]:
        return draft
    return replace(draft, body=trim_span(layout.text, start, end))


def _whole_item_draft(layout: DocumentLayout, draft: DefinitionDraft) -> DefinitionDraft:
    """Extend a definition in a bullet of a glossary ("- **Outage** means ...") to all sentences of the bullet."""
    if draft.pattern != "sentence" or not layout.in_region(draft.term[0]):
        return draft
    number = bisect_right(layout.lines, draft.term[0], key=lambda line: line.start) - 1
    line = layout.lines[number]
    if not _BULLET.match(line.text) or draft.term[0] - line.start > _MAX_BEFORE_TERM or draft.body[0] < draft.term[1]:
        return draft
    end = layout.lines[EntryReader(layout).last_line(layout.lines, number)].end
    return replace(draft, body=trim_span(layout.text, draft.body[0], max(end, draft.body[1])))


def _shortened_draft(layout: DocumentLayout, draft: DefinitionDraft, settings: GlossarySection) -> DefinitionDraft:
    """If a list entry is too long for a definition, shorten it to its first paragraphs."""
    start, end = draft.body
    if draft.pattern != "list" or end - start <= settings.longest_definition:
        return draft
    stop = layout.text.rfind("\n\n", start, start + settings.longest_definition)
    return replace(draft, body=trim_span(layout.text, start, stop)) if stop > start else draft


def _reclassified_draft(layout: DocumentLayout, draft: DefinitionDraft) -> DefinitionDraft:
    """Set the pattern to `abbreviation` if the text is only a long form, to `reference` if it is only "see ...".

    The short name in "the Charter of Rights of the Union ('Charter')" is an abbreviation too.
    """
    short = one_line(layout.text[slice(*draft.term)])
    if draft.pattern in ("table", "list", "sentence") and is_short_form(short):
        spelt = one_line(layout.text[slice(*draft.body)]).rstrip(" .")
        if long_form(short, spelt) == (0, len(spelt)):
            listed = draft.pattern == "list" and layout.in_region(draft.term[0])
            return replace(draft, pattern="abbreviation", listed=listed)
    name = _PROPER_NAME.fullmatch(layout.text, *draft.body) if draft.pattern == "brackets" else None
    if name is not None and set(term_key(short)) <= set(term_key(name["name"])):
        return replace(draft, pattern="abbreviation", body=name.span("name"))
    body = _ANNOTATION.sub("", layout.text[slice(*draft.body)], count=1)
    see = None if draft.refers_to else SEE.match(body)
    if see is None:
        return draft
    return replace(draft, pattern="reference", refers_to=see["target"].strip())


def _without_duplicates(drafts: Sequence[DefinitionDraft]) -> list[DefinitionDraft]:
    """Return the possible definitions, sorted by position. Of overlapping ones, the first in `drafts` is kept.

    `_drafts` yields the most reliable patterns first, so that the text of a table is not read again as a list.
    """
    bodies = sorted(draft.body for draft in drafts if draft.pattern in ("table", "list"))
    kept: list[DefinitionDraft] = []
    for draft in drafts:
        place = bisect_left(kept, draft.term, key=lambda one: one.term)
        around = [one.term for one in kept[max(0, place - 1) : place + 1]]
        overlaps = any(start < draft.term[1] and draft.term[0] < end for start, end in around)
        if not overlaps and not (draft.pattern == "is" and _around(draft.term[0], bodies)):
            kept.insert(place, draft)
    return kept


_MAX_NESTED = 50  # maximum number of nested entries that are passed to find the entry around a definition


def _around(offset: int, bodies: Sequence[Span]) -> Span | None:
    """Return the one of the `bodies`, the spans of definitions in ascending order, that contains `offset`."""
    number = bisect_right(bodies, offset, key=lambda body: body[0]) - 1
    return bodies[number] if number >= 0 and offset < bodies[number][1] else None


def _names_in_body(body: str) -> Iterator[str]:
    """Yield the names in the sentences "Also called X or Y." of a definition; they are in quotes or capitalized."""
    for found in _NAME_IN_BODY.finditer(body):
        names = _NAMES_BETWEEN.split(found["en"] or found["de"])
        if all(name[:1].isupper() or name[:1] in _NAME_MARKS for name in names):
            yield from (name.strip(_NAME_MARKS) for name in names if len(name.split()) <= _MAX_TERM_WORDS)


def _definition(layout: DocumentLayout, draft: DefinitionDraft) -> Definition:
    text = layout.text
    term = trim_span(text, *draft.term)
    start, end = with_marks(text, min(term[0], draft.body[0]), max(term[1], draft.body[1]), term)
    # A sign at the start may belong to the name, as in "*-property".
    name = _SIGNS_AROUND.sub("", one_line(text[slice(*term)]))
    name = name.removesuffix(")").rstrip() if name.count(")") > name.count("(") else name
    short = draft.abbreviation or (name if draft.pattern == "abbreviation" else "")
    last = draft.body[1]
    closing = draft.closing or (last, last)
    body = layout.without_furniture(draft.body[0], min(closing[0], last)) + layout.without_furniture(closing[1], last)
    return Definition(
        name,
        one_line(_BARS.sub(" ", body) if layout.has_rows(*draft.body) else body),
        draft.pattern,
        layout.document.evidence(start, end, draft.score),
        term,
        draft.body,
        short,
        one_line(draft.refers_to),
        tuple(dict.fromkeys(one_line(alias) for alias in (*draft.aliases, *_names_in_body(one_line(body))))),
        tuple(one_line(other) for other in draft.see_also),
        draft.listed,
        draft.unsure,
    )


_LINE_ENTRIES: Final = {
    # A term in AsciiDoc markup: "[[def_branch]]branch::"
    "colons": re.compile(r"(?:\[\[[^\[\]\n]{1,80}\]\])?(?P<term>[^\s:|][^:|\n]{0,80}?)::$"),
    "bold": re.compile(
        r"(?:[-*+•–]\s+)?(?P<mark>\*\*|__)\s?(?P<term>[^*_|\n]{1,80}?)[:.]?(?P=mark)\s{0,3}(?:[:–—=-]|means\b)"
    ),
    "run in": re.compile(r"(?:[-*+•–]\s+)?(?P<mark>\*\*|__|\*)(?P<term>[^*_|\n]{1,80})(?P=mark)\s{1,3}(?=[^\W\d_])"),
    "field": re.compile(r":(?P<term>[^\s:][^:\n]{0,60}):(?:\s|$)"),
    "sign": re.compile(r"[$§►▶→◆]\s{1,9}(?P<term>\S[^\n]{0,80}?)(?:\s[Ss]ee:.*)?$"),
    "row": re.compile(
        r"\|?\s{0,9}(?P<term>[^|\s][^|\n]{0,79}?)\s{0,200}\|\s{0,200}(?P<body>[^|\s][^|\n]{9,2000}?)\s{0,200}\|?$"
    ),
    "dash": re.compile(
        r"(?:[-*+•]\s+)?[\"“'‘]?(?P<term>[^\W\d_][^:|–—\"”\n]{0,60}?)[\"”'’]?(?::\s|\s{1,3}(?:--?|[–—=])\s)"
    ),
}
# Entries such as "— 'The Licence':this Licence" and "`Work' Any work".
_QUOTED_ENTRY: Final = re.compile(
    r"(?:[-*+•–—]\s+|(?:\d{1,3}\.){0,3}\d{0,3}[.)]?\s+)?[\"“„‘«`](?P<term>[^\"“”„‘’«»`:\n]{0,79}[^\"“”„‘’«»`:\n,.!?])[\"“”’»']"
    r"(?:\s(?:or|oder|ou|and/or)\s[\"“„‘«][^\"“”„‘’«»\n]{1,80}[\"“”’»])?\s{0,3}(?:[:–—=-]\s{0,3}(?=[^\W\d_])|\s(?=[A-ZÄÖÜ]))"
)
_MEANS_ENTRY: Final = re.compile(
    r"(?:[\"“„«]|(?<!\w)[‘']{1,2})(?P<term>[^\"“”„‘’«»'\n]{2,80})[\"”“’»'](?:\s\([^()\n]{1,80}\)|(?P<rest>(?:\s[a-zäöüß]{2,15}){1,3}(?:\s\w{1,15}){0,2}))?\s{1,3}"
    r"(?:means?\b|shall mean\b|is defined as\b|bedeutet\b|bezeichnet\b|désigne\b|signifie\b)"
)
# 'public officials who are elected (the "Public Official Directors")'
_BRACKET_ENTRY: Final = re.compile(r"\((?:the|an?|each,? an?)\s[\"“„](?P<term>[A-ZÄÖÜ][^\"“”„()\n]{1,80})[\"”“]\)")
_PLAIN_MEANS_ENTRY: Final = re.compile(
    r"(?P<term>[A-ZÄÖÜ][\w'’-]{0,30}(?:\s[\w'’-]{1,30}){0,5}?)(?P<rest>\s)(?:means|bedeutet|bezeichnet)\b"
)
_MIN_ENTRIES, _MIN_DASHES = 5, 8
_MAX_LINES_APART = 40
_MIN_ORDERED = 0.8
_MIN_DIFFERENT = 0.6  # minimum share of different terms among the entries of a list
_MIN_BODY_WORDS, _MAX_BODY_WORDS, _MAX_TERM_WORDS = 4, 80, 8
_NEAR = 200  # characters from a section to a subheading with the first term
_MIN_TEXT_WORDS = 25  # a section with fewer words may only refer to another text
_MIN_PARAGRAPHS, _FEW = 8, 0.25  # definitions for each paragraph of a section


@dataclass(frozen=True)
class MissedEntries:
    """The number of entries in a document that look like definitions, and those that were not read as definitions.

    The terms of the `missed` entries have no definition in the document; those of the `repeated` ones have another one.
    """

    document: CorpusDocument
    entries: int
    missed: tuple[Span, ...]
    repeated: tuple[Span, ...] = ()
    unread: tuple[Span, ...] = ()
    """The headings of the sections, and the headers of the tables, of which no or few definitions were read."""

    def __bool__(self) -> bool:
        """Return whether anything may have been missed."""
        return bool(self.missed or self.repeated or self.unread)

    def __str__(self) -> str:
        """Return a message with the numbers of missed and repeated entries, and the places of the first ones."""
        lead, of = f"{self.document.source}: ", f" of {self.entries} entries that look like definitions "
        parts = [
            (self.missed, "are not in the glossary"),
            (self.repeated, "give a term of the glossary a text that it does not have"),
        ]
        counts = [f"{lead}{len(spans)}{of}{what}, such as {self._first(spans)}." for spans, what in parts if spans]
        counts += [f"{lead}few or no definitions were read below {self._first(self.unread)}."] if self.unread else []
        return f"{' '.join(counts)} Check these places; see docs/glossary.md for the layouts that are read."

    def _first(self, spans: Sequence[Span]) -> str:
        text, place = self.document.text, self.document.evidence
        return ", ".join(f"{one_line(text[slice(*span)])!r} ({place(*span, 1.0).place})" for span in spans[:3])


def missed_entries(document: CorpusDocument, found: Iterable[Definition], settings: GlossarySection) -> MissedEntries:
    """Find the entries in a document that look like definitions, but are not among those `found`.

    The entries are found by simpler patterns than the definitions: lists whose terms are in bold, after a sign such as
    "$", before a dash or colon, or above an indented text; headings with one short paragraph each; table rows with two
    cells; and sentences such as "'X' means". A list counts if a heading above it announces definitions, or if its terms
    are in alphabetical order.
    """
    layout = DocumentLayout(document, settings)
    found = list(found)
    taken = sorted(one.term_span for one in found)
    defining = [one for one in found if one.pattern != "abbreviation"]
    known = {term_key(name) for one in defining for name in (one.term, one.abbreviation, *one.aliases)}
    entries = sorted({*_listed_entries(layout, settings), *_quoted_entries(layout, found)})
    unread: dict[bool, list[Span]] = {False: [], True: []}
    for start, end in entries:
        number = bisect_right(taken, end - 1, key=lambda one: one[0]) - 1
        if not any(taken[place][1] > start for place in range(max(0, number - 3), number + 1)):
            unread[term_key(document.text[start:end]) in known].append((start, end))
    starts = [start for start, _ in taken]
    places = (*_unread_sections(layout, starts), *_unread_tables(layout, settings, starts))
    return MissedEntries(document, len(entries), tuple(unread[False]), tuple(unread[True]), places)


def _unread_sections(layout: DocumentLayout, starts: Sequence[int]) -> Iterator[Span]:
    """Yield the first line of each section that announces definitions, but of which no or few of the terms were read.

    `starts` are the offsets of the terms that were read, in ascending order.
    """
    for start, end in layout.regions:
        lines = layout.lines_between(start, end)
        count = bisect_left(starts, end + _NEAR) - bisect_left(starts, start)
        begins = sum(line.apart and line.start not in layout.heading_lines for line in lines[1:])
        long = sum(len(line.text.split()) for line in lines[1:]) >= _MIN_TEXT_WORDS
        if lines and ((not count and long) or (begins >= _MIN_PARAGRAPHS and count < _FEW * begins)):
            yield lines[0].start, lines[0].end


def _unread_tables(layout: DocumentLayout, settings: GlossarySection, starts: Sequence[int]) -> Iterator[Span]:
    """Yield the header row of each table of two columns, the first of them for terms, of which nothing was read."""
    known, rows = set(map(fold, settings.term_headers)), [line for line in layout.lines if layout.is_row(line)]
    for number, line in enumerate(rows):
        cells = [fold(cell.strip(" *")) for cell in line.text.strip("| ").split("|")]
        if len(cells) == 2 and cells[0] in known:
            end = max((one.end for one in takewhile(lambda row: not row.apart, rows[number + 1 :])), default=line.end)
            if bisect_left(starts, line.start) == bisect_left(starts, end):
                yield line.start, line.end


def _listed_entries(layout: DocumentLayout, settings: GlossarySection) -> Iterator[Span]:
    """Yield the spans of the terms in lists, headings and two-column tables that look like glossaries."""
    yield from _glossary_run(layout, "indented", list(_indented_entries(layout)))
    yield from _glossary_run(layout, "heading", list(_heading_entries(layout)))
    yield from _glossary_run(layout, "leading", list(_leading_entries(layout)))
    runs: dict[str, list[tuple[int, Span]]] = {kind: [] for kind in _LINE_ENTRIES}
    headers = set(map(fold, settings.meaning_headers))
    for number, line in enumerate(layout.lines):
        if line.start in layout.heading_lines or layout.is_contents(line.text):
            continue
        for kind, entry in _LINE_ENTRIES.items():
            found = entry.match(line.text)
            if found is None or not any(map(str.isalpha, found["term"])):
                continue
            if len(found["term"].split()) > _MAX_TERM_WORDS:
                continue
            if kind == "row" and fold(found["body"]) in headers:
                break
            rest = line.text[found.end() :].strip()
            if rest and is_value(found["term"], rest):  # "Monday: closed" is a value and not a definition
                break
            run = runs[kind]
            if run and number - run[-1][0] > _MAX_LINES_APART:
                yield from _glossary_run(layout, kind, run)
                run.clear()
            run.append((number, (line.start + found.start("term"), line.start + found.end("term"))))
            break
    for kind, run in runs.items():
        yield from _glossary_run(layout, kind, run)


def _quoted_entries(layout: DocumentLayout, found: Iterable[Definition]) -> Iterator[Span]:
    """Yield the spans of terms in quotes at the start of lines, before "means", and of terms as in "(a) Share means".

    A list with a deeper indentation inside a definition belongs to that definition.
    """
    indents = {one.definition_span: layout.indent_at(one.term_span[0]) for one in found}
    bodies = sorted(indents)
    run = list[tuple[int, Span]]()
    for number, line in enumerate(layout.lines):
        entry, body = _QUOTED_ENTRY.match(line.text), _around(line.start, bodies)
        if entry and (body is None or line.indent <= indents[body]):
            if run and number - run[-1][0] > _MAX_LINES_APART:
                yield from _glossary_run(layout, "quoted", run)
                run = []
            run.append((number, (line.start + entry.start("term"), line.start + entry.end("term"))))
    yield from _glossary_run(layout, "quoted", run)
    yield from (one.span("term") for one in _BRACKET_ENTRY.finditer(layout.text))
    for means in (*_MEANS_ENTRY.finditer(layout.text), *_plain_means_entries(layout)):
        if means["rest"] is None or _around(means.start(), bodies) is None:
            yield means.span("term")


def _plain_means_entries(layout: DocumentLayout) -> Iterator["re.Match[str]"]:
    """Yield the starts of paragraphs such as "(a) Share means ..." in the sections that define terms."""
    for start, end in layout.regions:
        for line in layout.lines_between(start, end):
            found = _PLAIN_MEANS_ENTRY.match(layout.text, skip_labels(layout.text, line.start, line.end), line.end)
            if found and line.apart:
                yield found


def _indented_entries(layout: DocumentLayout) -> Iterator[tuple[int, Span]]:
    """Yield the number and span of each line that holds only a term and has a more deeply indented text below it."""
    entries = EntryReader(layout)
    indent = entries.usual_indent(layout.lines)
    for number, (line, below) in enumerate(pairwise(layout.lines)):
        if line.indent != indent or below.indent <= indent or not line.apart or below.apart:
            continue
        if entries.is_alone(line) and _is_short_text(below.text) and not is_value(line.text, below.text):
            yield number, (line.start, line.end)


def _heading_entries(layout: DocumentLayout) -> Iterator[tuple[int, Span]]:
    """Yield the line number and the span of each heading that is followed by a single short paragraph."""
    entries, lines = EntryReader(layout), layout.lines
    for number, (line, below) in enumerate(pairwise(lines)):
        last = all(one.start in layout.heading_lines for one in lines[number + 2 : number + 3])
        if line.start not in layout.heading_lines or below.start in layout.heading_lines or not last:
            continue
        title = line.text.lstrip("# ")
        if entries.is_term(title) and _is_short_text(below.text) and not is_value(title, below.text):
            yield number, (line.end - len(title), line.end)


def _leading_entries(layout: DocumentLayout) -> Iterator[tuple[int, Span]]:
    """Yield the line number and span of emphasised words that start a paragraph and that a new sentence follows."""
    entries, starts = EntryReader(layout), [line.start for line in layout.lines]
    for span in layout.document.marked.leading:
        number = bisect_right(starts, span[0]) - 1
        rest = layout.text[span[1] : layout.lines[number].end].strip() if number >= 0 else ""
        if rest[:1].isupper() and _is_short_text(rest) and entries.is_term(layout.text[slice(*span)]):
            yield number, span


def _is_short_text(text: str) -> bool:
    return _MIN_BODY_WORDS <= len(text.split()) <= _MAX_BODY_WORDS and not text[0].isdigit()


def _glossary_run(layout: DocumentLayout, kind: str, run: Sequence[tuple[int, Span]]) -> Iterator[Span]:
    terms = [fold(layout.text[slice(*span)]) for _, span in run]
    if len(run) < _MIN_ENTRIES or len(set(terms)) < _MIN_DIFFERENT * len(terms):
        return
    ordered = sum(one <= other for one, other in pairwise(terms)) / (len(terms) - 1)
    rows = [_LINE_ENTRIES["row"].match(layout.lines[number].text) for number, _ in run] if kind == "row" else []
    body_words = sum(len(row["body"].split()) for row in rows if row)
    if (kind == "dash" and len(run) < _MIN_DASHES) or (rows and body_words / len(run) < _MIN_BODY_WORDS):
        return
    announced = [span for _, span in run if layout.in_region(span[0])]
    if kind == "quoted" and not layout.regions:  # a list of terms in quotes need not be in alphabetical order
        rests = [layout.lines[number].text.split() for number, _ in run]
        ordered = _MIN_ORDERED if sum(map(len, rests)) >= 2 * _MIN_BODY_WORDS * len(run) else ordered
    yield from (span for _, span in run) if ordered >= _MIN_ORDERED else announced if kind != "dash" else ()


_AMENDING: Final = patterns("amending_sentences")
_AMENDED: Final = pattern("amended_term")


@dataclass(frozen=True)
class Amendment:
    """A sentence that replaces, changes or deletes the definition of `term`. The program does not carry it out."""

    term: str
    evidence: Evidence

    def __str__(self) -> str:
        """Return the place and the words of the sentence."""
        return f"{self.evidence.place} changes the definition of {self.term}: “{one_line(self.evidence.quote)}”"


def amendments_by_term(corpus: Corpus, terms: Mapping[tuple[str, ...], str]) -> dict[str, list[Amendment]]:
    """Return the changes of definitions by their term; under "" those of other terms.

    `terms` has the term of each key (see `term_key`) of its names.
    """
    found: dict[str, list[Amendment]] = {}
    for one in _find_amendments(corpus):
        found.setdefault(terms.get(term_key(one.term), ""), []).append(one)
    return found


def _find_amendments(corpus: Corpus) -> Iterator[Amendment]:
    """Yield the changes of definitions, in the order of the texts: one for each term that a sentence names."""
    for document in corpus.documents:
        for piece in document.pieces:
            start = skip_labels(piece.text, 0, len(piece.text))
            found = next(filter(None, (one.match(piece.text, start) for one in _AMENDING)), None)
            for name in _AMENDED.finditer(found["names"]) if found else ():
                term = name[name.lastgroup or 0].strip()
                yield Amendment(term, document.evidence(piece.start, piece.end, 1.0))
