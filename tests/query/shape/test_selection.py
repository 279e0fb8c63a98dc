from dataclasses import replace

import numpy as np
from elt_llm_core.store.records import StoredNode
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.shape.context import CandidateChunk
from elt_llm_query.shape.selection import marginal_relevance_order, merge_equal_texts, similarities
from elt_llm_query.shape.shaper import drop_below
from elt_llm_query.synthesis.calls import lost_in_the_middle
from hypothesis import given
from hypothesis import strategies as st


def make_chunk(node_id: str, text: str) -> CandidateChunk:
    node = StoredNode(node_id, "d", f"{node_id}.md", "Title", "0" * 64, text, "", 0, len(text), None, None, 0)
    return CandidateChunk(SearchCandidate(node_id, "handbook", score=0.5), node)


def test_chunks_with_equal_texts_become_one_chunk_that_lists_its_alternates() -> None:
    texts = {"a": "same", "b": "other", "c": "same\n", "d": "same"}
    merged = merge_equal_texts(make_chunk(node_id, text) for node_id, text in texts.items())
    assert [one.node.node_id for one in merged] == ["a", "b"]
    assert [one.node.node_id for one in merged[0].alternates] == ["c", "d"]
    assert [place["source"] for place in merged[0].to_chunk().metadata["alternates"]] == ["c.md", "d.md"]


def test_context_sentences_written_by_a_language_model_are_not_in_the_search_result() -> None:
    plain = make_chunk("a", "The ferry leaves at noon.")
    context = "Harbour > Times\nIt is from the timetable."
    enriched = replace(plain.node, context=context, metadata={"enrichment": "It is from the timetable."})
    assert replace(plain, node=enriched).to_chunk().context == "Harbour > Times"
    assert replace(plain, node=replace(enriched, metadata={})).to_chunk().context == context


@given(st.lists(st.sampled_from(["x", "y", "z"])))
def test_merging_equal_texts_twice_gives_the_same_as_once_and_loses_no_occurrence(texts: list[str]) -> None:
    merged = merge_equal_texts(make_chunk(str(number), text) for number, text in enumerate(texts))
    assert merge_equal_texts(merged) == merged
    assert sum(1 + len(one.alternates) for one in merged) == len(texts)


def test_a_chunk_with_a_score_equal_to_the_minimum_is_kept() -> None:
    kept, dropped = drop_below([SearchCandidate("a", "c", score=0.5), SearchCandidate("b", "c", score=0.49)], 0.5)
    assert [one.node_id for one in kept] == ["a"]
    assert [one.node_id for one in dropped] == ["b"]


def test_the_lost_in_the_middle_order_puts_the_weakest_chunks_in_the_middle() -> None:
    assert lost_in_the_middle([1, 2, 3, 4, 5]) == [1, 3, 5, 4, 2]
    assert lost_in_the_middle([]) == []


@given(st.lists(st.integers(), unique=True))
def test_the_lost_in_the_middle_order_keeps_every_chunk(items: list[int]) -> None:
    ordered = lost_in_the_middle(items)
    assert sorted(ordered) == sorted(items)
    assert items[:1] == ordered[:1]
    assert len(items) < 2 or ordered[-1] == items[1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 12))
def test_an_mmr_threshold_of_1_ranks_chunks_only_by_relevance(relevance: list[float], limit: int) -> None:
    descending = sorted(relevance, reverse=True)
    similarity = np.eye(len(descending))
    chosen = marginal_relevance_order(descending, similarity, 1.0, limit)
    assert chosen == list(range(min(limit, len(descending))))


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0, 1))
def test_mmr_never_chooses_a_chunk_twice(relevance: list[float], threshold: float) -> None:
    chosen = marginal_relevance_order(relevance, np.ones((len(relevance), len(relevance))), threshold, 99)
    assert sorted(chosen) == list(range(len(relevance)))


def test_mmr_prefers_a_dissimilar_chunk_to_a_duplicate_of_the_best_chunk() -> None:
    vectors = [np.array([1, 0], np.float32), np.array([1, 0], np.float32), np.array([0, 1], np.float32)]
    similarity = similarities(vectors, [b"m"] * 3)
    assert marginal_relevance_order([1.0, 0.9, 0.6], similarity, 0.7, 3) == [0, 2, 1]


def test_vectors_of_different_models_are_not_compared() -> None:
    similarity = similarities([np.ones(1, np.float32), np.ones(2, np.float32) / np.sqrt(2)], [b"one", b"other"])
    assert np.allclose(similarity, np.eye(2))
