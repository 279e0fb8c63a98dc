"""The conditions of keys and groups: how they are written, and how the conditions of several groups are joined."""

from itertools import permutations

import pytest
from elt_llm_api.serve.access.principal import Forbidden, Grant, Principal
from elt_llm_core.errors import UsageError
from elt_llm_core.store.conditions import DocumentCondition, fields_of_folders, owner_folders
from elt_llm_query.retrieve.filters import document_conditions


def conditions(*where: str) -> tuple[DocumentCondition, ...]:
    return document_conditions(where)


def person(*grants: Grant) -> Principal:
    return Principal("ann", (), (), groups=grants, is_person=True)


@pytest.mark.parametrize(
    "where",
    ["tenant_id!=acme", "tenant_id not in a,b", "year=2024", "authors=Ann", "collection=x", "tenant_id", "tenant_id>a"],
)
def test_a_negated_or_malformed_condition_or_one_on_a_field_such_as_year_is_refused(where: str) -> None:
    with pytest.raises(UsageError) as refused:
        conditions(where)
    assert refused.value.hint


def test_two_conditions_on_the_same_field_are_refused() -> None:
    with pytest.raises(UsageError, match="two conditions"):
        conditions("tenant_id=a", "tenant_id=b")


def test_the_values_of_conditions_are_compared_exactly() -> None:
    [condition] = conditions("tenant_id in 7, acme")
    assert [condition.admits({"tenant_id": value}) for value in ("7", "acme", "007", "ACME", "acme ", "", None)] == [
        *(True, True, False, False, False, False, False)
    ]
    assert not condition.admits({})


def test_conditions_of_two_groups_on_the_same_field_are_joined_into_one_list_of_values() -> None:
    both = person(Grant(("shared",), (), conditions("tenant_id=a")), Grant(("s*",), (), conditions("tenant_id=b")))
    assert both.conditions_of("shared") == conditions("tenant_id in a,b")


def test_a_group_without_conditions_sees_the_whole_collection() -> None:
    both = person(Grant(("shared",), (), conditions("tenant_id=a")), Grant(("shared",)))
    assert both.sees_whole("shared")


def test_write_conditions_come_only_from_groups_that_may_write() -> None:
    both = person(Grant(("shared",)), Grant((), ("shared",), conditions("tenant_id=a")))
    assert both.conditions_of("shared") == ()
    assert both.write_conditions("shared") == conditions("tenant_id=a")
    with pytest.raises(Forbidden):
        both.require_whole("shared")


def test_a_person_in_a_strict_group_and_a_less_strict_group_has_the_access_of_the_latter() -> None:
    both = person(
        Grant(("shared",), (), conditions("tenant_id=a", "doc_type=x")),
        Grant(("shared",), (), conditions("tenant_id=a")),
    )
    assert both.conditions_of("shared") == conditions("tenant_id=a")


def test_groups_whose_conditions_cannot_be_joined_are_refused() -> None:
    both = person(
        Grant(("shared",), (), conditions("tenant_id=a", "doc_type=x")),
        Grant(("shared",), (), conditions("tenant_id=b", "doc_type=y")),
    )
    with pytest.raises(Forbidden, match="cannot be joined"):
        both.conditions_of("shared")
    with pytest.raises(Forbidden, match="cannot be joined"):
        both.require_whole("shared", to_write=False)
    assert not both.sees_whole("shared")
    assert not both.changes_whole("shared")
    assert both.readable(["other", "shared"]) == []
    more = person(*both.groups, Grant(("other",)))
    assert more.readable(["other", "shared"]) == ["other"]


def test_the_order_of_groups_does_not_matter_for_joining_them() -> None:
    parts = [
        Grant(("shared",), (), conditions(*where))
        for where in [
            *(("tenant_id=a", "doc_type=x"), ("tenant_id=b", "doc_type=y"), ("tenant_id=b", "doc_type=x")),
            *(("tenant_id=a", "doc_type=y"), ("tenant_id in a,b", "doc_type=x")),
        ]
    ]
    for groups in permutations(parts):
        assert person(*groups).conditions_of("shared") == conditions("doc_type in x,y", "tenant_id in a,b")


def test_persons_and_keys_with_the_same_name_are_different_owners() -> None:
    owners = {
        Principal("ann").owner,
        person(Grant(("a",))).owner,
        person(Grant(("a",), (), conditions("doc_type=x"))).owner,
    }
    assert len(owners) == 3


@pytest.mark.parametrize("name", ["ann {}", "ann~x", "\u00e4nn", "user:ann"])
def test_the_name_of_a_person_cannot_imitate_another_owner(name: str) -> None:
    ann = person(Grant(("a",), (), conditions("doc_type=x")))
    [_, digest] = ann.owner.split(" ")
    plain = Principal(name.format(digest), (), (), groups=(Grant(("a",)),), is_person=True).owner
    assert plain != ann.owner
    assert plain.isascii()
    assert not {" ", "~"} & set(plain)
    # The owner of a key named `user` with conditions cannot be a person either.
    assert not ann.owner.startswith("user ")


def test_a_person_who_loses_a_group_becomes_a_different_owner() -> None:
    own, whole, other = Grant(("shared",), (), conditions("tenant_id=a")), Grant(("shared",)), Grant(("other",))
    assert len({person(*groups).owner for groups in [(own, whole), (own,), (whole,), (own, other)]}) == 4
    assert person(whole, other).owner == person(whole).owner  # the list of readable collections already decides this


@pytest.mark.parametrize("value", ["acme", "a/b", "..", "Ä & co", "a=b", "%2e", "7"])
def test_the_folder_names_of_an_upload_can_store_any_tenant_id_and_doc_type(value: str) -> None:
    folders = owner_folders({"doc_type": value, "tenant_id": value})
    assert all("/" not in folder for folder in folders)
    assert fields_of_folders(folders) == {"tenant_id": value, "doc_type": value}
