"""Find gaps: entities that the texts never name, and defined terms and rules without an entity."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from elt_llm_core.enterprise import Entity
from elt_llm_core.text.normalise import words
from elt_llm_query.grounding.sentences import embed_truncated

from elt_llm_consumer.coverage.measure import RuleWords
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.evidence import Cell, Evidence, Row, Table, absent_cell, found_cell, group_by_domain
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import CorpusDocument
from elt_llm_consumer.names.joins import JoinPair, JoinResult
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.statements import is_contents_row

GAP_COLUMNS = ("gap", "in_model", "in_handbook", "joined_by")
MATCHED, MODEL_ONLY, HANDBOOK_ONLY = "MATCHED", "MODEL_ONLY", "HANDBOOK_ONLY"


def gap_table(
    context: JobContext,
    entities: Sequence[Entity],
    joined: JoinResult,
    defined: Mapping[str, Sequence[Definition]],
    classes: Mapping[str, Cell],
) -> Table:
    """Build a row per entity, and per term without an entity.

    `classes` has, by entity id, the cell with the coverage class of the entity.
    """
    rows = [_entity_row(context, one, joined.of_left(one.id), defined, classes[one.id]) for one in entities]
    rows += [_term_row(key, defined[key]) for key in joined.right_alone]
    return Table(name="gaps", columns=GAP_COLUMNS, rows=group_by_domain(rows))


def _entity_row(
    context: JobContext,
    entity: Entity,
    join: JoinPair | None,
    defined: Mapping[str, Sequence[Definition]],
    coverage: Cell,
) -> Row:
    in_model = context.model.of_entity(entity) if context.model else ()
    at = tuple(one.evidence for one in defined[join.right]) if join else coverage.evidence
    gap = MATCHED if at else MODEL_ONLY
    cells = {
        "gap": _gap_cell(gap, (*in_model, *at), coverage.note if gap == MODEL_ONLY else ""),
        "in_model": found_cell(entity.name, in_model) if in_model else absent_cell(),
        "in_handbook": found_cell(defined[join.right][0].term if join else entity.name, at)
        if at
        else absent_cell(coverage.note),
        "joined_by": _joined_by(join, at, coverage),
    }
    group = tuple(filter(None, (entity.domain, entity.subgroup)))
    return Row(key=f"entity/{entity.id}", name=entity.name, group=group, cells=cells)


def _joined_by(join: JoinPair | None, at: Sequence[Evidence], coverage: Cell) -> Cell:
    if join:
        return Cell(value=join.by, verdict="inferred", confidence=round(join.score, 4), note=join.reason)
    if at:
        return Cell(value="named", verdict="inferred", confidence=1.0, note=coverage.note)
    return absent_cell()


def _term_row(key: str, definitions: Sequence[Definition]) -> Row:
    at = tuple(one.evidence for one in definitions)
    term = definitions[0].term
    cells = {
        "gap": _gap_cell(HANDBOOK_ONLY, at, "No entity of the model has this name or one of its aliases."),
        "in_model": absent_cell("No entity of the model has this name or one of its aliases."),
        "in_handbook": found_cell(term, at),
    }
    return Row(key=f"term/{key}", name=term, cells=cells)


def _gap_cell(gap: str, evidence: Sequence[Evidence], note: str) -> Cell:
    if not evidence:
        return Cell(value=gap, verdict="inferred", confidence=1.0, note=note)
    return found_cell(gap, evidence, confidence=1.0, note=note)


RULE_COLUMNS = ("rule", "section", "terms", "nearest_entity")


def rules_table(
    context: JobContext,
    entities: Sequence[Entity],
    names: Names,
    terms: Names,
    rules: RuleWords,
    definitions: Sequence[Definition],
) -> Table:
    """Build a row for each rule without an entity: its text, its defined terms, and the nearest entity."""
    defining: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for one in definitions:
        defining[one.evidence.collection, one.evidence.document_id].append(one.evidence.span)
    # Definitions only fix the meaning of a word and so are not rules.
    found_rules = [
        (document, start, end)
        for document in context.corpus.documents
        for start, end in _rules_naming_no_entity(context, document, names, rules)
        if not any(first < end and start < last for first, last in defining[document.collection, document.document_id])
    ]
    nearest = _nearest(context, [document.text[start:end] for document, start, end in found_rules], entities)
    rows = [_row(*rule, terms, near) for rule, near in zip(found_rules, nearest, strict=True)]
    return Table(name="rules_without_entity", columns=RULE_COLUMNS, rows=tuple(rows))


def _rules_naming_no_entity(
    context: JobContext, document: CorpusDocument, names: Names, rules: RuleWords
) -> Iterator[tuple[int, int]]:
    least = context.file.spec.coverage.least_rule_words
    for piece in document.pieces:
        if piece.kind in {"heading", "rule", "question", "row"} or is_contents_row(piece.text):
            continue
        if len(words(piece.text)) < least or names.mentions(piece.text):
            continue
        if rules.is_rule(document.text[piece.start : piece.end]):
            yield piece.start, piece.end


def _row(document: CorpusDocument, start: int, end: int, terms: Names, near: tuple[str, float] | None) -> Row:
    evidence = document.evidence(start, end, 1.0)
    named = tuple(dict.fromkeys(mention.name for mention in terms.mentions(evidence.quote) if mention.certain))
    cells = {
        "rule": found_cell(" ".join(evidence.quote.split()), [evidence]),
        "section": found_cell(evidence.section, [evidence]) if evidence.section else absent_cell(),
        "terms": found_cell(named, [evidence]) if named else absent_cell("The rule contains no defined term."),
        "nearest_entity": Cell(value=near[0], verdict="inferred", confidence=near[1]) if near else absent_cell(),
    }
    path = document.outline.section_path(start)
    name = path[-1] if path else document.title or document.source
    key = f"{document.collection}/{document.source}/{start}"
    return Row(key=key, name=name, cells=cells)


def _nearest(context: JobContext, texts: Sequence[str], entities: Sequence[Entity]) -> list[tuple[str, float] | None]:
    """Return the entity with the most similar name and the cosine for each text; None without a similar entity."""
    if not texts or not entities:
        return [None] * len(texts)
    questions = np.stack([context.embedding.embed_question(entity.name) for entity in entities])
    # A long rule may be truncated, because its first words state its subject.
    similar = embed_truncated(texts, context.embedding) @ questions.T
    best = similar.argmax(axis=1)
    scores = np.clip(similar[np.arange(len(texts)), best], 0, 1)
    return [
        (entities[int(number)].name, round(float(score), 4))
        if score >= context.file.spec.coverage.least_nearness
        else None
        for number, score in zip(best, scores, strict=True)
    ]
