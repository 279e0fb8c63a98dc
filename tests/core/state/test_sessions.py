from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.calibrations import CalibrationTable
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.sessions import EARLIER_TURNS_KEY, SessionTable
from elt_llm_core.store.database import Database
from elt_llm_core.store.lock import writer_lock


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    opened = open_state(workspace)
    yield opened
    opened.close()


@pytest.fixture
def sessions(database: Database) -> SessionTable:
    return SessionTable(database)


def result(question: str, answer: str = "Four weeks [1].") -> QueryResult:
    return QueryResult(question=question, answer=answer, answered=True)


def test_the_most_recently_used_conversation_is_first_even_within_one_second(sessions: SessionTable) -> None:
    started = [sessions.create(["library"]) for _ in range(8)]
    used = [started[place] for place in (3, 0, 7, 5, 1, 6, 2, 4)]
    for session_id in used:
        sessions.add(session_id, "How long may a book be kept?", result("How long may a book be kept?"))
    assert [one.session_id for one in sessions.all()] == used[::-1]


def test_a_conversation_is_read_back_unchanged(sessions: SessionTable) -> None:
    session_id = sessions.create(["library"], "thorough")
    first = sessions.add(session_id, "How long may a book be kept?", result("How long may a book be kept?"))
    second = sessions.add(session_id, "and a film?", result("How long may a film be kept?", "One week [1]."))
    assert sessions.turns(session_id) == [first, second]
    assert sessions.turns(session_id, last=1) == [second]
    assert second.understood == "How long may a film be kept?"
    record = sessions.get(session_id)
    assert (record.title, record.collections, record.profile, record.turns) == (
        "How long may a book be kept?",
        ("library",),
        "thorough",
        2,
    )


def test_a_conversation_is_found_by_a_prefix_of_its_id(sessions: SessionTable) -> None:
    session_id = sessions.create(["library"])
    assert sessions.get(session_id[:6]).session_id == session_id


@pytest.mark.parametrize("unknown", ["", "a", "%%%%", "no such id"])
def test_an_unknown_conversation_is_refused(sessions: SessionTable, unknown: str) -> None:
    sessions.create(["library"])
    with pytest.raises(UsageError):
        sessions.get(unknown)
    with pytest.raises(UsageError):
        sessions.add(unknown, "anything?", result("anything?"))


def test_deleting_a_conversation_deletes_its_turns(sessions: SessionTable, database: Database) -> None:
    session_id = sessions.create(["library"])
    sessions.add(session_id, "anything?", result("anything?"))
    sessions.delete(session_id)
    assert database.rows("SELECT * FROM turns") == []


def test_only_the_last_turn_can_be_deleted_and_a_new_first_question_becomes_the_title(sessions: SessionTable) -> None:
    session = sessions.create(["library"])
    for question in ("First?", "Second?"):
        sessions.add(session, question, result(question))
    sessions.delete_last(session, 1)
    assert [turn.number for turn in sessions.turns(session)] == [1, 2]
    sessions.delete_last(session, 2)
    sessions.delete_last(session, 1)
    sessions.add(session, "Third?", result("Third?"))
    assert [turn.asked for turn in sessions.turns(session)] == ["Third?"]
    assert sessions.get(session).title == "Third?"


def test_turns_about_a_document_are_deleted_with_the_document(sessions: SessionTable, tmp_path: Path) -> None:
    session_id = sessions.create(["library"])
    sessions.add(session_id, "canary?", result("canary?", "canary of doc-1"))
    sessions.add(session_id, "and why?", result("Why is the canary?", "leans on it"))
    kept = sessions.add(session_id, "second?", result("second?", "about doc-2"))
    later = sessions.add(session_id, "and why?", result("Why second?", "leans on the second"))
    assert sessions.erase(lambda shown: "canary of" in shown.answer) == 2
    assert sessions.turns(session_id) == [kept, later]
    assert sessions.get(session_id).title == "second?"


def test_an_answer_is_erased_if_its_language_model_read_an_erased_turn(sessions: SessionTable) -> None:
    session_id = sessions.create(["library"])
    sessions.add(session_id, "canary?", result("canary?", "canary of doc-1"))
    kept = sessions.add(session_id, "second?", result("second?", "about doc-2"))
    for read in ([1, 2], [3]):
        later = result("Why second?", "in other words").model_copy(update={"metadata": {EARLIER_TURNS_KEY: read}})
        sessions.add(session_id, "and why?", later)
    assert sessions.erase(lambda shown: "canary of" in shown.answer) == 3
    assert sessions.turns(session_id) == [kept]


def test_a_conversation_without_turns_is_deleted(sessions: SessionTable) -> None:
    session_id = sessions.create(["library"])
    sessions.add(session_id, "first?", result("first?", "canary of doc-1"))
    assert sessions.erase(lambda shown: shown.answered) == 1
    assert sessions.all() == []


def test_turns_written_by_several_threads_are_all_kept_and_numbered(sessions: SessionTable) -> None:
    session_id = sessions.create(["library"])
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: sessions.add(session_id, f"{number}?", result(f"{number}?")), range(40)))
    assert [turn.number for turn in sessions.turns(session_id)] == list(range(1, 41))


def test_the_state_database_can_be_written_while_another_process_holds_the_store_lock(workspace: Workspace) -> None:
    with writer_lock(workspace, "ingest"):
        opened = open_state(workspace)
        SessionTable(opened).create(["library"])
        opened.close()


def test_a_state_database_of_a_newer_program_version_is_refused(tmp_path: Path) -> None:
    opened = open_state(tmp_path)
    opened.execute("PRAGMA user_version = 99")
    opened.close()
    with pytest.raises(StoreError, match="newer"):
        open_state(tmp_path)
    assert (tmp_path / STATE_NAME).exists()


def test_a_calibration_of_one_generation_is_not_used_for_another(database: Database) -> None:
    calibrations = CalibrationTable(database)
    calibrations.put("library", "one", "default", "{1}")
    calibrations.put("library", "one", "default", "{2}")
    assert calibrations.find("library", "one", "default") == "{2}"
    assert calibrations.find("library", "two", "default") is None
    assert calibrations.find("library", "one", "classic") is None
    calibrations.forget("library")
    assert calibrations.find("library", "one", "default") is None
