"""What was understood of a model, and how far model and inventory agree."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from elt_llm_core.enterprise_model import EnterpriseModel, Entity, Inventory

from elt_llm_ingest.readers.drawio_cells import listed

NO_DOMAIN = "(no domain)"
NO_TYPE = "(no type)"


@dataclass(frozen=True)
class Renamed:
    """A name that model and inventory both have, under different ids."""

    name: str
    model_id: str
    inventory_id: str


@dataclass(frozen=True)
class Absent:
    """Something that only one side has, by its fact sheet id; the inventory's may have none yet."""

    name: str
    id: str


@dataclass(frozen=True)
class SanityReport:
    """Counts and gaps. Names and ids are in alphabetical order; lists about the inventory are empty without one."""

    entities: int
    relationships: int
    domains: dict[str, int]
    types: dict[str, int]
    without_id: tuple[str, ...]
    doubled_ids: tuple[str, ...]
    incomplete: tuple[str, ...]
    absent_from_inventory: tuple[Absent, ...] = ()
    absent_from_model: tuple[Absent, ...] = ()
    under_other_ids: tuple[Renamed, ...] = ()
    inventory_checked: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object of all counts and gaps."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report for a reader, one fact a line; gaps that are not there are not mentioned."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.entities} entities and {self.relationships} relationships."
        yield f"Entities by domain: {_counts(self.domains)}."
        yield f"Entities by type: {_counts(self.types)}."
        for what, names in (
            ("Without an id", self.without_id),
            ("Ids that stand for several entities", self.doubled_ids),
            ("Relationships with an open end", self.incomplete),
            ("In the model, not in the inventory", [each.name for each in self.absent_from_inventory]),
            ("In the inventory, not in the model", [each.name for each in self.absent_from_model]),
            ("In both, under different ids", [each.name for each in self.under_other_ids]),
        ):
            if names:
                yield f"{what}: {len(names)} ({listed(list(names))})."


def check_model(model: EnterpriseModel, inventory: Inventory | None = None) -> SanityReport:
    """Look at a model alone, or beside an inventory by fact sheet id.

    Of the inventory only fact sheets of a type that the model draws are looked for in the model. A name with one id
    in the model and another in the inventory is listed as that, and not as absent on both sides.
    """
    ids = Counter(entity.fact_sheet_id for entity in model.entities if entity.fact_sheet_id)
    alone = SanityReport(
        entities=len(model.entities),
        relationships=len(model.relationships),
        domains=_tally(entity.domain or NO_DOMAIN for entity in model.entities),
        types=_tally(entity.type or NO_TYPE for entity in model.entities),
        without_id=_sorted(entity.name for entity in model.entities if not entity.fact_sheet_id),
        doubled_ids=_sorted(key for key, count in ids.items() if count > 1),
        incomplete=_sorted(f"{each.source.name or '?'} - {each.target.name or '?'}" for each in model.incomplete),
    )
    return alone if inventory is None else _compared(alone, model, inventory, set(ids))


def check_artefacts(
    models: Iterable[Mapping[str, Any]], inventories: Iterable[Mapping[str, Any]] | None = None
) -> SanityReport:
    """Look at all models of a collection together, as the artefacts keep them, beside all inventories of another.

    An entity that several files draw under one id and name counts once, and so does an exported fact sheet.
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


def _compared(alone: SanityReport, model: EnterpriseModel, inventory: Inventory, drawn: set[str]) -> SanityReport:
    exported = {sheet.fact_sheet_id for sheet in inventory.fact_sheets}
    renamed = sorted(_under_other_ids(model.entities, inventory, drawn), key=lambda each: (each.name, each.model_id))
    explained = {each.model_id for each in renamed} | {each.inventory_id for each in renamed}
    known, shown = exported | explained, drawn | explained
    types = {entity.type for entity in model.entities}
    return replace(
        alone,
        absent_from_inventory=_absent(
            (entity.name, entity.fact_sheet_id)
            for entity in model.entities
            if entity.fact_sheet_id and entity.fact_sheet_id not in known
        ),
        absent_from_model=_absent(
            (sheet.display_name, sheet.fact_sheet_id)
            for sheet in inventory.fact_sheets
            if sheet.fact_sheet_id not in shown and sheet.type in types
        ),
        under_other_ids=tuple(renamed),
        inventory_checked=True,
    )


def _under_other_ids(entities: Iterable[Entity], inventory: Inventory, drawn: set[str]) -> Iterator[Renamed]:
    """Entities whose id the inventory lacks, beside a fact sheet of that type and name whose id the model lacks."""
    exported = {sheet.fact_sheet_id for sheet in inventory.fact_sheets}
    free = {
        (sheet.type, sheet.name.casefold()): sheet.fact_sheet_id
        for sheet in inventory.fact_sheets
        if sheet.fact_sheet_id and sheet.fact_sheet_id not in drawn
    }
    for entity in entities:
        other = free.get((entity.type, entity.name.casefold()))
        if other and entity.fact_sheet_id and entity.fact_sheet_id not in exported:
            yield Renamed(entity.name, entity.fact_sheet_id, other)


def _tally(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _absent(found: Iterable[tuple[str, str]]) -> tuple[Absent, ...]:
    return tuple(Absent(*each) for each in sorted(set(found)))


def _counts(tally: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in tally.items()) or "none"
