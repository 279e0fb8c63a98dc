"""Tests of the budgets of candidates when several collections are searched."""

import pytest
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_query.retrieve.pools import FEWEST_CANDIDATES, equal_shares, retriever_budgets
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
def test_collections_share_the_candidates_equally_and_unused_shares_go_to_other_collections(
    total: int, wanted: list[int], expected: list[int]
) -> None:
    assert equal_shares(total, wanted) == expected


def test_the_number_of_candidates_of_a_collection_is_within_the_minimum_and_the_maximum() -> None:
    assert equal_shares(20, [50, 50, 50], least=10) == [10, 10, 10]
    assert equal_shares(100, [50, 50], most=20) == [20, 20]
    assert equal_shares(100, [2, 50], least=5, most=20) == [2, 20]


@given(total=st.integers(0, 500), wanted=WANTED, least=st.integers(1, 20), most=st.integers(1, 100))
def test_the_candidate_shares_of_collections_use_the_whole_total_and_never_exceed_the_requested_numbers(
    total: int, wanted: list[int], least: int, most: int
) -> None:
    shares = equal_shares(total, wanted, least, most)
    limits = [min(count, max(least, most)) for count in wanted]
    assert all(min(limit, least) <= share <= limit for share, limit in zip(shares, limits, strict=True))
    floors = sum(min(limit, least) for limit in limits)
    assert sum(shares) == min(sum(limits), max(total, floors))
    open_ended = [share for share, limit in zip(shares, limits, strict=True) if least < share < limit]
    assert max(open_ended, default=0) - min(open_ended, default=0) <= 1


def test_a_single_collection_gets_the_full_number_of_candidates() -> None:
    assert retriever_budgets([7], QuerySettings(retriever_top_k=500, all_retrievers_top_k=1)) == [500]


def test_few_collections_get_the_full_number_of_candidates_and_many_share_the_total_down_to_a_minimum() -> None:
    query = QuerySettings(retriever_top_k=50, all_retrievers_top_k=400)
    assert retriever_budgets([1000] * 8, query) == [50] * 8
    assert retriever_budgets([1000] * 20, query) == [20] * 20
    assert retriever_budgets([1000] * 200, query) == [FEWEST_CANDIDATES] * 200
    assert retriever_budgets([5, 0, *[1000] * 18], query)[:3] == [5, 0, 22]
