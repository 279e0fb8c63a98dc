"""An inventory export is read row by row, and its problems are reported."""

from datetime import date, datetime

import pytest
from elt_llm_core.enterprise import FactSheet
from elt_llm_ingest.leanix.inventory import build_inventory, cell_text, is_inventory
from elt_llm_ingest.parsing.workbook import CellValue, Sheet
from hypothesis import given
from hypothesis import strategies as st

Row = tuple[CellValue, ...]
KEYS: Row = ("id", "type", "name", "displayName", "level")
LABELS: Row = ("ID", "Type", "Name", "Display Name", "Level")


def _sheet(*rows: Row, keys: Row = KEYS, labels: Row = LABELS) -> Sheet:
    return Sheet("Export 2026-09-14 08_30", (keys, labels, *rows))


def _one(*cells: CellValue, keys: Row) -> FactSheet:
    return build_inventory(_sheet(cells, keys=keys, labels=LABELS[:3] + keys[3:])).fact_sheets[0]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (KEYS, True),
        (("name", "type", "id", "qualitySeal"), True),
        (("ID", "Type", "Name", "Display Name"), False),
        (("id", "name", "level"), False),
        (("id", "type", "name"), False),
        ((), False),
    ],
)
def test_an_inventory_export_is_recognised_by_its_column_keys(keys: Row, answer: bool) -> None:
    assert is_inventory([Sheet("Export", (keys,)), Sheet("ReadMe", (("Words",),))]) is answer


def test_a_workbook_without_sheets_or_rows_is_not_recognised_as_an_inventory_export() -> None:
    assert not is_inventory([])
    assert not is_inventory([Sheet("Export", ())])


def test_inventory_rows_start_below_the_column_labels_or_below_the_column_keys_if_the_labels_are_missing() -> None:
    row: Row = ("u1", "Application", "Portal", "Portal", 1.0)
    [with_labels] = build_inventory(_sheet(row)).fact_sheets
    [without] = build_inventory(Sheet("Export", (KEYS, row))).fact_sheets
    assert with_labels.model_copy(update={"row": 2}) == without
    assert (with_labels.id, with_labels.level, with_labels.row) == ("u1", 1, 3)


def test_the_hierarchy_of_fact_sheets_is_read_from_the_display_name() -> None:
    child = _one("u", "BusinessCapability", "Cups", "Sport / Leagues / Cups", 3.0, keys=KEYS)
    assert (child.name, child.parent, child.level) == ("Cups", "Sport / Leagues", 3)


@pytest.mark.parametrize(
    ("level", "read"), [(2.0, 2), ("2", 2), ("", None), ("deep", None), (1.5, None), ("nan", None)]
)
def test_a_hierarchy_level_is_read_as_a_whole_number_or_none(level: CellValue, read: int | None) -> None:
    assert _one("u", "Project", "P", "P", level, keys=KEYS).level == read


@pytest.mark.parametrize("key", ["lxState", "qualitySeal"])
def test_the_quality_seal_is_read_from_either_of_two_columns(key: str) -> None:
    assert _one("u", "Project", "P", "APPROVED", keys=("id", "type", "name", key)).quality == "APPROVED"


def test_relations_are_resolved_by_display_name_within_the_fact_sheet_type_of_their_column() -> None:
    keys = (*KEYS, "relApplicationToProject:displayName", "relToParent:displayName")
    inventory = build_inventory(
        _sheet(
            ("a", "Application", "One", "One", 1.0, "One; Two", ""),
            ("b", "Application", "Sub", "One / Sub", 2.0, "", "One"),
            ("p", "Project", "One", "One", 1.0, "", ""),
            ("q", "Project", "Two", "Two", 1.0, "", ""),
            keys=keys,
            labels=(*LABELS, "Projects", "Parent"),
        )
    )
    named = {sheet.id: [(each.kind, each.target_id) for each in sheet.relations] for sheet in inventory.fact_sheets}
    assert named["a"] == [("relApplicationToProject", "p"), ("relApplicationToProject", "q")]
    assert named["b"] == [("relToParent", "a")]
    assert inventory.notes == ()


def test_a_relation_whose_column_key_has_a_role_before_the_type_is_resolved() -> None:
    keys = (*KEYS, "relInterfaceToProviderApplication:displayName")
    rows: tuple[Row, ...] = (
        ("i", "Interface", "I", "I", 1.0, "Portal"),
        ("a", "Application", "Portal", "Portal", 1.0, ""),
    )
    interface = build_inventory(_sheet(*rows, keys=keys, labels=(*LABELS, "Provider"))).fact_sheets[1]
    assert interface.relations[0].target_id == "a"


def test_the_attributes_of_several_relations_in_one_cell_are_matched_by_position() -> None:
    columns = ("displayName", "description", "activeFrom", "numberOfUsers")
    keys = ("id", "type", "name", *(f"relProjectToApplication:{column}" for column in columns))
    sheet = _one("u", "Project", "P", "One;Two", ";second", date(2026, 1, 2), "5;7", keys=(*keys, "displayName"))
    assert [(each.name, each.attributes) for each in sheet.relations] == [
        ("One", {"numberOfUsers": "5"}),
        ("Two", {"description": "second", "numberOfUsers": "7"}),
    ]


def test_problems_of_inventory_rows_are_reported_and_every_row_is_kept() -> None:
    inventory = build_inventory(
        _sheet(
            ("", "Project", "New", "New", 1.0, ""),
            ("u", "Project", "One", "One", 1.0, "Gone"),
            ("u", "Project", "Two", "Two", 1.0, ""),
            ("v", "Project", "", "", 1.0, ""),
            ("w", "Project", "One", "One", 1.0, "One"),
            ("", "", "", "", "", ""),
            keys=(*KEYS, "relToSuccessor:displayName"),
            labels=(*LABELS, "Successors"),
        )
    )
    assert sorted(sheet.id for sheet in inventory.fact_sheets) == ["row-3", "u", "u~2", "v", "w"]
    assert inventory.notes == (
        "fact sheets without an id: 1 (New)",
        "ids in several rows: 1 (u (Two))",
        "fact sheets without a name: 1 (row 6)",
        "display names of several fact sheets of one type: 1 (One (Project))",
        "relations to a fact sheet that is not in the file: 1 (Gone (relToSuccessor))",
    )


def test_relations_to_fact_sheet_types_that_were_not_exported_are_distinguished_from_wrong_names() -> None:
    keys = (*KEYS, "relApplicationToITComponent:displayName")
    rows: tuple[Row, ...] = (("a", "Application", "Portal", "Portal", 1.0, "Portal"),)
    inventory = build_inventory(_sheet(*rows, keys=keys, labels=(*LABELS, "Components")))
    assert inventory.fact_sheets[0].relations[0].target_id == ""
    assert inventory.notes == ("relations to a type that is not in the file: 1 (Portal (relApplicationToITComponent))",)


def test_further_inventory_columns_are_kept_under_their_label_or_under_their_key_if_labels_repeat() -> None:
    keys = ("id", "type", "name", "displayName", "alias", "cost", "costNext")
    labels = ("ID", "Type", "Name", "Display Name", "Alias", "Cost", "Cost")
    sheet = build_inventory(_sheet(("u", "Project", "P", "P", "PP", 5.0, 7.5), keys=keys, labels=labels)).fact_sheets[0]
    assert sheet.fields == {"Alias": "PP", "cost": "5", "costNext": "7.5"}


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1.0, "1"),
        (1.25, "1.25"),
        (True, "true"),
        (" a ", "a"),
        (date(2026, 5, 4), "2026-05-04"),
        (datetime(2026, 5, 4), "2026-05-04"),  # noqa: DTZ001 - cells know no time zone
        (datetime(2026, 5, 4, 6, 30), "2026-05-04T06:30:00"),  # noqa: DTZ001
        (1e300, "1e+300"),
        (float("inf"), "inf"),
    ],
)
def test_an_inventory_cell_is_read_as_the_text_that_a_person_would_write(cell: CellValue, text: str) -> None:
    assert cell_text(cell) == text


cells = st.text(max_size=5) | st.floats() | st.booleans() | st.sampled_from(["u", "Project", "a;b", ";"])
keys_of_any_kind = st.lists(
    st.sampled_from([*KEYS, "relToParent:displayName", "relToParent:x", "rel:displayName", "relAToB:displayName", ""]),
    max_size=6,
)


@given(keys_of_any_kind, st.lists(st.lists(cells, min_size=9, max_size=9), max_size=4))
def test_any_table_with_the_column_keys_of_an_inventory_export_is_read(
    further: list[str], rows: list[list[CellValue]]
) -> None:
    keys = ("id", "type", "name", *further, *[""] * 6)[:9]
    inventory = build_inventory(Sheet("Export", (keys, *map(tuple, rows))))
    assert len({sheet.id for sheet in inventory.fact_sheets}) == len(inventory.fact_sheets)
