"""An exported inventory as fact sheets: rows, their relations, and whom these name."""

import math
from collections.abc import Sequence

from elt_llm_core.enterprise_model import FactSheet, FactSheetRelation, Inventory, fact_sheet_order

from elt_llm_ingest.leanix.findings import Findings
from elt_llm_ingest.leanix.inventory_columns import (
    Columns,
    RelationColumns,
    cell_text,
    listed_values,
    read_columns,
)
from elt_llm_ingest.readers.workbook import Cell, Sheet
from elt_llm_ingest.unique_names import UniqueNames

HIERARCHY = " / "
_TO_OWN_TYPE = "relTo"  # relToParent, relToChild, relToSuccessor: what follows is a role, not a type
_QUALITY = ("lxState", "qualitySeal")
_OWN_FIELDS = {"id", "type", "name", "displayName", "description", "level", "status", *_QUALITY}


def build_inventory(sheet: Sheet) -> Inventory:
    """The fact sheets of an export's first sheet, with the relations among them resolved by display name."""
    findings = Findings()
    columns = read_columns(sheet)
    ids = UniqueNames()
    found: list[FactSheet] = []
    for number, row in enumerate(sheet.rows[columns.first_row :], start=columns.first_row + 1):
        if any(cell_text(cell) for cell in row):
            found.append(_fact_sheet(columns, row, number, ids, findings))
    resolved = _Resolver(found, columns.relations, findings).resolve()
    return Inventory(fact_sheets=tuple(sorted(resolved, key=fact_sheet_order)), notes=findings.notes)


def _fact_sheet(columns: Columns, row: Sequence[Cell], number: int, ids: UniqueNames, findings: Findings) -> FactSheet:
    fact_sheet_id = columns.value(row, "id")
    name = columns.value(row, "name")
    display_name = columns.value(row, "displayName") or name
    unique = ids.take(fact_sheet_id or f"row-{number}")
    if not fact_sheet_id:
        findings.add("fact sheets without an id", display_name or f"row {number}")
    elif unique != fact_sheet_id:
        findings.add("ids that stand in several rows", f"{fact_sheet_id} ({display_name})")
    if not name:
        findings.add("fact sheets without a name", f"row {number}")
    return FactSheet(
        id=unique,
        fact_sheet_id=fact_sheet_id,
        type=columns.value(row, "type"),
        name=name or display_name,
        display_name=display_name,
        parent=display_name.rpartition(HIERARCHY)[0],
        description=columns.value(row, "description"),
        level=_level(columns.value(row, "level")),
        status=columns.value(row, "status"),
        quality=next(filter(None, (columns.value(row, key) for key in _QUALITY)), ""),
        row=number,
        relations=_relations(columns, row, display_name, findings),
        fields=_fields(columns, row),
    )


def _level(text: str) -> int | None:
    try:
        level = float(text)
    except ValueError:
        return None
    return int(level) if math.isfinite(level) and level.is_integer() and 0 <= level < 1000 else None


def _fields(columns: Columns, row: Sequence[Cell]) -> dict[str, str]:
    """Further columns that are filled, by their label."""
    return {
        label: value
        for key, label in columns.labels.items()
        if key not in _OWN_FIELDS and (value := columns.value(row, key))
    }


def _relations(
    columns: Columns, row: Sequence[Cell], display_name: str, findings: Findings
) -> tuple[FactSheetRelation, ...]:
    found: list[FactSheetRelation] = []
    for relation in columns.relations:
        names = listed_values(cell_text(row[relation.names]))
        lists = {key: listed_values(cell_text(row[column])) for key, column in relation.attributes}
        if any(values and len(values) != len(names) for values in lists.values()):
            findings.add(
                "lists that are not as long as the relations they are about", f"{display_name}, {relation.kind}"
            )
            lists = {key: values for key, values in lists.items() if len(values) == len(names)}
        for place, name in enumerate(names):
            attributes = {key: values[place] for key, values in lists.items() if values and values[place]}
            if name:
                found.append(FactSheetRelation(kind=relation.kind, name=name, attributes=attributes))
    return tuple(found)


class _Resolver:
    """Finds the fact sheets that relations name. A display name is a key only within its type."""

    def __init__(self, sheets: list[FactSheet], relations: Sequence[RelationColumns], findings: Findings) -> None:
        self._sheets = sheets
        self._findings = findings
        self._types = {sheet.type for sheet in sheets}
        self._other_types = {relation.kind: self._known_type(relation.other_type) for relation in relations}
        self._ids: dict[tuple[str, str], list[str]] = {}
        for sheet in sheets:
            self._ids.setdefault((sheet.type, sheet.display_name), []).append(sheet.id)

    def resolve(self) -> list[FactSheet]:
        """The fact sheets with the ids of those they name; a name nobody has, or several have, is a finding."""
        for (kind, name), ids in self._ids.items():
            if len(ids) > 1:
                self._findings.add("display names of several fact sheets of one type", f"{name} ({kind})")
        return [sheet.model_copy(update={"relations": tuple(self._resolved(sheet))}) for sheet in self._sheets]

    def _resolved(self, sheet: FactSheet) -> list[FactSheetRelation]:
        found: list[FactSheetRelation] = []
        for relation in sheet.relations:
            other = self._other_types[relation.kind] or (sheet.type if relation.kind.startswith(_TO_OWN_TYPE) else "")
            ids = self._ids.get((other, relation.name), [])
            found.append(relation.model_copy(update={"target_id": ids[0]}) if len(ids) == 1 else relation)
            if not other:
                self._findings.add("relations to a type that is not in the file", f"{relation.name} ({relation.kind})")
            elif not ids:
                self._findings.add(
                    "relations to a fact sheet that is not in the file", f"{relation.name} ({relation.kind})"
                )
        return found

    def _known_type(self, wanted: str) -> str:
        """A type of the file by its name, or by a role before it such as ProviderApplication; empty if none is."""
        endings = (wanted[start:] for start in range(len(wanted)))
        return next((ending for ending in endings if ending in self._types), "")
