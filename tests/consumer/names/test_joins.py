"""Joins are one to one, use the most reliable method first, and do not depend on the order of the lists."""

import random
from itertools import product

import pytest
from elt_llm_consumer.names.joins import JoinPair, JoinResult, NamedItem, join_equal_names, join_names
from elt_llm_consumer.names.names import Names
from elt_llm_query.understanding.aliases import aliases_from
from hypothesis import given
from hypothesis import strategies as st

_NAMES = Names([], aliases_from({"Sin Bin": ["Temporary Dismissal"], "Referee": ["Match Official"]}))
_SIDES = st.lists(
    st.lists(st.sampled_from(["Data", "Owner", "Owners", "Ownr", "Match", "Fee", "of"]), min_size=1, max_size=3)
    .map(" ".join)
    .map(lambda name: (name, name.casefold())),
    max_size=8,
)


def _side(names: list[tuple[str, str]]) -> list[NamedItem]:
    return [NamedItem(f"{number}", name, (identity,)) for number, (name, identity) in enumerate(names)]


def _joined(left: list[str], right: list[str], least: float = 0.85) -> JoinResult:
    return join_names([NamedItem(it, it) for it in left], [NamedItem(it, it) for it in right], _NAMES, least)


def _pairs(joined: JoinResult) -> set[tuple[str, str, str]]:
    return {(one.left, one.right, one.by) for one in joined.joins}


def test_each_pair_of_names_is_joined_by_the_most_reliable_method() -> None:
    left = [
        NamedItem("l1", "Invoice", ("7",)),
        NamedItem("l2", "Bill"),
        NamedItem("l3", "Sin Bin"),
        NamedItem("l4", "Affilation Card"),
    ]
    right = [
        NamedItem("r1", "Bill", ("7",)),
        NamedItem("r2", "Bills"),
        NamedItem("r3", "Temporary Dismissals"),
        NamedItem("r4", "Affiliation Card"),
    ]
    joined = join_names(left, right, _NAMES)
    assert _pairs(joined) == {("l1", "r1", "id"), ("l2", "r2", "same"), ("l3", "r3", "alias"), ("l4", "r4", "fuzzy")}
    assert not joined.left_alone
    assert not joined.right_alone


def test_pairs_with_merely_similar_names_are_listed_as_near_but_not_joined() -> None:
    joined = _joined(["Welfare Officer", "Data Owner"], ["Club Welfare Officer", "Data Steward"])
    assert joined.joins == ()
    assert joined.left_alone == ("Data Owner", "Welfare Officer")
    assert joined.right_alone == ("Club Welfare Officer", "Data Steward")
    assert [(one.left, one.right) for one in joined.near] == [("Welfare Officer", "Club Welfare Officer")]


def test_the_minimum_similarity_of_two_joined_names_is_a_setting() -> None:
    assert _pairs(_joined(["Welfare Officer"], ["Club Welfare Officer"], 0.8)) == {
        ("Welfare Officer", "Club Welfare Officer", "fuzzy")
    }


def test_among_items_with_equal_names_an_item_of_the_same_type_is_preferred() -> None:
    left = [NamedItem("l", "Case", kind="process")]
    right = [NamedItem("a", "Case", kind="object"), NamedItem("b", "Case", kind="process")]
    assert _pairs(join_names(left, right, _NAMES)) == {("l", "b", "same")}


def test_a_column_of_alternative_names_joins_items_and_the_reason_is_given() -> None:
    joined = join_names(
        [NamedItem("l", "Vetting")], [NamedItem("r", "Background Check", (), ("DBS", "Vetting"))], _NAMES
    )
    assert joined.joins == (JoinPair("l", "r", "alias", 1.0, "'Vetting' is also called 'Background Check'."),)


def test_aliases_and_other_spellings_of_a_name_are_joined_among_similar_names_of_other_things() -> None:
    planted = [
        ("Sin Bin", "Temporary Dismissal"),
        ("Referee", "Match Officials"),
        ("Fit & Proper Declaration", "Fit and Proper Declaration"),
        ("Team Sheet", "Team-Sheets"),
        ("Interests Register", "Register of Interests"),
        ("Data Owner", "Data Owners"),
        ("Match", "The Match"),
    ]
    strangers = (["Match Fee", "Home Ground", "Data Record", "Player"], ["Match Day", "Ground Grade", "Data Steward"])
    left, right = [one for one, _ in planted] + strangers[0], [other for _, other in planted] + strangers[1]
    found = {(one, other) for one, other, _ in _pairs(_joined(left, right))}
    assert found == set(planted)


@given(_SIDES, _SIDES, st.randoms(use_true_random=False))
def test_joins_are_one_to_one_complete_and_independent_of_order(
    left: list[tuple[str, str]], right: list[tuple[str, str]], chance: random.Random
) -> None:
    one, other = _side(left), _side(right)
    joined = join_names(one, other, _NAMES)
    assert sorted([*(it.left for it in joined.joins), *joined.left_alone]) == sorted(it.key for it in one)
    assert sorted([*(it.right for it in joined.joins), *joined.right_alone]) == sorted(it.key for it in other)
    shuffled_one, shuffled_other = chance.sample(one, len(one)), chance.sample(other, len(other))
    assert join_names(shuffled_one, shuffled_other, _NAMES) == joined


@pytest.mark.parametrize(("left", "right"), [("Ownership Record", "Ownership Recrod"), ("List of Names", "Names List")])
def test_similar_pairs_of_names_are_found_without_comparing_all_pairs(left: str, right: str) -> None:
    many = [f"{first} {second}" for first, second in product("ABCDEFGHIJ", "KLMNOPQRST")]
    assert {(left, right, "fuzzy")} <= _pairs(_joined([left, *many], [right]))


def test_items_of_equal_names_share_the_joined_item_if_it_holds_for_the_name() -> None:
    left = [NamedItem(key, name) for key, name in (("1", "Meter Reading"), ("2", "Meter readings"), ("3", "Pump"))]
    one_to_one = join_names(left, [NamedItem("t", "Meter Reading"), NamedItem("u", "Tap")], _NAMES)
    joined = join_equal_names(one_to_one, left, _NAMES)
    assert _pairs(joined) == {("1", "t", "same"), ("2", "t", "same")}
    assert (joined.left_alone, joined.right_alone) == (("3",), ("u",))
