from elt_llm_query.retrieve.fusion import SearchCandidate, best_first, join_rankings


def test_equal_scores_are_ordered_by_node_id() -> None:
    candidates = [
        SearchCandidate("b", "c", score=0.5),
        SearchCandidate("a", "c", score=0.5),
        SearchCandidate("c", "c", score=0.7),
    ]
    assert [candidate.node_id for candidate in best_first(candidates)] == ["c", "a", "b"]


def test_candidates_from_two_rankings_keep_the_fused_order_and_have_scores_from_0_to_1() -> None:
    joined = join_rankings("c", [("b", 0.03), ("a", 0.01)], [("a", 0.9)], [("b", 4.0)], scale=40.0)
    assert [(one.node_id, one.score) for one in joined] == [("b", 1.0), ("a", 0.4)]
    assert (joined[0].dense_rank, joined[0].keyword_rank) == (None, 1)
