"""Fact sheets and lines are read in every form in which they are drawn."""

import pytest
from elt_llm_core.enterprise import EnterpriseModel, RelationshipEnd
from elt_llm_ingest.leanix.model import build_model
from file_formats.diagrams import cell, diagram, edge, fact_sheet, model, relation, shape

TWO = (fact_sheet("a", "Member", "m"), fact_sheet("b", "Membership", "s"))


def _ends(found: EnterpriseModel) -> list[tuple[str, str, str, str, str]]:
    return [
        (line.source.name, line.source.cardinality, line.name, line.target.cardinality, line.target.name)
        for line in found.relationships
    ]


@pytest.mark.parametrize(
    "label",
    [
        "Member Club",
        "<div><b>Member</b> Club</div>",
        "<b>Mem</b>ber<br>Club",
        "Member&nbsp;Club",
        "<p>Member\n Club</p>",
    ],
)
def test_formatting_is_removed_from_diagram_labels(label: str) -> None:
    [entity] = model(fact_sheet("a", label, "m")).entities
    assert entity.name == "Member Club"


def test_characters_of_a_diagram_label_that_are_not_formatting_are_kept() -> None:
    [entity] = model(fact_sheet("a", "Fees < 5 & <all> > 3", "m")).entities
    assert entity.name == "Fees < 5 & <all> > 3"


def test_the_domain_and_subgroup_of_an_entity_are_its_outermost_containers_with_a_label() -> None:
    [entity] = model(
        shape("1a", "Domain"),
        shape("1b", "", "1a", style="group"),
        shape("1c", "Subgroup", "1b", style="group"),
        shape("1d", "Deeper", "1c"),
        shape("1e", "", "1d", style="group"),
        fact_sheet("a", "Member", "m", "1e"),
    ).entities
    assert (entity.domain, entity.subgroup, entity.container) == ("Domain", "Subgroup", False)


def test_a_fact_sheet_that_contains_fact_sheets_is_both_an_entity_and_the_domain_of_the_contained_fact_sheets() -> None:
    outer, inner = model(fact_sheet("a", "Members", "m"), fact_sheet("b", "Club", "c", "a")).entities
    assert (outer.name, outer.domain, outer.container) == ("Members", "", True)
    assert (inner.name, inner.domain, inner.container) == ("Club", "Members", False)


def test_a_diagram_layer_is_not_read_as_the_domain_of_its_shapes() -> None:
    [entity] = model(cell("layer", "0", value="Background"), fact_sheet("a", "Member", "m", "layer")).entities
    assert entity.domain == ""


def test_a_line_without_leanix_data_is_read_as_a_relationship() -> None:
    found = model(*TWO, edge("e", "a", "b", value="holds", style="startArrow=ERmandOne;endArrow=ERzeroToMany"))
    assert _ends(found) == [("Member", "1", "holds", "0..*", "Membership")]
    assert found.relationships[0].id == "e"


def test_the_name_and_cardinalities_of_a_relationship_are_read_from_labels_along_the_line() -> None:
    labels = (
        cell("l1", "e", x="-0.8", value="<b>1</b>", vertex="1"),
        cell("l2", "e", x="0.1", value="holds", vertex="1"),
        cell("l3", "e", x="0.7", value="0..n", vertex="1"),
    )
    found = model(*TWO, edge("e", "a", "b", style="startArrow=ERmany;endArrow=none"), *labels)
    assert _ends(found) == [("Member", "1", "holds", "0..*", "Membership")]


def test_a_cardinality_label_at_neither_end_of_a_line_is_reported_and_not_assigned() -> None:
    found = model(*TWO, edge("e", "a", "b", value="holds"), cell("l", "e", x="0", value="n", vertex="1"))
    assert _ends(found) == [("Member", "", "holds", "", "Membership")]
    assert found.notes == ("cardinalities at neither end of their line: 1 (n on e)",)


def test_the_ends_of_a_relation_are_found_by_fact_sheet_id() -> None:
    data = {"relationId": "r", "sourceFactSheetId": "m", "targetFactSheetId": "s", "label": "holds"}
    found = model(*TWO, relation("e", data))
    assert _ends(found) == [("Member", "", "holds", "", "Membership")]
    assert found.relationships[0].id == "r"


@pytest.mark.parametrize("named", [("m", "s"), ("s", "m")])
def test_the_cells_at_the_ends_of_a_line_decide_which_entity_is_the_source(named: tuple[str, str]) -> None:
    data = {"relationId": "r", "sourceFactSheetId": named[0], "targetFactSheetId": named[1], "label": "holds"}
    found = model(*TWO, relation("e", data, source="a", target="b"))
    assert _ends(found) == [("Member", "", "holds", "", "Membership")]
    assert found.notes == ()


def test_a_line_to_a_group_ends_at_the_only_fact_sheet_of_the_group() -> None:
    found = model(
        TWO[0],
        shape("g", "", style="group"),
        fact_sheet("b", "Membership", "s", "g"),
        edge("e", "a", "g", value="holds"),
    )
    assert _ends(found) == [("Member", "", "holds", "", "Membership")]


def test_a_line_to_a_part_of_a_fact_sheet_ends_at_the_fact_sheet() -> None:
    found = model(*TWO, shape("part", "number", "b"), edge("e", "a", "part", value="holds"))
    assert _ends(found) == [("Member", "", "holds", "", "Membership")]


def test_a_fact_sheet_drawn_as_a_line_is_an_entity_related_to_both_ends() -> None:
    data = (
        '<object type="factSheet" factSheetType="Interface" factSheetId="i" label="&lt;b&gt;INT006&lt;/b&gt;" id="e">'
    )
    found = model(*TWO, f'{data}<mxCell edge="1" parent="1" source="a" target="b"/></object>')
    assert [entity.name for entity in found.entities] == ["Member", "Membership", "INT006"]
    assert [line.id for line in found.relationships] == ["i/target", "i/source"]
    assert _ends(found) == [("INT006", "", "", "", "Membership"), ("Member", "", "", "", "INT006")]


def test_a_fact_sheet_on_two_diagrams_is_one_entity() -> None:
    first = diagram(fact_sheet("a", "Member", "m"))
    second = diagram(shape("d", "Domain"), fact_sheet("b", "Member", "m", "d"), number=2, name="Two")
    found = build_model([first, second])
    assert [(entity.id, entity.page, entity.domain) for entity in found.entities] == [("m", 1, "Domain")]
    assert found.diagrams == ("One", "Two")
    assert found.notes == ()


def test_a_relation_on_two_diagrams_is_one_merged_relationship() -> None:
    data = {"relationId": "r", "label": ""}
    first = diagram(*TWO, relation("e", data, source="a", target="b", style="startArrow=ERone"))
    second = diagram(*TWO, relation("f", {**data, "label": "holds"}, source="a", target="b"), number=2)
    [line] = build_model([first, second]).relationships
    assert (line.name, line.page) == ("holds", 1)
    assert line.source == RelationshipEnd(entity_id="m", name="Member", cardinality="1")


def test_remarks_in_a_diagram_are_read_as_text_and_lines_to_remarks_are_not_relationships() -> None:
    found = model(*TWO, shape("t", "Draft, not approved"), shape("n", "1..n"), edge("e", "t", "a"))
    assert found.texts == ("Draft, not approved",)
    assert found.relationships == found.incomplete == ()
