import pytest
from elt_llm_core.index.searchable import Ranking
from elt_llm_query.retrieve.fusion import (
    Fusion,
    attainable_fused_score,
    fuse,
    reciprocal_rank_fusion,
    relative_score_fusion,
)
from hypothesis import given
from hypothesis import strategies as st

SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 1000).map(float), max_size=8)
RANKINGS = SCORES.map(lambda scores: sorted(scores.items(), key=lambda item: (-item[1], item[0])))
WEIGHTS = st.integers(0, 10).map(lambda tenths: tenths / 10)
FUSIONS = st.sampled_from(["reciprocal_rerank", "relative_score"])


def test_reciprocal_rank_fusion_adds_one_over_sixty_plus_the_rank() -> None:
    fused = reciprocal_rank_fusion([[("a", 9.0), ("b", 1.0)], [("b", 0.5)]], [1.0, 1.0])
    assert dict(fused) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})
    assert [node_id for node_id, _ in fused] == ["b", "a"]


def test_relative_score_fusion_scales_each_ranking_and_counts_missing_scores_as_0() -> None:
    fused = relative_score_fusion([[("a", 10.0), ("b", 5.0), ("c", 0.0)], [("b", 0.7)]], [0.5, 0.5])
    assert dict(fused) == pytest.approx({"b": 0.75, "a": 0.5, "c": 0.0})


@given(RANKINGS, RANKINGS, WEIGHTS, FUSIONS)
def test_the_order_of_the_rankings_does_not_change_the_fused_ranking(
    one: Ranking, other: Ranking, weight: float, fusion: Fusion
) -> None:
    there = fuse(fusion, [one, other], [weight, 1 - weight])
    back = fuse(fusion, [other, one], [1 - weight, weight])
    assert dict(there) == pytest.approx(dict(back))


@given(RANKINGS, RANKINGS, WEIGHTS, FUSIONS)
def test_the_fused_ranking_has_every_id_once_best_first_with_ties_ordered_by_id(
    one: Ranking, other: Ranking, weight: float, fusion: Fusion
) -> None:
    fused = fuse(fusion, [one, other], [weight, 1 - weight])
    assert {node_id for node_id, _ in fused} == {node_id for node_id, _ in [*one, *other]}
    assert len({node_id for node_id, _ in fused}) == len(fused)
    assert fused == sorted(fused, key=lambda item: (-item[1], item[0]))
    assert fused == fuse(fusion, [one, other], [weight, 1 - weight])


@given(RANKINGS, RANKINGS, WEIGHTS)
def test_a_node_that_is_first_in_both_rankings_is_first_in_the_fused_ranking(
    one: Ranking, other: Ranking, weight: float
) -> None:
    fused = dict(reciprocal_rank_fusion([one, other], [weight, 1 - weight]))
    places = [{node_id: rank for rank, (node_id, _) in enumerate(ranking)} for ranking in (one, other)]
    shared = places[0].keys() & places[1].keys()
    for ahead in shared:
        for behind in shared:
            if all(place[ahead] < place[behind] for place in places):
                assert fused[ahead] > fused[behind]


@given(RANKINGS, RANKINGS, WEIGHTS, FUSIONS)
def test_no_fused_score_exceeds_the_highest_attainable_score(
    one: Ranking, other: Ranking, weight: float, fusion: Fusion
) -> None:
    weights = [weight, 1 - weight]
    for _, score in fuse(fusion, [one, other], weights):
        assert 0 <= score <= attainable_fused_score(fusion, weights) + 1e-12


def test_a_ranking_with_weight_0_does_not_change_the_fused_order() -> None:
    fused = reciprocal_rank_fusion([[("a", 1.0), ("b", 0.9)], [("b", 8.0), ("a", 7.0)]], [1.0, 0.0])
    assert [node_id for node_id, _ in fused] == ["a", "b"]
