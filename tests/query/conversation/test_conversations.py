"""Conversations rewrite, note and store questions; the engine of these tests repeats its question."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import EltError, ModelBroken, ModelMissing, RetrievalError
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.results import Citation, QueryResult
from elt_llm_core.state.database import open_state
from elt_llm_core.state.sessions import EARLIER_TURNS_KEY, ConversationTurn, SessionTable
from elt_llm_core.store.database import Database
from elt_llm_query.conversation.conversation import Conversation, earlier_turn, fit_history, turn_text
from elt_llm_query.synthesis.events import Event, QuestionRewritten
from elt_llm_query.synthesis.prompts import shipped_prompt
from hypothesis import given
from hypothesis import strategies as st

FIRST, SECOND = "What is the fee for seniors?", "and for juniors?"
BY_RULES = "What is the fee for juniors?"


@dataclass
class EchoEngine:
    """An engine that answers with the question, or raises a given error."""

    failing: EltError | None = None
    options: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, question: str, **options: Any) -> QueryResult:
        self.options.append(options)
        if self.failing:
            raise self.failing
        return QueryResult(question=question, answer=question, answered=True, notes=("as always",))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_state(tmp_path)) as opened:
        yield opened


@pytest.fixture
def sessions(database: Database) -> SessionTable:
    return SessionTable(database)


def asked_twice(sessions: SessionTable, second: str, *replies: str | EltError) -> tuple[QueryResult, ScriptedLLM]:
    """Return the answer to a follow-up question; a language model, if any, makes the given replies."""
    llm = ScriptedLLM(replies)
    model = {"llm": llm, "prompt": shipped_prompt("follow_up")} if replies else {}
    conversation = Conversation(EchoEngine(), sessions, sessions.create(["club"]), **model)  # type: ignore[arg-type]
    conversation.ask(FIRST)
    return conversation.ask(second), llm


def test_a_follow_up_question_is_searched_as_rewritten_and_stored_as_typed_and_as_rewritten(
    sessions: SessionTable,
) -> None:
    result, _ = asked_twice(sessions, SECOND)
    assert result.answer == BY_RULES
    assert result.notes == (f"Understood as: {BY_RULES}", "as always")
    [record] = sessions.all()
    first, second = sessions.turns(record.session_id)
    assert (first.asked, first.understood, second.asked, second.understood) == (FIRST, FIRST, SECOND, BY_RULES)
    assert second.result == result


def test_a_language_model_reads_earlier_turns_only_for_a_follow_up_question(sessions: SessionTable) -> None:
    engine, heard = EchoEngine(), list[Event]()
    llm = ScriptedLLM()
    conversation = Conversation(engine, sessions, sessions.create(["club"]), llm=llm)
    assert "ScriptedLLM" not in repr(conversation)  # a model's fields include its key
    conversation.ask(FIRST, listen=heard.append)
    result = conversation.ask(SECOND, listen=heard.append)
    alone = conversation.ask("Who is the treasurer of the club in the next season?", listen=heard.append)
    assert [one.get("history") for one in engine.options] == [None, ((FIRST, FIRST),), None]
    assert heard == [QuestionRewritten(BY_RULES)]
    assert result.metadata[EARLIER_TURNS_KEY] == [1]
    assert EARLIER_TURNS_KEY not in alone.metadata


def test_without_a_language_model_a_conversation_records_that_no_earlier_turns_were_read(
    sessions: SessionTable,
) -> None:
    result, _ = asked_twice(sessions, SECOND)
    assert EARLIER_TURNS_KEY not in result.metadata


def test_the_history_given_to_a_language_model_is_limited_and_has_no_citation_marks(sessions: SessionTable) -> None:
    engine = EchoEngine()
    conversation = Conversation(engine, sessions, sessions.create(["club"]), llm=ScriptedLLM())
    conversation.ask(FIRST)
    for number in range(8):
        conversation.ask(f"and for juniors of Class {number} {'so to say ' * 9}[{number}]?")
    for history in (one.get("history", ()) for one in engine.options):
        assert sum(len(f"{question} {answer}".split()) for question, answer in history) <= 400
        assert not any("[" in answer for _, answer in history)


def test_the_trace_records_the_rewriting_rule(sessions: SessionTable) -> None:
    result, _ = asked_twice(sessions, SECOND)
    stage = result.trace.stages[0]
    assert stage.name == "follow up"
    assert stage.details["rule"] == "another phrase in the same question"


def test_a_question_that_needs_no_rewriting_gets_no_note(sessions: SessionTable) -> None:
    result, _ = asked_twice(sessions, "What is sepsis?")
    assert result.notes == ("as always",)
    assert result.trace.stages[0].details["rule"] == "complete by itself"


def test_a_conversation_passes_its_options_to_the_engine(sessions: SessionTable) -> None:
    engine = EchoEngine()
    Conversation(engine, sessions, sessions.create(["club"])).ask(FIRST, where=("year>=2020",))
    assert engine.options == [{"where": ("year>=2020",)}]


def test_a_failed_question_is_not_stored(sessions: SessionTable) -> None:
    session_id = sessions.create(["club"])
    with pytest.raises(RetrievalError):
        Conversation(EchoEngine(RetrievalError("no retriever")), sessions, session_id).ask(FIRST)
    assert sessions.turns(session_id) == []


def test_an_answer_that_cannot_be_stored_is_still_returned(sessions: SessionTable, database: Database) -> None:
    session_id = sessions.create(["club"])
    database.execute("CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
    result = Conversation(EchoEngine(), sessions, session_id).ask(FIRST)
    assert result.answer == FIRST
    assert "could not be stored" in result.notes[-1]


def test_a_follow_up_question_that_the_language_model_rewrote_is_searched_as_rewritten(sessions: SessionTable) -> None:
    result, llm = asked_twice(sessions, SECOND, "How much must juniors pay as a fee?")
    assert result.question == "How much must juniors pay as a fee?"
    assert result.trace.stages[0].details["rule"] == "by the language model"
    assert FIRST in llm.prompts[0]


def test_the_language_model_does_not_rewrite_a_question_that_is_complete_by_itself(sessions: SessionTable) -> None:
    result, llm = asked_twice(sessions, "What is sepsis?", "never written")
    assert (result.question, llm.prompts) == ("What is sepsis?", [])


@pytest.mark.parametrize(
    ("second", "reply", "why"),
    [
        (SECOND, "What is the fee for juniors?\nIt is 12.", "is not a single question"),
        (SECOND, "What is the fee? " * 40, "is not a single question"),
        (SECOND, "What is the fee of juniors in Quillhaven?", "invents quillhaven"),
        (SECOND, "What is the fee for juniors in 2024?", "invents 2024"),
        ("and in 2024?", "What is the fee for seniors?", "leaves out 2024"),
        ("and for the Averell Cup?", "What is the fee for the cup?", "leaves out averell"),
        ("B1 please", "What is the fee?", "leaves out b1"),
        (SECOND, "  ", "is not complete"),
        (SECOND, "The fee for seniors is paid in May.", "leaves out the topic junior"),
        ("where?", FIRST, "repeats an answer"),
    ],
)
def test_a_question_rewritten_by_the_language_model_is_not_used_if_words_are_lost_or_invented(
    sessions: SessionTable, second: str, reply: str, why: str
) -> None:
    result, _ = asked_twice(sessions, second, reply)
    assert result.trace.stages[0].details["rule"] != "by the language model"
    assert any(why in note for note in result.notes), result.notes


@pytest.mark.parametrize("failure", [ModelMissing("no model"), ModelBroken("broke off")])
def test_the_rewriting_rules_are_used_if_the_language_model_fails(sessions: SessionTable, failure: EltError) -> None:
    result, _ = asked_twice(sessions, SECOND, failure, failure, failure)
    assert result.question == BY_RULES
    assert any("because the language model failed" in note for note in result.notes)


def test_the_topics_of_an_answer_are_the_section_headings_of_its_citations() -> None:
    def cited(section: str | None) -> Citation:
        return Citation(
            **dict.fromkeys(("reference", "collection", "source_id", "source_title", "source"), "x"),
            document_hash="0",
            excerpt="x",
            span=(0, 1),
            page=None,
            section=section,
            relevance_score=1.0,
        )

    citations = (cited("Part A > Loans"), cited(None), cited("Part B > Loans"), cited("Fees"))
    result = QueryResult(question="q", answer="a", answered=True, citations=citations)
    assert earlier_turn(ConversationTurn(1, "asked", "understood", "a", result, "")).topics == ("Loans", "Fees")


@given(st.lists(st.integers(0, 30), max_size=8), st.integers(0, 80))
def test_the_history_consists_of_the_last_turns_that_fit_into_the_token_budget(lengths: list[int], budget: int) -> None:
    turns = [
        ConversationTurn(number, "", "q", "w " * length, QueryResult(question="q", answer="", answered=True), "")
        for number, length in enumerate(lengths)
    ]

    def count(text: str) -> int:
        return len(text.split())

    kept = fit_history(turns, budget, count)
    assert list(kept) == turns[len(turns) - len(kept) :]
    assert sum(count(turn_text(turn)) for turn in kept) <= budget
    if len(kept) < len(turns):
        assert sum(count(turn_text(turn)) for turn in turns[len(turns) - len(kept) - 1 :]) > budget
