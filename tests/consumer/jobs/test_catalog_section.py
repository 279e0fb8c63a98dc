"""The job file can change, add and remove catalog fields."""

import pytest
from elt_llm_consumer.jobs.sections import DEFAULT_FIELDS, CatalogField, CatalogSection
from pydantic import ValidationError


def test_the_shipped_catalog_fields_are_complete_and_in_order() -> None:
    fields = CatalogSection().all_fields()
    assert tuple(fields) == tuple(DEFAULT_FIELDS)
    for name, field in fields.items():
        assert field.kind != "text" or (field.prompt and "{entity}" in field.question), name


def test_a_configured_field_with_the_name_of_a_shipped_field_overrides_only_the_given_keys() -> None:
    shipped = CatalogSection().all_fields()["retention"]
    changed = CatalogSection.model_validate({"fields": {"retention": {"at_most": 9}}}).all_fields()["retention"]
    assert changed == shipped.model_copy(update={"at_most": 9})


def test_a_job_file_can_add_and_remove_fields() -> None:
    given = {"retention": None, "cost": {"kind": "inventory", "column": "Cost"}}
    fields = CatalogSection.model_validate({"fields": given}).all_fields()
    assert "retention" not in fields
    assert list(fields)[-1] == "cost"
    assert fields["cost"] == CatalogField(kind="inventory", column="Cost")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"colour": None}, "field 'colour' cannot be removed"),
        ({"colour": {"kind": "inventory"}}, "needs a column"),
        ({"colour": {"kinds": "text"}}, "Extra inputs"),
    ],
)
def test_a_mistake_in_a_configured_catalog_field_is_reported(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CatalogSection.model_validate({"fields": fields})
