"""Find every definition in the texts of a job."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.definitions.abbreviations import (
    find_abbreviations,
    find_bracketed_terms,
    is_short_form,
    long_form,
)
from elt_llm_consumer.definitions.defining_sentences import find_in_sentences
from elt_llm_consumer.definitions.definition import Definition, DefinitionDraft, term_key
from elt_llm_consumer.definitions.layout import DocumentLayout, one_line, trim_span, with_marks
from elt_llm_consumer.definitions.lists import DefinitionLists
from elt_llm_consumer.definitions.markup import find_marked_terms
from elt_llm_consumer.definitions.tables import DefinitionTables
from elt_llm_consumer.definitions.vocabulary import PLACE, SEE, pattern
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.jobs.sections import GlossarySection

_QUESTION = re.compile(r"[?]\W{0,3}$")
_NUMBERED = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,5}\.?\s")
_VARIABLE = re.compile(r"<[^<>]{1,80}>$")
_ONLY_NUMBERS = re.compile(r"[\W\d_]{1,200}$")
_RULE_NAME = re.compile(r"(?:[A-Z]{0,2}\d{1,3}(?:\.\d{1,3}){0,3}|\W{1,5}|(?:page|seite)\s\d{1,4})$", re.IGNORECASE)

_ELSEWHERE: Final = pattern("defined_elsewhere")
_IS = re.compile(r"\b(?:is|are)\s{0,9}$", re.IGNORECASE)
_OF_OTHERS: Final = pattern("of_other_documents")
_OURS = re.compile(r"(?:this|these|our)\s", re.IGNORECASE)


class DraftFilters:
    """Decides which drafts match the settings and are definitions."""

    def __init__(self, layout: DocumentLayout, settings: GlossarySection) -> None:
        self._layout = layout
        self._settings = settings
        self._skipped = frozenset(term_key(term) for term in settings.skip_terms)

    def keep(self, draft: DefinitionDraft) -> bool:
        """Return whether a draft is a definition."""
        text = self._layout.text
        term, body = one_line(text[slice(*draft.term)]), one_line(text[slice(*draft.body)])
        settings = self._settings
        if (
            not term
            or len(term) > settings.longest_term
            or _RULE_NAME.match(term)
            or _ONLY_NUMBERS.match(term)
            or _VARIABLE.match(term)
        ):
            return False
        if not settings.shortest_definition <= len(body) <= settings.longest_definition:
            return False
        if _NUMBERED.match(term) and _NUMBERED.match(body):  # rows of a table of contents
            return False
        if self._is_elsewhere(draft, body):
            return False
        if _ONLY_NUMBERS.match(body) or _QUESTION.search(term) or (_QUESTION.search(body) and draft.pattern != "table"):
            return False
        return term_key(term) not in self._skipped and term_key(term) != term_key(body)

    def _is_elsewhere(self, draft: DefinitionDraft, body: str) -> bool:
        """Return whether a draft only refers to a definition in a text that is not part of the job."""
        found = _ELSEWHERE.match(body)
        before = self._layout.text[max(0, draft.body[0] - 12) : draft.body[0]]
        if found is None or not _IS.search(before):
            return False
        target = found["target"]
        place = PLACE.match(target)
        if place is not None and any(map(str.isdigit, place[1])):
            return _OF_OTHERS.search(target) is not None
        titles = (fold(section.title) for section in self._layout.document.outline.sections)
        return not _OURS.match(target) and not any(title.endswith(fold(target)) for title in titles)


# The bars between the rows of a cell that spans several rows.
_BARS = re.compile(r"\s\|(?=\s|$)|\n\s{0,20}\|")
_DEFAULT = GlossarySection()


def find_definitions(corpus: Corpus, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """Return the definitions in order of document and position. The time is linear in the length of the texts."""
    return [definition for document in corpus.documents for definition in definitions_in_document(document, settings)]


def definitions_in_document(document: CorpusDocument, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """Return the definitions in one document, in order. Of overlapping drafts, the first pattern counts."""
    layout = DocumentLayout(document, settings)
    drafts = [_reclassified_draft(layout, draft) for draft in _drafts(layout, settings)]
    filters = DraftFilters(layout, settings)
    kept = _without_duplicates(
        [draft for draft in drafts if draft.pattern in settings.patterns and filters.keep(draft)]
    )
    return [_definition(layout, draft) for draft in kept]


def _drafts(layout: DocumentLayout, settings: GlossarySection) -> Iterator[DefinitionDraft]:
    yield from find_marked_terms(layout, settings)
    yield from DefinitionTables(layout, settings).drafts()
    yield from find_in_sentences(layout)
    yield from DefinitionLists(layout).drafts()
    yield from find_bracketed_terms(layout)
    yield from find_abbreviations(layout)


def _reclassified_draft(layout: DocumentLayout, draft: DefinitionDraft) -> DefinitionDraft:
    """Return the draft as an abbreviation if its body is a long form, or as a reference if its body only refers."""
    short = one_line(layout.text[slice(*draft.term)])
    if draft.pattern in ("table", "list", "sentence") and is_short_form(short):
        spelt = one_line(layout.text[slice(*draft.body)]).rstrip(" .")
        if long_form(short, spelt) == (0, len(spelt)):
            return replace(draft, pattern="abbreviation")
    see = None if draft.refers_to else SEE.match(layout.text[slice(*draft.body)])
    if see is None:
        return draft
    return replace(draft, pattern="reference", refers_to=see["target"].strip())


def _without_duplicates(drafts: Iterable[DefinitionDraft]) -> list[DefinitionDraft]:
    """Return the drafts in order of position, without a draft that overlaps a draft of an earlier pattern.

    The patterns are in the order of `_drafts`, so that the text of a table is not read again as a list.
    """
    drafts = list(drafts)
    bodies = sorted(draft.body for draft in drafts if draft.pattern in ("table", "list"))
    kept: list[DefinitionDraft] = []
    taken: dict[int, list[DefinitionDraft]] = {}
    for draft in drafts:
        around = [
            one
            for key in (draft.term[0] // _BUCKET - 1, draft.term[0] // _BUCKET, draft.term[0] // _BUCKET + 1)
            for one in taken.get(key, [])
        ]
        if any(_overlaps(one, draft) for one in around) or (draft.pattern == "is" and _is_inside(draft, bodies)):
            continue
        kept.append(draft)
        taken.setdefault(draft.term[0] // _BUCKET, []).append(draft)
    return sorted(kept, key=lambda one: (one.term, one.body))


_BUCKET = 400


def _is_inside(draft: DefinitionDraft, bodies: list[tuple[int, int]]) -> bool:
    """Return whether a draft is inside a definition that a table or list gives."""
    number = bisect_right(bodies, draft.term[0], key=lambda body: body[0]) - 1
    return number >= 0 and draft.term[0] < bodies[number][1]


def _overlaps(one: DefinitionDraft, other: DefinitionDraft) -> bool:
    return one.term[0] < other.term[1] and other.term[0] < one.term[1]


def _definition(layout: DocumentLayout, draft: DefinitionDraft) -> Definition:
    text = layout.text
    term = trim_span(text, *draft.term)
    start, end = with_marks(text, min(term[0], draft.body[0]), max(term[1], draft.body[1]), term)
    name = one_line(text[slice(*term)]).strip('"“”*_:, ')
    short = draft.abbreviation or (name if draft.pattern == "abbreviation" else "")
    return Definition(
        name,
        one_line(_BARS.sub(" ", layout.without_furniture(*draft.body))),
        draft.pattern,
        layout.document.evidence(start, end, draft.score),
        term,
        draft.body,
        short,
        one_line(draft.refers_to),
        tuple(one_line(alias) for alias in draft.aliases),
    )
