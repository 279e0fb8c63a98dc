"""The glossary job: finds every definition, puts those of one term together, and says where the term is used."""

from collections.abc import Sequence
from functools import cached_property

from elt_llm_core.errors import UsageError
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.definitions.terms import term_key
from elt_llm_consumer.glossary.agreement import Agreements
from elt_llm_consumer.glossary.merging import Term, merged
from elt_llm_consumer.glossary.task import COLUMNS, TermTask, Told
from elt_llm_consumer.mention_index import MentionIndex, Statement
from elt_llm_consumer.names import Names
from elt_llm_consumer.rows import JobResult, Row, Table
from elt_llm_consumer.runner_key import model_name
from elt_llm_consumer.tasks import RowTask


class GlossaryJob:
    """Reads every text once. A language model is asked only where `glossary.clean_up` says so."""

    kind = "glossary"

    def __init__(self, context: JobContext) -> None:
        """Raises UsageError if the job names no texts."""
        if not context.corpus.documents:
            raise UsageError(
                "A glossary job needs texts to read.", hint=f"Give sources.handbook in {context.file.path}"
            )
        self._context = context
        self._section = context.file.spec.glossary

    def tasks(self) -> Sequence[RowTask]:
        """A task for each term, by name."""
        agreements = Agreements(self._context.embedding, KeywordTokeniser("en"))
        model = model_name(self._context)
        return [TermTask(self._told(term), self._section, agreements, model) for term in self._terms]

    def result(self, rows: Sequence[Row]) -> JobResult:
        """One table, terms, and counts."""
        known = {row.key: row for row in rows}
        made = tuple(known[term.key] for term in self._terms if term.key in known)
        file = self._context.file
        return JobResult(
            job=file.name,
            kind=self.kind,
            description=file.spec.description,
            tables=(Table(name="terms", columns=COLUMNS, rows=made),),
            figures=_figures(made),
        )

    @cached_property
    def _found(self) -> list[Definition]:
        return find_definitions(self._context.corpus, self._section)

    @cached_property
    def _terms(self) -> list[Term]:
        return merged(self._found)

    @cached_property
    def _by_key(self) -> dict[tuple[str, ...], Term]:
        """The terms by all their forms, a term's own name before another's."""
        named = {term_key(term.name): term for term in reversed(self._terms)}
        others = {term_key(form): term for term in reversed(self._terms) for form in term.forms}
        return {**others, **named}

    @cached_property
    def _mentions(self) -> MentionIndex:
        aliases = Aliases(tuple(term.forms for term in self._terms if len(term.forms) > 1))
        return MentionIndex(self._context.corpus, Names([term.name for term in self._terms], aliases))

    def _told(self, term: Term) -> Told:
        referred = [(one, self._by_key.get(term_key(one.refers_to))) for one in term.references]
        uses = [use for use in self._mentions.of(term.name) if not _defines(term, use)]
        return Told(term, tuple((one, other) for one, other in referred if other is not None), uses)


def _defines(term: Term, use: Statement) -> bool:
    """Whether a statement is part of one of the term's own definitions."""
    return any(
        one.evidence.document_id == use.document.document_id
        and one.evidence.collection == use.document.collection
        and use.piece.start < one.evidence.span[1]
        and one.evidence.span[0] < use.piece.end
        for one in term.all
    )


def _figures(rows: Sequence[Row]) -> dict[str, int | float | str]:
    def having(column: str, *verdicts: str) -> int:
        return sum(row.cells[column].verdict in verdicts for row in rows)

    return {
        "terms": len(rows),
        "with a definition": having("definition", "found", "inferred", "conflict"),
        "contradicting definitions": having("definition", "conflict"),
        "with an abbreviation": having("abbreviation", "found"),
        "defined elsewhere only": sum(
            row.cells["definition"].verdict == "absent" and row.cells["refers_to"].verdict == "found" for row in rows
        ),
        "used nowhere else": having("used", "absent"),
    }
