"""Enterprise models and inventories are stored as JSON in an order that does not depend on their input."""

import json
from typing import get_args

import pytest
from elt_llm_core.enterprise import (
    Cardinality,
    EnterpriseModel,
    Entity,
    FactSheet,
    FactSheetRelation,
    Inventory,
    Relationship,
    RelationshipEnd,
    fact_sheet_order,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

words = st.text(max_size=8)
ids = st.text(min_size=1, max_size=6)
ends = st.builds(RelationshipEnd, entity_id=words, name=words, cardinality=st.sampled_from(get_args(Cardinality)))
entities = st.builds(Entity, id=ids, name=words, type=words, domain=words, subgroup=words, container=st.booleans())
relationships = st.builds(Relationship, id=ids, source=ends, target=ends, name=words)
sheets = st.builds(
    FactSheet,
    id=ids,
    type=words,
    display_name=words,
    level=st.none() | st.integers(0, 9),
    relations=st.lists(st.builds(FactSheetRelation, kind=words, name=words), max_size=2).map(tuple),
    fields=st.dictionaries(words, words, max_size=2),
)


@given(st.lists(entities, max_size=5), st.lists(relationships, max_size=5))
def test_an_enterprise_model_is_read_back_from_json_unchanged(drawn: list[Entity], lines: list[Relationship]) -> None:
    model = EnterpriseModel(entities=tuple(drawn), relationships=tuple(lines), notes=("one",)).in_order()
    assert EnterpriseModel.from_json(json.loads(json.dumps(model.to_json()))) == model


@given(st.lists(entities, max_size=5, unique_by=lambda entity: entity.id))
def test_the_order_of_sorted_entities_does_not_depend_on_the_input_order(drawn: list[Entity]) -> None:
    backwards = EnterpriseModel(entities=tuple(reversed(drawn))).in_order()
    assert EnterpriseModel(entities=tuple(drawn)).in_order() == backwards


@given(st.lists(sheets, max_size=5, unique_by=lambda sheet: sheet.id))
def test_an_inventory_is_read_back_from_json_with_its_keys_in_any_order(drawn: list[FactSheet]) -> None:
    inventory = Inventory(fact_sheets=tuple(sorted(drawn, key=fact_sheet_order)), notes=("one",))
    written = json.loads(json.dumps(inventory.to_json(), sort_keys=True))
    assert Inventory.from_json(written) == inventory
    assert set(written["fact_sheets"]) == {sheet.id for sheet in drawn}
    assert sum(map(len, inventory.by_type.values())) == len(drawn)


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("1", "*", "Member holds Membership (one to many)."),
        ("0..1", "1..*", "Member holds Membership (zero or one to one or many)."),
        ("", "0..*", "Member holds Membership (zero or many at Membership)."),
        ("", "", "Member holds Membership."),
    ],
)
def test_a_relationship_is_written_as_a_sentence_with_its_cardinality(
    source: Cardinality, target: Cardinality, sentence: str
) -> None:
    one, other = (
        RelationshipEnd(name="Member", cardinality=source),
        RelationshipEnd(name="Membership", cardinality=target),
    )
    assert Relationship(id="r", source=one, target=other, name="holds").sentence == sentence


def test_a_relationship_without_a_name_is_written_as_a_sentence() -> None:
    relationship = Relationship(id="r", source=RelationshipEnd(name="A"), target=RelationshipEnd(name="B"))
    assert relationship.sentence == "A is related to B."


def test_json_without_the_structure_of_an_enterprise_model_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra"):
        EnterpriseModel.from_json({"entities": [], "tables": []})
