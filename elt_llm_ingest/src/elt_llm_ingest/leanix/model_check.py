"""Check the enterprise models of a collection, by themselves or by comparison with an inventory."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from elt_llm_core.enterprise import EnterpriseModel, Entity, Inventory
from elt_llm_core.errors import EltError

from elt_llm_ingest.parsing.document_builder import list_names

if TYPE_CHECKING:
    from elt_llm_core.store.store import Store

NO_DOMAIN = "(no domain)"
NO_TYPE = "(no type)"


@dataclass(frozen=True)
class IdMismatch:
    """A fact sheet whose ids in the enterprise model and in the inventory differ: its name and both ids."""

    name: str
    model_id: str
    inventory_id: str


@dataclass(frozen=True)
class UnmatchedFactSheet:
    """A fact sheet that is only in the enterprise model, or only in the inventory, where it may lack an id ("")."""

    name: str
    id: str


@dataclass(frozen=True)
class ModelReport:
    """What a check of an enterprise model found: counts, and lists of problems, sorted by name and id.

    The model alone can have fact sheets `without_id`, `doubled_ids` of several fact sheets, and `incomplete`
    relationships. The other lists compare it with an inventory. They are empty if no inventory was given.
    """

    entities: int
    relationships: int
    domains: dict[str, int]
    types: dict[str, int]
    without_id: tuple[str, ...]
    doubled_ids: tuple[str, ...]
    incomplete: tuple[str, ...]
    absent_from_inventory: tuple[UnmatchedFactSheet, ...] = ()
    absent_from_model: tuple[UnmatchedFactSheet, ...] = ()
    under_other_ids: tuple[IdMismatch, ...] = ()
    inventory_checked: bool = False

    def lines(self) -> list[str]:
        """Return the report as lines of text. Empty lists of problems are omitted."""
        lines = [
            f"{self.entities} entities and {self.relationships} relationships.",
            f"Entities by domain: {_format_counts(self.domains)}.",
            f"Entities by type: {_format_counts(self.types)}.",
        ]
        gaps: dict[str, Sequence[str]] = {
            "Without an id": self.without_id,
            "Ids of several entities": self.doubled_ids,
            "Relationships with an open end": self.incomplete,
            "In the model, not in the inventory": [each.name for each in self.absent_from_inventory],
            "In the inventory, not in the model": [each.name for each in self.absent_from_model],
            "In both, under different ids": [each.name for each in self.under_other_ids],
        }
        return lines + [f"{gap}: {len(names)} ({list_names(list(names))})." for gap, names in gaps.items() if names]


def check_model(model: EnterpriseModel, inventory: Inventory | None = None) -> ModelReport:
    """Check an enterprise model, alone or against an inventory whose fact sheets are compared by id.

    Only fact sheets whose type occurs in the model are expected in the model. A name with different ids in the model
    and the inventory is reported once, not as absent from both.
    """
    ids = Counter(entity.fact_sheet_id for entity in model.entities if entity.fact_sheet_id)
    alone = ModelReport(
        entities=len(model.entities),
        relationships=len(model.relationships),
        domains=_count_values(entity.domain or NO_DOMAIN for entity in model.entities),
        types=_count_values(entity.type or NO_TYPE for entity in model.entities),
        without_id=tuple(sorted(entity.name for entity in model.entities if not entity.fact_sheet_id)),
        doubled_ids=tuple(sorted(key for key, count in ids.items() if count > 1)),
        incomplete=tuple(sorted(f"{each.source.name or '?'} - {each.target.name or '?'}" for each in model.incomplete)),
    )
    return alone if inventory is None else _compare_with_inventory(alone, model, inventory, set(ids))


def check_model_artefacts(
    models: Iterable[Mapping[str, Any]], inventories: Iterable[Mapping[str, Any]] | None = None
) -> ModelReport:
    """Check a collection's enterprise models as one model, alone or against all inventories of a collection.

    Entities with the same id and name count once, even if they are in several files. So do the inventories' fact
    sheets.
    """
    read = [EnterpriseModel.from_json(value) for value in models]
    entities = {
        (entity.fact_sheet_id or f"{number} {entity.id}", entity.name): entity
        for number, model in enumerate(read)
        for entity in model.entities
    }
    joined = EnterpriseModel(
        entities=tuple(entities.values()),
        relationships=tuple(each for model in read for each in model.relationships),
        incomplete=tuple(each for model in read for each in model.incomplete),
    )
    if inventories is None:
        return check_model(joined)
    sheets = {
        (sheet.fact_sheet_id or f"{number} {sheet.id}", sheet.display_name): sheet
        for number, value in enumerate(inventories)
        for sheet in Inventory.from_json(value).fact_sheets
    }
    return check_model(joined, Inventory(fact_sheets=tuple(sheets.values())))


def _compare_with_inventory(
    alone: ModelReport, model: EnterpriseModel, inventory: Inventory, drawn: set[str]
) -> ModelReport:
    exported = {sheet.fact_sheet_id for sheet in inventory.fact_sheets}
    renamed = sorted(_id_mismatches(model.entities, inventory, drawn), key=lambda each: (each.name, each.model_id))
    explained = {each.model_id for each in renamed} | {each.inventory_id for each in renamed}
    known, shown = exported | explained, drawn | explained
    types = {entity.type for entity in model.entities}
    return replace(
        alone,
        absent_from_inventory=_unmatched(
            (entity.name, entity.fact_sheet_id)
            for entity in model.entities
            if entity.fact_sheet_id and entity.fact_sheet_id not in known
        ),
        absent_from_model=_unmatched(
            (sheet.display_name, sheet.fact_sheet_id)
            for sheet in inventory.fact_sheets
            if sheet.fact_sheet_id not in shown and sheet.type in types
        ),
        under_other_ids=tuple(renamed),
        inventory_checked=True,
    )


def _id_mismatches(entities: Iterable[Entity], inventory: Inventory, drawn: set[str]) -> Iterator[IdMismatch]:
    """Yield each entity whose id is not in the inventory, but whose type and name are there under another id."""
    exported = {sheet.fact_sheet_id for sheet in inventory.fact_sheets}
    free = {
        (sheet.type, sheet.name.casefold()): sheet.fact_sheet_id
        for sheet in inventory.fact_sheets
        if sheet.fact_sheet_id and sheet.fact_sheet_id not in drawn
    }
    for entity in entities:
        other = free.get((entity.type, entity.name.casefold()))
        if other and entity.fact_sheet_id and entity.fact_sheet_id not in exported:
            yield IdMismatch(entity.name, entity.fact_sheet_id, other)


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _unmatched(found: Iterable[tuple[str, str]]) -> tuple[UnmatchedFactSheet, ...]:
    return tuple(UnmatchedFactSheet(*each) for each in sorted(set(found)))


def _format_counts(tally: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in tally.items()) or "none"


def check_models(store: "Store", collection: str, against: str = "") -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Check a collection's enterprise models. Return sentences for the report, and the ModelReport as JSON values.

    The JSON values are None if the collection has no enterprise model. `against` names another collection that has the
    inventory. If a collection cannot be read, a sentence reports this, since the ingest itself has succeeded.
    """
    models, inventories, trouble = _collection_artefacts(store, collection)
    if not models:
        return trouble, None
    if against and against != collection:
        _, inventories, trouble = _collection_artefacts(store, against)

    report = check_model_artefacts(models, inventories or None)
    return (*trouble, *report.lines()), asdict(report)


def _collection_artefacts(store: "Store", collection: str) -> tuple[list[Any], list[Any], tuple[str, ...]]:
    """Return the models and inventories of the published documents, or why there are none that can be read."""
    try:
        record = store.collections.get(collection)
        if record.published is None:
            return [], [], (f"The model was not checked against '{collection}': nothing is published yet.",)
        stored = store.documents.artefacts(store.generations.versions(record.id, record.published))
    except EltError as error:
        return [], [], (f"The model was not checked against '{collection}': {error} {error.hint}".rstrip(),)
    models = [json.loads(content) for name, _, content in stored if name == "enterprise_model"]
    return models, [json.loads(content) for name, _, content in stored if name == "inventory"], ()
