"""Make the rows of the catalog: for entities, for defined terms with a proposed domain, and for relationships."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from elt_llm_core.enterprise import CARDINALITY_LABELS, Entity, FactSheet, Relationship
from elt_llm_core.errors import UnusableReply

from elt_llm_consumer.catalog.index import CatalogIndex, CatalogTerm
from elt_llm_consumer.catalog.mentions import FieldSubject, NamedStatement, most_common_heading
from elt_llm_consumer.catalog.text_fields import FieldFacts
from elt_llm_consumer.catalog.written_fields import FieldWriter
from elt_llm_consumer.definitions.cells import checked_cell, definition_cell
from elt_llm_consumer.evidence import Cell, Evidence, Row, absent_cell, found_cell, inferred_cell, with_note
from elt_llm_consumer.jobs.row_keys import GENERATIONS
from elt_llm_consumer.jobs.sections import CatalogField
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.names.joins import JoinPair, JoinResult
from elt_llm_consumer.names.names import Names, name_key

_NO_VALUE = "The enterprise model has no value for this field."
_IN_MODEL, _IN_INVENTORY = "The enterprise model has this value.", "The inventory has this value."


def _inventory_field(index: CatalogIndex, join: JoinPair | None, column: str) -> Cell:
    """Return the cell with the value of `column` in the fact sheet to which an entity was joined."""
    source = index.context.inventory
    if source is None:
        return absent_cell("The job file names no inventory.")
    if join is None:
        return absent_cell("The inventory does not contain the entity.")
    sheet = index.sheets[join.right]
    value = _fact_sheet_value(sheet, column)
    if not value:
        return absent_cell("The inventory has no value for this field.")
    cell = _source_cell(value, source.of_fact_sheet(sheet, value, join.score), _IN_INVENTORY)
    return cell if join.by == "id" else cell.model_copy(update={"note": join.reason})


def _fact_sheet_value(sheet: FactSheet, column: str) -> str:
    """Return a fact sheet's value for a column, or for a kind of relation, ignoring case; empty if there is none."""
    own = {"description", "status", "quality", "level", "parent", "name", "type", "display_name", "fact_sheet_id"}
    if column.casefold() in own:
        return " ".join(str(getattr(sheet, column.casefold()) or "").split())
    fields = {label.casefold(): value for label, value in sheet.fields.items()}
    related = [one.name for one in sheet.relations if one.kind.casefold() == column.casefold()]
    return fields.get(column.casefold(), "; ".join(related))


def _source_cell(value: str | tuple[str, ...], evidence: Sequence[Evidence], note: str) -> Cell:
    """Return a cell with a value of the model or inventory: `found` with its evidence, or `inferred` without any."""
    return found_cell(value, evidence) if evidence else inferred_cell(value, note)


_NOT_DEFINED = "The texts do not define the entity."
_NO_MEANING = "The texts give no meaning of the entity, only: {}"


def _definition_field(index: CatalogIndex, term: CatalogTerm | None, join: JoinPair | None) -> Cell:
    """Return the cell with the definition of the term to which an entity was joined; a conflict if definitions differ.

    Definitions that only spell out an abbreviation or refer to another place are only named in the note.
    """
    definitions = term.definitions if term else ()
    defining = [one for one in definitions if one.gives_meaning]
    if not defining:
        return absent_cell(_NO_MEANING.format(definitions[0].text) if definitions else _NOT_DEFINED)
    changes = index.amendments.get(term.key, ()) if term else ()
    cell = checked_cell(definition_cell(defining, index.agreements), defining, changes)
    sure = round(min(join.score if join is not None else 1.0, cell.confidence), 4)
    note = join.reason if join is not None and join.by in {"alias", "fuzzy"} else ""
    return with_note(cell.model_copy(update={"confidence": sure}), note)


_IN_DEFINITION, _KIND_OF, _IN_STATEMENT = 3, 3, 1
_MIN_VOTES = 3
_MIN_SHARE = 0.5
_MIN_STATEMENTS = 3
_PLACES = 3
_HEADING_SCORE, _MENTION_SCORE = 0.5, 0.6  # scores of evidence that only shares a heading, or only mentions the name


@dataclass(frozen=True)
class _DomainVotes:
    """The votes of one entity on a term's domain. An entity that occurs together with a term votes for its own domain.

    `count` is the number of votes. `weight` is `count`, reduced for an entity that many statements name.
    """

    domain: str
    entity: str
    count: int
    weight: float
    evidence: Evidence


def _propose_domain(index: CatalogIndex, term: CatalogTerm) -> tuple[str, dict[str, Cell]]:
    """Propose a domain for a term from the entities mentioned in its name, its definitions and statements about it.

    Return the domain, empty if unknown, and the cells that explain the proposal. An entity in the name or definition of
    the term has three votes for its own domain, and an entity in a statement about the term has one. A domain of the
    enterprise model is proposed if it has at least three votes and half of the weighted votes. Otherwise the heading
    with the most statements about the term is proposed, if there are at least three statements and half of them are
    under that heading. This heading may name a new domain.
    """
    named = index.statements.of(term.name)
    votes = list(_votes(index, term, named))
    weights: dict[str, float] = defaultdict(float)
    for vote in votes:
        weights[vote.domain] += vote.weight
    best, weight = min(weights.items(), key=lambda it: (-round(it[1], 6), it[0])) if weights else ("", 0.0)
    mine, total = [vote for vote in votes if vote.domain == best], sum(weights.values())
    glossaries = {index.names.key(heading) for heading in index.context.file.spec.glossary.headings}
    listed = [
        one for one in named if one.statement.headings and index.names.key(one.statement.headings[0]) in glossaries
    ]
    title, under = most_common_heading([one for one in named if one not in listed])
    if sum(vote.count for vote in mine) >= _MIN_VOTES and weight >= _MIN_SHARE * total:
        domain, status, share = best, "existing", weight / total
        entities = ", ".join(list(dict.fromkeys(vote.entity for vote in mine))[:_PLACES])
        evidence = list(dict.fromkeys(vote.evidence for vote in mine))[:_PLACES]
        reason = f"The texts name the term with {entities} of this domain ({share:.0%} of the weighted mentions)."
    elif len(named) >= _MIN_STATEMENTS and len(under) >= _MIN_SHARE * len(named):
        known = Names(sorted({one.domain for one in index.drawn.values() if one.domain})).mentions(title)
        domain, status = (known[0].name, "existing") if known else (title, "new proposed")
        share, places = len(under) / len(named), [one.statement for one in under[:_PLACES]]
        evidence = [one.document.evidence(one.start, one.end, _HEADING_SCORE) for one in places]
        reason = f"{len(under)} of {len(named)} statements about the term are under '{title}'."
    else:
        reason = "Too few statements name the term with entities of one domain, and too few are under one heading."
        return "", {"proposed_domain": absent_cell(reason), "domain_status": inferred_cell("unknown", reason)}
    proposed = (inferred_cell(value, reason, evidence, confidence=round(share, 4)) for value in (domain, status))
    return domain, dict(zip(("proposed_domain", "domain_status"), proposed, strict=True))


def _votes(index: CatalogIndex, term: CatalogTerm, named: Sequence[NamedStatement]) -> Iterator[_DomainVotes]:
    domains = {one.name: one.domain for one in index.drawn.values() if one.domain}

    def vote(entity: str, count: int, evidence: Evidence) -> _DomainVotes:
        weight = count / math.log2(2 + len(index.statements.of(entity)))
        return _DomainVotes(domains[entity], entity, count, weight, evidence)

    own = index.names.key(term.name)
    for name in domains:
        key = index.names.key(name)
        if len(key) < len(own) and own[-len(key) :] == key:
            yield vote(name, _KIND_OF, term.definitions[0].evidence)
    for definition in term.definitions:
        mentioned = dict.fromkeys(mention.name for mention in index.statements.names.mentions(definition.text))
        yield from (vote(one, _IN_DEFINITION, definition.evidence) for one in mentioned if one in domains)
    defined = {definition.evidence.span for definition in term.definitions}
    for statement in (one.statement for one in named):
        if not any(start <= statement.start and statement.end <= end for start, end in defined):
            evidence = statement.document.evidence(statement.start, statement.end, _MENTION_SCORE)
            others = index.statements.names_in(statement)
            yield from (vote(one, _IN_STATEMENT, evidence) for one in others if one in domains)


_NOT_IN_MODEL = "The enterprise model does not contain the term."
_NOT_IN_TEXTS = "The job file lists the entity under catalog.not_in_texts, so the texts were not searched."


GatheredFields = tuple[Mapping[str, Cell], Mapping[str, FieldFacts], Mapping[str, str]]
"""The cells made without a language model, and the facts and prompts with which a model rewrites some of them."""


class _CatalogTask(RowTask):
    table = "entities"

    def __init__(
        self, index: CatalogIndex, writer: FieldWriter | None, key: str, name: str, group: tuple[str, ...]
    ) -> None:
        self.key, self.name, self.group = key, name, group
        self._index, self._writer = index, writer

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row. Text that a language model writes is checked against the chunks in its prompt."""
        gathered: GatheredFields = material.gathered
        cells, facts, prompts = dict(gathered[0]), *gathered[1:]
        if ask is not None and self._writer is not None:
            topic = FieldSubject(self.name, self._index.statements.names, self._index.statements)
            for name, prompt in prompts.items():
                cells[name] = self._writer.cell(facts[name], prompt, ask, topic)
                if self._index.section.search_again:
                    cells[name] = self._search_again(self._writer, name, cells[name], facts[name], ask, topic)
                cells[name] = self._index.amended_rules.checked(cells[name])
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)

    def _search_again(
        self, writer: FieldWriter, name: str, first: Cell, facts: FieldFacts, ask: AskModel, topic: FieldSubject
    ) -> Cell:
        """Search and write once more if the chunks do not fully support the `first` cell. Return the better cell."""
        if first.verdict == "found" and first.method == "llm":
            return first
        index = self._index
        try:
            more = index.text_fields[name].search_further(self.name, facts, ask)
        except UnusableReply as error:
            return with_note(first, f"The further search failed: {error}")
        if more is facts:
            return first
        forms = index.names.forms(self.name)
        prompt, more = writer.prompt(self.name, name, index.fields[name], forms, more)
        again = writer.cell(more, prompt, ask, topic)
        return again if _is_better(again, first) else first

    def _material(
        self,
        before: Mapping[str, Cell],
        after: Mapping[str, Cell],
        definition: Cell,
        entity: Entity | None,
        to_sheet: JoinPair | None,
    ) -> RowMaterial:
        """Gather the inputs of a row. Its cells are `before`, then the fields in the configured order, then `after`."""
        index, key = self._index, name_key(self.name)
        facts = {
            name: text.facts(self.name, deeper=key in index.deeper, with_chunks=self._writer is not None)
            for name, text in index.text_fields.items()
            if key not in index.not_in_texts
        }
        forms = index.names.forms(self.name)
        prompts: dict[str, str] = {}
        if self._writer is not None:
            for name, one in facts.items():
                prompt, facts[name] = self._writer.prompt(self.name, name, index.fields[name], forms, one)
                prompts |= {name: prompt} if prompt else {}
        fields = {
            name: index.amended_rules.checked(facts[name].cell)
            if name in facts
            else absent_cell(_NOT_IN_TEXTS)
            if name in index.text_fields
            else definition
            if settings.kind == "definition"
            else self._source_field(settings, entity, to_sheet)
            for name, settings in index.fields.items()
        }
        cells = {**before, **fields, **after}
        contents = {name: _cell_inputs(cell) for name, cell in cells.items()}
        inputs: dict[str, Any] = {"name": self.name, "group": self.group, "cells": contents}
        if prompts and index.section.search_again:
            steps = index.context.settings.answer.further_steps
            inputs |= {"further_steps": steps, GENERATIONS: list(index.context.generations)}
        return RowMaterial(inputs, tuple(prompts.values()), (cells, facts, prompts))

    def _source_field(self, settings: CatalogField, entity: Entity | None, to_sheet: JoinPair | None) -> Cell:
        if settings.kind == "inventory":
            return _inventory_field(self._index, to_sheet, settings.column)
        if entity is None:
            return absent_cell(_NOT_IN_MODEL)
        value = str(getattr(entity, settings.column, ""))
        if not value:
            return absent_cell(_NO_VALUE)
        return _source_cell(value, self._index.model.of_entity(entity, value), _IN_MODEL)


_VERDICTS: Final = ("absent", "conflict", "inferred", "found")


def _is_better(cell: Cell, other: Cell) -> bool:
    """Return whether the chunks support more of the text in `cell` than of the text in `other`."""
    ranks = [(_VERDICTS.index(one.verdict), one.method == "llm", one.confidence) for one in (cell, other)]
    return cell.verdict != "absent" and ranks[0] > ranks[1]


class EntityTask(_CatalogTask):
    """Makes the row of one entity of the enterprise model."""

    def __init__(self, index: CatalogIndex, writer: FieldWriter | None, entity: Entity) -> None:
        super().__init__(index, writer, entity.id, entity.name, (entity.domain, entity.subgroup))
        self._entity = entity

    def material(self) -> RowMaterial:
        """Gather the entity's cells from the enterprise model, the inventory and the texts."""
        index, entity = self._index, self._entity
        to_sheet, to_term = index.to_sheets.of_left(entity.id), index.to_terms.of_left(entity.id)
        term = index.terms[to_term.right] if to_term else None
        before = {
            "source": self._source(term),
            "handbook_term": self._defined_term(term, to_term),
            "inventory_match": self._inventory_match(to_sheet),
        }
        definition = _definition_field(index, term, to_term)
        return self._material(before, {"relationships": self._relationships()}, definition, entity, to_sheet)

    def _source(self, term: CatalogTerm | None) -> Cell:
        in_model = self._index.model.of_entity(self._entity)
        if term is not None:
            note = "The texts define this entity of the enterprise model."
            return _source_cell("BOTH", (*in_model, term.definitions[0].evidence), note)
        named = [one for one in self._index.statements.of(self.name) if one.mentions or one.under_heading]
        if not named:
            lacking = "The texts do not name this entity of the enterprise model."
            cell = _source_cell("MODEL_ONLY", in_model, lacking)
            return with_note(cell, self._index.other_spellings.get(self.name, ""))
        best = min(named, key=lambda one: (not one.mentions, not one.certain))
        span = best.mentions[0] if best.mentions else (best.statement.start, best.statement.end)
        score = 1.0 if best.certain and best.mentions else _MENTION_SCORE
        mention = best.statement.document.evidence(*span, score)
        return _source_cell("BOTH", (*in_model, mention), "The texts name this entity of the enterprise model.")

    def _defined_term(self, term: CatalogTerm | None, joined: JoinPair | None) -> Cell:
        if term is None or joined is None:
            return self._not_joined(self._index.to_terms, "No defined term matches the entity.")
        evidence: Evidence = term.definitions[0].evidence
        return Cell(value=term.name, verdict="found", evidence=(evidence,), confidence=joined.score, note=joined.reason)

    def _inventory_match(self, joined: JoinPair | None) -> Cell:
        inventory = self._index.context.inventory
        if joined is None or inventory is None:
            return self._not_joined(self._index.to_sheets, "No fact sheet of the inventory matches the entity.")
        sheet = self._index.sheets[joined.right]
        cell = _source_cell(sheet.name, inventory.of_fact_sheet(sheet, "", joined.score), _IN_INVENTORY)
        return cell.model_copy(update={"note": joined.reason, "confidence": joined.score})

    def _not_joined(self, joins: JoinResult, note: str) -> Cell:
        near = [one for one in joins.near if one.left == self.key]
        return absent_cell(f"Perhaps: {near[0].reason}" if near else note)

    def _relationships(self) -> Cell:
        model = self._index.model
        drawn = model.model.relationships
        ends = [one for one in drawn if self.key in {one.source.entity_id, one.target.entity_id}]
        if not ends:
            return absent_cell(_NO_VALUE)
        evidence = [place for one in ends for place in model.of_relationship(one)]
        return _source_cell(tuple(dict.fromkeys(one.sentence for one in ends)), evidence, _IN_MODEL)


class CatalogTermTask(_CatalogTask):
    """Makes the row of a term that the texts define but the enterprise model lacks, and proposes a domain for it."""

    def __init__(self, index: CatalogIndex, writer: FieldWriter | None, term: CatalogTerm) -> None:
        self._term = term
        domain, self._proposal = _propose_domain(index, term)
        super().__init__(index, writer, f"term/{term.key}", term.name, (domain, "") if domain else ())

    def material(self) -> RowMaterial:
        """Gather the term's cells from the inventory and the texts."""
        term, evidence = self._term, [self._term.definitions[0].evidence]
        before = {
            "source": _source_cell(
                "HANDBOOK_ONLY", evidence, "The texts define the term, but the enterprise model does not contain it."
            ),
            "handbook_term": _source_cell(term.name, evidence, "The texts define the term."),
            **self._proposal,
        }
        to_sheet = self._index.terms_to_sheets.of_left(term.key)
        after = {"relationships": absent_cell(_NOT_IN_MODEL)}
        definition = _definition_field(self._index, term, None)
        return self._material(before, after, definition, None, to_sheet)


def _cell_inputs(cell: Cell) -> Mapping[str, Any]:
    """Return a cell as JSON. Scores are left out, because other documents change them and the row would be remade."""
    places = [[one.collection, one.document_id, one.quote, one.about] for one in cell.evidence]
    return {"value": cell.value, "verdict": cell.verdict, "note": cell.note, "places": places}


_BOTH_SURE, _ONE_UNSURE = 0.9, 0.75
_NEAR = 0.1
_NEAR_CHARACTERS = 80


class RelationshipTask(RowTask):
    """Makes the row of one relationship between two entities of the enterprise model, without a language model."""

    table = "relationships"

    def __init__(self, index: CatalogIndex, relationship: Relationship) -> None:
        self.key, self.name = relationship.id, relationship.sentence
        self._index, self._relationship = index, relationship
        source = index.drawn.get(relationship.source.entity_id)
        self.group = (source.domain, source.subgroup) if source else ()

    def material(self) -> RowMaterial:
        """Gather the relationship's cells from the enterprise model, and the sentences that name both entities."""
        drawn = self._relationship
        cells = {
            "source_entity": self._drawn(drawn.source.name),
            "relationship": self._drawn(drawn.name),
            "target_entity": self._drawn(drawn.target.name),
            "source_cardinality": self._drawn(CARDINALITY_LABELS.get(drawn.source.cardinality, "")),
            "target_cardinality": self._drawn(CARDINALITY_LABELS.get(drawn.target.cardinality, "")),
            "cardinality": self._drawn(drawn.cardinality),
            "in_the_texts": self._in_the_texts(),
        }
        contents = {name: [cell.value, [one.quote for one in cell.evidence]] for name, cell in cells.items()}
        return RowMaterial({"name": self.name, "cells": contents}, (), cells)

    def _drawn(self, value: str) -> Cell:
        if not value:
            return absent_cell(_NO_VALUE)
        return _source_cell(value, self._index.model.of_relationship(self._relationship), _IN_MODEL)

    def _in_the_texts(self) -> Cell:
        source, target = self._relationship.source.name, self._relationship.target.name
        of_target = {one.statement.number: one for one in self._index.statements.of(target) if one.mentions}
        both = [
            (_score(one, of_target[one.statement.number]), one.statement)
            for one in self._index.statements.of(source)
            if one.mentions and one.statement.number in of_target and source != target
        ]
        best = sorted(both, key=lambda it: (-it[0], it[1].number))[: self._index.section.relationship_sentences]
        if not best:
            return absent_cell("No sentence in the texts names both entities.")
        texts = tuple(one.content if one.cells else " ".join(one.text.split()) for _, one in best)
        evidence = [
            one.document.evidence(one.start, one.end, score, text)
            for (score, one), text in zip(best, texts, strict=True)
        ]
        return found_cell(texts, evidence, method="extractive", note="These sentences name both entities.")


def _score(one: NamedStatement, other: NamedStatement) -> float:
    """Return a score for a sentence that names two entities: higher if both are surely meant and close together."""
    base = _BOTH_SURE if one.certain and other.certain else _ONE_UNSURE
    apart = min(max(a, c) - min(b, d) for a, b in one.mentions for c, d in other.mentions)
    return round(base + (_NEAR if apart <= _NEAR_CHARACTERS else 0), 4)
