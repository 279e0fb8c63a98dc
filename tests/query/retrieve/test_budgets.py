"""Shares of what several collections may bring together."""

import pytest
from elt_llm_core.settings import QuerySettings
from elt_llm_query.retrieve.budgets import FEWEST, equal_shares, leg_budgets
from hypothesis import given
from hypothesis import strategies as st

WANTED = st.lists(st.integers(0, 200), max_size=60)


@pytest.mark.parametrize(
    ("total", "wanted", "expected"),
    [
        (20, [50, 50], [10, 10]),
        (20, [50, 50, 50], [7, 7, 6]),
        (20, [3, 50, 50], [3, 9, 8]),
        (20, [0, 50], [0, 20]),
        (20, [4, 4], [4, 4]),
        (2, [9, 9, 9, 9], [1, 1, 1, 1]),
        (20, [], []),
    ],
)
def test_shares_are_equal_and_what_one_does_not_need_the_others_get(
    total: int, wanted: list[int], expected: list[int]
) -> None:
    assert equal_shares(total, wanted) == expected


def test_a_share_is_neither_below_the_floor_nor_above_the_cap() -> None:
    assert equal_shares(20, [50, 50, 50], least=10) == [10, 10, 10]
    assert equal_shares(100, [50, 50], most=20) == [20, 20]
    assert equal_shares(100, [2, 50], least=5, most=20) == [2, 20]


@given(total=st.integers(0, 500), wanted=WANTED, least=st.integers(1, 20), most=st.integers(1, 100))
def test_no_share_is_wasted_and_none_is_more_than_is_wanted(
    total: int, wanted: list[int], least: int, most: int
) -> None:
    shares = equal_shares(total, wanted, least, most)
    limits = [min(count, max(least, most)) for count in wanted]
    assert all(min(limit, least) <= share <= limit for share, limit in zip(shares, limits, strict=True))
    floors = sum(min(limit, least) for limit in limits)
    assert sum(shares) == min(sum(limits), max(total, floors))
    open_ended = [share for share, limit in zip(shares, limits, strict=True) if least < share < limit]
    assert max(open_ended, default=0) - min(open_ended, default=0) <= 1


def test_a_collection_alone_has_no_budget() -> None:
    assert leg_budgets([7], QuerySettings(leg_top_k=500, all_legs_top_k=1)) == [500]


def test_few_collections_bring_what_they_would_alone_and_many_less_but_never_too_little() -> None:
    query = QuerySettings(leg_top_k=50, all_legs_top_k=400)
    assert leg_budgets([1000] * 8, query) == [50] * 8
    assert leg_budgets([1000] * 20, query) == [20] * 20
    assert leg_budgets([1000] * 200, query) == [FEWEST] * 200
    assert leg_budgets([5, 0, *[1000] * 18], query)[:3] == [5, 0, 22]
