"""Rules that name no entity of the model: what it may lack."""

from collections.abc import Iterator, Sequence

import numpy as np
from elt_llm_core.enterprise_model import Entity
from elt_llm_core.text.normalise import words
from elt_llm_query.answer.within_limit import embed_cut

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.corpus import CorpusDocument
from elt_llm_consumer.coverage.measure import RuleWords
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.mention_index import is_contents_row
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import Cell, Row, Table, absent, found

COLUMNS = ("rule", "section", "terms", "nearest_entity")


class Rules:
    """Tells rules from statements that state none, and from definitions, which rule on what a word means alone."""

    def __init__(self, rules: RuleWords, definitions: Sequence[Definition]) -> None:
        self._rules = rules
        self._defining: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for it in (one.evidence for one in definitions):
            self._defining.setdefault((it.collection, it.document_id), []).append(it.span)

    def is_rule(self, document: CorpusDocument, start: int, end: int) -> bool:
        """Whether the words text[start:end] of a document are a rule."""
        spans = self._defining.get((document.collection, document.document_id), ())
        return self._rules.is_rule(document.text[start:end]) and not any(
            begin < end and start < stop for begin, stop in spans
        )


def rules_table(context: JobContext, entities: Sequence[Entity], names: Names, terms: Names, rules: Rules) -> Table:
    """A row for each rule that names no entity: its words, the defined terms in it, and the nearest entity's name."""
    found_rules = [
        (document, start, end)
        for document in context.corpus.documents
        for start, end in _rules_without(context, document, names, rules)
    ]
    nearest = _nearest(context, [document.text[start:end] for document, start, end in found_rules], entities)
    rows = [_row(*rule, terms, near) for rule, near in zip(found_rules, nearest, strict=True)]
    return Table(name="rules_without_entity", columns=COLUMNS, rows=tuple(rows))


def _rules_without(
    context: JobContext, document: CorpusDocument, names: Names, rules: Rules
) -> Iterator[tuple[int, int]]:
    least = context.file.spec.coverage.least_rule_words
    for piece in document.pieces:
        if piece.kind in {"heading", "rule", "question", "row"} or is_contents_row(piece.text):
            continue
        if len(words(piece.text)) < least or names.mentions(piece.text):
            continue
        if rules.is_rule(document, piece.start, piece.end):
            yield piece.start, piece.end


def _row(document: CorpusDocument, start: int, end: int, terms: Names, near: tuple[str, float] | None) -> Row:
    evidence = document.evidence(start, end, 1.0)
    named = tuple(dict.fromkeys(mention.name for mention in terms.mentions(evidence.quote) if mention.certain))
    cells = {
        "rule": found(" ".join(evidence.quote.split()), [evidence]),
        "section": found(evidence.section, [evidence]) if evidence.section else absent(),
        "terms": found(named, [evidence]) if named else absent("No defined term stands in it."),
        "nearest_entity": Cell(value=near[0], verdict="inferred", confidence=near[1]) if near else absent(),
    }
    path = document.outline.section_path(start)
    name = path[-1] if path else document.title or document.source
    key = f"{document.collection}/{document.source}/{start}"
    return Row(key=key, name=name, cells=cells)


def _nearest(context: JobContext, texts: Sequence[str], entities: Sequence[Entity]) -> list[tuple[str, float] | None]:
    """For each text the entity whose name is nearest in meaning, with the cosine; None where none is near."""
    if not texts or not entities:
        return [None] * len(texts)
    questions = np.stack([context.embedding.embed_question(entity.name) for entity in entities])
    # The beginning tells what a rule is about: what the model does not read of a long one is cut off.
    similar = embed_cut(texts, context.embedding) @ questions.T
    best = similar.argmax(axis=1)
    scores = np.clip(similar[np.arange(len(texts)), best], 0, 1)
    return [
        (entities[int(number)].name, round(float(score), 4))
        if score >= context.file.spec.coverage.least_nearness
        else None
        for number, score in zip(best, scores, strict=True)
    ]
