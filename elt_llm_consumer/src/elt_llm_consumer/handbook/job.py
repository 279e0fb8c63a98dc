"""Run the handbook job: make rows of candidate entities and their relationships from the texts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files

from elt_llm_core.errors import UsageError
from elt_llm_query.understanding.aliases import aliases_from

from elt_llm_consumer.catalog.mentions import FieldSubject
from elt_llm_consumer.catalog.text_fields import FieldFacts, statement_chunk
from elt_llm_consumer.catalog.written_fields import FieldWriter, field_writer
from elt_llm_consumer.evidence import Cell, Evidence, JobResult, Row, Table, absent_cell, found_cell
from elt_llm_consumer.handbook.candidates import CandidateReason, EntityCandidate
from elt_llm_consumer.handbook.model import HandbookModel
from elt_llm_consumer.handbook.relations import KIND_OF, CandidateRelation, RelationStatement
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.sections import CatalogField
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.names.mention_index import MentionStatement
from elt_llm_consumer.names.names import Names

CANDIDATE_TABLE, RELATIONSHIP_TABLE = "candidates", "relationships"
DESCRIPTION = "description"
CANDIDATE_COLUMNS = (
    *("kind", "definition", "other_names", "mentions", "sections", "terms_of_reference", "in_model", DESCRIPTION),
)
RELATIONSHIP_COLUMNS = ("source", "verb", "target", "modality", "cardinality", "sentences")
UNKNOWN_KIND = "unknown"
_ACTORS = frozenset({"role", "organisation"})
_DESCRIBE = CatalogField(
    prompt=files("elt_llm_consumer.handbook").joinpath("describe_prompt.txt").read_text(encoding="utf-8")
)
_REASON_NOTES: Mapping[CandidateReason, str] = {
    "defined": "Defined.",
    "named": "Written with a capital.",
    "acting": "Acts, or is acted on, in rules.",
    "used": "Often used.",
}


def candidate_cells(model: HandbookModel, candidate: EntityCandidate) -> dict[str, Cell]:
    """Return the cells of a candidate except `description`; `in_model` is present only if the job has a model."""
    statements = model.statements(candidate)
    kind = model.kinds[candidate.key]
    cells = {
        "kind": kind,
        "definition": _definition(candidate),
        "other_names": _other_names(candidate, statements),
        "mentions": _mentions(candidate, statements, model.section.evidence),
        "sections": _sections(statements, model.section.evidence),
        "terms_of_reference": _terms_of_reference(model, candidate, kind),
    }
    if model.context.model is not None:
        cells["in_model"] = _in_model(model, candidate)
    return cells


def _definition(candidate: EntityCandidate) -> Cell:
    definitions = [one for one in candidate.definitions if not one.refers_to and one.pattern != "abbreviation"]
    if not definitions:
        return absent_cell("The texts do not define it.")
    texts = tuple(dict.fromkeys(one.text for one in definitions))
    places = [one.evidence.model_copy(update={"about": one.text if len(texts) > 1 else ""}) for one in definitions]
    return found_cell(texts if len(texts) > 1 else texts[0], places, method="extractive")


def _other_names(candidate: EntityCandidate, statements: Sequence[MentionStatement]) -> Cell:
    others = candidate.names[1:]
    if not others:
        return absent_cell("No other name of it is known.")
    defined = [one.evidence for one in candidate.definitions if one.abbreviation or one.aliases]
    met = [one for one in statements if any(mention.form in others for mention in one.mentions)]
    places = defined or [one.evidence(one.weight) for one in met[:1]]
    if places:
        return found_cell(others, places)
    return Cell(value=others, verdict="inferred", confidence=0.9, note="From the list of other names.")


def _mentions(candidate: EntityCandidate, statements: Sequence[MentionStatement], most: int) -> Cell:
    note = _REASON_NOTES[candidate.why] + f" Acts {candidate.acting} times and is acted on {candidate.acted_on} times."
    if not statements:
        return Cell(value=0, verdict="inferred", confidence=1.0, note=note)
    surest = sorted(statements, key=lambda one: not one.certain)[:most]
    return found_cell(len(statements), [one.evidence(one.weight) for one in surest], confidence=1.0, note=note)


def _sections(statements: Sequence[MentionStatement], most: int) -> Cell:
    """Return the cell with the sections that mention a candidate, and the first statement of each section."""
    by_section: dict[str, Evidence] = {}
    for one in statements:
        if one.section:
            by_section.setdefault(one.section, one.evidence(one.weight, one.section))
    if not by_section:
        return absent_cell("No section names it.")
    first = list(by_section)[:most]
    note = f"The first {most} of {len(by_section)}." if len(by_section) > most else ""
    return found_cell(tuple(first), [by_section[name] for name in first], confidence=1.0, note=note)


def _terms_of_reference(model: HandbookModel, candidate: EntityCandidate, kind: Cell) -> Cell:
    if kind.value not in _ACTORS:
        return absent_cell("Only roles and organisations have duties and powers.")
    duties = model.duties.get(candidate.key, ())
    if not duties:
        return absent_cell("No rule gives its duties or powers.")
    shown = duties[: model.section.most_statements]
    note = f"The first {len(shown)} of {len(duties)}." if len(shown) < len(duties) else ""
    places = [one.evidence.model_copy(update={"about": one.text}) for one in shown]
    return found_cell(tuple(one.text for one in shown), places, method="extractive", note=note)


def _in_model(model: HandbookModel, candidate: EntityCandidate) -> Cell:
    joined, source = model.entity_of(candidate), model.context.model
    if joined is None or source is None:
        return absent_cell("No entity of the model has this name or another name of it.")
    entity = next(one for one in source.model.entities if one.id == joined.right)
    places, note = source.of_entity(entity), joined.reason
    if joined.by == "fuzzy" or not places:
        score = round(joined.score, 4)
        return Cell(value=entity.name, verdict="inferred", evidence=places, confidence=score, note=note)
    return found_cell(entity.name, places, confidence=1.0, note=note)


class CandidateTask(RowTask):
    """Makes the row of one candidate. A model writes only the description, if the settings request one."""

    table = CANDIDATE_TABLE

    def __init__(self, model: HandbookModel, writer: FieldWriter | None, candidate: EntityCandidate) -> None:
        self.key, self.name = f"candidate/{candidate.key}", candidate.name
        self.group = (kind_name(model, candidate),)
        self._model, self._writer, self._candidate = model, writer, candidate

    def material(self) -> RowMaterial:
        """Return the cells of the candidate, and the statements for its description."""
        cells = candidate_cells(self._model, self._candidate)
        facts, prompt = self._facts(), ""
        if self._writer is not None:
            prompt, facts = self._writer.prompt(self.name, DESCRIPTION, _DESCRIBE, self._candidate.names, facts)
        inputs = {"name": self.name, "group": self.group, "cells": {name: it.to_json() for name, it in cells.items()}}
        return RowMaterial(inputs, (prompt,) if prompt else (), (cells, facts))

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row. The text of the model is checked against the statements in the prompt."""
        gathered: tuple[dict[str, Cell], FieldFacts] = material.gathered
        cells, facts = dict(gathered[0]), gathered[1]
        if self._writer is not None:
            cells[DESCRIPTION] = facts.cell
            if ask is not None and material.prompts:
                topic = FieldSubject(self.name, Names([self.name], aliases_from({self.name: self._candidate.names})))
                cells[DESCRIPTION] = self._writer.cell(facts, material.prompts[0], ask, topic)
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)

    def _facts(self) -> FieldFacts:
        nothing = absent_cell("No model was asked to describe it.")
        if self._writer is None:
            return FieldFacts(nothing)
        statements = self._model.statements(self._candidate)
        surest = sorted(statements, key=lambda one: not one.certain)[: self._model.section.evidence]
        return FieldFacts(
            nothing, tuple(statement_chunk(one.document, one.piece.start, one.piece.end) for one in surest)
        )


class RelationTask(RowTask):
    """Makes the row of one relationship with all sentences that state it, without a model."""

    table = RELATIONSHIP_TABLE

    def __init__(self, model: HandbookModel, relation: CandidateRelation) -> None:
        self.key = f"relationship/{relation.key}"
        self.name = f"{relation.source.name} {relation.verb} {relation.target.name}"
        self.group = (kind_name(model, relation.source),)
        self._relation, self._most = relation, model.section.evidence

    def material(self) -> RowMaterial:
        """Return the cells of the relationship."""
        cells = self._cells()
        inputs = {"name": self.name, "group": self.group, "cells": {name: it.to_json() for name, it in cells.items()}}
        return RowMaterial(inputs, (), cells)

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Return the row with the cells that were gathered before."""
        return Row(key=self.key, name=self.name, group=self.group, cells=material.gathered)

    def _cells(self) -> dict[str, Cell]:
        relation, statements = self._relation, self._relation.statements
        surest = sorted(statements, key=lambda one: -one.score)[: self._most]
        places = [one.evidence for one in surest]
        counts = dict.fromkeys(one.count for one in statements if one.count)
        modalities = Counter(one.modality for one in statements if one.modality)
        ranked = sorted(modalities, key=lambda one: (-modalities[one], one))
        return {
            "source": found_cell(relation.source.name, places),
            "verb": self._verb(surest),
            "target": found_cell(relation.target.name, places),
            "modality": _values_cell(tuple(ranked), [one for one in statements if one.modality], self._most),
            "cardinality": _values_cell(tuple(counts), [one for one in statements if one.count], self._most),
            "sentences": found_cell(len(statements), places, confidence=1.0),
        }

    def _verb(self, surest: Sequence[RelationStatement]) -> Cell:
        """Return the cell of the verb. The verdict is `inferred` if the subject of the best sentence is "it"."""
        verb, best = self._relation.verb, surest[0]
        places = tuple(one.evidence for one in surest)
        if best.again:
            note = "The subject of the sentence is 'it': that of the sentence before."
            return Cell(value=verb, verdict="inferred", evidence=places, confidence=best.score, note=note)
        return found_cell(verb, places, note="By a definition." if verb == KIND_OF else "")


def kind_name(model: HandbookModel, candidate: EntityCandidate) -> str:
    """Return the kind of a candidate as a word; "unknown" without a kind."""
    return str(model.kinds[candidate.key].value or UNKNOWN_KIND)


def _values_cell(values: tuple[str, ...], statements: Sequence[RelationStatement], most: int) -> Cell:
    """Return the cell with the modalities or counts of a relationship, each with at most `most` statements."""
    if not values:
        return absent_cell("The sentences do not specify it.")
    by_value: Mapping[str, list[Evidence]] = {value: [] for value in values}
    for one in statements:
        for value in (one.modality, one.count):
            if value is not None and value in by_value:
                by_value[value].append(one.evidence.model_copy(update={"about": value if len(values) > 1 else ""}))
    places = [place for value in values for place in by_value[value][:most]]
    return found_cell(values if len(values) > 1 else values[0], places)


class HandbookJob:
    """Finds the entities that act in the rules of the texts, and their relationships. The texts are read once."""

    kind = "handbook"

    def __init__(self, context: JobContext) -> None:
        """Prepare the job. Raises UsageError if the job file names no texts."""
        if not context.corpus.documents:
            raise UsageError("A handbook job needs texts to read.", hint=f"Set sources.handbook in {context.file.path}")
        self._context = context
        self._model = HandbookModel(context)

    def tasks(self) -> Sequence[RowTask]:
        """Return the tasks of the candidates by name, then those of the relationships by source, verb and target."""
        return self._tasks

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return a result with the tables of candidates and relationships, and counts."""
        candidates = tuple(row for row in rows if "kind" in row.cells)
        relationships = tuple(row for row in rows if "kind" not in row.cells)
        topics = self._model.section.topics
        used = tuple(name for name in CANDIDATE_COLUMNS if any(name in row.cells for row in candidates))
        return JobResult(
            job=self._context.file.name,
            kind=self.kind,
            description=self._context.file.spec.description,
            tables=(
                _table(CANDIDATE_TABLE, used, candidates, "kind"),
                _table(RELATIONSHIP_TABLE, RELATIONSHIP_COLUMNS, relationships, "kind of source"),
            ),
            figures=_figures(candidates, relationships),
            notes=(f"Narrowed to: {', '.join(topics)}.",) if topics else (),
        )

    @cached_property
    def _tasks(self) -> Sequence[RowTask]:
        model = self._model
        writer = None if model.section.describe == "off" else field_writer(self._context)
        model.prepare()
        return (
            *(CandidateTask(model, writer, one) for one in model.candidates),
            *(RelationTask(model, one) for one in model.relations),
        )


def _table(name: str, columns: tuple[str, ...], rows: tuple[Row, ...], group: str) -> Table:
    return Table(name=name, columns=columns, rows=rows, groups=(group,))


def _figures(candidates: Sequence[Row], relationships: Sequence[Row]) -> Mapping[str, int | float | str]:
    kinds = Counter(row.group[0] for row in candidates)
    figures: dict[str, int | float | str] = {"candidates": len(candidates), "relationships": len(relationships)}
    figures |= {f"of kind {kind}": kinds[kind] for kind in sorted(kinds, key=lambda it: (it == UNKNOWN_KIND, it))}
    figures["defined"] = sum(row.cells["definition"].verdict != "absent" for row in candidates)
    figures["with terms of reference"] = sum(row.cells["terms_of_reference"].verdict != "absent" for row in candidates)
    if any("in_model" in row.cells for row in candidates):
        figures["in the model"] = sum(row.cells["in_model"].verdict != "absent" for row in candidates)
    return figures
