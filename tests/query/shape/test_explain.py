"""Tests of the stage `explain`: the outcome of each candidate, and the question words that it contains."""

from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import TraceStage
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.retrieve.query_variant import AlternativeNames
from elt_llm_query.search import SearchResult
from elt_llm_query.shape.explain import MatchedTerms, QuestionTerms, explain_stage, trace_outcomes
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from retrieval.searching import search_once
from sampling import generated

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card for unsporting behaviour.",
    "n2": "A yellow card is recorded by the secretary of the club.",
    "n3": "Annual leave is approved by the line manager.",
    "n4": "Fixtures are published in August by the secretary.",
    "n5": "A yellow card is recorded by the secretary of the club.",
}
QUESTION = "Who records a yellow card?"
WORDS = st.lists(st.sampled_from(["yellow", "card", "club", "leave", "mast"]), min_size=1, max_size=4).map(" ".join)


def explained(generations: list[Any], **query: Any) -> tuple[SearchResult, dict[str, Any]]:
    found = search_once(QUESTION, generations, FakeEmbedding(256), Settings(query=QuerySettings(**query)))
    return found, explain_stage(found.stages, found.chunks, generations).details


def test_each_candidate_chunk_is_read_or_left_out_for_a_recorded_reason(make_generation: MakeGeneration) -> None:
    _, details = explained([make_generation(TEXTS)], reranker_top_k=2)
    chunks = details["chunks"]["handbook"]
    ends = {node_id: (one["outcome"], one["place"], one["instead"]) for node_id, one in chunks.items()}
    assert ends["n2"] == ("read", 1, None)
    assert ends["n5"] == ("same text as another", None, "n2")
    assert ends["n1"] == ("read", 2, None)
    assert ends["n3"] == ends["n4"] == ("beyond top_k", None, None)
    assert details["outcomes"] == {"read": 2, "same text as another": 1, "beyond top_k": 2}


def test_the_best_chunks_left_out_are_listed_with_the_score_difference_to_the_last_chunk_read(
    make_generation: MakeGeneration,
) -> None:
    found, details = explained([make_generation(TEXTS)], reranker_top_k=1)
    missed = details["near misses"]
    # The text of n5 is read in n2: it does not count as missed.
    assert missed[0]["node_id"] == "n1"
    assert "n5" not in [one["node_id"] for one in missed]
    assert missed[0]["lacked"] == pytest.approx(found.chunks[0].score - missed[0]["score"])


def test_the_score_that_an_irrelevant_chunk_lacks_is_its_distance_from_the_minimum_relevance(
    make_generation: MakeGeneration,
) -> None:
    _, details = explained([make_generation(TEXTS)], min_relevance_score=0.6)
    below = [one for one in details["near misses"] if one["reason"] == "below min_relevance_score"]
    assert below
    assert all(one["lacked"] == pytest.approx(0.6 - one["score"]) for one in below)


def test_a_search_without_explain_fetches_only_the_chunks_that_are_read(make_generation: MakeGeneration) -> None:
    generation = make_generation(TEXTS)
    search_once(QUESTION, [generation], FakeEmbedding(256), Settings(query=QuerySettings(reranker_top_k=1)))
    assert len(generation.fetched) < len(TEXTS)


def test_the_matched_words_are_displayed_as_the_question_spells_them(make_generation: MakeGeneration) -> None:
    words = QuestionTerms("Which Schiedsrichter records U-21 cards?", make_generation({**TEXTS, "n6": "U21 records"}))
    stems = {term["stem"]: (term["written"], term["nodes"]) for term in words.terms}
    assert stems["card"] == ("cards", 3)
    assert stems["u21"] == ("U-21", 1)
    assert words.matched(["card", "record", "u21"]) == MatchedTerms(("records", "U-21", "cards"), ())
    assert words.matched(["schiedsrichterassistent"]) == MatchedTerms((), ("Schiedsrichter",))


def test_words_that_match_by_an_alternative_name_are_listed_as_partially_matched(
    make_generation: MakeGeneration,
) -> None:
    names = [AlternativeNames("referee", ("match official",))]
    words = QuestionTerms("Which referee records cards?", make_generation(TEXTS), names)
    assert words.matched(["match", "offici", "card"]) == MatchedTerms(("cards",), ("referee",))


def test_the_same_node_in_two_collections_is_explained_separately(make_generation: MakeGeneration) -> None:
    _, details = explained([make_generation(TEXTS), make_generation(TEXTS, collection="copy")], reranker_top_k=1)
    ends = {name: one["n2"]["outcome"] for name, one in details["chunks"].items()}
    assert sorted(ends.values()) == ["read", "same text as another"]
    assert sum(details["outcomes"].values()) == 2 * len(TEXTS)


@examples(max_examples=generated(12), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=10),
    st.lists(WORDS, min_size=1, max_size=10),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1),
    st.integers(1, 4),
    st.sampled_from(["hybrid", "dense", "sparse"]),
)
def test_every_candidate_chunk_has_a_recorded_reason(  # noqa: PLR0917 - one parameter for each thing that varies
    make_generation: MakeGeneration,
    texts: list[str],
    others: list[str],
    near: bool,
    varied: bool,
    most: int,
    top_k: int,
    strategy: str,
) -> None:
    generations = [
        make_generation({f"{name}{number}": text for number, text in enumerate(held)}, collection=name)
        for name, held in (("a", texts), ("b", others))
    ]
    way: dict[str, Any] = {"near_duplicate_cosine": 0.95 if near else 1.0, "use_mmr": varied, "max_per_source": most}
    found, details = explained(generations, **way, reranker_top_k=top_k, min_relevance_score=0.2, strategy=strategy)
    [ranked] = [stage.details["parts"] for stage in found.stages if stage.name == "rerank"]
    chunks = {(name, node_id): one for name, held in details["chunks"].items() for node_id, one in held.items()}
    assert chunks.keys() == {(parts["collection"], node_id) for node_id, parts in ranked}
    assert "not recorded" not in details["outcomes"]
    read = sorted((one["place"], node_id) for (_, node_id), one in chunks.items() if one["place"])
    assert [node_id for _, node_id in read] == [chunk.node_id for chunk in found.chunks]


def test_a_chunk_that_one_search_pass_leaves_out_may_be_read_from_another_search_pass() -> None:
    def ranking(*node_ids: str) -> dict[str, Any]:
        parts = [(node_id, {"collection": "a"}) for node_id in node_ids]
        return {"parts": parts, "ranking": [(node_id, 0.5) for node_id in node_ids]}

    first = {**ranking("n1", "n2"), "beyond the reranker's budget": ["n3", "n4"]}
    stages = [
        TraceStage(name="retrieve", took_ms=0, details={"collections": {"a": {"dense": [("n4", 1.0)], "keyword": []}}}),
        TraceStage(name="rerank", took_ms=0, details=first),
        TraceStage(name="rerank", took_ms=0, details=ranking("n2", "n3")),
        TraceStage(name="shape", took_ms=0, details={"beyond top_k": ["n2", "n3"]}),
    ]
    ends = {node_id: outcome.reason for (_, node_id), outcome in trace_outcomes(stages, ()).items()}
    assert ends == {
        "n1": "not in the last ranking",
        "n2": "beyond top_k",
        "n3": "beyond top_k",
        "n4": "beyond the reranker's budget",
    }
