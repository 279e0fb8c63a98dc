from elt_llm_query.retrieve.fusion import SearchCandidate, best_first, from_node, join_rankings, to_node
from llama_index.core.schema import NodeWithScore, TextNode


def test_a_candidate_that_is_converted_to_a_llama_index_node_and_back_is_unchanged() -> None:
    candidate = SearchCandidate("n1", "handbook", 1, 0.8, 2, 3.5, 0.03, 0.9)
    assert from_node(to_node(candidate), "another") == candidate


def test_a_node_of_any_llama_index_retriever_becomes_a_candidate_with_its_id_and_score() -> None:
    found = from_node(NodeWithScore(node=TextNode(id_="n1", text="x"), score=0.4), "handbook")
    assert found == SearchCandidate("n1", "handbook", fused_score=0.4)


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
