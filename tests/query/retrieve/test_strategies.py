import pytest
from elt_llm_core.settings import QuerySettings
from elt_llm_query.retrieve.strategies import MULTI_QUERY_NOTE, choose_legs


@pytest.mark.parametrize(
    ("strategy", "dense", "keyword"),
    [("dense", True, False), ("sparse", False, True), ("hybrid", True, True), ("multi_query", True, True)],
)
def test_a_strategy_names_its_legs(strategy: str, dense: bool, keyword: bool) -> None:
    legs = choose_legs(QuerySettings.model_validate({"strategy": strategy}))
    assert (legs.dense, legs.keyword) == (dense, keyword)


def test_without_hybrid_search_vectors_are_asked_alone() -> None:
    legs = choose_legs(QuerySettings(use_hybrid_search=False))
    assert (legs.dense, legs.keyword) == (True, False)


def test_what_a_strategy_cannot_do_is_told() -> None:
    assert choose_legs(QuerySettings(strategy="multi_query")).notes == (MULTI_QUERY_NOTE,)
    assert choose_legs(QuerySettings(strategy="hybrid")).notes == ()
