"""The best candidates (the head) are matched with the question word by word; all others get lower bounds."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_query.rerank.reranker import HEAD_SIZE, QuestionMatcher, Scores, head_positions, match_scores
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import Pool, open_collections
from elt_llm_query.retrieve.query_variant import QueryVariant, term_weights
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
def test_the_candidates_selected_for_word_matching_include_all_ties_with_the_last_selected(
    pools: list[list[float]],
) -> None:
    least = min(sorted((score for pool in pools for score in pool), reverse=True)[:HEAD_SIZE], default=0.0)
    expected = [[place for place, score in enumerate(pool) if score >= least] for pool in pools]
    assert head_positions(arrays(pools)) == expected


@given(POOLS, st.randoms(use_true_random=False))
def test_the_order_of_the_collections_does_not_change_which_candidates_are_best(
    pools: list[list[float]], chance: Random
) -> None:
    order = chance.sample(range(len(pools)), len(pools))
    there = head_positions(arrays(pools))
    assert head_positions(arrays([pools[place] for place in order])) == [there[place] for place in order]


def test_equal_candidates_of_two_collections_are_all_among_the_best() -> None:
    assert head_positions(arrays([[0.5] * 50, [0.5], [0.4]])) == [[*range(50)], [0], []]


def test_an_empty_ranking_has_no_best_candidates() -> None:
    assert head_positions([]) == []
    assert head_positions(arrays([[], []])) == [[], []]


def pool_of(generation: Any, embedding: FakeEmbedding, executor: Executor, question: str) -> Pool:
    [opened] = open_collections([generation], [embedding], QuerySettings(), executor)
    return Pool(
        opened, tuple(SearchCandidate(node, "handbook") for node in generation.ids), None, QueryVariant(question)
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS, question=QUESTIONS, chosen=st.sets(st.integers(0, 11)))
def test_match_scores_of_candidates_below_the_best_are_lower_bounds_of_the_exact_scores(
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
    measured = [matcher.match(chunk) for chunk in generation.stems(generation.ids)]
    places = sorted(place for place in chosen if place < len(texts))
    scores = generation.keyword.scores(question).astype(np.float64)
    coverage, order = match_scores(pool_of(generation, embedding, executor, question), scores, places)
    for place, match in enumerate(measured):
        if place in places:
            assert (coverage[place], order[place]) == (match.coverage, match.order)
        else:
            assert 0 <= coverage[place] <= match.coverage + 1e-6
            assert order[place] == 0


def test_only_the_texts_of_the_best_candidates_are_read(
    make_generation: MakeGeneration, embedding: FakeEmbedding, executor: Executor
) -> None:
    generation = make_generation({f"n{number}": f"card {number}" for number in range(9)})
    pool = pool_of(generation, embedding, executor, "card")
    fetched: list[str] = []

    class Watched(type(generation)):  # type: ignore[misc]
        """A generation that records the ids of nodes whose stems were read."""

        def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
            fetched.extend(node_ids)
            return [["card"] for _ in node_ids]

    generation.__class__ = Watched
    match_scores(pool, np.ones(9), [2, 5])
    assert fetched == ["n2", "n5"]
    match_scores(pool, np.ones(9), [])
    assert fetched == ["n2", "n5"]
