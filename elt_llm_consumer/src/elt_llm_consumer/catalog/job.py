"""The catalog job: a row for every entity and every term that is none, and a row for every relationship."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from elt_llm_core.errors import UsageError
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.synthesis.budget import window_of

from elt_llm_consumer.catalog.entity_task import TABLE, EntityTask, TermTask
from elt_llm_consumer.catalog.known import Known
from elt_llm_consumer.catalog.relationship_task import TABLE as RELATIONSHIPS
from elt_llm_consumer.catalog.relationship_task import RelationshipTask
from elt_llm_consumer.context import JobContext
from elt_llm_consumer.fields.written_field import Writer
from elt_llm_consumer.rows import JobResult, Row, Table, by_first_group
from elt_llm_consumer.runner_key import model_name
from elt_llm_consumer.tasks import RowTask

_BEFORE = ("source", "handbook_term", "inventory_match", "proposed_domain", "domain_status")


class CatalogJob:
    """Joins model, inventory and texts, and reads from the texts what they say of each entity."""

    kind = "catalog"

    def __init__(self, context: JobContext) -> None:
        """Raises UsageError if there is no model to make a catalog of."""
        if context.model is None:
            raise UsageError(
                "A catalog is made of an enterprise model, and the job names none.",
                hint="Ingest one, and name its collection under sources: model in the job file.",
            )
        self._context = context
        self._known = Known(context)

    def tasks(self) -> Sequence[RowTask]:
        """Entities in the order of the model, then terms by name, then relationships."""
        return self._tasks

    def result(self, rows: Sequence[Row]) -> JobResult:
        """The tables, and how many entities have each field."""
        entities = tuple(row for row in rows if "source" in row.cells)
        relationships = tuple(row for row in rows if "source" not in row.cells)
        columns = (*_BEFORE, *self._known.fields, "relationships")
        used = tuple(name for name in columns if any(name in row.cells for row in entities))
        return JobResult(
            job=self._context.file.name,
            kind=self.kind,
            description=self._context.file.spec.description,
            tables=(
                Table(name=TABLE, columns=used, rows=by_first_group(entities)),
                Table(name=RELATIONSHIPS, columns=_columns(relationships), rows=by_first_group(relationships)),
            ),
            figures=self._figures(entities, relationships),
        )

    @cached_property
    def _tasks(self) -> Sequence[RowTask]:
        known, writer = self._known, self._writer()
        _ = known.text_fields  # once, before rows are gathered at the same time
        terms = known.terms_alone if known.section.handbook_only else ()
        taken = {entity.id for entity in known.entities}
        drawn = self._context.model.model.relationships if self._context.model else ()
        return (
            *(EntityTask(known, writer, entity) for entity in known.entities),
            *(TermTask(known, writer, term) for term in terms),
            *(RelationshipTask(known, one) for one in drawn if {one.source.entity_id, one.target.entity_id} & taken),
        )

    def _writer(self) -> Writer | None:
        context = self._context
        if context.llm is None:
            return None
        tokeniser = context.engine.generations[0].keyword.tokeniser if context.engine else KeywordTokeniser()
        window = window_of(context.llm, TokenBound(), context.settings.llm.max_context_tokens)
        return Writer(context.corpus, context.embedding, tokeniser, model_name(context), window)

    def _figures(self, entities: Sequence[Row], relationships: Sequence[Row]) -> dict[str, int | float | str]:
        sources = Counter(str(row.cells["source"].value) for row in entities)
        figures: dict[str, int | float | str] = {"entities": len(entities), "relationships": len(relationships)}
        figures |= {f"source {name}": sources[name] for name in ("BOTH", "MODEL_ONLY", "HANDBOOK_ONLY")}
        figures["in the inventory"] = sum(_has(row, "inventory_match") for row in entities)
        figures["in the inventory alone"] = len(self._known.to_sheets.right_alone)
        figures |= {f"with {name}": sum(_has(row, name) for row in entities) for name in self._known.fields}
        figures["relationships told in the texts"] = sum(_has(row, "in_the_texts") for row in relationships)
        return figures


def _has(row: Row, column: str) -> bool:
    return column in row.cells and row.cells[column].verdict != "absent"


def _columns(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(rows[0].cells) if rows else ()
