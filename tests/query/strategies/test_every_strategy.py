"""What holds for every strategy, with a language model that works, fails or talks nonsense, and without one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from elt_llm_core.errors import RetrievalError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_query.retrieve.pipeline import Found, PassageFinder

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
) -> Found:
    with PassageFinder(generations, [embedding], Settings(), llm=llm) as finder:
        return finder.find(question, top_k=10, strategy=strategy, where=where)


def searches(found: Found) -> int:
    return sum(stage.name == "retrieve" for stage in found.stages)


def last_ranking(found: Found) -> list[tuple[str, float]]:
    ranked: list[tuple[str, float]] = [stage for stage in found.stages if stage.name in {"rerank", "combine"}][
        -1
    ].details["ranking"]
    return ranked


def contradictions(found: Found) -> Mapping[str, bool]:
    """What must not be said of any ranking."""
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
def test_each_candidate_comes_once_and_best_first_and_the_same_again(
    name: StrategyName, question: str, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    first, second = (found_by(name, question, [make_generation(TEXTS)], embedding) for _ in range(2))
    assert not [told for told, is_so in contradictions(first).items() if is_so]
    assert last_ranking(first) == last_ranking(second)
    assert [chunk.node_id for chunk in first.chunks] == [chunk.node_id for chunk in second.chunks]


@pytest.mark.parametrize("reply", MODEL_REPLIES)
@pytest.mark.parametrize("name", STRATEGIES)
def test_whatever_a_model_writes_the_ranking_is_sound(
    name: StrategyName, reply: str, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    llm = ScriptedLLM([MODEL_REPLIES[reply]] * 20)
    for question in QUESTIONS:
        found = found_by(name, question, [make_generation(TEXTS)], embedding, llm)
        assert not [told for told, is_so in contradictions(found).items() if is_so]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_model_that_fails_costs_a_note_and_not_the_answer(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    llm = ScriptedLLM()
    with PassageFinder([make_generation(TEXTS)], [embedding], Settings(), llm=llm) as finder:
        found = finder.find(QUESTIONS[0], strategy=name)
        finder.find(QUESTIONS[0], strategy=name)
        kept = finder.cache_counts["results"].held
    assert found.chunks
    failed = any("did not help to search" in note for note in found.notes)
    assert failed == bool(llm.prompts)
    assert failed == (kept == 0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_needs_a_model_and_has_none_says_so(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation(TEXTS)], embedding)
    assert any("language model" in note for note in found.notes) == (name in NEEDS_MODEL)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_filter_holds_in_every_search(
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
def test_without_keywords_vectors_find_and_the_note_says_so(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    generation = make_generation(TEXTS).without_keywords()
    found = found_by(name, QUESTIONS[0], [generation], embedding)
    assert found.chunks
    assert any("no keyword index" in note for note in found.notes) == (name != "dense")


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "dense"])
def test_without_vectors_keywords_find_and_the_note_says_so(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation(TEXTS).with_broken_vectors()], embedding)
    assert found.chunks
    assert any("is damaged" in note for note in found.notes) == (name != "sparse")


@pytest.mark.parametrize("name", STRATEGIES)
def test_where_no_leg_works_there_is_one_clear_error(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    broken = make_generation(TEXTS).with_broken_vectors().without_keywords()
    with pytest.raises(RetrievalError):
        found_by(name, QUESTIONS[0], [broken], embedding)


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_empty_collection_has_nothing_to_follow(
    name: StrategyName, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = found_by(name, QUESTIONS[0], [make_generation({"n1": TEXTS["n4"]})], embedding)
    assert len(found.chunks) <= 1


@pytest.mark.parametrize("number", [1, 2])
def test_no_more_variants_and_follow_ups_are_asked_than_configured(
    number: int, make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    query = QuerySettings(num_queries=number, max_hops=number)
    with PassageFinder([make_generation(TEXTS)], [embedding], Settings(query=query)) as finder:
        for name in ("multi_query", "multi_hop"):
            assert searches(finder.find(QUESTIONS[0], strategy=name)) <= 1 + number
