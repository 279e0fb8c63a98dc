"""Candidates and relationships as rows."""

from collections import Counter
from collections.abc import Mapping, Sequence

from elt_llm_query.understanding.aliases import aliases_from

from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.fields.text_field import FieldFacts, as_passage
from elt_llm_consumer.fields.topic import Topic
from elt_llm_consumer.fields.written_field import Writer
from elt_llm_consumer.handbook.candidates import Candidate
from elt_llm_consumer.handbook.cells import cells_of
from elt_llm_consumer.handbook.drawn import Drawn
from elt_llm_consumer.handbook.relations import KIND_OF, Relation, Told
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell, Evidence, Row, absent, found
from elt_llm_consumer.sections.catalog import CatalogField
from elt_llm_consumer.tasks import AskModel, Material, RowTask

CANDIDATES, RELATIONSHIPS = "candidates", "relationships"
RELATIONSHIP_COLUMNS = ("source", "verb", "target", "modality", "cardinality", "sentences")
DESCRIPTION = "description"
UNKNOWN = "unknown"
_DESCRIBE = CatalogField(prompt="Say in one sentence what {entity} is, and what it is for.")


class CandidateTask(RowTask):
    """One candidate. Only its description is written by a model, and only where the job asks for one."""

    table = CANDIDATES

    def __init__(self, drawn: Drawn, writer: Writer | None, candidate: Candidate) -> None:
        self.key, self.name = f"candidate/{candidate.key}", candidate.name
        self.group = (kind_of(drawn, candidate),)
        self._drawn, self._writer, self._candidate = drawn, writer, candidate

    def material(self) -> Material:
        """Its cells, and the statements that a model may describe it from."""
        cells = cells_of(self._drawn, self._candidate)
        facts, prompt = self._facts(), ""
        if self._writer is not None:
            prompt, facts = self._writer.asked(self.name, DESCRIPTION, _DESCRIBE, self._candidate.names, facts)
        told = {name: cell.to_json() for name, cell in cells.items()}
        inputs = {"name": self.name, "group": self.group, "cells": told}
        return Material(inputs, (prompt,) if prompt else (), (cells, facts))

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row; what a model writes is held against the statements it was given."""
        gathered: tuple[dict[str, Cell], FieldFacts] = material.gathered
        cells, facts = dict(gathered[0]), gathered[1]
        if self._writer is not None:
            cells[DESCRIPTION] = facts.cell
            if ask is not None and material.prompts:
                topic = Topic(self.name, Names([self.name], aliases_from({self.name: self._candidate.names})))
                cells[DESCRIPTION] = self._writer.cell(facts, material.prompts[0], ask, topic)
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)

    def _facts(self) -> FieldFacts:
        nothing = absent("No model was asked to describe it.")
        if self._writer is None:
            return FieldFacts(nothing)
        statements = self._drawn.statements(self._candidate)
        surest = sorted(statements, key=lambda one: not one.certain)[: self._drawn.section.evidence]
        passages = [
            as_passage(Statement(0, one.document, one.piece.start, one.piece.end, one.piece.start, one.piece.text))
            for one in surest
        ]
        return FieldFacts(nothing, tuple(passages))


class RelationTask(RowTask):
    """One relationship with all sentences that say it. No model is asked about it."""

    table = RELATIONSHIPS

    def __init__(self, drawn: Drawn, relation: Relation) -> None:
        self.key = f"relationship/{relation.key}"
        self.name = f"{relation.source.name} {relation.verb} {relation.target.name}"
        self.group = (kind_of(drawn, relation.source),)
        self._relation, self._most = relation, drawn.section.evidence

    def material(self) -> Material:
        """Its cells."""
        cells = self._cells()
        told = {name: cell.to_json() for name, cell in cells.items()}
        return Material({"name": self.name, "group": self.group, "cells": told}, (), cells)

    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row as it was gathered."""
        return Row(key=self.key, name=self.name, group=self.group, cells=material.gathered)

    def _cells(self) -> dict[str, Cell]:
        relation = self._relation
        surest = sorted(relation.told, key=lambda one: -one.score)[: self._most]
        places = [one.evidence for one in surest]
        counts = dict.fromkeys(one.count for one in relation.told if one.count)
        return {
            "source": found(relation.source.name, places),
            "verb": self._verb(surest),
            "target": found(relation.target.name, places),
            "modality": _modality(relation.told, self._most),
            "cardinality": _told(tuple(counts), [one for one in relation.told if one.count], self._most),
            "sentences": found(len(relation.told), places, confidence=1.0),
        }

    def _verb(self, surest: Sequence[Told]) -> Cell:
        """Inferred where every sentence that says it begins with "it": whose verb it is stands in the one before."""
        best = surest[0]
        places = tuple(one.evidence for one in surest)
        if best.again:
            note = "The sentence says 'it': its subject is that of the sentence before."
            return Cell(
                value=self._relation.verb, verdict="inferred", evidence=places, confidence=best.score, note=note
            )
        note = "By a definition." if self._relation.verb == KIND_OF else ""
        return found(self._relation.verb, places, note=note)


def kind_of(drawn: Drawn, candidate: Candidate) -> str:
    """The kind of a candidate as a word; "unknown" where nothing tells it."""
    return str(drawn.kinds[candidate.key].value or UNKNOWN)


def _modality(told: Sequence[Told], most: int) -> Cell:
    """Whether it must be, may be or simply is so; those of most sentences first."""
    counted = Counter(one.modality for one in told if one.modality)
    ranked = sorted(counted, key=lambda one: (-counted[one], one))
    return _told(tuple(ranked), [one for one in told if one.modality], most)


def _told(values: tuple[str, ...], told: Sequence[Told], most: int) -> Cell:
    if not values:
        return absent("The sentences do not say.")
    by_value: Mapping[str, list[Evidence]] = {value: [] for value in values}
    for one in told:
        for value in (one.modality, one.count):
            if value is not None and value in by_value:
                by_value[value].append(one.evidence.model_copy(update={"about": value if len(values) > 1 else ""}))
    places = [place for value in values for place in by_value[value][:most]]
    return found(values if len(values) > 1 else values[0], places)
