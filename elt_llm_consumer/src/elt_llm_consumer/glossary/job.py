"""Run the glossary job: find all definitions, merge those of one term, and list the uses of the term."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from elt_llm_core.errors import UnusableReply, UsageError
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.refusals import is_blank
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition, term_key
from elt_llm_consumer.definitions.find import MissedEntries, find_definitions, is_gap, missed_entries
from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.evidence import Cell, JobResult, Row, Table, with_note
from elt_llm_consumer.glossary.cells import (
    defined_in_cell,
    definition_cell,
    listed_cell,
    references_cell,
    see_also_cell,
    term_cell,
    usage_cells,
)
from elt_llm_consumer.glossary.comparison import DefinitionComparer
from elt_llm_consumer.glossary.terms import MergedTerm, merge_definitions
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import model_name
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.names.mention_index import MentionIndex, MentionStatement
from elt_llm_consumer.names.names import Names

_PROMPT = files("elt_llm_consumer.glossary").joinpath("clean_up_prompt.txt").read_text(encoding="utf-8")
_MAX_GROWTH = 1.1


def clean_definition(cell: Cell, prompt: str, ask: AskModel, agreements: DefinitionComparer, model: str) -> Cell:
    """Return the cell with the text of the model and the same quotes.

    If the model changed the meaning or its reply is unusable, the cell keeps its text and gets a note. Raises
    ModelError as `ask` does.
    """
    try:
        reply = one_line(ask(prompt))
    except UnusableReply as error:
        return with_note(cell, f"The model's reply could not be used: {error}")
    text = str(cell.value)
    if is_blank(reply) or not reply:
        return with_note(cell, "The model's reply was empty.")
    if len(reply) > _MAX_GROWTH * len(text) or not agreements.supports(reply, text):
        return with_note(cell, "The definition does not support what the model wrote.")
    if not agreements.agree(reply, text) or not agreements.is_copy(reply, text):
        return with_note(cell, "The model left out part of the definition, or put other words into it.")
    return cell.model_copy(update={"value": reply, "method": "llm", "model": model})


COLUMNS = (
    *("term", "definition", "abbreviation", "synonyms", "variants", "see_also", "refers_to", "defined_in"),
    *("used", "used_in"),
)
ABBREVIATION_COLUMNS = ("term", "abbreviation", "defined_in", "used", "used_in")
"""The columns of long forms that no text defines."""


@dataclass(frozen=True)
class TermFacts:
    """The facts about a term: its definitions, the terms to which some of them refer, and the uses of the term."""

    term: MergedTerm
    referred: tuple[tuple[Definition, MergedTerm], ...]
    uses: Sequence[MentionStatement]

    @property
    def first_reference(self) -> MergedTerm | None:
        """The first other term to which a definition refers, or None."""
        return next((other for _, other in self.referred if other.key != self.term.key), None)


class GlossaryTermTask(RowTask):
    """Makes the row of one term. A language model only cleans up the text of the definition."""

    def __init__(self, facts: TermFacts, section: GlossarySection, agreements: DefinitionComparer, model: str) -> None:
        """`model` is the name of the language model; empty without a language model."""
        self._facts, self._section, self._agreements, self._model = facts, section, agreements, model
        self.key, self.name = facts.term.key, facts.term.name
        self.table = "terms" if facts.term.has_meaning else "abbreviations"

    def material(self) -> RowMaterial:
        """Return the cells with the definitions and uses of the term, before any clean-up."""
        term, cells = self._facts.term, self._cells()
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
        """Make the row. The model cleans up the definition if the settings request a clean-up."""
        cells: dict[str, Cell] = dict(material.gathered)
        if ask is not None and material.prompts:
            cell = cells["definition"]
            cells["definition"] = clean_definition(cell, material.prompts[0], ask, self._agreements, self._model)
        return Row(key=self.key, name=self.name, cells=cells)

    def _cells(self) -> dict[str, Cell]:
        facts, term = self._facts, self._facts.term
        return {
            "term": term_cell(term),
            "definition": definition_cell(term, facts.first_reference, self._agreements),
            "abbreviation": listed_cell(term.abbreviations, "No short form is given."),
            "synonyms": listed_cell(term.synonyms, "No other name is given."),
            "variants": listed_cell(term.variants, "It is spelt in one way."),
            "see_also": see_also_cell(term, facts.referred),
            "refers_to": references_cell(term),
            "defined_in": defined_in_cell(term),
            **usage_cells(facts.uses, self._section.most_places),
        }


class GlossaryJob:
    """Reads every text once. The job prompts a language model only if `glossary.clean_up` is `model`."""

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
        return [GlossaryTermTask(self._facts_of(term), self._section, agreements, model) for term in self._terms]

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return a result with the tables `terms` and `abbreviations`, and counts."""
        known = {row.key: row for row in rows}
        made = [(term, known[term.key]) for term in self._terms if term.key in known]
        terms = tuple(row for term, row in made if term.has_meaning)
        short = tuple(row for term, row in made if not term.has_meaning)
        file = self._context.file
        return JobResult(
            job=file.name,
            kind=self.kind,
            description=file.spec.description,
            tables=(
                Table(name="terms", columns=COLUMNS, rows=terms),
                Table(name="abbreviations", columns=ABBREVIATION_COLUMNS, rows=short),
            ),
            figures={**_figures(terms, short), "may be missing": sum(len(one.missed) for one in self._gaps)},
            notes=tuple(map(str, self._gaps)),
        )

    @cached_property
    def _definitions(self) -> list[Definition]:
        return find_definitions(self._context.corpus, self._section)

    @cached_property
    def _gaps(self) -> list[MissedEntries]:
        """The documents with entries that look like definitions but are not in the glossary."""
        found: dict[tuple[str, str], list[Definition]] = {}
        for one in self._definitions:
            found.setdefault((one.evidence.collection, one.evidence.document_id), []).append(one)
        checked = (
            missed_entries(document, found.get((document.collection, document.document_id), ()), self._section)
            for document in self._context.corpus.documents
        )
        return [one for one in checked if is_gap(one)]

    @cached_property
    def _terms(self) -> list[MergedTerm]:
        return merge_definitions(self._definitions)

    @cached_property
    def _by_key(self) -> dict[tuple[str, ...], MergedTerm]:
        """The terms by the keys of all their forms. The name of a term takes precedence over other forms."""
        named = {term_key(term.name): term for term in reversed(self._terms)}
        others = {term_key(form): term for term in reversed(self._terms) for form in term.forms}
        return {**others, **named}

    @cached_property
    def _mentions(self) -> MentionIndex:
        aliases = Aliases(tuple(term.forms for term in self._terms if len(term.forms) > 1))
        return MentionIndex(self._context.corpus, Names([term.name for term in self._terms], aliases))

    def _facts_of(self, term: MergedTerm) -> TermFacts:
        referred = [(one, self._by_key.get(term_key(one.refers_to))) for one in term.references]
        uses = [use for use in self._mentions.of(term.name) if not _is_own_definition(term, use)]
        return TermFacts(term, tuple((one, other) for one, other in referred if other is not None), uses)


def _is_own_definition(term: MergedTerm, use: MentionStatement) -> bool:
    return any(
        one.evidence.document_id == use.document.document_id
        and one.evidence.collection == use.document.collection
        and use.piece.start < one.evidence.span[1]
        and one.evidence.span[0] < use.piece.end
        for one in term.all
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
