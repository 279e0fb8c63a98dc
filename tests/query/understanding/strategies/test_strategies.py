from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_query.retrieve.query_variant import RetrieverChoice
from elt_llm_query.search import SearchPipeline
from elt_llm_query.understanding.strategies import create_strategy
from elt_llm_query.understanding.strategies.strategy import SingleSearchStrategy

MakeGeneration = Callable[..., Any]
TEXTS = {"n1": "The referee shows a yellow card.", "n2": "Annual leave is approved by the line manager."}
QUESTION = "Who approves annual leave?"


@pytest.mark.parametrize(
    ("name", "dense", "keyword"), [("dense", True, False), ("sparse", False, True), ("hybrid", True, True)]
)
def test_a_single_search_strategy_uses_its_retrievers(name: StrategyName, dense: bool, keyword: bool) -> None:
    strategy = create_strategy(name, QuerySettings())
    assert isinstance(strategy, SingleSearchStrategy)
    assert strategy.retrievers == RetrieverChoice(dense, keyword)


def test_if_hybrid_search_is_switched_off_strategies_use_only_the_dense_retriever() -> None:
    strategy = create_strategy("hybrid", QuerySettings(use_hybrid_search=False))
    assert isinstance(strategy, SingleSearchStrategy)
    assert strategy.retrievers == RetrieverChoice(dense=True, keyword=False)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_search_strategy_has_the_name_it_is_registered_under(name: StrategyName) -> None:
    assert create_strategy(name, QuerySettings()).name == name


def test_the_strategy_of_one_question_may_differ_from_the_configured_one(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    with SearchPipeline([make_generation(TEXTS)], [embedding], Settings()) as pipeline:
        both, sparse = pipeline.search(QUESTION), pipeline.search(QUESTION, strategy="sparse")
    hits = {stage.name: stage.details for stage in sparse.stages}["retrieve"]["collections"]["handbook"]
    assert (len(both.chunks), [chunk.node_id for chunk in sparse.chunks]) == (2, ["n2"])
    assert (hits["dense"], [node_id for node_id, _ in hits["keyword"]]) == ([], ["n2"])


def test_an_unknown_strategy_is_refused(make_generation: MakeGeneration, embedding: FakeEmbedding) -> None:
    unknown: Any = "telepathy"
    with (
        SearchPipeline([make_generation(TEXTS)], [embedding], Settings()) as pipeline,
        pytest.raises(UsageError, match="telepathy"),
    ):
        pipeline.search(QUESTION, strategy=unknown)
