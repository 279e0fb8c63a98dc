"""Tests for every strategy, without a language model and with one that works, fails or writes random text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from elt_llm_core.errors import RetrievalError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_query.search import SearchPipeline, SearchResult

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "Gallu is a demon in the mythology of Sumer, as Lilu is.",
    "n2": "Lilu is a spirit that Ardat Lili was married to.",
    "n3": "The referee shows a yellow card, and Peter Rogers a red one.",
    "n4": "Annual leave is approved by the line manager.",
    "n5": "Ardat Lili is told of in Sumer and in Akkad.",
    "n6": "The red card and the yellow card are kept by Peter Rogers.",
}
QUESTIONS = (
    "Who was married to the demon that is told of with Gallu in the mythology of Sumer?",
    "What is a yellow card, and who approves annual leave?",
    "Who keeps more, Peter Rogers or Ardat Lili?",
    "leave",
    "v1.2",
)
NEEDS_MODEL = ("hyde", "multi_query")
MODEL_REPLIES = {
    "good": "Lilu is a spirit of Sumer\nWho is Ardat Lili?",
    "malformed": "\n\n---\n***\n",
    "overlong": "word " * 5000,
    "repeating": "same line\n" * 500,
}
MOST_SEARCHES = 1 + 10  # the question and the most variants or follow-ups that can be set


def found_by(
    strategy: StrategyName,
    question: str,
    generations: Sequence[Any],
    embedding: FakeEmbedding,
    llm: ScriptedLLM | None = None,
    where: Sequence[str] = (),
) -> SearchResult:
    with SearchPipeline(generations, [embedding], Settings(), llm=llm) as pipeline:
        return pipeline.search(question, top_k=10, strategy=strategy, where=where)


def searches(found: SearchResult) -> int:
    return sum(stage.name == "retrieve" for stage in found.stages)


def last_ranking(found: SearchResult) -> list[tuple[str, float]]:
    ranked: list[tuple[str, float]] = [stage for stage in found.stages if stage.name in {"rerank", "combine"}][
        -1
    ].details["ranking"]
    return ranked


def contradictions(found: SearchResult) -> Mapping[str, bool]:
    """Return violations of the conditions that every ranking must fulfil."""
    ranking = last_ranking(found)
    scores = [score for _, score in ranking]
    return {
        "a candidate twice": len({node_id for node_id, _ in ranking}) != len(ranking),
        "not best first": scores != sorted(scores, reverse=True),
        "beyond 0 to 1": any(not 0.0 <= score <= 1.0 for score in scores),
        "too many searches": not 1 <= searches(found) <= MOST_SEARCHES,
    }


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_candidates_of_a_strategy_are_unique_ordered_best_first_and_deterministic(
    name: StrategyName, question: str, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    first, second = (found_by(name, question, [make_generation(TEXTS)], embedding) for _ in range(2))
    assert not [condition for condition, is_met in contradictions(first).items() if is_met]
    assert last_ranking(first) == last_ranking(second)
    assert [chunk.node_id for chunk in first.chunks] == [chunk.node_id for chunk in second.chunks]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reply", MODEL_REPLIES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_ranking_of_a_strategy_is_valid_whatever_the_model_replies(
    name: StrategyName, reply: str, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    llm = ScriptedLLM([MODEL_REPLIES[reply]] * 20)
    for question in QUESTIONS:
        found = found_by(name, question, [make_generation(TEXTS)], embedding, llm)
        assert not [condition for condition, is_met in contradictions(found).items() if is_met]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_failing_model_adds_a_note_and_the_search_still_works(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    llm = ScriptedLLM()
    with SearchPipeline([make_generation(TEXTS)], [embedding], Settings(), llm=llm) as pipeline:
        found = pipeline.search(QUESTIONS[0], strategy=name)
        pipeline.search(QUESTIONS[0], strategy=name)
        kept = pipeline.caches.counts["results"].held
    assert found.chunks
    failed = any("failed during the search" in note for note in found.notes)
    assert failed == bool(llm.prompts)
    assert failed == (kept == 0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_that_lacks_a_model_adds_a_note(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation(TEXTS)], embedding)
    assert any("language model" in note for note in found.notes) == (name in NEEDS_MODEL)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_filter_applies_to_every_search_pass_of_a_strategy(
    name: StrategyName, publish_generation: Callable[..., Any], embedding: FakeEmbedding
) -> None:
    generation = publish_generation({f"{node_id}.md": [text] for node_id, text in TEXTS.items()})
    for question in QUESTIONS[:4]:
        found = found_by(name, question, [generation], embedding, where=["source in n1.md,n3.md,n4.md"])
        allowed = {"n1.md", "n3.md", "n4.md"}
        assert {chunk.source for chunk in found.chunks} <= allowed
        ids = {node_id for node_id, _ in last_ranking(found)}
        assert {node.source for node in generation.nodes(sorted(ids))} <= allowed


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "sparse"])
def test_every_strategy_without_keyword_index_uses_the_dense_retriever_and_adds_a_note(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation(TEXTS).without_keywords()
    found = found_by(name, QUESTIONS[0], [generation], embedding)
    assert found.chunks
    assert any("no keyword index" in note for note in found.notes) == (name != "dense")


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "dense"])
def test_every_strategy_without_vectors_uses_the_keyword_retriever_and_adds_a_note(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation(TEXTS).with_broken_vectors()], embedding)
    assert found.chunks
    assert any("is damaged" in note for note in found.notes) == (name != "sparse")


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_fails_with_one_error_if_both_retrievers_fail(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    broken = make_generation(TEXTS).with_broken_vectors().without_keywords()
    with pytest.raises(RetrievalError):
        found_by(name, QUESTIONS[0], [broken], embedding)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_returns_at_most_one_chunk_of_a_collection_with_one_chunk(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation({"n1": TEXTS["n4"]})], embedding)
    assert len(found.chunks) <= 1


@pytest.mark.parametrize("number", [1, 2])
def test_the_numbers_of_question_variants_and_follow_up_searches_stay_within_the_configured_limits(
    number: int, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    query = QuerySettings(num_queries=number, max_hops=number)
    with SearchPipeline([make_generation(TEXTS)], [embedding], Settings(query=query)) as pipeline:
        for name in ("multi_query", "multi_hop"):
            assert searches(pipeline.search(QUESTIONS[0], strategy=name)) <= 1 + number
