"""Export an inventory as a workbook: keys in the first row, labels in the second, one fact sheet a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

LABELS = {
    "id": "ID",
    "type": "Type",
    "name": "Name",
    "displayName": "Display Name",
    "description": "Description",
    "level": "Level",
    "status": "Status",
    "lxState": "Quality State",
    "alias": "Alias",
    "lifecycle:active": "Lifecycle: Active",
}
RELATIONS = {
    "relToParent": (),
    "relApplicationToDataObject": (),
    "relApplicationToBusinessCapability": (),
    "relApplicationToITComponent": (),
    "relApplicationToOrganization": (),
    "relInterfaceToProviderApplication": (),
    "relInterfaceToConsumerApplication": (),
    "relInterfaceToDataObject": (),
    "relProjectToApplication": ("description", "activeFrom", "numberOfUsers"),
}
STATES = ("APPROVED", "DRAFT", "BROKEN_QUALITY_SEAL", "APPROVED", "REJECTED")
ROLES = {"relInterfaceToProviderApplication": "Application", "relInterfaceToConsumerApplication": "Application"}
HIERARCHY = " / "
WRITTEN = (2026, 9, 14, 8, 30, 0)
MakeId = Callable[..., str]
Sheet = dict[str, Any]


def fact_sheets(inventory: dict[str, Any], model: dict[str, Any], make_id: MakeId) -> list[Sheet]:
    """The rows in their order: columns by key; `relations` lists (kind, display names, attributes) where there are."""
    rows = chain(
        _data_objects(inventory, model),
        _applications(inventory),
        _hierarchy("BusinessCapability", inventory["capabilities"]),
        _hierarchy("Organization", inventory["organisations"]),
        _components(inventory),
        _interfaces(inventory),
        _projects(inventory),
    )
    sheets = []
    for number, row in enumerate(rows):
        row.setdefault("id", make_id(row["type"], row["displayName"], remade=row.pop("remade", False)))
        base = {"description": "", "alias": "", "lifecycle:active": "", "level": 1.0, "relations": []}
        state = {"status": "ACTIVE", "lxState": STATES[number % len(STATES)]}
        sheets.append({**base, **state, **row})
    return sheets


def _row(kind: str, name: str, **more: Any) -> Sheet:
    return {"type": kind, "name": name, "displayName": name, **more}


def _data_objects(inventory: dict[str, Any], model: dict[str, Any]) -> Iterator[Sheet]:
    drawn = [name for groups in model["domains"].values() for names in groups.values() for name in names]
    gaps = {*model["without_id"], *model["unknown_to_inventory"]}
    described = {**inventory["data_objects"], **inventory["undrawn_data_objects"]}
    for name in (*model["container_fact_sheets"], *drawn, *model["without_domain"], *inventory["undrawn_data_objects"]):
        if name in gaps:
            continue
        row = _row("DataObject", name, description=described.get(name, ""), alias=inventory["aliases"].get(name, ""))
        if name == "Equipment Loan":  # has yet to be created
            row["id"] = ""
        yield {**row, "remade": name in model["under_another_id"]}


def _applications(inventory: dict[str, Any]) -> Iterator[Sheet]:
    for name, description in inventory["applications"].items():
        objects, capabilities, components, owner = inventory["uses"][name]
        relations = [
            ("relApplicationToDataObject", objects, {}),
            ("relApplicationToBusinessCapability", capabilities, {}),
            ("relApplicationToITComponent", components, {}),
            ("relApplicationToOrganization", [f"Lantern House / {owner}"], {}),
        ]
        yield _row("Application", name, description=description, relations=relations)


def _hierarchy(kind: str, tree: dict[str, list[str]]) -> Iterator[Sheet]:
    for name, children in tree.items():
        yield _row(kind, name)
        for child in children:
            path = f"{name}{HIERARCHY}{child}"
            relations = [("relToParent", [name], {})]
            yield {**_row(kind, child), "displayName": path, "level": 2.0, "relations": relations}


def _components(inventory: dict[str, Any]) -> Iterator[Sheet]:
    for name, (description, active) in inventory["components"].items():
        yield _row("ITComponent", name, description=description, **{"lifecycle:active": active})


def _interfaces(inventory: dict[str, Any]) -> Iterator[Sheet]:
    for name, (provider, consumer, objects) in inventory["interfaces"].items():
        relations = [
            ("relInterfaceToProviderApplication", [provider], {}),
            ("relInterfaceToConsumerApplication", [consumer], {}),
            ("relInterfaceToDataObject", objects, {}),
        ]
        yield _row("Interface", name, relations=relations)


def _projects(inventory: dict[str, Any]) -> Iterator[Sheet]:
    for name, (description, applications, users, dates) in inventory["projects"].items():
        attributes = {
            "numberOfUsers": [str(each) for each in users],
            "activeFrom": [each.isoformat() for each in dates],
        }
        relations = [("relProjectToApplication", applications, attributes)]
        yield _row("Project", name, description=description, relations=relations)


def cells(sheets: list[Sheet]) -> list[list[Any]]:
    """All rows of the export, keys and labels first."""
    relation_keys = [f"{kind}:{key}" for kind, keys in RELATIONS.items() for key in ("displayName", *keys)]
    keys = [*LABELS, *relation_keys]
    rows: list[list[Any]] = [keys, [LABELS.get(key, key) for key in keys]]
    for sheet in sheets:
        values = {key: sheet[key] for key in LABELS}
        for kind, names, attributes in sheet["relations"]:
            values[f"{kind}:displayName"] = ";".join(names)
            values |= {f"{kind}:{key}": ";".join(each) for key, each in attributes.items()}
        rows.append([values.get(key) or None for key in keys])
    return rows


def write_workbook(path: Path, sheets: list[Sheet], exported: str) -> None:
    """Write the export with its ReadMe sheet; the same sheets give the same bytes."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    export = book.create_sheet(f"Export {exported}")
    for row in cells(sheets):
        export.append(row)
    read_me = book.create_sheet("ReadMe")
    read_me.append(["Leave the first row as it is: it holds the keys of the columns."])
    read_me.append(["A row without an id makes a new fact sheet."])
    saved = BytesIO()
    book.save(saved)
    path.write_bytes(_without_times(saved.getvalue()))


def _without_times(data: bytes) -> bytes:
    target = BytesIO()
    with ZipFile(BytesIO(data)) as source, ZipFile(target, "w") as archive:
        for entry in source.infolist():
            stamped = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2026-09-14T08:30:00Z", source.read(entry))
            content = stamped if entry.filename == "docProps/core.xml" else source.read(entry)
            archive.writestr(ZipInfo(entry.filename, WRITTEN), content, ZIP_DEFLATED)
    return target.getvalue()


def expected_inventory(sheets: list[Sheet]) -> dict[str, Any]:
    """The inventory as JSON, but for the notes."""
    ids = {(sheet["type"], sheet["displayName"]): _id(number, sheet) for number, sheet in enumerate(sheets)}
    return {
        "fact_sheets": {_id(number, sheet): _expected(number, sheet, ids) for number, sheet in enumerate(sheets)},
    }


def _id(number: int, sheet: Sheet) -> str:
    return sheet["id"] or f"row-{number + 3}"


def _expected(number: int, sheet: Sheet, ids: dict[tuple[str, str], str]) -> dict[str, Any]:
    active = sheet["lifecycle:active"]
    fields = {"Alias": sheet["alias"], "Lifecycle: Active": active.isoformat() if isinstance(active, date) else ""}
    return {
        "fact_sheet_id": sheet["id"],
        "type": sheet["type"],
        "name": sheet["name"],
        "display_name": sheet["displayName"],
        "parent": sheet["displayName"].rpartition(HIERARCHY)[0],
        "description": sheet["description"],
        "level": int(sheet["level"]),
        "status": sheet["status"],
        "quality": sheet["lxState"],
        "row": number + 3,
        "relations": [
            {
                "kind": kind,
                "name": name,
                "target_id": ids.get((_other_type(kind, sheet["type"]), name), ""),
                "attributes": {key: values[place] for key, values in attributes.items()},
            }
            for kind in RELATIONS
            for own, names, attributes in sheet["relations"]
            if own == kind
            for place, name in enumerate(names)
        ],
        "fields": {label: value for label, value in fields.items() if value},
    }


def _other_type(kind: str, own: str) -> str:
    return own if kind.startswith("relTo") else ROLES.get(kind, kind.rpartition("To")[2])
