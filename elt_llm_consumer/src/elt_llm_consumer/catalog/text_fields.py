"""Read an entity's fields from the sentences and tables of the texts, with the help of a search."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.languages import words as language_words
from elt_llm_query.engine import Engine
from elt_llm_query.grounding.rules import NumberValue

from elt_llm_consumer.catalog.mentions import NamedStatement, StatementIndex
from elt_llm_consumer.catalog.sentence_fields import (
    FieldCandidate,
    SentenceField,
    StatedClaim,
    find_states,
    has_condition,
)
from elt_llm_consumer.catalog.table_fields import OWN_RECORD, TableField, periods_in
from elt_llm_consumer.evidence import Cell, Evidence, absent_cell, found_cell, with_note
from elt_llm_consumer.jobs.corpus import CorpusDocument
from elt_llm_consumer.jobs.sections import CatalogField, CatalogSection
from elt_llm_consumer.jobs.tasks import AskModel
from elt_llm_consumer.names.names import Names
from elt_llm_consumer.sentences.words import ARTICLES

_DEEPER = 2
_BESIDE_TABLE = 0.85
"""If a table gives the value, only sentences with at least this score are added to it."""
_SAME_RANK = 0.11
"""Rows whose scores differ by at most this much can contradict each other."""
_NO_VALUE = word_pattern(r"@no_value@|[-\u2013\u2014?.]{1,3}", re.IGNORECASE)
"""Table cells that give no value, such as "n/a", "to be decided" and "see section 4"."""
_ENGLISH_CLASSES = dict(entry.split() for entry in language_words("english_classes"))
_FILLING = ARTICLES - {"a"} | {"of"}  # in "Class A", the letter is no article


@dataclass(frozen=True)
class FieldFacts:
    """What the texts state about one field: a cell with quotes, and the chunks that a language model may use."""

    cell: Cell
    chunks: tuple[RetrievedChunk, ...] = field(default=(), repr=False)
    also: str = ""
    """The part of the cell's note with the values of other statements. It stays if a language model writes the cell."""


class TextField:
    """Reads one field from the texts, for any entity. Several threads may use it at once."""

    def __init__(
        self,
        settings: CatalogField,
        section: CatalogSection,
        statements: StatementIndex,
        engine: Engine | None,
        defining: Collection[int],  # numbers of statements that only define terms
    ) -> None:
        self.settings = settings
        self._statements, self._engine = statements, engine
        self._defining = frozenset() if settings.definitions else frozenset(defining)
        self._sentences = SentenceField(settings, section.rule_words)
        self._table = TableField(
            settings.headers,
            statements,
            section.record_words,
            short_headers=settings.short_headers,
            record_headers=settings.record_headers,
            cues=settings.cues,
        )
        self._duties = TableField(settings.listed_under, statements, section.record_words)

    def facts(self, name: str, *, deeper: bool = False, with_chunks: bool = False) -> FieldFacts:
        """Return what the texts state on this field of `name`; `deeper` doubles the chunks. Raises RetrievalError."""
        named = self._named(name)
        most = self.settings.at_most * (_DEEPER if deeper else 1)
        names, rows = self._statements.names, self._table.candidates(name)
        values = [one for one in rows if not _NO_VALUE.fullmatch(one.value)]
        kinds = [] if values or most <= 1 else self._table.kinds(name)
        if not named and not rows and not kinds:
            nothing = "The texts do not name the entity." if self._statements.statements else "The job read no texts."
            return FieldFacts(absent_cell(nothing))
        if values and most <= 1:
            return _compared_facts(_table_cell(values), values, self._sentences.candidates(named, {}), names)
        needed = with_chunks or self._sentences.depends_on_search(named, most)
        chunks: tuple[RetrievedChunk, ...] = ()
        note, scores = "", dict[int, float]()
        if named and needed and self._engine is not None and self.settings.question:
            question = self.settings.question.replace("{entity}", name)
            found = self._engine.search(question, top_k=self.settings.top_k * (_DEEPER if deeper else 1))
            chunks, scores = found.chunks, self._statement_scores(found.chunks)
            note = " ".join(found.notes) if found.failed else ""
        stating = self._sentences.candidates(named, scores)
        sure = [one for one in stating if one.score >= _BESIDE_TABLE]
        timed = self._single_periods(name, [*values, *sure])
        if clash := _different_periods(timed):
            cell = with_note(_conflict_cell(clash, "The texts give different periods."), note)
            return FieldFacts(cell, chunks if with_chunks else ())
        sentences = [*stating, *self._duties.responsible(name), *kinds]
        sentences.sort(key=lambda one: one.order)
        values = values if values or sentences else rows[:1]
        cell = with_note(_combined_cell(values, sentences, most, note), also := _conditional_periods(timed))
        compared = _compared_facts(cell, values, stating, names)
        # The best statements that no chunk contains become chunks of their own, and come first.
        apart = [one.statement for one in sentences[:most] if one.statement.number not in scores]
        own = (statement_chunk(one.document, one.start, one.end, one.headings) for one in apart)
        kept = (*own, *chunks) if with_chunks and compared.cell.verdict != "conflict" else ()
        return replace(compared, chunks=kept, also=" ".join(filter(None, [also, compared.also])))

    def _named(self, name: str) -> list[NamedStatement]:
        """Return the statements about a name, without those that only define it and are no list of states."""
        return [
            one
            for one in self._statements.of(name)
            if one.statement.number not in self._defining or (self.settings.states and find_states(one.statement.text))
        ]

    def _single_periods(
        self, name: str, candidates: Sequence[FieldCandidate]
    ) -> list[tuple[FieldCandidate, NumberValue]]:
        """Return each candidate, and row with a similar header, that states one period, such as "6 months", with it."""
        if not self.settings.headers:
            return []
        stating = (*candidates, *self._table.candidates(name, similar=True))
        periods = [(one, periods_in(one.value or one.statement.content)) for one in stating]
        return [(one, found[0]) for one, found in periods if len(found) == 1]

    def search_further(self, name: str, facts: FieldFacts, ask: AskModel) -> FieldFacts:
        """Let the language model choose further searches. Return `facts` with the newly found chunks in front.

        Raises RetrievalError if a search fails, and the errors of `ask`, which calls the model.
        """
        if self._engine is None or not self.settings.question:
            return facts
        question = self.settings.question.replace("{entity}", name)
        added = self._engine.search_further(question, facts.chunks, ask)[len(facts.chunks) :]
        return replace(facts, chunks=(*added, *facts.chunks)) if added else facts

    def _statement_scores(self, chunks: Iterable[RetrievedChunk]) -> dict[int, float]:
        """Return the best chunk score (0 to 1) of each statement in the chunks, by statement number."""
        scores: dict[int, float] = {}
        for chunk in chunks:
            for statement in self._statements.within(chunk.collection, chunk.source_id, chunk.span):
                score = max(0.0, min(1.0, chunk.score))
                scores[statement.number] = max(score, scores.get(statement.number, 0.0))
        return scores


def _combined_cell(values: Sequence[FieldCandidate], sentences: Sequence[FieldCandidate], most: int, note: str) -> Cell:
    table = _table_cell(values) if values else None
    if table is not None and (table.verdict == "conflict" or not sentences or most <= 1):
        return with_note(table, note)
    sure = [one for one in sentences if not values or one.score >= _BESIDE_TABLE]
    best = [*_distinct_candidates(values)[:1], *_distinct_candidates(sure)][:most]
    if not best:
        return with_note(absent_cell("The texts name the entity, but give no value for this field."), note)
    contents = tuple(candidate.content for candidate in best)
    evidence = _evidence(best, with_values=len(best) > 1)
    return found_cell(contents if most > 1 else contents[0], evidence, method="extractive", note=note)


def _table_cell(values: Sequence[FieldCandidate]) -> Cell:
    """Return a cell with the value of the best table row; a conflict if other rows of similar score contradict it."""
    rank = [one for one in values if one.score >= values[0].score - _SAME_RANK]
    different = _distinct_candidates(rank)
    if len(different) > 1:
        return _conflict_cell(different, "Tables give different values.")
    return found_cell(rank[0].value, _evidence(rank))


def _value_words(value: str, names: Names) -> frozenset[str]:
    """Return the words by which a value is compared with another; those of an alias or a translation are equal."""
    split = (form.split() for form in names.forms(value))
    forms = (" ".join(_ENGLISH_CLASSES.get(word.casefold(), word) for word in form) for form in split)
    key = frozenset(min(map(names.key, forms)))
    return key - _FILLING or key


def _compared_facts(
    cell: Cell, values: Sequence[FieldCandidate], sentences: Sequence[FieldCandidate], names: Names
) -> FieldFacts:
    """Return the cell, or a conflict if statements about the whole entity, and the best row, give other single values.

    Values that need not contradict each other, such as one with a condition, are added to the note with their places.
    """
    rows = [replace(one, claim=StatedClaim(one.value, one.score >= OWN_RECORD)) for one in values[:1]]
    claims: dict[frozenset[str], tuple[FieldCandidate, StatedClaim]] = {}
    for one in [*rows, *sorted(sentences, key=lambda it: not (it.claim and it.claim.whole))]:
        if one.claim is not None:
            claims.setdefault(_value_words(one.claim.value, names), (one, one.claim))
    if cell.verdict != "found" or len(claims) <= 1:
        return FieldFacts(cell)
    sure = {key: one for key, (one, claim) in claims.items() if claim.whole and not has_condition(one.statement.text)}
    clash = [one for key, one in sure.items() if any(not (key <= other or other <= key) for other in sure)]
    if len(clash) > 1:
        cell = with_note(_conflict_cell(clash, "The texts give different values."), cell.note)
    shown = set(cell.value) if isinstance(cell.value, tuple) else {cell.value}
    claimed = [one.claim for one in (*rows, *sentences) if one.claim and one.claim.whole and one.content in shown]
    given = {_value_words(claim.value, names) for claim in claimed}
    others = [
        f'"{claim.value if claim.whole else one.statement.content}" ({_place(one)})'
        for key, (one, claim) in claims.items()
        if key not in given and one.statement.content not in shown
    ]
    also = f"Also stated: {'; '.join(others)}." if others else ""
    return FieldFacts(with_note(cell, also), also=also)


def _conflict_cell(different: Sequence[FieldCandidate], note: str) -> Cell:
    return Cell(
        value=tuple(one.content for one in different),
        verdict="conflict",
        evidence=_evidence(different, with_values=True),
        confidence=different[-1].score,
        note=note,
    )


def _different_periods(timed: Sequence[tuple[FieldCandidate, NumberValue]]) -> list[FieldCandidate]:
    """Return one candidate for each different period that is stated without a condition; empty if all agree."""
    different: list[tuple[FieldCandidate, NumberValue]] = []
    for one, period in timed:
        if not has_condition(one.content) and not any(period.agrees(known) for _, known in different):
            different.append((one, period))
    return [one for one, _ in different] if len(different) > 1 else []


def _conditional_periods(timed: Sequence[tuple[FieldCandidate, NumberValue]]) -> str:
    """Return a note with the statements of a period under a condition that differs from another stated period."""
    others = [
        f'"{one.content}" ({_place(one)})'
        for one, period in timed
        if has_condition(one.content) and not all(period.agrees(known) for _, known in timed)
    ]
    return f"With a condition, the texts give another period: {'; '.join(dict.fromkeys(others))}." if others else ""


def _distinct_candidates(candidates: Sequence[FieldCandidate]) -> list[FieldCandidate]:
    """Return the candidates without repetitions. Of candidates with equal content, the first is kept."""
    seen: dict[str, FieldCandidate] = {}
    for one in candidates:
        seen.setdefault(one.content.casefold().rstrip(" .;"), one)
    return list(seen.values())


def _evidence(candidates: Iterable[FieldCandidate], *, with_values: bool = False) -> tuple[Evidence, ...]:
    """Return the quotes of the candidates, with the row that an "as above" refers to; `with_values`: each its value."""
    return tuple(
        one.document.evidence(one.start, one.end, candidate.score, candidate.content if with_values else "")
        for candidate in candidates
        for one in filter(None, (candidate.statement, candidate.source))
    )


def _place(candidate: FieldCandidate) -> str:
    return _evidence([candidate])[0].place


def statement_chunk(document: CorpusDocument, start: int, end: int, headings: Iterable[str] = ()) -> RetrievedChunk:
    """Return text[start:end] of a document, with its headings, as a chunk."""
    return RetrievedChunk(
        node_id=f"{document.document_id}:{start}:{end}",
        collection=document.collection,
        source_id=document.document_id,
        source_title=document.title,
        source=document.source,
        document_hash=document.document_hash,
        text=document.text[start:end],
        context=" > ".join(headings),
        span=(start, end),
        page=document.outline.page_at(start),
        section=document.outline.section_at(start),
        score=1.0,
    )
