"""Every definition in the texts of a job."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace

from elt_llm_consumer.corpus import Corpus, CorpusDocument
from elt_llm_consumer.definitions.abbreviations import abbreviations, is_short_form, long_form
from elt_llm_consumer.definitions.brackets import brackets
from elt_llm_consumer.definitions.definition import Definition, Draft
from elt_llm_consumer.definitions.filters import Filters
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.lists import Lists
from elt_llm_consumer.definitions.marked import marked
from elt_llm_consumer.definitions.sentences import sentences
from elt_llm_consumer.definitions.spans import one_line, trimmed, with_marks
from elt_llm_consumer.definitions.tables import Tables
from elt_llm_consumer.definitions.wording import SEE
from elt_llm_consumer.sections.glossary import GlossarySection

# Between the rows of a table over which one cell runs.
_BARS = re.compile(r"\s\|(?=\s|$)|\n\s{0,20}\|")
_DEFAULT = GlossarySection()


def find_definitions(corpus: Corpus, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """The definitions in order of document and place; the same in every run, in time that grows with the texts."""
    return [definition for document in corpus.documents for definition in definitions_of(document, settings)]


def definitions_of(document: CorpusDocument, settings: GlossarySection = _DEFAULT) -> list[Definition]:
    """The definitions in one document, in order; of two of the same term at the same place the surer counts."""
    layout = Layout(document, settings)
    drafts = [_marked(layout, draft) for draft in _drafts(layout, settings)]
    filters = Filters(layout, settings)
    kept = _once([draft for draft in drafts if draft.pattern in settings.patterns and filters.keep(draft)])
    return [_definition(layout, draft) for draft in kept]


def _drafts(layout: Layout, settings: GlossarySection) -> Iterator[Draft]:
    yield from marked(layout, settings)
    yield from Tables(layout, settings).drafts()
    yield from sentences(layout)
    yield from Lists(layout).drafts()
    yield from brackets(layout)
    yield from abbreviations(layout)


def _marked(layout: Layout, draft: Draft) -> Draft:
    """The draft as an abbreviation if it only spells one out, as a reference if it only says where to look."""
    short = one_line(layout.text[slice(*draft.term)])
    if draft.pattern in ("table", "list", "sentence") and is_short_form(short):
        spelt = one_line(layout.text[slice(*draft.body)]).rstrip(" .")
        if long_form(short, spelt) == (0, len(spelt)):
            return replace(draft, pattern="abbreviation")
    see = None if draft.refers_to else SEE.match(layout.text[slice(*draft.body)])
    if see is None:
        return draft
    return replace(draft, pattern="reference", refers_to=see["target"].strip())


def _once(drafts: Iterable[Draft]) -> list[Draft]:
    """Drafts in order of place, without those that lie within another of the same place found by a surer pattern.

    Patterns come in the order of `_drafts`: what a table, or a sentence, says is not read again as a list.
    """
    drafts = list(drafts)
    bodies = sorted(draft.body for draft in drafts if draft.pattern in ("table", "list"))
    kept: list[Draft] = []
    taken: dict[int, list[Draft]] = {}
    for draft in drafts:
        around = [
            one
            for key in (draft.term[0] // _BUCKET - 1, draft.term[0] // _BUCKET, draft.term[0] // _BUCKET + 1)
            for one in taken.get(key, [])
        ]
        if any(_same_place(one, draft) for one in around) or (draft.pattern == "is" and _inside(draft, bodies)):
            continue
        kept.append(draft)
        taken.setdefault(draft.term[0] // _BUCKET, []).append(draft)
    return sorted(kept, key=lambda one: (one.term, one.body))


_BUCKET = 400


def _inside(draft: Draft, bodies: list[tuple[int, int]]) -> bool:
    """Whether a draft is a further sentence of a definition that a table or list gives."""
    number = bisect_right(bodies, draft.term[0], key=lambda body: body[0]) - 1
    return number >= 0 and draft.term[0] < bodies[number][1]


def _same_place(one: Draft, other: Draft) -> bool:
    return one.term[0] < other.term[1] and other.term[0] < one.term[1]


def _definition(layout: Layout, draft: Draft) -> Definition:
    text = layout.text
    term = trimmed(text, *draft.term)
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
