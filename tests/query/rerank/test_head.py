"""Which candidates are compared with the question word by word, and what the others are credited with."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings import QuerySettings
from elt_llm_query.rerank.blend import Scores
from elt_llm_query.rerank.head import HEAD, head_places, matches
from elt_llm_query.rerank.matching import QuestionMatcher
from elt_llm_query.rerank.term_weights import term_weights
from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import Pool, open_collections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MakeGeneration = Callable[..., Any]
WORDS = ["card", "leave", "quay", "mast", "keel"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=12)
QUESTIONS = st.lists(st.sampled_from([*WORDS, "zebra"]), min_size=1, max_size=4, unique=True).map(" ".join)
# Few different scores, so that ties at the end of the head are common.
POOLS = st.lists(st.lists(st.integers(0, 4).map(lambda quarters: quarters / 4), max_size=40), min_size=1, max_size=4)


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def arrays(pools: Sequence[Sequence[float]]) -> list[Scores]:
    return [np.array(pool, dtype=np.float64) for pool in pools]


@given(POOLS)
def test_the_head_is_everything_as_good_as_the_last_of_the_best(pools: list[list[float]]) -> None:
    least = min(sorted((score for pool in pools for score in pool), reverse=True)[:HEAD], default=0.0)
    expected = [[place for place, score in enumerate(pool) if score >= least] for pool in pools]
    assert head_places(arrays(pools)) == expected


@given(POOLS, st.randoms(use_true_random=False))
def test_the_order_of_the_collections_changes_no_head(pools: list[list[float]], chance: Random) -> None:
    order = chance.sample(range(len(pools)), len(pools))
    there = head_places(arrays(pools))
    assert head_places(arrays([pools[place] for place in order])) == [there[place] for place in order]


def test_one_collection_cannot_crowd_out_what_is_as_good_in_another() -> None:
    assert head_places(arrays([[0.5] * 50, [0.5], [0.4]])) == [[*range(50)], [0], []]


def test_there_is_no_head_where_there_is_no_candidate() -> None:
    assert head_places([]) == []
    assert head_places(arrays([[], []])) == [[], []]


def pool_of(generation: Any, embedding: FakeEmbedding, executor: Executor, question: str) -> Pool:
    [opened] = open_collections([generation], [embedding], QuerySettings(), executor)
    return Pool(opened, tuple(Candidate(node, "handbook") for node in generation.ids), None, question)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS, question=QUESTIONS, chosen=st.sets(st.integers(0, 11)))
def test_measured_is_what_the_matcher_says_and_the_rest_is_never_credited_with_more(
    make_generation: MakeGeneration,
    embedding: FakeEmbedding,
    executor: Executor,
    texts: list[str],
    question: str,
    chosen: set[int],
) -> None:
    generation = make_generation({f"n{place:02}": text for place, text in enumerate(texts)})
    stems = generation.keyword.tokeniser.stems(question)
    matcher = QuestionMatcher(stems, term_weights(stems, generation))
    measured = [matcher.match(passage) for passage in generation.stems(generation.ids)]
    places = sorted(place for place in chosen if place < len(texts))
    scores = generation.keyword.scores(question).astype(np.float64)
    coverage, order = matches(pool_of(generation, embedding, executor, question), scores, places)
    for place, match in enumerate(measured):
        if place in places:
            assert (coverage[place], order[place]) == (match.coverage, match.order)
        else:
            assert 0 <= coverage[place] <= match.coverage + 1e-6
            assert order[place] == 0


def test_text_is_read_for_the_head_alone(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: Executor
) -> None:
    generation = make_generation({f"n{number}": f"card {number}" for number in range(9)})
    pool = pool_of(generation, embedding, executor, "card")
    asked: list[str] = []

    class Watched(type(generation)):  # type: ignore[misc]
        """Records whose words were asked for."""

        def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
            asked.extend(node_ids)
            return [["card"] for _ in node_ids]

    generation.__class__ = Watched
    matches(pool, np.ones(9), [2, 5])
    assert asked == ["n2", "n5"]
    matches(pool, np.ones(9), [])
    assert asked == ["n2", "n5"]
