"""One entity of the model, or one term that no entity stands for, as a row of the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from elt_llm_core.enterprise_model import Entity, FactSheet

from elt_llm_consumer.catalog.known import Known, Term
from elt_llm_consumer.catalog.proposed_domain import propose
from elt_llm_consumer.fields.definition_field import definition_field
from elt_llm_consumer.fields.structured_fields import inventory_field, model_field, told
from elt_llm_consumer.fields.text_field import FieldFacts
from elt_llm_consumer.fields.topic import Topic
from elt_llm_consumer.fields.written_field import Writer
from elt_llm_consumer.joining.join import Join
from elt_llm_consumer.rows import Cell, Evidence, Row, absent
from elt_llm_consumer.tasks import AskModel, Material, RowTask

TABLE = "entities"


@dataclass(frozen=True)
class Gathered:
    """The cells of a row as they are without a model, the facts of those a model may write, and what it is asked."""

    cells: Mapping[str, Cell]
    facts: Mapping[str, FieldFacts] = field(repr=False)
    prompts: Mapping[str, str] = field(repr=False)


class _CatalogTask(RowTask):
    """What rows of entities and of terms have in common: the fields from the texts."""

    table = TABLE

    def __init__(self, known: Known, writer: Writer | None, key: str, name: str, group: tuple[str, ...]) -> None:
        self.key, self.name, self.group = key, name, group
        self._known, self._writer = known, writer

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row; what a model is asked is held against the passages it was given."""
        gathered: Gathered = material.gathered
        cells = dict(gathered.cells)
        if ask is not None and self._writer is not None:
            topic = Topic(self.name, self._known.subjects.names, self._known.subjects)
            for name, prompt in gathered.prompts.items():
                cells[name] = self._writer.cell(gathered.facts[name], prompt, ask, topic)
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)

    def _material(self, before: Mapping[str, Cell], own: Mapping[str, Cell], after: Mapping[str, Cell]) -> Material:
        """`own` are the fields that need no reading, in the order of the settings with those that do."""
        facts = {
            name: text.facts(self.name, deeper=self._known.is_deeper(self.name), with_passages=self._writer is not None)
            for name, text in self._known.text_fields.items()
        }
        forms = self._known.names.forms(self.name)
        prompts: dict[str, str] = {}
        if self._writer is not None:
            for name, one in facts.items():
                prompt, facts[name] = self._writer.asked(self.name, name, self._known.fields[name], forms, one)
                prompts |= {name: prompt} if prompt else {}
        fields = {name: facts[name].cell if name in facts else own[name] for name in self._known.fields}
        cells = {**before, **fields, **after}
        inputs = {"name": self.name, "group": self.group, "cells": {name: _told(cell) for name, cell in cells.items()}}
        return Material(inputs, tuple(prompts.values()), Gathered(cells, facts, prompts))

    def _own_field(self, name: str, entity: Entity | None, sheet: FactSheet | None, joined: Join | None) -> Cell:
        """A field of the model or the inventory."""
        settings, context = self._known.fields[name], self._known.context
        if settings.kind == "inventory":
            return inventory_field(context.inventory, sheet, joined, settings.column)
        if entity is None or context.model is None:
            return absent("The model does not draw it.")
        return model_field(context.model, entity, settings.column)


class EntityTask(_CatalogTask):
    """An entity of the model."""

    def __init__(self, known: Known, writer: Writer | None, entity: Entity) -> None:
        super().__init__(known, writer, entity.id, entity.name, (entity.domain, entity.subgroup))
        self._entity = entity

    def material(self) -> Material:
        """What the model, the inventory and the texts have of it."""
        known, entity = self._known, self._entity
        to_sheet, to_term = known.to_sheets.of_left(entity.id), known.to_terms.of_left(entity.id)
        sheet, term = known.sheet_of(to_sheet), known.terms.get(to_term.right) if to_term else None
        own = {
            name: definition_field(term.definitions if term else (), to_term)
            if field.kind == "definition"
            else self._own_field(name, entity, sheet, to_sheet)
            for name, field in known.fields.items()
            if field.kind != "text"
        }
        before = {"source": self._source(term), "handbook_term": self._defined_term(term, to_term)}
        before["inventory_match"] = self._inventory_match(sheet, to_sheet)
        return self._material(before, own, {"relationships": self._relationships()})

    def _source(self, term: Term | None) -> Cell:
        model = self._known.context.model
        drawn = model.of_entity(self._entity) if model else ()
        if term is not None:
            return told("BOTH", (*drawn, term.definitions[0].evidence), "It is drawn, and the texts define it.")
        abouts = self._known.subjects.of(self.name)
        named = next((about for about in abouts if about.mentions and about.surely), None)
        named = named or next((about for about in abouts if about.mentions), None)
        if named is None:
            return told("MODEL_ONLY", drawn, "It is drawn, and the texts do not name it.")
        where = named.statement.document.evidence(*named.mentions[0], 1.0 if named.surely else 0.6)
        return told("BOTH", (*drawn, where), "It is drawn, and the texts name it.")

    def _defined_term(self, term: Term | None, joined: Join | None) -> Cell:
        if term is None or joined is None:
            near = [one for one in self._known.to_terms.near if one.left == self.key]
            return absent(f"Perhaps: {near[0].reason}" if near else "No defined term is the same.")
        evidence: Evidence = term.definitions[0].evidence
        return Cell(value=term.name, verdict="found", evidence=(evidence,), confidence=joined.score, note=joined.reason)

    def _inventory_match(self, sheet: FactSheet | None, joined: Join | None) -> Cell:
        inventory = self._known.context.inventory
        if sheet is None or joined is None or inventory is None:
            near = [one for one in self._known.to_sheets.near if one.left == self.key]
            return absent(f"Perhaps: {near[0].reason}" if near else "No fact sheet is the same.")
        cell = told(sheet.name, inventory.of_fact_sheet(sheet, "", joined.score), "As the inventory has it.")
        return cell.model_copy(update={"note": joined.reason, "confidence": joined.score})

    def _relationships(self) -> Cell:
        model = self._known.context.model
        ends = [
            one
            for one in (model.model.relationships if model else ())
            if self.key in {one.source.entity_id, one.target.entity_id}
        ]
        if model is None or not ends:
            return absent("The model draws none.")
        evidence = [place for one in ends for place in model.of_relationship(one, one.sentence)]
        return told(tuple(dict.fromkeys(one.sentence for one in ends)), evidence, "As the model is drawn.")


class TermTask(_CatalogTask):
    """A term that the texts define and nobody drew, with the domain it may belong to."""

    def __init__(self, known: Known, writer: Writer | None, term: Term) -> None:
        self._term, self._proposal = term, propose(known, term)
        domain = self._proposal.domain
        super().__init__(known, writer, f"term/{term.key}", term.name, (domain, "") if domain else ())

    def material(self) -> Material:
        """What the inventory and the texts have of it."""
        known, term = self._known, self._term
        to_sheet = known.terms_to_sheets.of_left(term.key)
        sheet = known.sheet_of(to_sheet)
        own = {
            name: definition_field(term.definitions, None)
            if field.kind == "definition"
            else self._own_field(name, None, sheet, to_sheet)
            for name, field in known.fields.items()
            if field.kind != "text"
        }
        defined = told(term.name, [term.definitions[0].evidence], "The texts define it.")
        source = told("HANDBOOK_ONLY", [term.definitions[0].evidence], "The texts define it, and nobody drew it.")
        return self._material(
            {"source": source, "handbook_term": defined, **self._proposal.cells},
            own,
            {"relationships": absent("The model does not draw it.")},
        )


def _told(cell: Cell) -> Mapping[str, Any]:
    """What a cell says and where, without how surely: scores change with documents that it has nothing to do with."""
    places = [[one.collection, one.document_id, one.quote, one.about] for one in cell.evidence]
    return {"value": cell.value, "verdict": cell.verdict, "note": cell.note, "places": places}
