"""What no fusion may depend on, and what must never make a passage's place worse."""

from collections.abc import Sequence
from random import Random

import pytest
from elt_llm_query.retrieve.candidates import Ranking
from elt_llm_query.retrieve.fusion import Fusion, fuse, reciprocal_rank_fusion
from hypothesis import given
from hypothesis import strategies as st

IDS = "abcdefgh"
# Few different scores, so that ties are common; each is exact in binary, as its sums and halves are.
SCORES = st.dictionaries(st.sampled_from(IDS), st.integers(0, 6).map(lambda eighths: eighths / 8), max_size=8)
WEIGHTS = st.integers(0, 8).map(lambda eighths: eighths / 8)
LEGS = st.lists(st.tuples(SCORES, WEIGHTS), min_size=1, max_size=4)
FUSIONS = st.sampled_from(["reciprocal_rerank", "relative_score"])

Leg = tuple[dict[str, float], float]


def ranked(scores: dict[str, float]) -> Ranking:
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def fused(fusion: Fusion, legs: Sequence[Leg]) -> Ranking:
    return fuse(fusion, [ranked(scores) for scores, _ in legs], [weight for _, weight in legs])


def places(ranking: Ranking) -> dict[str, int]:
    return {node_id: place for place, (node_id, _) in enumerate(ranking)}


def in_order(ranking: Ranking) -> list[str]:
    return [node_id for node_id, _ in ranking]


@given(LEGS, FUSIONS, st.randoms(use_true_random=False))
def test_any_order_of_the_legs_with_their_weights_gives_the_very_same_ranking(
    legs: list[Leg], fusion: Fusion, chance: Random
) -> None:
    shuffled = chance.sample(legs, len(legs))
    assert fused(fusion, shuffled) == fused(fusion, legs)


@given(SCORES, SCORES, WEIGHTS, FUSIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_equal_hits_arrived_says_nothing(
    one: dict[str, float], other: dict[str, float], weight: float, fusion: Fusion, chance: Random
) -> None:
    def arrived(scores: dict[str, float]) -> dict[str, float]:
        return dict(chance.sample(list(scores.items()), len(scores)))

    once = fused(fusion, [(arrived(one), weight), (arrived(other), 1 - weight)])
    assert once == fused(fusion, [(arrived(one), weight), (arrived(other), 1 - weight)])


def test_places_that_mirror_each_other_in_three_legs_are_a_tie_that_goes_by_id() -> None:
    legs = [[("b", 3.0), ("a", 2.0), ("c", 1.0)], [("a", 3.0), ("c", 2.0), ("b", 1.0)]]
    legs.append([("c", 3.0), ("b", 2.0), ("a", 1.0)])
    for weight in (1.0, 0.1, 0.7, 1 / 3):
        ranking = reciprocal_rank_fusion(legs, [weight] * 3)
        assert in_order(ranking) == ["a", "b", "c"]
        assert len({score for _, score in ranking}) == 1


@given(LEGS, FUSIONS, st.sampled_from(IDS), st.integers(0, 3), st.integers(1, 8))
def test_a_better_score_in_one_leg_lowers_neither_score_nor_place(
    legs: list[Leg], fusion: Fusion, node_id: str, place: int, more: int
) -> None:
    scores, weight = legs[place % len(legs)]
    if node_id not in scores:
        return
    raised = list(legs)
    raised[place % len(legs)] = (scores | {node_id: scores[node_id] + more / 8}, weight)
    before, after = fused(fusion, legs), fused(fusion, raised)
    assert dict(after)[node_id] >= dict(before)[node_id]
    assert places(after)[node_id] <= places(before)[node_id]


@given(LEGS, FUSIONS, st.sampled_from(IDS), st.integers(0, 3), st.integers(0, 6))
def test_being_found_by_one_more_leg_lowers_no_score(
    legs: list[Leg], fusion: Fusion, node_id: str, place: int, eighths: int
) -> None:
    scores, weight = legs[place % len(legs)]
    if node_id in scores:
        return
    more = list(legs)
    more[place % len(legs)] = ({**scores, node_id: eighths / 8}, weight)
    before, after = fused(fusion, legs), fused(fusion, more)
    assert dict(after)[node_id] >= dict(before).get(node_id, 0.0)
    if fusion == "reciprocal_rerank":
        # A min-max scale is drawn out by a new lowest score, which may lift others over who brought it.
        assert places(after)[node_id] <= places(before).get(node_id, len(before))


@given(LEGS, FUSIONS, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_only_the_ratio_of_the_weights_counts(legs: list[Leg], fusion: Fusion, factor: float) -> None:
    scaled = [(scores, weight * factor) for scores, weight in legs]
    assert in_order(fused(fusion, scaled)) == in_order(fused(fusion, legs))


@given(LEGS, FUSIONS, st.sampled_from([0.5, 2.0, 16.0]), st.integers(-4, 4))
def test_the_scale_a_leg_scores_on_says_nothing(legs: list[Leg], fusion: Fusion, factor: float, shift: int) -> None:
    scores, weight = legs[0]
    moved = {node_id: score * factor + shift for node_id, score in scores.items()}
    assert fused(fusion, [(moved, weight), *legs[1:]]) == fused(fusion, legs)


@given(LEGS, SCORES, FUSIONS)
def test_a_leg_without_weight_adds_passages_at_the_end_and_moves_none(
    legs: list[Leg], scores: dict[str, float], fusion: Fusion
) -> None:
    without = [hit for hit in fused(fusion, legs) if hit[1] > 0]
    assert fused(fusion, [*legs, (scores, 0.0)])[: len(without)] == without


@given(LEGS, FUSIONS)
def test_a_leg_that_found_nothing_changes_nothing(legs: list[Leg], fusion: Fusion) -> None:
    assert fused(fusion, [*legs, ({}, 1.0)]) == fused(fusion, legs)


@given(SCORES, FUSIONS, st.integers(1, 8).map(lambda eighths: eighths / 8))
def test_one_leg_alone_keeps_its_own_order(scores: dict[str, float], fusion: Fusion, weight: float) -> None:
    assert in_order(fused(fusion, [(scores, weight)])) == in_order(ranked(scores))


@pytest.mark.parametrize("fusion", ["reciprocal_rerank", "relative_score"])
def test_the_same_legs_are_fused_the_same_every_time(fusion: Fusion) -> None:
    chance = Random(4)  # noqa: S311 - repeatable, not secret
    legs = [({f"n{number}": chance.random() for number in chance.sample(range(200), 50)}, 0.37) for _ in range(4)]
    assert len({str(fused(fusion, legs)) for _ in range(20)}) == 1
