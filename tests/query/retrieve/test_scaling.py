"""Scores that may be compared across collections are scaled together; all other scores are scaled separately."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.reranker import Reranker, Scores, divide_by_maximum, min_max, scale_cosines, scale_keywords
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import Pool, open_collections
from elt_llm_query.retrieve.query_variant import QueryVariant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import generated

MakeGeneration = Callable[..., Any]
MakePools = Callable[..., list[Pool]]
COSINES = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6)
KEYWORDS = st.lists(st.floats(0, 30, width=32), min_size=1, max_size=6)
WEIGHTS = st.sampled_from([0.0, 0.3, 0.5, 1.0])
QUESTION = "yellow card secretary"
TEXTS = [
    {"a1": "a yellow card", "a2": "the secretary of the club", "a3": "annual leave"},
    {"b1": "a card index", "b2": "yellow paint", "b3": "yellow card of the secretary", "b4": "quay"},
    {"c1": "secretary"},
]
patient = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=generated(25))


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def make_pools(make_generation: MakeGeneration, executor: Executor) -> MakePools:
    """Make pools with the given numbers of candidates, by default all of one embedding model."""

    def make(sizes: Sequence[int], models: Sequence[FakeEmbedding] = (FakeEmbedding(64),)) -> list[Pool]:
        pools = []
        for place, size in enumerate(sizes):
            model = models[place % len(models)]
            generation = make_generation({f"p{place}n{number}": "card" for number in range(size)}, f"c{place}", model)
            [opened] = open_collections([generation], models, QuerySettings(), executor)
            candidates = tuple(SearchCandidate(node_id, opened.name) for node_id in generation.ids)
            pools.append(Pool(opened, candidates, model.embed_question(QUESTION), QueryVariant(QUESTION)))
        return pools

    return make


def arrays(lists: Sequence[Sequence[float]]) -> list[Scores]:
    return [np.array(one, dtype=np.float64) for one in lists]


@patient
@given(cosines=st.lists(COSINES, min_size=1, max_size=3))
def test_cosines_of_one_model_are_scaled_over_all_collections_together(
    make_pools: MakePools, cosines: list[list[float]]
) -> None:
    scaled = scale_cosines(make_pools([len(one) for one in cosines]), arrays(cosines))
    together = [score for one in scaled for score in one.tolist()]
    assert together == min_max([score for one in cosines for score in one]).tolist()


@patient
@given(one=COSINES, other=COSINES)
def test_cosines_of_different_embedding_models_are_scaled_separately(
    make_pools: MakePools, one: list[float], other: list[float]
) -> None:
    pools = make_pools([len(one), len(other)], [FakeEmbedding(64), FakeEmbedding(32, version="2")])
    scaled = scale_cosines(pools, arrays([one, other]))
    assert [part.tolist() for part in scaled] == [min_max(one).tolist(), min_max(other).tolist()]


def test_candidates_without_cosines_get_zero_scores_and_do_not_change_scores_of_other_collections(
    make_pools: MakePools,
) -> None:
    scaled = scale_cosines(make_pools([2, 3]), [np.array([0.2, 0.6]), None])
    assert [part.tolist() for part in scaled] == [[0.0, 1.0], [0.0, 0.0, 0.0]]


@patient
@given(scores=st.lists(KEYWORDS, min_size=1, max_size=3))
def test_scaling_keeps_the_ratios_of_keyword_scores_and_makes_the_greatest_score_1(
    make_pools: MakePools, scores: list[list[float]]
) -> None:
    pools = make_pools([len(one) for one in scores])
    scaled = scale_keywords(pools, arrays(scores))
    assert max(float(part.max()) for part in scaled) == (1.0 if any(map(any, scores)) else 0.0)
    for part, given_scores in zip(scaled, scores, strict=True):
        assert np.all((part >= 0) & (part <= 1))
        assert divide_by_maximum(part) == pytest.approx(divide_by_maximum(given_scores))


def test_a_question_word_that_a_collection_lacks_lowers_the_score_of_the_collections_best_chunk(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: Executor
) -> None:
    knows_all = make_generation({"a": "yellow card", "b": "quay", "c": "mast"}, "all")
    knows_one = make_generation({"d": "yellow paint", "e": "quay", "f": "mast"}, "one")
    opened = open_collections([knows_all, knows_one], [embedding], QuerySettings(), executor)
    pools = [
        Pool(
            one,
            tuple(SearchCandidate(node_id, one.name) for node_id in one.generation.every_id()),
            None,
            QueryVariant("yellow card"),
        )
        for one in opened
    ]
    scaled = scale_keywords(pools, [one.keyword.scores("yellow card").astype(float) for one in (knows_all, knows_one)])
    assert scaled[0].max() == 1.0
    assert 0 < scaled[1].max() < 0.6


@patient
@given(question=st.lists(st.sampled_from(["card", "yellow", "quay", "zebra", "the"]), min_size=1, max_size=5))
def test_no_keyword_score_exceeds_the_highest_attainable_score(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: Executor, question: list[str]
) -> None:
    generation = make_generation({"a": "yellow card card card", "b": "quay", "c": "yellow", "d": "card quay yellow"})
    query = " ".join(question)
    pool = Pool(
        open_collections([generation], [embedding], QuerySettings(), executor)[0], (), None, QueryVariant(query)
    )
    assert float(generation.keyword.scores(query).max()) <= pool.attainable + 1e-5


@patient
@given(weight=WEIGHTS, chance=st.randoms(use_true_random=False), strategy=st.sampled_from(["embedding", "none"]))
def test_the_order_of_collections_and_candidates_does_not_change_any_scaled_score(
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
    executor: Executor,
    weight: float,
    chance: Random,
    strategy: str,
) -> None:
    generations = [make_generation(texts, f"c{place}") for place, texts in enumerate(TEXTS)]
    opened = open_collections(generations, [embedding], QuerySettings(), executor)
    vector = embedding.embed_question(QUESTION)
    pools = [
        Pool(
            one,
            tuple(SearchCandidate(node_id, one.name) for node_id in one.generation.every_id()),
            vector,
            QueryVariant(QUESTION),
        )
        for one in opened
    ]
    reranker: Reranker = create_reranker(
        QuerySettings.model_validate({"rerank_weight": weight, "reranker_strategy": strategy})
    )
    shuffled = [
        Pool(
            pool.collection, tuple(chance.sample(pool.candidates, len(pool.candidates))), vector, QueryVariant(QUESTION)
        )
        for pool in chance.sample(pools, len(pools))
    ]
    assert reranker.rerank(QUESTION, shuffled) == reranker.rerank(QUESTION, pools)
