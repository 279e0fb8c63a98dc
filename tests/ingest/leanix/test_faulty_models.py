"""Problems of a drawn enterprise model, such as missing ids, are reported, and everything else is read."""

import pytest
from elt_llm_ingest.leanix.model import build_model
from file_formats.diagrams import diagram, edge, fact_sheet, model, relation, shape

TWO = (fact_sheet("a", "Member", "m"), fact_sheet("b", "Membership", "s"))


def test_fact_sheets_without_an_id_or_a_name_are_still_read_as_entities() -> None:
    found = model(fact_sheet("a", "Member"), fact_sheet("b", "<br>", "s"))
    assert [(entity.id, entity.name) for entity in found.entities] == [("s", "(no name)"), ("a", "Member")]
    assert found.notes == ("fact sheets without an id: 1 (Member)", "fact sheets without a name: 1 (s)")


def test_diagram_cells_with_the_same_id_on_two_diagrams_are_two_entities() -> None:
    found = build_model([diagram(fact_sheet("a", "Member")), diagram(fact_sheet("a", "Club"), number=2)])
    assert [(entity.id, entity.name) for entity in found.entities] == [("a~2", "Club"), ("a", "Member")]


def test_a_fact_sheet_id_with_two_names_is_reported_and_gives_two_entities() -> None:
    found = model(fact_sheet("a", "Member", "m"), fact_sheet("b", "Club", "m"), fact_sheet("c", "club", "m"))
    assert [(entity.id, entity.name) for entity in found.entities] == [("m~2", "Club"), ("m", "Member")]
    assert found.notes == (
        "fact sheet ids with several names: 1 (m (Club))",
        "fact sheets drawn more than once in a diagram: 1 (Club)",
    )


def test_two_diagram_cells_with_the_same_id_are_both_read_and_reported() -> None:
    found = model(fact_sheet("a", "Member", "m"), fact_sheet("a", "Club", "c"))
    assert [entity.cell_id for entity in found.entities] == ["a~2", "a"]
    assert found.notes == ("diagram 1: cells that share an id with an earlier cell: 1 (a)",)


def test_a_diagram_cell_whose_parent_cell_is_missing_is_reported() -> None:
    found = model(fact_sheet("a", "Member", "m", "nowhere"))
    assert [entity.name for entity in found.entities] == ["Member"]
    assert found.notes == ("diagram 1: cells inside a cell that does not exist: 1 (a)",)


def test_a_cycle_of_parent_cells_in_a_diagram_is_reported_and_does_not_hang() -> None:
    found = model(shape("x", "X", "y"), shape("y", "Y", "x"), fact_sheet("a", "Member", "m", "x"))
    [entity] = found.entities
    assert (entity.domain, entity.subgroup) == ("Y", "X")
    assert found.notes == ("diagram 1: cells inside themselves, or nested too deeply: 3 (x, y, a)",)


def test_a_fact_sheet_that_is_its_own_parent_is_reported() -> None:
    found = model(fact_sheet("a", "Member", "m", "a"))
    assert [entity.name for entity in found.entities] == ["Member"]
    assert "cells inside themselves" in found.notes[0]


@pytest.mark.parametrize(
    "line",
    [
        edge("e", "a", value="holds"),
        edge("e", "a", "gone", value="holds"),
        relation("e", {"relationId": "r", "label": "holds", "targetFactSheetId": "gone"}, source="a"),
    ],
)
def test_a_line_with_an_open_end_is_reported_as_an_incomplete_relationship(line: str) -> None:
    found = model(*TWO, line)
    assert found.relationships == ()
    [torn] = found.incomplete
    assert (torn.source.name, torn.name, torn.target.entity_id) == ("Member", "holds", "")
    [note] = found.notes
    assert note.startswith("relations with an end without an entity: 1 (Member - ")


def test_a_relation_is_reported_if_its_data_names_other_fact_sheets_than_those_it_connects() -> None:
    third = fact_sheet("c", "Club", "c")
    data = {"relationId": "r", "sourceFactSheetId": "m", "targetFactSheetId": "c"}
    found = model(*TWO, third, relation("e", data, source="a", target="b"))
    assert [line.target.name for line in found.relationships] == ["Membership"]
    assert found.notes == ("relations drawn between other fact sheets than their data names: 1 (Member - Membership)",)


def test_two_relations_with_the_same_id_are_both_kept_and_reported() -> None:
    data = {"relationId": "r"}
    lines = (relation("e", data, source="a", target="b"), relation("f", data, source="b", target="a"))
    found = model(*TWO, *lines)
    assert [line.id for line in found.relationships] == ["r", "r~2"]
    assert found.notes == ("relation ids of several relations: 1 (r)",)


def test_many_problems_of_one_kind_are_counted_and_the_first_few_are_named() -> None:
    found = model(*(fact_sheet(str(number), f"Name {number} " + "x" * 80) for number in range(10, 30)))
    [note] = found.notes
    assert note.startswith("fact sheets without an id: 20 (Name 10 xxx")
    assert note.endswith("… and 15 more)")
    assert len(note) < 400


def test_thousands_of_duplicate_and_nested_cells_are_read_quickly() -> None:
    doubled = [fact_sheet("a", f"N{number}", "m") for number in range(3000)]
    nested = [fact_sheet(f"n{number}", "Deep", f"d{number}", f"n{number - 1}") for number in range(3000)]
    found = model(*doubled, *nested)
    assert len(found.entities) == 6000


def test_a_very_long_name_is_not_repeated_with_every_relation() -> None:
    lines = [edge(f"e{number}", "a", "b", value="x" * 5000) for number in range(20)]
    found = model(fact_sheet("a", "Member " * 1000, "m"), fact_sheet("b", "Club", "c"), *lines)
    [club, member] = found.entities
    assert (club.name, len(member.name), member.name[-1]) == ("Club", 1000, "…")
    assert len(str(found.to_json())) < 100_000
