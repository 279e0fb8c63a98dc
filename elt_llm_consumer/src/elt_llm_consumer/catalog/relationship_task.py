"""One relationship of the model as a row: its ends, how many of each, and what the texts say of both together."""

from elt_llm_core.enterprise_model import IN_WORDS, End, Relationship

from elt_llm_consumer.catalog.known import Known
from elt_llm_consumer.fields.about import About
from elt_llm_consumer.fields.structured_fields import told
from elt_llm_consumer.rows import Cell, Row, absent, found
from elt_llm_consumer.tasks import AskModel, Material, RowTask

TABLE = "relationships"
_BOTH_SURE, _ONE_UNSURE = 0.9, 0.75
_NEAR = 0.1
_NEAR_CHARACTERS = 80


class RelationshipTask(RowTask):
    """A line between two entities of the model. No model is asked about it."""

    table = TABLE

    def __init__(self, known: Known, relationship: Relationship) -> None:
        self.key, self.name = relationship.id, relationship.sentence
        self._known, self._relationship = known, relationship
        source = known.drawn.get(relationship.source.entity_id)
        self.group = (source.domain, source.subgroup) if source else ()

    def material(self) -> Material:
        """Everything is drawn, but for the sentences that name both ends."""
        cells = self._cells()
        told_by = {name: [cell.value, [one.quote for one in cell.evidence]] for name, cell in cells.items()}
        return Material({"name": self.name, "cells": told_by}, (), cells)

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row as it was gathered."""
        return Row(key=self.key, name=self.name, group=self.group, cells=material.gathered)

    def _cells(self) -> dict[str, Cell]:
        drawn = self._relationship
        return {
            "source_entity": self._drawn(drawn.source.name),
            "relationship": self._drawn(drawn.name),
            "target_entity": self._drawn(drawn.target.name),
            "source_cardinality": self._drawn(_how_many(drawn.source)),
            "target_cardinality": self._drawn(_how_many(drawn.target)),
            "cardinality": self._drawn(drawn.cardinality),
            "in_the_texts": self._in_the_texts(),
        }

    def _drawn(self, value: str) -> Cell:
        model = self._known.context.model
        if not value or model is None:
            return absent("The model draws none.")
        return told(value, model.of_relationship(self._relationship, self._relationship.sentence), "As it is drawn.")

    def _in_the_texts(self) -> Cell:
        source, target = self._relationship.source.name, self._relationship.target.name
        of_target = {one.statement.number: one for one in self._known.subjects.of(target) if one.mentions}
        both = [
            (_score(one, of_target[one.statement.number]), one.statement)
            for one in self._known.subjects.of(source)
            if one.mentions and one.statement.number in of_target and source != target
        ]
        best = sorted(both, key=lambda it: (-it[0], it[1].number))[: self._known.section.relationship_sentences]
        if not best:
            return absent("No sentence of the texts names both.")
        said = tuple(one.said if one.cells else " ".join(one.text.split()) for _, one in best)
        return found(
            said,
            [
                one.document.evidence(one.start, one.end, score, text)
                for (score, one), text in zip(best, said, strict=True)
            ],
            method="extractive",
            note="Sentences that name both ends.",
        )


def _how_many(end: End) -> str:
    return IN_WORDS.get(end.cardinality, "")


def _score(one: About, other: About) -> float:
    """More if both are beyond doubt, and if they stand close together."""
    base = _BOTH_SURE if one.surely and other.surely else _ONE_UNSURE
    apart = min(max(a, c) - min(b, d) for a, b in one.mentions for c, d in other.mentions)
    return round(base + (_NEAR if apart <= _NEAR_CHARACTERS else 0), 4)
