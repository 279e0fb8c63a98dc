"""Run the handbook job: make rows of candidate entities and their relationships from the texts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from itertools import islice

from elt_llm_core.errors import UsageError
from elt_llm_query.understanding.aliases import Aliases, aliases_from

from elt_llm_consumer.catalog.mentions import FieldSubject
from elt_llm_consumer.catalog.text_fields import FieldFacts, statement_chunk
from elt_llm_consumer.catalog.written_fields import FieldWriter, field_writer
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.evidence import Cell, Evidence, JobResult, Row, Table, absent_cell, found_cell, inferred_cell
from elt_llm_consumer.handbook.candidates import CandidateIndex, CandidateReason, EntityCandidate, find_candidates
from elt_llm_consumer.handbook.kinds import KindClassifier, personal_acts
from elt_llm_consumer.handbook.reading import ParsedSentence, names_in_tables, read_sentences, sentences_on_topics
from elt_llm_consumer.handbook.relations import (
    KIND_OF,
    DutyFinder,
    RelationFinder,
    RelationStatement,
)
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.sections import CatalogField
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.names.joins import JoinResult, NamedItem, collect_aliases, entity_items, join_names
from elt_llm_consumer.names.mention_index import MentionIndex, MentionStatement
from elt_llm_consumer.names.names import Names, is_german


class HandbookModel:
    """The candidate entities in the texts with their kinds, duties, relationships and matches in the model."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.section = context.file.spec.handbook
        self._glossary = context.file.spec.glossary

    @cached_property
    def candidates(self) -> Sequence[EntityCandidate]:
        """The candidate entities in sentences about the job's topics, sorted by name."""
        if not self.section.topics:
            return self._index.candidates
        named = {
            one.key for sentence in self._on_topic for phrase in sentence.phrases if (one := self._index.of(phrase))
        }
        spans = {(one.document.document_id, one.start) for one in self._on_topic}
        return [
            one
            for one in self._index.candidates
            if one.key in named
            or any((it.evidence.document_id, it.evidence.span[0]) in spans for it in one.definitions)
        ]

    @cached_property
    def kinds(self) -> Mapping[str, Cell]:
        """The cells with the kinds, such as role, of all candidate entities, by entity key."""
        return {one.key: self._kinds.cell(one) for one in self._index.candidates}

    @cached_property
    def relations(self) -> Sequence[Sequence[RelationStatement]]:
        """The relationships between candidate entities, each as its statements in sentences about the job's topics."""
        known = {one.key for one in self.candidates}
        relations = RelationFinder(self._index, self._kinds).find(self._on_topic)
        return [ones for ones in relations if {ones[0].source.key, ones[0].target.key} <= known]

    @cached_property
    def duties(self) -> Mapping[str, Mapping[str, Evidence]]:
        """The duties and powers of each candidate entity, by its key, each with its evidence."""
        return DutyFinder(self._index, self.section.duty_words).find(self._on_topic)

    def statements(self, candidate: EntityCandidate) -> Sequence[MentionStatement]:
        """Return the statements that mention a candidate entity by itself, not only as a part of a longer name."""
        return [
            one
            for one in self.mentions.of(candidate.key)
            if any(mention.doubt != "longer name" for mention in one.mentions)
        ]

    @cached_property
    def _on_topic(self) -> Sequence[ParsedSentence]:
        section = self.section
        return sentences_on_topics(self._sentences, section.topics, self.context.engine, section.passages_per_topic)

    @cached_property
    def _index(self) -> CandidateIndex:
        in_tables = names_in_tables(self.context.corpus, self._glossary)
        return find_candidates(self._sentences, in_tables, self._definitions, self.context.aliases, self.section)

    @cached_property
    def _sentences(self) -> Sequence[ParsedSentence]:
        return read_sentences(self.context.corpus, self._glossary)

    @cached_property
    def _definitions(self) -> Sequence[Definition]:
        return find_definitions(self.context.corpus, self._glossary)

    @cached_property
    def _kinds(self) -> KindClassifier:
        return KindClassifier(self._index, self.section.kinds, personal_acts(self._index, self._sentences))

    @cached_property
    def mentions(self) -> MentionIndex:
        """The index of mentions. A candidate entity is found by its key, which has the entity's names as aliases."""
        candidates = self._index.candidates
        groups = Aliases(tuple((one.key, *one.names) for one in candidates))
        german = is_german([one.name for one in candidates])
        return MentionIndex(self.context.corpus, Names([one.key for one in candidates], groups, german=german))

    @cached_property
    def joined(self) -> JoinResult:
        """The matches between the candidate entities and the entities of the enterprise model."""
        model, candidates = self.context.model, self._index.candidates
        entities = entity_items(model.model.entities) if model else []
        aliases = collect_aliases(self.context.aliases, (), (), self._definitions)
        left = [NamedItem(one.key, one.name, (), one.names[1:]) for one in candidates]
        return join_names(left, entities, Names([one.name for one in candidates], aliases))


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
    "defined": "The texts define the candidate.",
    "named": "The texts write the candidate with a capital.",
    "acting": "The candidate acts in rules, or is acted on.",
    "used": "The texts use the candidate often.",
    "appointed": "A rule appoints the candidate, or lets it appoint somebody.",
}


def _candidate_cells(model: HandbookModel, candidate: EntityCandidate) -> dict[str, Cell]:
    """Return the cells of a candidate entity, except `description`. `in_model` exists only if there is a model."""
    statements, kind, most = model.statements(candidate), model.kinds[candidate.key], model.section.evidence
    cells = {
        "kind": kind,
        "definition": _definition(candidate),
        "other_names": _other_names(candidate, statements),
        "mentions": _mentions(candidate, statements, most),
        "sections": _sections(statements, most),
        "terms_of_reference": _terms_of_reference(model, candidate, kind),
    }
    if model.context.model is not None:
        cells["in_model"] = _in_model(model, candidate)
    return cells


def _definition(candidate: EntityCandidate) -> Cell:
    definitions = [one for one in candidate.definitions if not one.refers_to and one.pattern != "abbreviation"]
    if not definitions:
        return absent_cell("The texts do not define the candidate.")
    texts = tuple(dict.fromkeys(one.text for one in definitions))
    places = [one.evidence.supporting(one.text if len(texts) > 1 else "") for one in definitions]
    return found_cell(texts if len(texts) > 1 else texts[0], places, method="extractive")


def _other_names(candidate: EntityCandidate, statements: Sequence[MentionStatement]) -> Cell:
    others = candidate.names[1:]
    if not others:
        return absent_cell("No other name of the candidate is known.")
    defined = [one.evidence for one in candidate.definitions if one.abbreviation or one.aliases]
    met = [one for one in statements if any(mention.form in others for mention in one.mentions)]
    places = defined or [one.evidence(one.weight) for one in met[:1]]
    if places:
        return found_cell(others, places)
    return inferred_cell(others, "These names come from the configured aliases.", confidence=0.9)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _mentions(candidate: EntityCandidate, statements: Sequence[MentionStatement], most: int) -> Cell:
    acts, acted_on = _times(candidate.acting), _times(candidate.acted_on)
    note = f"{_REASON_NOTES[candidate.why]} It acts {acts}, is acted on {acted_on}."
    if not statements:
        return inferred_cell(0, note)
    surest = sorted(statements, key=lambda one: not one.certain)[:most]
    return found_cell(len(statements), [one.evidence(one.weight) for one in surest], confidence=1.0, note=note)


def _sections(statements: Sequence[MentionStatement], most: int) -> Cell:
    """Return a cell with the sections that mention a candidate entity. The first statement of each is the evidence."""
    by_section: dict[str, Evidence] = {}
    for one in statements:
        if one.section:
            by_section.setdefault(one.section, one.evidence(one.weight, one.section))
    if not by_section:
        return absent_cell("No section mentions the candidate.")
    first = list(by_section)[:most]
    note = f"The first {most} of {len(by_section)} sections are shown." if len(by_section) > most else ""
    return found_cell(tuple(first), [by_section[name] for name in first], confidence=1.0, note=note)


def _terms_of_reference(model: HandbookModel, candidate: EntityCandidate, kind: Cell) -> Cell:
    if kind.value not in _ACTORS:
        return absent_cell("Only roles and organisations have duties and powers.")
    duties = model.duties.get(candidate.key, {})
    if not duties:
        return absent_cell("No rule gives the duties or powers of the candidate.")
    shown = dict(islice(duties.items(), model.section.most_statements))
    note = f"The first {len(shown)} of {len(duties)} duties are shown." if len(shown) < len(duties) else ""
    places = [evidence.supporting(text) for text, evidence in shown.items()]
    return found_cell(tuple(shown), places, method="extractive", note=note)


def _in_model(model: HandbookModel, candidate: EntityCandidate) -> Cell:
    joined, source = model.joined.of_left(candidate.key), model.context.model
    if joined is None or source is None:
        return absent_cell("No entity in the model has this name or another name of the candidate.")
    entity = next(one for one in source.model.entities if one.id == joined.right)
    places, note = source.of_entity(entity), joined.reason
    if joined.by == "fuzzy" or not places:
        return inferred_cell(entity.name, note, places, confidence=round(joined.score, 4))
    return found_cell(entity.name, places, confidence=1.0, note=note)


class CandidateTask(RowTask):
    """Makes the row of one candidate entity. If the settings request it, a language model writes the description."""

    table = "candidates"

    def __init__(self, model: HandbookModel, writer: FieldWriter | None, candidate: EntityCandidate) -> None:
        self.key, self.name = f"candidate/{candidate.key}", candidate.name
        self.group = (kind_name(model, candidate),)
        self._model, self._writer, self._candidate = model, writer, candidate

    def material(self) -> RowMaterial:
        """Gather the cells of the candidate entity, and the statements from which a model may describe it."""
        cells = _candidate_cells(self._model, self._candidate)
        facts, prompt = FieldFacts(absent_cell("No language model was used to describe the candidate.")), ""
        if self._writer is not None:
            statements = sorted(self._model.statements(self._candidate), key=lambda one: not one.certain)
            surest = statements[: self._model.section.evidence]
            chunks = tuple(statement_chunk(one.document, one.piece.start, one.piece.end) for one in surest)
            facts = FieldFacts(facts.cell, chunks)
            prompt, facts = self._writer.prompt(self.name, DESCRIPTION, _DESCRIBE, self._candidate.names, facts)
        return RowMaterial(self.inputs(cells), (prompt,) if prompt else (), (cells, facts))

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row. The language model's text is checked against the statements in the prompt."""
        gathered: tuple[dict[str, Cell], FieldFacts] = material.gathered
        cells, facts = dict(gathered[0]), gathered[1]
        if self._writer is not None:
            cells[DESCRIPTION] = facts.cell
            if ask is not None and material.prompts:
                topic = FieldSubject(self.name, Names([self.name], aliases_from({self.name: self._candidate.names})))
                cells[DESCRIPTION] = self._writer.cell(facts, material.prompts[0], ask, topic)
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)


class RelationTask(RowTask):
    """Makes the row of one relationship with all sentences that state it, without a language model."""

    table = "relationships"

    def __init__(self, model: HandbookModel, statements: Sequence[RelationStatement]) -> None:
        """`statements` are the distinct statements of the relationship."""
        relation = statements[0]
        self.key = f"relationship/{relation.key}"
        self.name = f"{relation.source.name} {relation.verb} {relation.target.name}"
        self.group = (kind_name(model, relation.source),)
        self._relation, self._statements, self._most = relation, statements, model.section.evidence

    def material(self) -> RowMaterial:
        """Gather the cells of this relationship: source, verb, target, modality, cardinality and sentences."""
        relation, statements = self._relation, self._statements
        surest = sorted(statements, key=lambda one: -one.score)[: self._most]
        places = [one.evidence for one in surest]
        counts = dict.fromkeys(one.count for one in statements if one.count)
        modalities = Counter(one.modality for one in statements if one.modality)
        ranked = sorted(modalities, key=lambda one: (-modalities[one], one))
        verb = found_cell(relation.verb, places, note="Stated by a definition." if relation.verb == KIND_OF else "")
        if surest[0].again:
            note = "The subject of the sentence is 'it', which refers to the subject of the previous sentence."
            verb = inferred_cell(relation.verb, note, places, confidence=surest[0].score)
        cells = {
            "source": found_cell(relation.source.name, places),
            "verb": verb,
            "target": found_cell(relation.target.name, places),
            "modality": _values_cell(tuple(ranked), [one for one in statements if one.modality], self._most),
            "cardinality": _values_cell(tuple(counts), [one for one in statements if one.count], self._most),
            "sentences": found_cell(len(statements), places, confidence=1.0),
        }
        return RowMaterial(self.inputs(cells), (), cells)


def kind_name(model: HandbookModel, candidate: EntityCandidate) -> str:
    """Return the kind of a candidate entity, such as "role"; "unknown" if its kind is not known."""
    return str(model.kinds[candidate.key].value or UNKNOWN_KIND)


def _values_cell(values: tuple[str, ...], statements: Sequence[RelationStatement], most: int) -> Cell:
    """Return a cell with the modalities ("must") or counts ("each") of a relationship, and up to `most` quotes each."""
    if not values:
        return absent_cell("No sentence gives this detail of the relationship.")
    places: list[Evidence] = []
    for value in values:
        stating = [one for one in statements if value in {one.modality, one.count}][:most]
        places += [one.evidence.supporting(value if len(values) > 1 else "") for one in stating]
    return found_cell(values if len(values) > 1 else values[0], places)


class HandbookJob:
    """The handbook job finds the entities that occur in rules, and their relationships. It reads the texts once."""

    kind = "handbook"

    def __init__(self, context: JobContext) -> None:
        """Prepare the job. Raises UsageError if the job file names no texts."""
        if not context.corpus.documents:
            raise UsageError("A handbook job needs texts to read.", hint=f"Set sources.handbook in {context.file.path}")
        self._context = context
        self._model = HandbookModel(context)

    def tasks(self) -> Sequence[RowTask]:
        """Return the tasks: candidate entities sorted by name, then relationships by source, verb and target."""
        model = self._model
        writer = None if model.section.describe == "off" else field_writer(self._context)
        _ = model.relations, model.duties, model.mentions, model.joined  # computed before several threads use them
        return (
            *(CandidateTask(model, writer, one) for one in model.candidates),
            *(RelationTask(model, one) for one in model.relations),
        )

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return a result with the tables of candidate entities and relationships, and with counts of both."""
        candidates = tuple(row for row in rows if "kind" in row.cells)
        relationships = tuple(row for row in rows if "kind" not in row.cells)
        topics = self._model.section.topics
        used = tuple(name for name in CANDIDATE_COLUMNS if any(name in row.cells for row in candidates))
        tables = (
            Table(name=CandidateTask.table, columns=used, rows=candidates, groups=("kind",)),
            Table(
                name=RelationTask.table, columns=RELATIONSHIP_COLUMNS, rows=relationships, groups=("kind of source",)
            ),
        )
        notes = (f"Only rows about these topics are shown: {', '.join(topics)}.",) if topics else ()
        return self._context.result(self.kind, tables, _figures(candidates, relationships), notes)


def _figures(candidates: Sequence[Row], relationships: Sequence[Row]) -> Mapping[str, int | float | str]:
    kinds = Counter(row.group[0] for row in candidates)
    figures: dict[str, int | float | str] = {"candidates": len(candidates), "relationships": len(relationships)}
    figures |= {f"of kind {kind}": kinds[kind] for kind in sorted(kinds, key=lambda it: (it == UNKNOWN_KIND, it))}
    figures["defined"] = sum(row.cells["definition"].verdict != "absent" for row in candidates)
    figures["with terms of reference"] = sum(row.cells["terms_of_reference"].verdict != "absent" for row in candidates)
    if any("in_model" in row.cells for row in candidates):
        figures["in the model"] = sum(row.cells["in_model"].verdict != "absent" for row in candidates)
    return figures
