"""What people think of answers is kept once for each, and goes with what it is about."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_core.results import QueryResult
from elt_llm_core.state.database import open_state
from elt_llm_core.state.feedback import Feedback, RatedAnswer
from elt_llm_core.state.sessions import Sessions
from elt_llm_core.store.database import Database

DOCUMENT = ("library", "d1", "aa")
ANSWER = RatedAnswer("ann", "How long?", request_id="r-1", collections=("library",), documents=frozenset({DOCUMENT}))


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Database]:
    with closing(open_state(tmp_path)) as state:
        yield state


def test_an_opinion_is_read_as_it_was_given(state: Database) -> None:
    given = Feedback(state).give(ANSWER, "down", "It says nothing of holidays.")
    assert Feedback(state).all() == [given]


def test_a_second_opinion_of_the_same_answer_takes_the_place_of_the_first(state: Database) -> None:
    feedback = Feedback(state)
    feedback.give(ANSWER, "down", "")
    feedback.give(ANSWER, "up", "On second thought.")
    feedback.give(replace(ANSWER, owner="bob"), "down", "")
    assert sorted((one.answer.owner, one.verdict) for one in feedback.all()) == [("ann", "up"), ("bob", "down")]


def test_an_opinion_of_a_turn_goes_with_the_conversation(state: Database) -> None:
    sessions, feedback = Sessions(state), Feedback(state)
    session = sessions.create(["library"], owner="ann")
    turn = sessions.add(session, "How long?", QueryResult(question="How long?", answer="A year.", answered=True))
    feedback.give(replace(ANSWER, request_id=None, session=session, turn=turn.number), "up", "")
    sessions.delete(session)
    assert feedback.all() == []


def test_what_shows_a_document_that_is_gone_is_erased(state: Database) -> None:
    feedback = Feedback(state)
    feedback.give(ANSWER, "up", "")
    feedback.give(replace(ANSWER, request_id="r-2", documents=frozenset()), "up", "")
    assert feedback.erase(lambda documents, _: DOCUMENT in documents) == 1
    assert [one.answer.request_id for one in feedback.all()] == ["r-2"]


def test_what_says_a_word_that_was_erased_is_erased(state: Database) -> None:
    feedback = Feedback(state)
    feedback.give(ANSWER, "up", "The canary sings.")
    assert feedback.erase(lambda _, text: "canary" in text) == 1
