"""Build an inventory from a sheet that LeanIX exported: its columns, fact sheets (such as applications), relations."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from elt_llm_core.enterprise import FactSheet, FactSheetRelation, Inventory, fact_sheet_order

from elt_llm_ingest.parsing.document_builder import FileProblems, UniqueNames
from elt_llm_ingest.parsing.workbook import CellValue, Sheet

_REQUIRED_COLUMNS = {"id", "type", "name"}
# Other tables may happen to have the required columns. An export also has at least one of these.
_EXPORT_COLUMNS = {"displayName", "lxState", "qualitySeal", "level", "status"}
_RELATION = re.compile(r"(rel[A-Z]\w{0,80}?|relTo\w{1,80}):(\w{1,80})", re.ASCII)
_DISPLAY_NAME = "displayName"


@dataclass(frozen=True)
class InventoryColumns:
    """The columns of an export by key, counted from 0. `labels` maps the keys of plain columns to labels.

    `relations` maps each kind of relation to its columns: displayName for the related fact sheets, and attributes.
    """

    places: dict[str, int]
    relations: dict[str, dict[str, int]]
    labels: dict[str, str]
    first_row: int

    def value(self, row: Sequence[CellValue], key: str) -> str:
        """Return the text of a row's cell in the column `key`; empty if there is no such column."""
        column = self.places.get(key)
        return cell_text(row[column]) if column is not None and column < len(row) else ""


def is_inventory(sheets: Sequence[Sheet]) -> bool:
    """Return whether the first row of the first sheet has the column keys of a LeanIX export, such as displayName."""
    if not sheets or not sheets[0].rows:
        return False
    keys = {cell_text(cell) for cell in sheets[0].rows[0]}
    return keys >= _REQUIRED_COLUMNS and bool(keys & _EXPORT_COLUMNS)


def read_columns(sheet: Sheet) -> InventoryColumns:
    """Read the columns of an inventory's first sheet. If several columns have the same key, the first is used."""
    keys = [cell_text(cell) for cell in sheet.rows[0]]
    second = sheet.rows[1] if len(sheet.rows) > 1 else ()
    places: dict[str, int] = {}
    for number, key in enumerate(keys):
        if key:
            places.setdefault(key, number)
    labelled = _are_labels(second, places)
    relations: dict[str, dict[str, int]] = {}
    labels: dict[str, str] = {}
    for key, place in places.items():
        if match := _RELATION.fullmatch(key):
            relations.setdefault(match[1], {})[match[2]] = place
        else:
            labels[key] = (cell_text(second[place]) if labelled else "") or key
    counts = Counter(labels.values())
    named = [(kind, columns) for kind, columns in relations.items() if _DISPLAY_NAME in columns]
    return InventoryColumns(
        places=places,
        relations=dict(sorted(named, key=lambda relation: relation[1][_DISPLAY_NAME])),
        labels={key: label if counts[label] == 1 else key for key, label in labels.items()},
        first_row=2 if labelled else 1,
    )


def _are_labels(row: Sequence[CellValue], places: dict[str, int]) -> bool:
    """Return whether a sheet's second row contains labels, as in an export, rather than the first fact sheet."""
    if not row:
        return False
    texts = {key: cell_text(row[places[key]]).casefold().replace(" ", "") for key in ("id", "type")}
    return texts["id"] in {"id", "externalid", "factsheetid", ""} and texts["type"] in {"type", "factsheettype", "typ"}


def cell_text(cell: CellValue) -> str:
    """Return a cell as stripped text: whole numbers without decimals, days without a time."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < 1e15:  # floats with 15 digits are exact
            return str(int(cell))
        case datetime() if cell.time() == datetime.min.time():
            return cell.date().isoformat()
        case datetime() | date():
            return cell.isoformat()
        case _:
            return str(cell).strip().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def listed_values(text: str) -> list[str]:
    """Split a cell: `"a; ;b" -> ["a", "", "b"]`. The third value of an attribute belongs to the third relation."""
    return [value.strip() for value in text.split(";")] if text else []


HIERARCHY = " / "
_TO_OWN_TYPE = "relTo"  # relToParent, relToChild, relToSuccessor name a role, not a type
_QUALITY = ("lxState", "qualitySeal")
_OWN_FIELDS = {"id", "type", "name", "displayName", "description", "level", "status", *_QUALITY}


def build_inventory(sheet: Sheet) -> Inventory:
    """Build the inventory of an export's first sheet. Related fact sheets are found by their display names."""
    findings = FileProblems()
    columns = read_columns(sheet)
    ids = UniqueNames()
    found: list[FactSheet] = []
    for number, row in enumerate(sheet.rows[columns.first_row :], start=columns.first_row + 1):
        if any(cell_text(cell) for cell in row):
            found.append(_fact_sheet(columns, row, number, ids, findings))
    resolved = _RelationResolver(found, columns.relations, findings).resolve()
    return Inventory(fact_sheets=tuple(sorted(resolved, key=fact_sheet_order)), notes=findings.notes)


def _fact_sheet(
    columns: InventoryColumns, row: Sequence[CellValue], number: int, ids: UniqueNames, findings: FileProblems
) -> FactSheet:
    fact_sheet_id = columns.value(row, "id")
    name = columns.value(row, "name")
    display_name = columns.value(row, "displayName") or name
    unique = ids.take(fact_sheet_id or f"row-{number}")
    if not fact_sheet_id:
        findings.add("fact sheets without an id", display_name or f"row {number}")
    elif unique != fact_sheet_id:
        findings.add("ids in several rows", f"{fact_sheet_id} ({display_name})")
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
        level=_parse_level(columns.value(row, "level")),
        status=columns.value(row, "status"),
        quality=next(filter(None, (columns.value(row, key) for key in _QUALITY)), ""),
        row=number,
        relations=_row_relations(columns, row, display_name, findings),
        fields={  # the filled cells of all other columns, by label
            label: value
            for key, label in columns.labels.items()
            if key not in _OWN_FIELDS and (value := columns.value(row, key))
        },
    )


def _parse_level(text: str) -> int | None:
    try:
        level = float(text)
    except ValueError:
        return None
    return int(level) if math.isfinite(level) and level.is_integer() and 0 <= level < 1000 else None


def _row_relations(
    columns: InventoryColumns, row: Sequence[CellValue], display_name: str, findings: FileProblems
) -> tuple[FactSheetRelation, ...]:
    found: list[FactSheetRelation] = []
    for kind, of_kind in columns.relations.items():
        lists = {key: listed_values(cell_text(row[column])) for key, column in of_kind.items()}
        names = lists.pop(_DISPLAY_NAME)
        if any(values and len(values) != len(names) for values in lists.values()):
            findings.add("attribute lists that are longer or shorter than their relations", f"{display_name}, {kind}")
            lists = {key: values for key, values in lists.items() if len(values) == len(names)}
        for place, name in enumerate(names):
            attributes = {key: values[place] for key, values in lists.items() if values and values[place]}
            if name:
                found.append(FactSheetRelation(kind=kind, name=name, attributes=attributes))
    return tuple(found)


class _RelationResolver:
    """Finds the fact sheets that relations name. Fact sheets of different types may have the same display name."""

    def __init__(self, sheets: list[FactSheet], kinds: Iterable[str], findings: FileProblems) -> None:
        self._sheets = sheets
        self._findings = findings
        self._types = {sheet.type for sheet in sheets}
        self._other_types = {kind: self._known_type(kind.rpartition("To")[2]) for kind in kinds}
        self._ids: dict[tuple[str, str], list[str]] = {}
        for sheet in sheets:
            self._ids.setdefault((sheet.type, sheet.display_name), []).append(sheet.id)

    def resolve(self) -> list[FactSheet]:
        """Return the fact sheets with the ids of related fact sheets added; report unknown and ambiguous names."""
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
            named = f"{relation.name} ({relation.kind})"
            if not other:
                self._findings.add("relations to a type that is not in the file", named)
            elif not ids:
                self._findings.add("relations to a fact sheet that is not in the file", named)
        return found

    def _known_type(self, wanted: str) -> str:
        """Return the longest ending of `wanted` that is a type (Application for ProviderApplication), else ""."""
        endings = (wanted[start:] for start in range(len(wanted)))
        return next((ending for ending in endings if ending in self._types), "")
