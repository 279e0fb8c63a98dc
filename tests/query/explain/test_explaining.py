"""The stage `explain`: what became of each candidate, by which name people know it, and which words it has."""

from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import TraceStage
from elt_llm_core.settings import QuerySettings, Settings
from elt_llm_query.explain.outcomes import outcomes_of
from elt_llm_query.explain.stage import explain
from elt_llm_query.explain.words import Matched, QuestionWords
from elt_llm_query.retrieve.pipeline import Found, find_passages
from elt_llm_query.retrieve.wording import OtherNames
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

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


def asked(generations: list[Any], **query: Any) -> tuple[Found, dict[str, Any]]:
    found = find_passages(QUESTION, generations, FakeEmbedding(256), Settings(query=QuerySettings(**query)))
    return found, explain(found.stages, found.chunks, generations).details


def test_each_candidate_is_read_or_left_out_for_a_reason(make_generation: MakeGeneration) -> None:
    _, told = asked([make_generation(TEXTS)], reranker_top_k=2)
    passages = told["passages"]["handbook"]
    ends = {node_id: (one["outcome"], one["place"], one["instead"]) for node_id, one in passages.items()}
    assert ends["n2"] == ("read", 1, None)
    assert ends["n5"] == ("same text as another", None, "n2")
    assert ends["n1"] == ("read", 2, None)
    assert ends["n3"] == ends["n4"] == ("beyond top_k", None, None)
    assert told["outcomes"] == {"read": 2, "same text as another": 1, "beyond top_k": 2}


def test_who_nearly_came_is_told_with_what_it_lacked(make_generation: MakeGeneration) -> None:
    found, told = asked([make_generation(TEXTS)], reranker_top_k=1)
    missed = told["near misses"]
    # The text of n5 is read in n2: it does not count as missed.
    assert missed[0]["node_id"] == "n1"
    assert "n5" not in [one["node_id"] for one in missed]
    assert missed[0]["lacked"] == pytest.approx(found.chunks[0].score - missed[0]["score"])


def test_what_is_not_relevant_enough_lacks_what_is_missing_to_that(make_generation: MakeGeneration) -> None:
    _, told = asked([make_generation(TEXTS)], min_relevance_score=0.6)
    below = [one for one in told["near misses"] if one["reason"] == "below min_relevance_score"]
    assert below
    assert all(one["lacked"] == pytest.approx(0.6 - one["score"]) for one in below)


def test_a_question_put_without_explaining_fetches_no_more_than_it_reads(make_generation: MakeGeneration) -> None:
    generation = make_generation(TEXTS)
    find_passages(QUESTION, [generation], FakeEmbedding(256), Settings(query=QuerySettings(reranker_top_k=1)))
    assert len(generation.fetched) < len(TEXTS)


def test_words_are_told_as_they_were_asked(make_generation: MakeGeneration) -> None:
    words = QuestionWords("Which Schiedsrichter records U-21 cards?", make_generation({**TEXTS, "n6": "U21 records"}))
    stems = {term.stem: (term.written, term.nodes) for term in words.terms}
    assert stems["card"] == ("cards", 3)
    assert stems["u21"] == ("U-21", 1)
    assert words.matched(["card", "record", "u21"]) == Matched(("records", "U-21", "cards"), ())
    assert words.matched(["schiedsrichterassistent"]) == Matched((), ("Schiedsrichter",))


def test_what_a_passage_has_by_another_name_is_told_as_part(make_generation: MakeGeneration) -> None:
    names = [OtherNames("referee", ("match official",))]
    words = QuestionWords("Which referee records cards?", make_generation(TEXTS), names)
    assert words.matched(["match", "offici", "card"]) == Matched(("cards",), ("referee",))


def test_two_collections_that_hold_the_same_node_are_told_apart(make_generation: MakeGeneration) -> None:
    _, told = asked([make_generation(TEXTS), make_generation(TEXTS, collection="copy")], reranker_top_k=1)
    ends = {name: one["n2"]["outcome"] for name, one in told["passages"].items()}
    assert sorted(ends.values()) == ["read", "same text as another"]
    assert sum(told["outcomes"].values()) == 2 * len(TEXTS)


@examples(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=10),
    st.lists(WORDS, min_size=1, max_size=10),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1),
    st.integers(1, 4),
    st.sampled_from(["hybrid", "dense", "sparse"]),
)
def test_no_candidate_ends_without_a_reason(  # noqa: PLR0917 - one parameter for each thing that varies
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
    found, told = asked(generations, **way, reranker_top_k=top_k, min_relevance_score=0.2, strategy=strategy)
    [ranked] = [stage.details["parts"] for stage in found.stages if stage.name == "rerank"]
    passages = {(name, node_id): one for name, held in told["passages"].items() for node_id, one in held.items()}
    assert passages.keys() == {(parts["collection"], node_id) for node_id, parts in ranked}
    assert "not told" not in told["outcomes"]
    read = sorted((one["place"], node_id) for (_, node_id), one in passages.items() if one["place"])
    assert [node_id for _, node_id in read] == [chunk.node_id for chunk in found.chunks]


def test_what_one_search_left_out_may_be_read_from_another() -> None:
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
    ends = {node_id: outcome.reason for (_, node_id), outcome in outcomes_of(stages, ()).items()}
    assert ends == {
        "n1": "not in the last ranking",
        "n2": "beyond top_k",
        "n3": "beyond top_k",
        "n4": "beyond the reranker's budget",
    }
