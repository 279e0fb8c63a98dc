"""Build the cells of a term, each with its evidence."""

from collections.abc import Iterable, Mapping, Sequence

from elt_llm_core.text.normalise import words

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.evidence import Cell, Evidence, Value, absent_cell, found_cell
from elt_llm_consumer.glossary.comparison import DefinitionComparer, DefinitionText, describe_difference
from elt_llm_consumer.glossary.terms import MergedTerm, grouped
from elt_llm_consumer.names.mention_index import MentionStatement

_MAX_COMPARED = 20  # maximum different definitions of a term


def term_cell(term: MergedTerm) -> Cell:
    """Return the cell with the name of a term and every definition as evidence."""
    return found_cell(term.name, [one.evidence for one in term.all])


def definition_cell(term: MergedTerm, referred: MergedTerm | None, agreements: DefinitionComparer) -> Cell:
    """Return the cell with the definition of a term; verdict `conflict` and all texts if the definitions disagree.

    `referred` is the other term to which this term only refers ("see ..."). The definition of `referred` counts as
    inferred.
    """
    if not term.definitions:
        return _by_reference(term, referred)
    texts = _definitions_by_text(term.definitions)
    values = list(texts)
    differing = _differing(values, agreements)
    if not differing:
        places = (one.evidence for ones in texts.values() for one in ones)
        return found_cell(_best(term.definitions).text, places)
    return Cell(
        value=tuple(values),
        verdict="conflict",
        evidence=tuple(_evidence_about(one.evidence, value) for value, ones in texts.items() for one in ones),
        confidence=max(one.evidence.score for one in term.definitions),
        note=f"The definitions differ. {_note(texts, values[0], differing)}",
    )


def listed_cell(values: Mapping[str, Sequence[Definition]], note: str) -> Cell:
    """Return a cell with several values and their definitions as evidence; absent with a note if there are none."""
    if not values:
        return absent_cell(note)
    several = len(values) > 1
    places = [_evidence_about(one.evidence, value if several else "") for value, ones in values.items() for one in ones]
    return found_cell(tuple(values), places)


def references_cell(term: MergedTerm) -> Cell:
    """Return the cell with the rules, sections or terms to which the definitions of a term refer."""
    return listed_cell(grouped(term.references, lambda one: one.refers_to), "No definition refers to another.")


def see_also_cell(term: MergedTerm, referred: Iterable[tuple[Definition, MergedTerm]]) -> Cell:
    """Return the cell with the other terms to which the definitions of a term refer."""
    others: dict[str, list[Definition]] = {}
    for one, other in referred:
        if other.key != term.key:
            others.setdefault(other.name, []).append(one)
    return listed_cell(others, "No entry refers to another term.")


def defined_in_cell(term: MergedTerm) -> Cell:
    """Return the cell with the documents and pages that define a term."""
    return listed_cell(grouped(term.all, lambda one: one.evidence.place), "")


def usage_cells(uses: Sequence[MentionStatement], most: int) -> dict[str, Cell]:
    """Return the cells with the number of statements that use a term, and with at most `most` of their sections."""
    if not uses:
        none = absent_cell("It is used nowhere else.")
        return {"used": none, "used_in": none}
    sections: dict[str, MentionStatement] = {}
    for use in uses:
        name = f"{use.document.source}: {use.section}" if use.section else use.document.source
        sections.setdefault(name, use)
    named = dict(list(sections.items())[:most])
    left = len(sections) - len(named)
    first = [uses[0].evidence(uses[0].weight)]
    places = [use.evidence(use.weight, name if len(named) > 1 else "") for name, use in named.items()]
    note = f"And {left} more." if left else ""
    return {"used": found_cell(len(uses), first), "used_in": found_cell(tuple(named), places, note=note)}


def _by_reference(term: MergedTerm, referred: MergedTerm | None) -> Cell:
    if referred is not None and referred.definitions:
        best = _best(referred.definitions)
        places = (*(one.evidence for one in term.references), best.evidence)
        note = f"As of {referred.name}, to which it refers."
        return Cell(value=best.text, verdict="inferred", evidence=places, confidence=best.evidence.score, note=note)
    if term.references:
        return absent_cell(f"It is only referred to where it is defined: {term.references[0].refers_to}.")
    if listed := [one for one in term.short_forms if one.listed]:
        return found_cell(listed[0].text, [one.evidence for one in listed])
    return absent_cell("Only its short form is explained.")


def _definitions_by_text(definitions: Sequence[Definition]) -> dict[str, list[Definition]]:
    """Group definitions by text. Texts that differ only in case and signs are in the group of the first text."""
    by_words: dict[tuple[str, ...], str] = {}
    texts: dict[str, list[Definition]] = {}
    for one in definitions:
        texts.setdefault(by_words.setdefault(tuple(words(one.text)), one.text), []).append(one)
    return texts


def _differing(values: Sequence[str], agreements: DefinitionComparer) -> list[str]:
    return [other for other in values[1:_MAX_COMPARED] if not agreements.agree(values[0], other)]


def _note(texts: Mapping[str, Sequence[Definition]], first: str, differing: Sequence[str]) -> str:
    """Describe how each text differs from the first text, in one sentence per text."""
    compared = {
        text: DefinitionText(text, tuple(one.evidence.place for one in texts[text])) for text in (first, *differing)
    }
    return " ".join(dict.fromkeys(describe_difference(compared[first], compared[other]) for other in differing))


def _best(definitions: Sequence[Definition]) -> Definition:
    return max(definitions, key=lambda one: one.evidence.score)


def _evidence_about(place: Evidence, value: Value) -> Evidence:
    return place.model_copy(update={"about": value}) if value else place
