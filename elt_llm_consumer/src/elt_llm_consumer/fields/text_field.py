"""One field of one entity from the texts: a value with its evidence, or the statement that there is none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from elt_llm_core.results import RetrievedChunk

from elt_llm_consumer.fields.about import Subjects
from elt_llm_consumer.fields.candidates import Candidate, SentenceField
from elt_llm_consumer.fields.search import NOTHING, Searched, Searcher
from elt_llm_consumer.fields.statements import Statement
from elt_llm_consumer.fields.states import states_in
from elt_llm_consumer.fields.table_values import TableField
from elt_llm_consumer.rows import Cell, Evidence, absent, found
from elt_llm_consumer.sections.catalog import CatalogField, CatalogSection

_DEEPER = 2
_BESIDE_TABLE = 0.85
"""Where a table has the value, a sentence is added only if it is plainly about the entity."""
_SAME_RANK = 0.11
"""Rows whose scores differ by no more may contradict each other; a weaker one does not."""


@dataclass(frozen=True)
class FieldFacts:
    """What the texts give for one field: the cell without a model, and the passages a model may write from."""

    cell: Cell
    passages: tuple[RetrievedChunk, ...] = field(default=(), repr=False)


class TextField:
    """Reads one field, of any entity, from the texts. Made once; may be asked from many threads."""

    def __init__(
        self,
        settings: CatalogField,
        section: CatalogSection,
        subjects: Subjects,
        searcher: Searcher,
        defining: Collection[int],
    ) -> None:
        """`defining` are the numbers of statements that define terms and say nothing else."""
        self.settings = settings
        self._subjects, self._searcher = subjects, searcher
        self._defining = frozenset() if settings.definitions else frozenset(defining)
        self._sentences = SentenceField(settings, section.rule_words)
        self._table = TableField(settings.headers, section.record_words, subjects.names)
        self._rows = self._table.rows(subjects.statements) if settings.headers else []
        self._duties = TableField(settings.listed_under, section.record_words, subjects.names)
        self._duty_rows = self._duties.rows(subjects.statements) if settings.listed_under else []

    def facts(self, name: str, *, deeper: bool = False, with_passages: bool = False) -> FieldFacts:
        """What there is for `name`; `deeper` looks for twice as much. Raises RetrievalError."""
        abouts = [one for one in self._subjects.of(name) if self._counts(one.statement)]
        wanted = self.settings.at_most * (_DEEPER if deeper else 1)
        values = self._table.candidates(name, self._rows)
        kinds = [] if values or wanted <= 1 else self._table.kinds(name, self._rows)
        if not abouts and not values and not kinds:
            return FieldFacts(
                absent("The texts do not name it." if self._subjects.statements else "No texts were read.")
            )
        if values and wanted <= 1:
            return FieldFacts(_of_table(values))
        needed = with_passages or self._sentences.depends_on_search(abouts, wanted)
        searched = self._searcher.search(self.settings, name, deeper=deeper) if abouts and needed else NOTHING
        answering = self._duties.answering(name, self._duty_rows)
        sentences = [*self._sentences.candidates(abouts, searched.scores), *answering, *kinds]
        sentences.sort(key=lambda one: (-one.score, one.statement.number))
        cell = _together(values, sentences, wanted, searched)
        passages = _passages(sentences[:wanted], searched) if with_passages else ()
        return FieldFacts(cell, passages)

    def _counts(self, statement: Statement) -> bool:
        """Whether it does more than define: what enumerates states may look like a definition, "A Loan is ..."."""
        defines = statement.number in self._defining
        return not defines or (self.settings.states and bool(states_in(statement.text)))


def _together(values: Sequence[Candidate], sentences: Sequence[Candidate], wanted: int, searched: Searched) -> Cell:
    note = " ".join(searched.notes)
    table = _of_table(values) if values else None
    if table is not None and (table.verdict == "conflict" or not sentences or wanted <= 1):
        return _with_note(table, note)
    sure = [one for one in sentences if not values or one.score >= _BESIDE_TABLE]
    best = [*_once(values)[:1], *_once(sure)][:wanted]
    if not best:
        return absent(" ".join(filter(None, ["The texts name it, but say nothing of this.", note])))
    said = tuple(candidate.said for candidate in best)
    evidence = [_evidence(candidate, candidate.said if len(best) > 1 else "") for candidate in best]
    return found(said if wanted > 1 else said[0], evidence, method="extractive", note=note)


def _of_table(values: Sequence[Candidate]) -> Cell:
    """The value of the surest rows; if equally sure ones differ, they are in conflict."""
    rank = [one for one in values if one.score >= values[0].score - _SAME_RANK]
    different = _once(rank)
    if len(different) > 1:
        return Cell(
            value=tuple(one.value for one in different),
            verdict="conflict",
            evidence=tuple(_evidence(one, one.value) for one in different),
            confidence=different[-1].score,
            note="Tables give different values.",
        )
    return found(rank[0].value, [_evidence(one) for one in rank])


def _once(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first of those that say the same."""
    seen: dict[str, Candidate] = {}
    for one in candidates:
        seen.setdefault(one.said.casefold().rstrip(" .;"), one)
    return list(seen.values())


def _evidence(candidate: Candidate, about: str = "") -> Evidence:
    statement = candidate.statement
    return statement.document.evidence(statement.start, statement.end, candidate.score, about)


def _with_note(cell: Cell, note: str) -> Cell:
    return cell.model_copy(update={"note": " ".join(filter(None, [cell.note, note]))}) if note else cell


def _passages(best: Sequence[Candidate], searched: Searched) -> tuple[RetrievedChunk, ...]:
    """The passages found by search, and the best statements that are in none of them."""
    apart = [one.statement for one in best if one.statement.number not in searched.scores]
    return (*(as_passage(statement) for statement in apart), *searched.chunks)


def as_passage(statement: Statement) -> RetrievedChunk:
    """A statement in the shape of a passage that a search found."""
    document, start, end = statement.document, statement.start, statement.end
    return RetrievedChunk(
        node_id=f"{document.document_id}:{start}:{end}",
        collection=document.collection,
        source_id=document.document_id,
        source_title=document.title,
        source=document.source,
        document_hash=document.document_hash,
        text=document.text[start:end],
        context=" > ".join(statement.headings),
        span=(start, end),
        page=document.outline.page_at(start),
        section=document.outline.section_at(start),
        score=1.0,
    )
