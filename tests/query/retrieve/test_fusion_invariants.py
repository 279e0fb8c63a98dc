"""Invariants of fusion: changes of the input that must leave the fused ranks unchanged, or must not worsen them."""

from collections.abc import Sequence
from random import Random

import pytest
from elt_llm_core.index.searchable import Ranking
from elt_llm_query.retrieve.fusion import Fusion, fuse, reciprocal_rank_fusion
from hypothesis import given
from hypothesis import strategies as st

IDS = "abcdefgh"
# Few different scores, so that ties are common; each is exact in binary, as its sums and halves are.
SCORES = st.dictionaries(st.sampled_from(IDS), st.integers(0, 6).map(lambda eighths: eighths / 8), max_size=8)
WEIGHTS = st.integers(0, 8).map(lambda eighths: eighths / 8)
WEIGHTED_RANKINGS = st.lists(st.tuples(SCORES, WEIGHTS), min_size=1, max_size=4)
FUSIONS = st.sampled_from(["reciprocal_rerank", "relative_score"])

WeightedScores = tuple[dict[str, float], float]


def ranked(scores: dict[str, float]) -> Ranking:
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def fused(fusion: Fusion, rankings: Sequence[WeightedScores]) -> Ranking:
    return fuse(fusion, [ranked(scores) for scores, _ in rankings], [weight for _, weight in rankings])


def places(ranking: Ranking) -> dict[str, int]:
    return {node_id: place for place, (node_id, _) in enumerate(ranking)}


def in_order(ranking: Ranking) -> list[str]:
    return [node_id for node_id, _ in ranking]


@given(WEIGHTED_RANKINGS, FUSIONS, st.randoms(use_true_random=False))
def test_the_order_of_weighted_rankings_does_not_change_the_fused_ranking(
    rankings: list[WeightedScores], fusion: Fusion, chance: Random
) -> None:
    shuffled = chance.sample(rankings, len(rankings))
    assert fused(fusion, shuffled) == fused(fusion, rankings)


@given(SCORES, SCORES, WEIGHTS, FUSIONS, st.randoms(use_true_random=False))
def test_the_input_order_of_hits_with_equal_scores_does_not_change_the_fused_ranking(
    one: dict[str, float], other: dict[str, float], weight: float, fusion: Fusion, chance: Random
) -> None:
    def arrived(scores: dict[str, float]) -> dict[str, float]:
        return dict(chance.sample(list(scores.items()), len(scores)))

    once = fused(fusion, [(arrived(one), weight), (arrived(other), 1 - weight)])
    assert once == fused(fusion, [(arrived(one), weight), (arrived(other), 1 - weight)])


def test_candidates_with_mirrored_ranks_in_two_rankings_have_equal_scores_and_are_ordered_by_id() -> None:
    rankings = [[("b", 3.0), ("a", 2.0), ("c", 1.0)], [("a", 3.0), ("c", 2.0), ("b", 1.0)]]
    rankings.append([("c", 3.0), ("b", 2.0), ("a", 1.0)])
    for weight in (1.0, 0.1, 0.7, 1 / 3):
        ranking = reciprocal_rank_fusion(rankings, [weight] * 3)
        assert in_order(ranking) == ["a", "b", "c"]
        assert len({score for _, score in ranking}) == 1


@given(WEIGHTED_RANKINGS, FUSIONS, st.sampled_from(IDS), st.integers(0, 3), st.integers(1, 8))
def test_a_better_score_in_one_ranking_never_worsens_the_fused_score_or_the_fused_rank(
    rankings: list[WeightedScores], fusion: Fusion, node_id: str, place: int, more: int
) -> None:
    scores, weight = rankings[place % len(rankings)]
    if node_id not in scores:
        return
    raised = list(rankings)
    raised[place % len(rankings)] = (scores | {node_id: scores[node_id] + more / 8}, weight)
    before, after = fused(fusion, rankings), fused(fusion, raised)
    assert dict(after)[node_id] >= dict(before)[node_id]
    assert places(after)[node_id] <= places(before)[node_id]


@given(WEIGHTED_RANKINGS, FUSIONS, st.sampled_from(IDS), st.integers(0, 3), st.integers(0, 6))
def test_a_hit_in_an_additional_ranking_does_not_lower_the_fused_score(
    rankings: list[WeightedScores], fusion: Fusion, node_id: str, place: int, eighths: int
) -> None:
    scores, weight = rankings[place % len(rankings)]
    if node_id in scores:
        return
    more = list(rankings)
    more[place % len(rankings)] = ({**scores, node_id: eighths / 8}, weight)
    before, after = fused(fusion, rankings), fused(fusion, more)
    assert dict(after)[node_id] >= dict(before).get(node_id, 0.0)
    if fusion == "reciprocal_rerank":
        # A new lowest score widens a min-max scale, which may lift other nodes above the node with that score.
        assert places(after)[node_id] <= places(before).get(node_id, len(before))


@given(WEIGHTED_RANKINGS, FUSIONS, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_multiplying_all_weights_by_one_factor_does_not_change_the_fused_order(
    rankings: list[WeightedScores], fusion: Fusion, factor: float
) -> None:
    scaled = [(scores, weight * factor) for scores, weight in rankings]
    assert in_order(fused(fusion, scaled)) == in_order(fused(fusion, rankings))


@given(WEIGHTED_RANKINGS, FUSIONS, st.sampled_from([0.5, 2.0, 16.0]), st.integers(-4, 4))
def test_the_scale_of_the_scores_of_a_ranking_does_not_change_the_fusion(
    rankings: list[WeightedScores], fusion: Fusion, factor: float, shift: int
) -> None:
    scores, weight = rankings[0]
    moved = {node_id: score * factor + shift for node_id, score in scores.items()}
    assert fused(fusion, [(moved, weight), *rankings[1:]]) == fused(fusion, rankings)


@given(WEIGHTED_RANKINGS, SCORES, FUSIONS)
def test_a_ranking_of_weight_0_only_appends_chunks_at_the_end_of_the_fused_ranking(
    rankings: list[WeightedScores], scores: dict[str, float], fusion: Fusion
) -> None:
    without = [hit for hit in fused(fusion, rankings) if hit[1] > 0]
    assert fused(fusion, [*rankings, (scores, 0.0)])[: len(without)] == without


@given(WEIGHTED_RANKINGS, FUSIONS)
def test_an_empty_ranking_does_not_change_the_fused_ranking(rankings: list[WeightedScores], fusion: Fusion) -> None:
    assert fused(fusion, [*rankings, ({}, 1.0)]) == fused(fusion, rankings)


@given(SCORES, FUSIONS, st.integers(1, 8).map(lambda eighths: eighths / 8))
def test_fusing_a_single_ranking_keeps_its_order(scores: dict[str, float], fusion: Fusion, weight: float) -> None:
    assert in_order(fused(fusion, [(scores, weight)])) == in_order(ranked(scores))


@pytest.mark.parametrize("fusion", ["reciprocal_rerank", "relative_score"])
def test_fusing_the_same_rankings_twice_gives_the_same_result(fusion: Fusion) -> None:
    chance = Random(4)  # noqa: S311 - repeatable, not secret
    rankings = [({f"n{number}": chance.random() for number in chance.sample(range(200), 50)}, 0.37) for _ in range(4)]
    assert len({str(fused(fusion, rankings)) for _ in range(20)}) == 1
