"""The fields of a term, each with the places that say it."""

from collections.abc import Iterable, Mapping, Sequence

from elt_llm_core.text.normalise import words

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.glossary.agreement import Agreements
from elt_llm_consumer.glossary.difference import Told, difference
from elt_llm_consumer.glossary.merging import Term
from elt_llm_consumer.mention_index import Statement
from elt_llm_consumer.rows import Cell, Evidence, Value, absent, found

_MOST_COMPARED = 20  # different texts of one term


def term_cell(term: Term) -> Cell:
    """Its name, with every place that defines it."""
    return found(term.name, [one.evidence for one in term.all])


def definition_cell(term: Term, referred: Term | None, agreements: Agreements) -> Cell:
    """What it means; `conflict` with all texts if they do not agree.

    `referred` is the term that this one only points to ("see ..."): its definition is taken over, as inferred.
    """
    if not term.definitions:
        return _by_reference(term, referred)
    texts = _texts(term.definitions)
    values = list(texts)
    differing = _differing(values, agreements)
    if not differing:
        places = (one.evidence for ones in texts.values() for one in ones)
        return found(_best(term.definitions).text, places)
    return Cell(
        value=tuple(values),
        verdict="conflict",
        evidence=tuple(_about(one.evidence, value) for value, ones in texts.items() for one in ones),
        confidence=max(one.evidence.score for one in term.definitions),
        note=f"The definitions differ. {_note(texts, values[0], differing)}",
    )


def listed_cell(values: Mapping[str, Sequence[Definition]], note: str) -> Cell:
    """Several values, each with the places that give it; absent with a note if there are none."""
    if not values:
        return absent(note)
    several = len(values) > 1
    places = [_about(one.evidence, value if several else "") for value, ones in values.items() for one in ones]
    return found(tuple(values), places)


def references_cell(term: Term) -> Cell:
    """Where the texts say that it is defined, such as a rule."""
    places: dict[str, list[Definition]] = {}
    for one in term.references:
        places.setdefault(one.refers_to, []).append(one)
    return listed_cell(places, "No place refers to another.")


def see_also_cell(term: Term, referred: Iterable[tuple[Definition, Term]]) -> Cell:
    """Other terms that its entries send the reader to."""
    others: dict[str, list[Definition]] = {}
    for one, other in referred:
        if other.key != term.key:
            others.setdefault(other.name, []).append(one)
    return listed_cell(others, "No entry refers to another term.")


def defined_in_cell(term: Term) -> Cell:
    """The documents and pages that define it."""
    places: dict[str, list[Definition]] = {}
    for one in term.all:
        places.setdefault(one.evidence.place, []).append(one)
    return listed_cell(places, "")


def usage_cells(uses: Sequence[Statement], most: int) -> dict[str, Cell]:
    """How many statements use it elsewhere, and in which sections, `most` of them named."""
    if not uses:
        none = absent("It is used nowhere else.")
        return {"used": none, "used_in": none}
    sections: dict[str, Statement] = {}
    for use in uses:
        name = f"{use.document.source}: {use.section}" if use.section else use.document.source
        sections.setdefault(name, use)
    named = dict(list(sections.items())[:most])
    left = len(sections) - len(named)
    first = [uses[0].evidence(uses[0].weight)]
    places = [use.evidence(use.weight, name if len(named) > 1 else "") for name, use in named.items()]
    note = f"And {left} more." if left else ""
    return {"used": found(len(uses), first), "used_in": found(tuple(named), places, note=note)}


def _by_reference(term: Term, referred: Term | None) -> Cell:
    if referred is not None and referred.definitions:
        best = _best(referred.definitions)
        places = (*(one.evidence for one in term.references), best.evidence)
        note = f"As of {referred.name}, to which it refers."
        return Cell(value=best.text, verdict="inferred", evidence=places, confidence=best.evidence.score, note=note)
    if term.references:
        return absent(f"It is only said where it is defined: {term.references[0].refers_to}.")
    return absent("Only its short form is explained.")


def _texts(definitions: Sequence[Definition]) -> dict[str, list[Definition]]:
    """Definitions by their text, those that differ in capitals and signs alone under the first."""
    by_words: dict[tuple[str, ...], str] = {}
    texts: dict[str, list[Definition]] = {}
    for one in definitions:
        texts.setdefault(by_words.setdefault(tuple(words(one.text)), one.text), []).append(one)
    return texts


def _differing(values: Sequence[str], agreements: Agreements) -> list[str]:
    """The texts that do not agree with the first."""
    return [other for other in values[1:_MOST_COMPARED] if not agreements.agree(values[0], other)]


def _note(texts: Mapping[str, Sequence[Definition]], first: str, differing: Sequence[str]) -> str:
    """Which places say what, a sentence for each text that differs from the first."""
    told = {text: Told(text, tuple(one.evidence.place for one in texts[text])) for text in (first, *differing)}
    return " ".join(dict.fromkeys(difference(told[first], told[other]) for other in differing))


def _best(definitions: Sequence[Definition]) -> Definition:
    """The surest, then the first."""
    return max(definitions, key=lambda one: one.evidence.score)


def _about(place: Evidence, value: Value) -> Evidence:
    return place.model_copy(update={"about": value}) if value else place
