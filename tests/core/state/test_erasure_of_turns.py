"""Forgetting and purging a document also erase its words from conversations."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.collection.purging import PurgeReceipt, purge
from elt_llm_core.progress import SilentListener
from elt_llm_core.results import Citation, QueryResult
from elt_llm_core.state.calibrations import CalibrationTable
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.sessions import SessionTable
from elt_llm_core.store.store import open_store
from stored.folders import generated_files, run_ingest, write_files
from stored.shelf import COLLECTION, put, some_documents, writing

CANARY = "zuckerrohrdschungel"
NAME = f"part-0/{CANARY}.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {**generated_files(6), NAME: f"# Cane\n\nThe text tells of {CANARY}.\n"})


@pytest.fixture
def data_dir(tmp_path: Path, folder: Path) -> Path:
    """Return a data directory with a collection and a conversation.

    The conversation has a turn about each document, and a follow-up to the one about the document to be deleted.
    """
    data_dir = tmp_path / "data"
    run_ingest(data_dir, folder)
    with open_store(data_dir) as store, closing(open_state(data_dir)) as state:
        record = store.collections.get(COLLECTION)
        sessions = SessionTable(state)
        session_id = sessions.create([COLLECTION])
        documents = store.documents.in_generation(record.id, record.published or 0)
        for document in sorted(documents, key=lambda it: it.source != NAME):
            quoted = CANARY if document.source == NAME else "leaf"
            citation = Citation(
                reference="[1]",
                collection=COLLECTION,
                source_id=document.document_id,
                source_title=document.title,
                source=document.source,
                document_hash=document.document_hash,
                excerpt=quoted,
                span=(0, 4),
                page=None,
                section=None,
                relevance_score=1.0,
            )
            asked = f"What of {document.source}?"
            sessions.add(
                session_id, asked, QueryResult(question=asked, answer=quoted, answered=True, citations=(citation,))
            )
            if document.source == NAME:
                sessions.add(session_id, "and why?", QueryResult(question=f"Why {CANARY}?", answer="", answered=False))
    return data_dir


def _forget(data_dir: Path, folder: Path) -> None:
    with writing(data_dir) as store:
        assert forget(store, COLLECTION, NAME, SilentListener()).turns == 2


def _delete_the_file(data_dir: Path, folder: Path) -> None:
    (folder / NAME).unlink()
    run_ingest(data_dir, folder)


def _change_the_file(data_dir: Path, folder: Path) -> None:
    (folder / NAME).unlink()
    write_files(folder, {"part-0/other.md": "Nothing to tell.\n"})
    run_ingest(data_dir, folder)


def _purge(data_dir: Path, *names: str) -> PurgeReceipt:
    with writing(data_dir) as store:
        return purge(store, names, SilentListener())


def _turns(data_dir: Path) -> list[str]:
    with closing(open_state(data_dir)) as state:
        sessions = SessionTable(state)
        return [turn.asked for session in sessions.all() for turn in sessions.turns(session.session_id)]


def _canary_in_state(data_dir: Path) -> bool:
    return any(CANARY.encode() in path.read_bytes().lower() for path in data_dir.glob(f"{STATE_NAME}*"))


@pytest.mark.parametrize("remove", [_forget, _delete_the_file, _change_the_file])
def test_after_a_purge_no_conversation_contains_words_of_deleted_documents(
    data_dir: Path, folder: Path, remove: Callable[[Path, Path], None]
) -> None:
    assert _canary_in_state(data_dir)
    others = [asked for asked in _turns(data_dir) if CANARY not in asked and asked != "and why?"]
    remove(data_dir, folder)
    receipt = _purge(data_dir)
    assert receipt.turns == (0 if remove is _forget else 2)
    assert receipt.is_clean
    assert not _canary_in_state(data_dir)
    assert _turns(data_dir) == others
    assert len(others) == 6


def test_a_purge_of_any_collection_erases_conversation_turns_about_a_dropped_collection(data_dir: Path) -> None:
    with writing(data_dir) as store:
        put(store, some_documents(3), name="other")
        drop(store, COLLECTION)
    assert _purge(data_dir, "other").turns == 8
    assert _turns(data_dir) == []
    assert not _canary_in_state(data_dir)


def test_a_purge_keeps_conversation_turns_about_other_collections(data_dir: Path, folder: Path) -> None:
    _delete_the_file(data_dir, folder)
    with writing(data_dir) as store:
        put(store, some_documents(3), name="other")
    assert _purge(data_dir, "other").turns == 0
    assert len(_turns(data_dir)) == 8


def test_a_conversation_turn_without_an_answer_whose_question_repeats_erased_words_is_erased(
    data_dir: Path, folder: Path
) -> None:
    with closing(open_state(data_dir)) as state:
        sessions = SessionTable(state)
        asked = f"Who wrote of {CANARY}?"
        sessions.add(sessions.create([COLLECTION]), asked, QueryResult(question=asked, answer="No.", answered=False))
    _delete_the_file(data_dir, folder)
    assert _purge(data_dir).turns == 3
    assert not _canary_in_state(data_dir)


def test_a_purge_creates_no_conversation_database(tmp_path: Path, folder: Path) -> None:
    run_ingest(tmp_path / "data", folder)
    assert _purge(tmp_path / "data").turns == 0
    assert not (tmp_path / "data" / STATE_NAME).exists()


def test_the_calibrations_of_a_collection_are_deleted_when_the_collection_is_dropped(data_dir: Path) -> None:
    with closing(open_state(data_dir)) as state:
        CalibrationTable(state).put(COLLECTION, "hash", "default", "{}")
    with writing(data_dir) as store:
        drop(store, COLLECTION)
    with closing(open_state(data_dir)) as state:
        assert CalibrationTable(state).find(COLLECTION, "hash", "default") is None
