"""The catalog job makes a row for each entity, each defined term that matches no entity, and each relationship."""

from collections import Counter
from collections.abc import Sequence

from elt_llm_core.errors import UsageError

from elt_llm_consumer.catalog.index import CatalogIndex
from elt_llm_consumer.catalog.tasks import CatalogTermTask, EntityTask, RelationshipTask
from elt_llm_consumer.catalog.written_fields import field_writer
from elt_llm_consumer.evidence import JobResult, Row, Table, group_by_domain
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import duplicate_notes
from elt_llm_consumer.jobs.tasks import RowTask

_LEADING_COLUMNS = ("source", "handbook_term", "inventory_match", "proposed_domain", "domain_status")


class CatalogJob:
    """Matches the enterprise model with the inventory and the texts, and reads each entity's fields from the texts."""

    kind = "catalog"

    def __init__(self, context: JobContext) -> None:
        """Prepare the job. Raises UsageError if the job file names no enterprise model."""
        if context.model is None:
            raise UsageError(
                "A catalog job needs an enterprise model, but the job file names none.",
                hint="Ingest a model, and set sources.model in the job file to its collection.",
            )
        self._context = context
        self._index = CatalogIndex(context, context.model)

    def tasks(self) -> Sequence[RowTask]:
        """Return the tasks: entities in the order of the model, then terms sorted by name, then relationships."""
        index, writer = self._index, field_writer(self._context)
        _ = index.text_fields, index.amended_rules  # computed once, before several threads gather rows
        terms = index.terms_alone if index.section.handbook_only else ()
        taken = {entity.id for entity in index.entities}
        drawn = index.model.model.relationships
        return (
            *(EntityTask(index, writer, entity) for entity in index.entities),
            *(CatalogTermTask(index, writer, term) for term in terms),
            *(RelationshipTask(index, one) for one in drawn if {one.source.entity_id, one.target.entity_id} & taken),
        )

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return the tables and, for each field, the number of entities for which a value was found."""
        entities = tuple(row for row in rows if "source" in row.cells)
        relationships = tuple(row for row in rows if "source" not in row.cells)
        columns = (*_LEADING_COLUMNS, *self._index.fields, "relationships")
        used = tuple(name for name in columns if any(name in row.cells for row in entities))
        drawn = tuple(relationships[0].cells) if relationships else ()
        tables = (
            Table(name=EntityTask.table, columns=used, rows=group_by_domain(entities)),
            Table(name=RelationshipTask.table, columns=drawn, rows=group_by_domain(relationships)),
        )
        figures = self._figures(entities, relationships)
        return self._context.result(self.kind, tables, figures, duplicate_notes(self._index.entities))

    def _figures(self, entities: Sequence[Row], relationships: Sequence[Row]) -> dict[str, int | float | str]:
        sources = Counter(str(row.cells["source"].value) for row in entities)
        figures: dict[str, int | float | str] = {"entities": len(entities), "relationships": len(relationships)}
        figures |= {f"source {name}": sources[name] for name in ("BOTH", "MODEL_ONLY", "HANDBOOK_ONLY")}
        figures["in the inventory"] = sum(_has_value(row, "inventory_match") for row in entities)
        figures["in the inventory alone"] = len(self._index.to_sheets.right_alone)
        figures |= {f"with {name}": sum(_has_value(row, name) for row in entities) for name in self._index.fields}
        figures["relationships in the texts"] = sum(_has_value(row, "in_the_texts") for row in relationships)
        return figures


def _has_value(row: Row, column: str) -> bool:
    return column in row.cells and row.cells[column].verdict != "absent"
