"""One term of a glossary as a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.glossary.agreement import Agreements
from elt_llm_consumer.glossary.cells import (
    defined_in_cell,
    definition_cell,
    listed_cell,
    references_cell,
    see_also_cell,
    term_cell,
    usage_cells,
)
from elt_llm_consumer.glossary.clean_up import clean_up_prompt, cleaned
from elt_llm_consumer.glossary.merging import Term
from elt_llm_consumer.mention_index import Statement
from elt_llm_consumer.rows import Cell, Row
from elt_llm_consumer.sections.glossary import GlossarySection
from elt_llm_consumer.tasks import AskModel, Material, RowTask

COLUMNS = (
    "term",
    "definition",
    "abbreviation",
    "synonyms",
    "variants",
    "see_also",
    "refers_to",
    "defined_in",
    "used",
    "used_in",
)


@dataclass(frozen=True)
class Told:
    """All that the texts say of one term: `referred` are the terms that its entries point to, `uses` the rest."""

    term: Term
    referred: tuple[tuple[Definition, Term], ...]
    uses: Sequence[Statement]

    @property
    def pointed_to(self) -> Term | None:
        """The first other term that an entry points to."""
        return next((other for _, other in self.referred if other.key != self.term.key), None)


class TermTask(RowTask):
    """Gathers the places of one term; a language model may only mend the text of its definition."""

    table = "terms"

    def __init__(self, told: Told, section: GlossarySection, agreements: Agreements, model: str) -> None:
        """`model` is the name of the language model in use; empty where none is."""
        self._told, self._section, self._agreements, self._model = told, section, agreements, model
        self.key, self.name = told.term.key, told.term.name

    def material(self) -> Material:
        """The definitions and uses, as they stand in the texts."""
        term, cells = self._told.term, self._cells()
        definition = cells["definition"]
        wanted = self._section.clean_up == "model" and definition.verdict == "found"
        prompts = (clean_up_prompt(term.name, str(definition.value)),) if wanted else ()
        inputs: dict[str, Any] = {
            "term": term.name,
            "definitions": [[one.pattern, one.text, one.evidence.to_json()] for one in term.all],
            "cells": {name: cell.to_json() for name, cell in cells.items()},
        }
        return Material(inputs, prompts, cells)

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row; its definition is mended if the settings say so and a model is in use."""
        cells: dict[str, Cell] = dict(material.gathered)
        if ask is not None and material.prompts:
            cell = cells["definition"]
            cells["definition"] = cleaned(cell, material.prompts[0], ask, self._agreements, self._model)
        return Row(key=self.key, name=self.name, cells=cells)

    def _cells(self) -> dict[str, Cell]:
        told, term = self._told, self._told.term
        return {
            "term": term_cell(term),
            "definition": definition_cell(term, told.pointed_to, self._agreements),
            "abbreviation": listed_cell(term.abbreviations, "No short form is given."),
            "synonyms": listed_cell(term.synonyms, "No other name is given."),
            "variants": listed_cell(term.variants, "It is spelt in one way."),
            "see_also": see_also_cell(term, told.referred),
            "refers_to": references_cell(term),
            "defined_in": defined_in_cell(term),
            **usage_cells(told.uses, self._section.most_places),
        }
