"""A caller has one feedback entry for each answer, and an entry is deleted together with its answer."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.state.sessions import FeedbackTable, RatedAnswer, SessionTable
from elt_llm_core.store.database import Database

DOCUMENT = ("library", "d1", "aa")
ANSWER = RatedAnswer("ann", "How long?", request_id="r-1", collections=("library",), documents=frozenset({DOCUMENT}))


@pytest.fixture
def state(workspace: Workspace) -> Iterator[Database]:
    with closing(open_state(workspace)) as state:
        yield state


def test_feedback_is_read_back_unchanged(state: Database) -> None:
    given = FeedbackTable(state).give(ANSWER, "down", "It says nothing of holidays.")
    assert FeedbackTable(state).all() == [given]


def test_new_feedback_on_an_answer_replaces_earlier_feedback(state: Database) -> None:
    feedback = FeedbackTable(state)
    feedback.give(ANSWER, "down", "")
    feedback.give(ANSWER, "up", "On second thought.")
    feedback.give(replace(ANSWER, owner="bob"), "down", "")
    assert sorted((one.answer.owner, one.verdict) for one in feedback.all()) == [("ann", "up"), ("bob", "down")]


def test_feedback_on_a_turn_is_deleted_with_its_conversation(state: Database) -> None:
    sessions, feedback = SessionTable(state), FeedbackTable(state)
    session = sessions.create(["library"], owner="ann")
    turn = sessions.add(session, "How long?", QueryResult(question="How long?", answer="A year.", answered=True))
    feedback.give(replace(ANSWER, request_id=None, session=session, turn=turn.number), "up", "")
    sessions.delete(session)
    assert feedback.all() == []


def test_feedback_that_shows_a_deleted_document_is_erased(state: Database) -> None:
    feedback = FeedbackTable(state)
    feedback.give(ANSWER, "up", "")
    feedback.give(replace(ANSWER, request_id="r-2", documents=frozenset()), "up", "")
    assert feedback.erase(lambda documents, _: DOCUMENT in documents) == 1
    assert [one.answer.request_id for one in feedback.all()] == ["r-2"]


def test_feedback_that_contains_an_erased_word_is_erased(state: Database) -> None:
    feedback = FeedbackTable(state)
    feedback.give(ANSWER, "up", "The canary sings.")
    assert feedback.erase(lambda _, text: "canary" in text) == 1
