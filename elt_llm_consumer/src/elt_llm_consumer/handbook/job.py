"""The handbook job: candidate entities and their relationships from the texts alone, to be held against a model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from elt_llm_core.errors import UsageError
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.budget import window_of

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.fields.written_field import Writer
from elt_llm_consumer.handbook.cells import COLUMNS
from elt_llm_consumer.handbook.drawn import Drawn
from elt_llm_consumer.handbook.tasks import (
    CANDIDATES,
    RELATIONSHIP_COLUMNS,
    RELATIONSHIPS,
    UNKNOWN,
    CandidateTask,
    RelationTask,
)
from elt_llm_consumer.rows import JobResult, Row, Table
from elt_llm_consumer.runner_key import model_name
from elt_llm_consumer.tasks import RowTask


class HandbookJob:
    """Reads the texts once, and draws from them who and what acts in their rules, and on what."""

    kind = "handbook"

    def __init__(self, context: JobContext) -> None:
        """Raises UsageError if the job names no texts."""
        if not context.corpus.documents:
            raise UsageError(
                "A handbook job needs texts to read.", hint=f"Give sources.handbook in {context.file.path}"
            )
        self._context = context
        self._drawn = Drawn(context)

    def tasks(self) -> Sequence[RowTask]:
        """Candidates by name, then relationships by source, verb and target."""
        return self._tasks

    def result(self, rows: Sequence[Row]) -> JobResult:
        """The two tables, and how many there are of each kind."""
        candidates = tuple(row for row in rows if "kind" in row.cells)
        relationships = tuple(row for row in rows if "kind" not in row.cells)
        used = tuple(name for name in COLUMNS if any(name in row.cells for row in candidates))
        return JobResult(
            job=self._context.file.name,
            kind=self.kind,
            description=self._context.file.spec.description,
            tables=(
                Table(name=CANDIDATES, columns=used, rows=candidates, groups=("kind",)),
                Table(
                    name=RELATIONSHIPS,
                    columns=RELATIONSHIP_COLUMNS,
                    rows=relationships,
                    groups=("kind of source",),
                ),
            ),
            figures=_figures(candidates, relationships),
            notes=self._notes(),
        )

    @cached_property
    def _tasks(self) -> Sequence[RowTask]:
        drawn, writer = self._drawn, self._writer()
        drawn.prepare()
        return (
            *(CandidateTask(drawn, writer, one) for one in drawn.candidates),
            *(RelationTask(drawn, one) for one in drawn.relations),
        )

    def _writer(self) -> Writer | None:
        context = self._context
        if self._drawn.section.describe == "off" or context.llm is None:
            return None
        tokeniser = context.engine.generations[0].keyword.tokeniser if context.engine else KeywordTokeniser()
        window = window_of(context.llm, TokenBound(), context.settings.llm.max_context_tokens)
        return Writer(context.corpus, context.embedding, tokeniser, model_name(context), window)

    def _notes(self) -> tuple[str, ...]:
        topics = self._drawn.section.topics
        return (f"Narrowed to: {', '.join(topics)}.",) if topics else ()


def _figures(candidates: Sequence[Row], relationships: Sequence[Row]) -> Mapping[str, int | float | str]:
    kinds = Counter(row.group[0] for row in candidates)
    figures: dict[str, int | float | str] = {"candidates": len(candidates), "relationships": len(relationships)}
    figures |= {f"of kind {kind}": kinds[kind] for kind in sorted(kinds, key=lambda it: (it == UNKNOWN, it))}
    figures["defined"] = sum(row.cells["definition"].verdict != "absent" for row in candidates)
    figures["with terms of reference"] = sum(row.cells["terms_of_reference"].verdict != "absent" for row in candidates)
    if any("in_model" in row.cells for row in candidates):
        figures["in the model"] = sum(row.cells["in_model"].verdict != "absent" for row in candidates)
    return figures
