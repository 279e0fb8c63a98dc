"""What was understood of a model, and how far model and inventory agree."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
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
class SanityReport:
    """Counts and gaps. Names and ids are in alphabetical order; lists about the inventory are empty without one."""

    entities: int
    relationships: int
    domains: dict[str, int]
    types: dict[str, int]
    without_id: tuple[str, ...]
    doubled_ids: tuple[str, ...]
    incomplete: tuple[str, ...]
    absent_from_inventory: tuple[str, ...] = ()
    absent_from_model: tuple[str, ...] = ()
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
        renamed = [each.name for each in self.under_other_ids]
        for what, names in (
            ("Without an id", self.without_id),
            ("Ids that stand for several entities", self.doubled_ids),
            ("Relationships with an open end", self.incomplete),
            ("In the model, not in the inventory", self.absent_from_inventory),
            ("In the inventory, not in the model", self.absent_from_model),
            ("In both, under different ids", renamed),
        ):
            if names:
                yield f"{what}: {len(names)} ({listed(list(names))})."


def check_model(model: EnterpriseModel, inventory: Inventory | None = None) -> SanityReport:
    """Look at a model alone, or beside an inventory by fact sheet id.

    Of the inventory only fact sheets of a type that the model draws are looked for in the model. A name with one id
    in the model and another in the inventory is listed as that, and not as absent on both sides.
    """
    ids = Counter(entity.fact_sheet_id for entity in model.entities if entity.fact_sheet_id)
    sheets = inventory.fact_sheets if inventory else ()
    renamed = list(_under_other_ids(model.entities, inventory, set(ids))) if inventory else []
    explained = {each.model_id for each in renamed} | {each.inventory_id for each in renamed}
    exported = {sheet.fact_sheet_id for sheet in sheets}
    types = {entity.type for entity in model.entities}
    absent = [entity for entity in model.entities if entity.fact_sheet_id not in exported | explained]
    missing = [
        sheet
        for sheet in sheets
        if sheet.fact_sheet_id not in ids and sheet.fact_sheet_id not in explained and sheet.type in types
    ]
    return SanityReport(
        entities=len(model.entities),
        relationships=len(model.relationships),
        domains=_tally(entity.domain or NO_DOMAIN for entity in model.entities),
        types=_tally(entity.type or NO_TYPE for entity in model.entities),
        without_id=_sorted(entity.name for entity in model.entities if not entity.fact_sheet_id),
        doubled_ids=_sorted(key for key, count in ids.items() if count > 1),
        incomplete=_sorted(f"{each.source.name or '?'} - {each.target.name or '?'}" for each in model.incomplete),
        absent_from_inventory=_sorted(entity.name for entity in absent if entity.fact_sheet_id) if inventory else (),
        absent_from_model=_sorted(sheet.display_name for sheet in missing),
        under_other_ids=tuple(sorted(renamed, key=lambda each: (each.name, each.model_id, each.inventory_id))),
        inventory_checked=inventory is not None,
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


def _counts(tally: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in tally.items()) or "none"
