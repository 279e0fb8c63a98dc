"""What each strategy does that the others do not."""

from collections.abc import Callable
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.pipeline import Found, PassageFinder
from elt_llm_query.strategies.auto import route_of
from elt_llm_query.strategies.bridges import bridge_names, unanswered
from elt_llm_query.strategies.combining import with_best_of
from elt_llm_query.strategies.helper_model import lines_of
from elt_llm_query.strategies.variants import variants_by_rules
from elt_llm_query.understand import understand

MakeGeneration = Callable[..., Any]
TEXTS = {
    "album": "Nine Rooms is an album by Marta Feld, recorded in winter.",
    "singer": "Marta Feld grew up in Oregon.",
    "other": "Sound that is kept for the winter takes rooms of many metres.",
    "rain": "It rains in winter.",
}
QUESTION = "In which state did the singer of the album Nine Rooms grow up?"


def asked(found: Found) -> list[str]:
    return [stage.details["question"] for stage in found.stages if stage.name == "embed"]


def details(found: Found, name: str) -> dict[str, Any]:
    return {stage.name: stage.details for stage in found.stages}[name]


@pytest.fixture
def finder_with(make_generation: MakeGeneration, embedding: FakeEmbedding) -> Callable[..., PassageFinder]:
    def make(llm: ScriptedLLM | None = None) -> PassageFinder:
        return PassageFinder([make_generation(TEXTS)], [embedding], Settings(), llm=llm)

    return make


def test_a_hop_asks_for_the_names_of_what_was_found(finder_with: Callable[..., PassageFinder]) -> None:
    with finder_with() as finder:
        found = finder.find(QUESTION, strategy="multi_hop", top_k=2)
    assert asked(found)[1] == "Marta Feld state singer grow"
    assert [chunk.node_id for chunk in found.chunks] == ["album", "singer"]
    assert details(found, "combine")["follow-ups"][0] == {"from": "album", "question": "Marta Feld state singer grow"}


def test_a_model_words_the_next_question_and_ends_the_hops(finder_with: Callable[..., PassageFinder]) -> None:
    llm = ScriptedLLM(["1. Where did Marta Feld grow up?", "NONE"])
    with finder_with(llm) as finder:
        found = finder.find(QUESTION, strategy="multi_hop")
    assert asked(found) == [QUESTION, "Where did Marta Feld grow up?"]
    assert len(llm.prompts) == 2


def test_a_made_up_passage_is_embedded_with_the_question(finder_with: Callable[..., PassageFinder]) -> None:
    with finder_with(ScriptedLLM(["Marta Feld\n grew up in Oregon."])) as finder:
        found = finder.find(QUESTION, strategy="hyde")
    assert details(found, "embed")["passages"] == ["Marta Feld grew up in Oregon."]
    assert details(found, "retrieve")["keywords"] == QUESTION


def test_a_model_writes_the_variants(finder_with: Callable[..., PassageFinder]) -> None:
    reply = f'- Where is Marta Feld from?\n2) {QUESTION}\n\n"Home of the singer"\na\nb\nc\nd'
    with finder_with(ScriptedLLM([reply])) as finder:
        found = finder.find(QUESTION, strategy="multi_query")
    assert asked(found) == [QUESTION, "Where is Marta Feld from?", "Home of the singer", "a", "b"]
    assert not [note for note in found.notes if "language model" in note]


def test_a_question_that_is_a_designation_alone_may_still_be_found_by_vectors(
    finder_with: Callable[..., PassageFinder],
) -> None:
    with finder_with() as finder:
        found = finder.find("XR77", strategy="auto")
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
def test_a_question_goes_where_its_looks_send_it(question: str, strategy: str) -> None:
    assert route_of(understand(question)).strategy == strategy


def test_the_variants_of_rules_are_parts_names_and_content() -> None:
    twofold = understand("What is the transfer fee, and when is it due?")
    assert variants_by_rules(twofold, 4)[:2] == ["What is the transfer fee?", "when is it due?"]
    assert variants_by_rules(understand("Are Anna Keller and Paul Novak referees?"), 2) == [
        "Anna Keller referees",
        "Paul Novak referees",
    ]
    assert variants_by_rules(understand("leave"), 4) == []


def test_bridge_names_are_those_that_the_question_lacks() -> None:
    text = "The Charmed was shown by The WB. Drew Fuller of San Francisco stars; it is Charmed again."
    names = bridge_names(text, "Where was Drew Fuller born?", KeywordTokeniser())
    assert names == ["Charmed", "WB", "San Francisco"] or names[0] == "Charmed"
    assert "Drew Fuller" not in names


def test_what_a_passage_says_is_answered() -> None:
    assert unanswered("Where was the singer born?", "A singer of songs.", KeywordTokeniser()) == ["born"]


def test_lines_lose_the_marks_of_lists() -> None:
    assert lines_of('1. one\n- "two"\n\n***\n(3) three\none') == ["one", "two", "three"]


def test_what_a_variant_finds_as_well_comes_before_what_only_the_question_finds() -> None:
    first = [Candidate("a", "c", score=0.5), Candidate("b", "c", score=0.5)]
    other = [Candidate("b", "c", score=0.9), Candidate("z", "c", score=0.4)]
    combined = with_best_of(first, [other], 0.5)
    assert [one.node_id for one in combined] == ["b", "a", "z"]
    assert combined[0].score == pytest.approx(0.95 / 1.5)
