from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_query.retrieve.pipeline import PassageFinder
from elt_llm_query.retrieve.wording import LegChoice
from elt_llm_query.strategies import create_strategy
from elt_llm_query.strategies.one_search import OneSearch

MakeGeneration = Callable[..., Any]
TEXTS = {"n1": "The referee shows a yellow card.", "n2": "Annual leave is approved by the line manager."}
QUESTION = "Who approves annual leave?"


@pytest.mark.parametrize(
    ("name", "dense", "keyword"), [("dense", True, False), ("sparse", False, True), ("hybrid", True, True)]
)
def test_a_strategy_of_one_search_names_its_legs(name: StrategyName, dense: bool, keyword: bool) -> None:
    strategy = create_strategy(name, QuerySettings())
    assert isinstance(strategy, OneSearch)
    assert strategy.legs == LegChoice(dense, keyword)


def test_without_hybrid_search_vectors_are_asked_alone() -> None:
    strategy = create_strategy("hybrid", QuerySettings(use_hybrid_search=False))
    assert isinstance(strategy, OneSearch)
    assert strategy.legs == LegChoice(dense=True, keyword=False)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_goes_by_its_name(name: StrategyName) -> None:
    assert create_strategy(name, QuerySettings()).name == name


def test_the_strategy_of_one_question_may_differ_from_the_configured_one(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    with PassageFinder([make_generation(TEXTS)], [embedding], Settings()) as finder:
        both, sparse = finder.find(QUESTION), finder.find(QUESTION, strategy="sparse")
    legs = {stage.name: stage.details for stage in sparse.stages}["retrieve"]["collections"]["handbook"]
    assert (len(both.chunks), [chunk.node_id for chunk in sparse.chunks]) == (2, ["n2"])
    assert (legs["dense"], [node_id for node_id, _ in legs["keyword"]]) == ([], ["n2"])


def test_a_strategy_that_there_is_not_is_refused(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    unknown: Any = "telepathy"
    with (
        PassageFinder([make_generation(TEXTS)], [embedding], Settings()) as finder,
        pytest.raises(UsageError, match="telepathy"),
    ):
        finder.find(QUESTION, strategy=unknown)
