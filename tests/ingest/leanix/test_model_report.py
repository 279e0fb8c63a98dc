"""The report on an enterprise model has counts and gaps, with or without an inventory to compare it with."""

import json
from dataclasses import asdict

from elt_llm_core.enterprise import EnterpriseModel, Entity, FactSheet, Inventory, Relationship, RelationshipEnd
from elt_llm_ingest.leanix.model_check import IdMismatch, UnmatchedFactSheet, check_model, check_model_artefacts


def _entity(identifier: str, name: str, domain: str = "", fact_sheet_id: str | None = None) -> Entity:
    own = identifier if fact_sheet_id is None else fact_sheet_id
    return Entity(id=identifier, name=name, type="DataObject", fact_sheet_id=own, domain=domain)


def _sheet(identifier: str, name: str, kind: str = "DataObject") -> FactSheet:
    return FactSheet(id=identifier, fact_sheet_id=identifier, type=kind, name=name, display_name=name)


MODEL = EnterpriseModel(
    entities=(
        _entity("m", "Member", "People"),
        _entity("c", "Club", "People"),
        _entity("x", "Remade"),
        _entity("7", "Nameless", fact_sheet_id=""),
        _entity("c~2", "Society", fact_sheet_id="c"),
        _entity("y", "Drawn only"),
    ),
    relationships=(Relationship(id="r", source=RelationshipEnd(entity_id="m"), target=RelationshipEnd(entity_id="c")),),
    incomplete=(Relationship(id="s", source=RelationshipEnd(entity_id="m", name="Member"), target=RelationshipEnd()),),
)
INVENTORY = Inventory(
    fact_sheets=(
        _sheet("m", "Member"),
        _sheet("c", "Club"),
        _sheet("x2", "remade"),
        _sheet("z", "Exported only"),
        _sheet("p", "Portal", "Application"),
    )
)


def test_the_report_on_a_model_without_an_inventory_has_counts_and_gaps() -> None:
    report = check_model(MODEL)
    assert report.domains == {"(no domain)": 4, "People": 2}
    assert report.types == {"DataObject": 6}
    assert report.without_id == ("Nameless",)
    assert report.doubled_ids == ("c",)
    assert report.incomplete == ("Member - ?",)
    assert report.absent_from_inventory == report.absent_from_model == ()
    assert report.under_other_ids == ()
    assert not report.inventory_checked


def test_model_and_inventory_are_compared_by_id_and_then_by_name() -> None:
    report = check_model(MODEL, INVENTORY)
    assert report.under_other_ids == (IdMismatch("Remade", "x", "x2"),)
    assert report.absent_from_inventory == (UnmatchedFactSheet("Drawn only", "y"),)
    # Types that are never drawn are not reported as missing.
    assert report.absent_from_model == (UnmatchedFactSheet("Exported only", "z"),)
    assert report.inventory_checked


def test_the_model_report_is_available_as_lines_and_as_json() -> None:
    report = check_model(MODEL, INVENTORY)
    assert report.lines() == [
        "6 entities and 1 relationships.",
        "Entities by domain: (no domain) 4, People 2.",
        "Entities by type: DataObject 6.",
        "Without an id: 1 (Nameless).",
        "Ids of several entities: 1 (c).",
        "Relationships with an open end: 1 (Member - ?).",
        "In the model, not in the inventory: 1 (Drawn only).",
        "In the inventory, not in the model: 1 (Exported only).",
        "In both, under different ids: 1 (Remade).",
    ]
    assert json.loads(json.dumps(asdict(report)))["under_other_ids"][0]["inventory_id"] == "x2"


def test_an_empty_model_has_an_empty_report() -> None:
    assert check_model(EnterpriseModel()).lines()[1] == "Entities by domain: none."


def test_all_model_artefacts_of_a_collection_are_checked_together() -> None:
    other = EnterpriseModel(entities=(_entity("m", "Member"), _entity("7", "Nameless", fact_sheet_id="")))
    report = check_model_artefacts([MODEL.to_json(), other.to_json()], [INVENTORY.to_json(), INVENTORY.to_json()])
    assert report.entities == 7  # the member once, two without an id
    assert report.doubled_ids == ("c",)
    assert report.absent_from_model == check_model(MODEL, INVENTORY).absent_from_model
    assert not check_model_artefacts([MODEL.to_json()]).inventory_checked
