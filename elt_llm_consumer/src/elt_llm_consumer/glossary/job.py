"""Run the glossary job: find all definitions, merge the definitions of each term, and list where the term is used."""
# ruff: noqa: RUF001 - look-alike quotes occur in documents.

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

from elt_llm_core.errors import UnusableReply, UsageError
from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.refusals import is_blank
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.cells import best_definition, checked_cell, definition_cell
from elt_llm_consumer.definitions.comparison import DefinitionComparer
from elt_llm_consumer.definitions.definition import Definition, grouped, term_key
from elt_llm_consumer.definitions.find import (
    Amendment,
    MissedEntries,
    amendments_by_term,
    find_definitions,
    missed_entries,
)
from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.definitions.vocabulary import pattern
from elt_llm_consumer.evidence import Cell, JobResult, Row, Table, absent_cell, found_cell, inferred_cell, with_note
from elt_llm_consumer.glossary.terms import MergedTerm, merge_definitions
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import model_name
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.names.mention_index import MentionIndex, MentionStatement
from elt_llm_consumer.names.names import Names, has_german_texts

_PROMPT = files("elt_llm_consumer.glossary").joinpath("clean_up_prompt.txt").read_text(encoding="utf-8")
_SEE_ALSO = pattern("see_also_at_end")
_SEE_ALSO_LIST = word_pattern(r",\s(?:@and@\s)?|\s@item_conjunctions@\s")
_MAX_GROWTH = 1.1


def _clean_definition(cell: Cell, prompt: str, ask: AskModel, agreements: DefinitionComparer, model: str) -> Cell:
    """Return the definition cell with the language model's text and the same quotes.

    If the model changed the meaning or its reply is unusable, the cell keeps its text and gets a note. Raises
    ModelError if `ask`, the call of the model, does.
    """
    try:
        reply = one_line(ask(prompt))
    except UnusableReply as error:
        return with_note(cell, f"The language model's reply could not be used: {error}")
    text = str(cell.value)
    if is_blank(reply) or not reply:
        return with_note(cell, "The language model's reply was empty.")
    if len(reply) > _MAX_GROWTH * len(text) or not agreements.supports(reply, text):
        return with_note(cell, "The definition does not support the language model's text.")
    if not agreements.agree(reply, text) or not agreements.is_copy(reply, text):
        return with_note(cell, "The language model left out a part of the definition, or added other words.")
    return cell.model_copy(update={"value": reply, "method": "llm", "model": model})


COLUMNS = (
    *("term", "definition", "abbreviation", "synonyms", "variants", "see_also", "refers_to", "defined_in"),
    *("used", "used_in"),
)
ABBREVIATION_COLUMNS = ("term", "abbreviation", "defined_in", "used", "used_in")
"""The columns of the table `abbreviations`, whose terms are long forms without a definition."""


class GlossaryTermTask(RowTask):
    """Makes the row of one term. A language model is used only to clean up the text of the definition."""

    def __init__(
        self,
        term: MergedTerm,
        referred: Sequence[tuple[Definition, MergedTerm]],
        uses: Sequence[MentionStatement],
        section: GlossarySection,
        agreements: DefinitionComparer,
        model: str,
        amendments: Sequence[Amendment] = (),
    ) -> None:
        """`referred` lists each definition that only refers to another term, together with that other term.

        `uses` are the statements that use the term outside of its definitions. `model` is the name of the language
        model; empty if the job uses none.
        """
        self._term, self._uses, self._section, self._agreements, self._model = term, uses, section, agreements, model
        self._amendments = amendments
        self._referred = [(one, other) for one, other in referred if other.key != term.key]
        self.key, self.name = term.key, term.name
        self.table = "terms" if term.has_meaning else "abbreviations"

    def material(self) -> RowMaterial:
        """Gather the cells with the definitions and uses of the term, as the documents give them.

        If the settings request it, there is a prompt with which `row` lets the language model clean up the definition.
        """
        term, cells = self._term, self._cells()
        definition = cells["definition"]
        wanted = self._section.clean_up == "model" and definition.verdict == "found"
        cells = cells if term.has_meaning else {name: cells[name] for name in ABBREVIATION_COLUMNS}
        prompts = (_PROMPT.format(term=term.name, definition=str(definition.value)),) if wanted else ()
        inputs: dict[str, Any] = {
            "term": term.name,
            "definitions": [[one.pattern, one.text, one.evidence.to_json()] for one in term.all],
            "cells": {name: cell.to_json() for name, cell in cells.items()},
        }
        return RowMaterial(inputs, prompts, cells)

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row. If the settings request it, the language model cleans up the definition."""
        cells: dict[str, Cell] = dict(material.gathered)
        if ask is not None and material.prompts:
            cell = cells["definition"]
            cells["definition"] = _clean_definition(cell, material.prompts[0], ask, self._agreements, self._model)
        return Row(key=self.key, name=self.name, cells=cells)

    def _cells(self) -> dict[str, Cell]:
        term = self._term
        others: dict[str, list[Definition]] = {}
        for one, other in self._referred:
            others.setdefault(other.name, []).append(one)
        first = self._referred[0][1] if self._referred else None
        refers_to = grouped(term.references, lambda one: one.refers_to)
        definition = _definition_cell(term, first, self._agreements)
        return {
            "term": found_cell(term.name, [one.evidence for one in term.all]),
            "definition": checked_cell(definition, term.definitions, self._amendments),
            "abbreviation": _listed_cell(term.abbreviations, "The texts give no short form of the term."),
            "synonyms": _listed_cell(term.synonyms, "The texts give no other name for the term."),
            "variants": _listed_cell(term.variants, "The texts spell the term in only one way."),
            "see_also": _listed_cell(others, "No entry refers to another term."),
            "refers_to": _listed_cell(refers_to, "No definition refers to another rule or term."),
            "defined_in": _listed_cell(grouped(term.all, lambda one: one.evidence.place), ""),
            **_usage_cells(self._uses, self._section.most_places),
        }


def _definition_cell(term: MergedTerm, referred: MergedTerm | None, agreements: DefinitionComparer) -> Cell:
    """Return the cell with the definition of a term; with all definitions and verdict `conflict` if they disagree.

    If the entry of the term only refers to another term ("see ..."), `referred` is that term. A definition that is
    taken over from `referred` has the verdict `inferred`.
    """
    if not term.definitions:
        return _by_reference(term, referred)
    return definition_cell(term.definitions, agreements)


def _listed_cell(values: Mapping[str, Sequence[Definition]], note: str) -> Cell:
    """Return a cell with the values and their definitions as evidence; an absent cell with `note` if there are none."""
    if not values:
        return absent_cell(note)
    several = len(values) > 1
    places = [one.evidence.supporting(value if several else "") for value, ones in values.items() for one in ones]
    return found_cell(tuple(values), places)


def _usage_cells(uses: Sequence[MentionStatement], most: int) -> dict[str, Cell]:
    """Return two cells: the number of statements that use a term, and at most `most` sections with such statements."""
    if not uses:
        none = absent_cell("The term is used only in its definitions.")
        return {"used": none, "used_in": none}
    sections: dict[str, MentionStatement] = {}
    for use in uses:
        name = f"{use.document.source}: {use.section}" if use.section else use.document.source
        sections.setdefault(name, use)
    named = dict(list(sections.items())[:most])
    left = len(sections) - len(named)
    first = [uses[0].evidence(uses[0].weight)]
    places = [use.evidence(use.weight, name if len(named) > 1 else "") for name, use in named.items()]
    note = f"{left} more sections use the term." if left else ""
    return {"used": found_cell(len(uses), first), "used_in": found_cell(tuple(named), places, note=note)}


def _by_reference(term: MergedTerm, referred: MergedTerm | None) -> Cell:
    if referred is not None and referred.definitions:
        best = best_definition(referred.definitions)
        places = (*(one.evidence for one in term.references), best.evidence)
        note = f"This is the definition of {referred.name}, to which the term refers."
        return inferred_cell(best.text, note, places, confidence=best.evidence.score)
    if term.references:
        return absent_cell(f"The texts only refer to another place for the definition: {term.references[0].refers_to}.")
    if listed := [one for one in term.short_forms if one.listed]:
        return found_cell(listed[0].text, [one.evidence for one in listed])
    return absent_cell("The texts spell out this abbreviation, but give no meaning.")


class GlossaryJob:
    """The glossary job. It reads every text once, and uses a language model only if `glossary.clean_up` is `model`."""

    kind = "glossary"

    def __init__(self, context: JobContext) -> None:
        """Prepare the job. Raises UsageError if the job file names no texts."""
        if not context.corpus.documents:
            raise UsageError("A glossary job needs texts to read.", hint=f"Set sources.handbook in {context.file.path}")
        self._context = context
        self._section = context.file.spec.glossary

    def tasks(self) -> Sequence[RowTask]:
        """Return a task for each term, sorted by name."""
        agreements = DefinitionComparer(self._context.embedding, KeywordTokeniser("en"))
        model = model_name(self._context)
        tasks = []
        for term in self._terms:
            references = [(one, self._by_key.get(term_key(one.refers_to))) for one in term.references]
            also = [(one, self._by_key.get(term_key(name))) for one in term.definitions for name in _see_also(one)]
            referred = [(one, other) for one, other in (*references, *also) if other is not None]
            uses = [use for use in self._mentions.of(term.name) if not _is_own_definition(term, use)]
            changes = self._amendments.get(term.key, ())
            tasks.append(GlossaryTermTask(term, referred, uses, self._section, agreements, model, changes))
        return tasks

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return a result with the tables `terms` and `abbreviations`, and with counts."""
        known = {row.key: row for row in rows}
        made = [(term, known[term.key]) for term in self._terms if term.key in known]
        terms = tuple(row for term, row in made if term.has_meaning)
        short = tuple(row for term, row in made if not term.has_meaning)
        tables = (
            Table(name="terms", columns=COLUMNS, rows=terms),
            Table(name="abbreviations", columns=ABBREVIATION_COLUMNS, rows=short),
        )
        figures = {**_figures(terms, short), "may be missing": sum(len(one.missed) for one in self._gaps)}
        unnamed = (one for one in self._amendments.get("", ()) if one.term[:1].isupper())
        unknown = (f"{one}. The glossary has no such term." for one in unnamed)
        return self._context.result(self.kind, tables, figures, (*map(str, self._gaps), *unknown))

    @cached_property
    def _definitions(self) -> list[Definition]:
        return find_definitions(self._context.corpus, self._section)

    @cached_property
    def _gaps(self) -> list[MissedEntries]:
        """What looks like definitions but is not in the glossary, for each document with such places."""
        found = grouped(self._definitions, lambda one: (one.evidence.collection, one.evidence.document_id))
        checked = (
            missed_entries(document, found.get((document.collection, document.document_id), ()), self._section)
            for document in self._context.corpus.documents
        )
        return [one for one in checked if one]

    @cached_property
    def _terms(self) -> list[MergedTerm]:
        return merge_definitions(self._definitions)

    @cached_property
    def _by_key(self) -> dict[tuple[str, ...], MergedTerm]:
        """The terms by the keys of all their forms. If terms share a key, the one whose name has this key is used."""
        named = {term_key(term.name): term for term in reversed(self._terms)}
        others = {term_key(form): term for term in reversed(self._terms) for form in term.forms}
        return {**others, **named}

    @cached_property
    def _amendments(self) -> dict[str, list[Amendment]]:
        """The changes of definitions by the key of their term; under "" those of terms that are not in the glossary."""
        return amendments_by_term(self._context.corpus, {key: term.key for key, term in self._by_key.items()})

    @cached_property
    def _mentions(self) -> MentionIndex:
        aliases = Aliases(tuple(term.forms for term in self._terms if len(term.forms) > 1))
        corpus = self._context.corpus
        names = Names([term.name for term in self._terms], aliases, german=has_german_texts(corpus))
        return MentionIndex(corpus, names)


def _see_also(definition: Definition) -> list[str]:
    """Return the names after "See also" in a definition, and those in a column such as See also, without quotes."""
    found = (
        *(_SEE_ALSO_LIST.split(one["targets"]) for one in _SEE_ALSO.finditer(definition.text)),
        definition.see_also,
    )
    return [name.strip(" '\"‘’“”*_") for names in found for name in names]


def _is_own_definition(term: MergedTerm, use: MentionStatement) -> bool:
    document, piece = (use.document.collection, use.document.document_id), use.piece
    return any(
        document == (one.collection, one.document_id) and piece.start < one.span[1] and one.span[0] < piece.end
        for one in (definition.evidence for definition in term.all)
    )


def _figures(rows: Sequence[Row], short: Sequence[Row]) -> dict[str, int | float | str]:
    def having(column: str, *verdicts: str) -> int:
        return sum(row.cells[column].verdict in verdicts for row in rows)

    return {
        "terms": len(rows),
        "with a definition": having("definition", "found", "inferred", "conflict"),
        "contradicting definitions": having("definition", "conflict"),
        "with an abbreviation": having("abbreviation", "found"),
        "abbreviations without a definition": len(short),
        "defined elsewhere only": sum(
            row.cells["definition"].verdict == "absent" and row.cells["refers_to"].verdict == "found" for row in rows
        ),
        "used nowhere else": having("used", "absent"),
    }
