"""Fields are data: they are changed, added and left out in the job file."""

import pytest
from elt_llm_consumer.sections.catalog import CatalogField, CatalogSection
from elt_llm_consumer.sections.catalog_fields import SHIPPED_FIELDS
from pydantic import ValidationError


def test_shipped_fields_are_whole_and_in_their_order() -> None:
    fields = CatalogSection().all_fields()
    assert tuple(fields) == tuple(SHIPPED_FIELDS)
    for name, field in fields.items():
        assert field.kind != "text" or (field.prompt and "{entity}" in field.question), name


def test_a_field_of_the_same_name_changes_what_it_says_and_keeps_the_rest() -> None:
    shipped = CatalogSection().all_fields()["retention"]
    changed = CatalogSection.model_validate({"fields": {"retention": {"at_most": 9}}}).all_fields()["retention"]
    assert changed == shipped.model_copy(update={"at_most": 9})


def test_fields_are_added_at_the_end_and_left_out() -> None:
    given = {"retention": None, "cost": {"kind": "inventory", "column": "Cost"}}
    fields = CatalogSection.model_validate({"fields": given}).all_fields()
    assert "retention" not in fields
    assert list(fields)[-1] == "cost"
    assert fields["cost"] == CatalogField(kind="inventory", column="Cost")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"colour": None}, "no shipped field 'colour'"),
        ({"colour": {"kind": "inventory"}}, "names no column"),
        ({"colour": {"kinds": "text"}}, "Extra inputs"),
    ],
)
def test_a_mistake_in_a_field_is_told(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CatalogSection.model_validate({"fields": fields})
