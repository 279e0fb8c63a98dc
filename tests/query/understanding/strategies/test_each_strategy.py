"""Tests of the behaviour that is specific to each strategy."""

from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.search import SearchPipeline, SearchResult
from elt_llm_query.understanding.question import parse_question
from elt_llm_query.understanding.strategies.multi_hop import bridge_names, missing_words
from elt_llm_query.understanding.strategies.query_expansion import variants_by_rules
from elt_llm_query.understanding.strategies.strategy import add_best_scores, choose_route, reply_lines

MakeGeneration = Callable[..., Any]
TEXTS = {
    "album": "Nine Rooms is an album by Marta Feld, recorded in winter.",
    "singer": "Marta Feld grew up in Oregon.",
    "other": "Sound that is kept for the winter takes rooms of many metres.",
    "rain": "It rains in winter.",
}
QUESTION = "In which state did the singer of the album Nine Rooms grow up?"


def questions_of(found: SearchResult) -> list[str]:
    return [stage.details["question"] for stage in found.stages if stage.name == "embed"]


def details(found: SearchResult, name: str) -> dict[str, Any]:
    return {stage.name: stage.details for stage in found.stages}[name]


@pytest.fixture
def finder_with(make_generation: MakeGeneration, embedding: FakeEmbedding) -> Callable[..., SearchPipeline]:
    def make(llm: ScriptedLLM | None = None) -> SearchPipeline:
        return SearchPipeline([make_generation(TEXTS)], [embedding], Settings(), llm=llm)

    return make


def test_the_second_search_of_the_multi_hop_strategy_uses_the_names_in_the_best_chunk(
    finder_with: Callable[..., SearchPipeline],
) -> None:
    with finder_with() as pipeline:
        found = pipeline.search(QUESTION, strategy="multi_hop", top_k=2)
    assert questions_of(found)[1] == "Marta Feld state singer grow"
    assert [chunk.node_id for chunk in found.chunks] == ["album", "singer"]
    assert details(found, "combine")["follow-ups"][0] == {"from": "album", "question": "Marta Feld state singer grow"}


def test_a_language_model_writes_the_follow_up_searches_and_decides_when_to_stop(
    finder_with: Callable[..., SearchPipeline],
) -> None:
    llm = ScriptedLLM(["1. Where did Marta Feld grow up?", "NONE"])
    with finder_with(llm) as pipeline:
        found = pipeline.search(QUESTION, strategy="multi_hop")
    assert questions_of(found) == [QUESTION, "Where did Marta Feld grow up?"]
    assert len(llm.prompts) == 2


def test_the_hyde_strategy_embeds_a_hypothetical_answer_together_with_the_question(
    finder_with: Callable[..., SearchPipeline],
) -> None:
    with finder_with(ScriptedLLM(["Marta Feld\n grew up in Oregon."])) as pipeline:
        found = pipeline.search(QUESTION, strategy="hyde")
    assert details(found, "embed")["hypothetical answers"] == ["Marta Feld grew up in Oregon."]
    assert details(found, "retrieve")["keywords"] == QUESTION


def test_the_language_model_writes_the_question_variants_of_the_multi_query_strategy(
    finder_with: Callable[..., SearchPipeline],
) -> None:
    reply = f'- Where is Marta Feld from?\n2) {QUESTION}\n\n"Home of the singer"\na\nb\nc\nd'
    with finder_with(ScriptedLLM([reply])) as pipeline:
        found = pipeline.search(QUESTION, strategy="multi_query")
    assert questions_of(found) == [QUESTION, "Where is Marta Feld from?", "Home of the singer", "a", "b"]
    assert not [note for note in found.notes if "language model" in note]


def test_the_strategy_auto_searches_again_if_no_keyword_matches_a_code_or_name(
    finder_with: Callable[..., SearchPipeline],
) -> None:
    with finder_with() as pipeline:
        found = pipeline.search("XR77", strategy="auto")
    assert details(found, "choose")["strategy"] == "sparse"
    assert [stage.name for stage in found.stages].count("retrieve") == 2


@pytest.mark.parametrize(
    ("question", "strategy"),
    [
        ("A3.1", "sparse"),
        ("C++", "sparse"),
        ("ISO 27001", "sparse"),
        ("Who approves annual leave?", "hybrid"),
        ("annual leave", "hybrid"),
        ("What is the fee for transfers, and when is it due?", "multi_query"),
        ("Are Anna Keller and Paul Novak both referees?", "multi_query"),
        ("In what year did the band of Anna Keller break up, and who left it?", "multi_query"),
        ("In what year was the band that was founded by Anna Keller disbanded?", "multi_hop"),
        ("the band of Anna Keller was not heard of in that year again", "hybrid"),
    ],
)
def test_the_strategy_auto_selects_a_strategy_by_the_form_of_the_question(question: str, strategy: str) -> None:
    assert choose_route(parse_question(question)).strategy == strategy


def test_question_variants_made_by_rules_are_the_parts_the_names_and_the_content_words_of_a_question() -> None:
    twofold = parse_question("What is the transfer fee, and when is it due?")
    assert variants_by_rules(twofold, 4)[:2] == ["What is the transfer fee?", "when is it due?"]
    assert variants_by_rules(parse_question("Are Anna Keller and Paul Novak referees?"), 2) == [
        "Anna Keller referees",
        "Paul Novak referees",
    ]
    assert variants_by_rules(parse_question("leave"), 4) == []


def test_bridge_names_are_the_names_in_a_chunk_that_the_question_lacks() -> None:
    text = "The Charmed was shown by The WB. Drew Fuller of San Francisco stars; it is Charmed again."
    names = bridge_names(text, "Where was Drew Fuller born?", KeywordTokeniser())
    assert names == ["Charmed", "WB", "San Francisco"] or names[0] == "Charmed"
    assert "Drew Fuller" not in names


def test_missing_words_are_the_words_of_the_question_that_a_chunk_lacks() -> None:
    assert missing_words("Where was the singer born?", "A singer of songs.", KeywordTokeniser()) == ["born"]


def test_list_markers_are_removed_from_the_lines_of_a_model_reply() -> None:
    assert reply_lines('1. one\n- "two"\n\n***\n(3) three\none') == ["one", "two", "three"]


def test_a_candidate_found_by_question_and_variant_ranks_above_a_candidate_found_by_the_question_alone() -> None:
    first = [SearchCandidate("a", "c", score=0.5), SearchCandidate("b", "c", score=0.5)]
    other = [SearchCandidate("b", "c", score=0.9), SearchCandidate("z", "c", score=0.4)]
    combined = add_best_scores(first, [other], 0.5)
    assert [one.node_id for one in combined] == ["b", "a", "z"]
    assert combined[0].score == pytest.approx(0.95 / 1.5)
