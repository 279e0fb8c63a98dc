"""Trace files have one line for each question. Files are private, rotated, and erased with forgotten documents."""

import json
import stat
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.serve.monitoring.exporters import trace_line, write_trace
from elt_llm_api.serve.monitoring.measures import QuestionObservation
from elt_llm_core.collection.forgetting import forget
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.collection.purging import purge
from elt_llm_core.progress import SilentListener
from elt_llm_core.state.database import open_state
from elt_llm_core.state.erasure import TRACES_FOLDER, TraceFiles, erase_trace_lines
from elt_llm_core.store.store import Store
from served.answering_server import EXTRACTIVE, copied_project
from served.server import served
from stored.folders import generated_files, run_ingest, write_files
from stored.shelf import COLLECTION, writing

CANARY = "zuckerrohrdschungel"


def observed(**told: Any) -> QuestionObservation:
    return QuestionObservation("ask", "default", "local", "answered", question=f"Where is the {CANARY}?", **told)


def files(data_dir: Path) -> list[Path]:
    return sorted((data_dir / TRACES_FOLDER).iterdir())


def lines(data_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in files(data_dir) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.network
def test_by_default_the_trace_file_records_each_question_without_its_text(sample_folder: Path, tmp_path: Path) -> None:
    with served(copied_project(sample_folder, tmp_path / "project"), environment=EXTRACTIVE) as server:
        asked = {"question": "How many points does a ground need for Grade A?"}
        answer = server.client.post("/v1/query", json=asked)
        server.client.post("/v1/search", json={"question": "points"})
        server.client.post("/v1/search", json={"question": "points", "collections": ["nowhere"]})
    answered, found, failed = lines(server.data_dir)
    assert answered["id"] == answer.headers["x-request-id"]
    assert answered["outcome"] == "answered"
    assert answered["generations"] == {"samples": 1}
    assert answered["confidence"] == answer.json()["confidence"]
    assert [stage["name"] for stage in answered["stages"]] == [
        stage["name"] for stage in answer.json()["trace"]["stages"]
    ]
    assert {tuple(it) for it in answered["documents"]} == {
        (it["collection"], it["source_id"], it["document_hash"]) for it in answer.json()["chunks"]
    }
    assert (found["kind"], found["outcome"]) == ("search", "found")
    assert (failed["outcome"], failed["error"]) == ("failed", "Forbidden")
    written = "".join(path.read_text(encoding="utf-8") for path in files(server.data_dir))
    assert "Grade A" not in written
    assert answer.json()["answer"][:20] not in written
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files(server.data_dir))
    assert stat.S_IMODE((server.data_dir / TRACES_FOLDER).stat().st_mode) == 0o700


@pytest.mark.network
def test_settings_control_the_traced_text_and_the_number_of_trace_files(sample_folder: Path, tmp_path: Path) -> None:
    asked = {"question": "How many points does a ground need for Grade A?"}
    with served(
        copied_project(sample_folder, tmp_path / "told"), environment=EXTRACTIVE, trace_questions="true"
    ) as server:
        answer = server.client.post("/v1/query", json=asked).json()["answer"]
    assert [(it["question"], it["answer"]) for it in lines(server.data_dir)] == [(asked["question"], answer)]
    with served(copied_project(sample_folder, tmp_path / "silent"), environment=EXTRACTIVE, trace_files="0") as server:
        server.client.post("/v1/query", json=asked)
    assert not (server.data_dir / TRACES_FOLDER).exists()


def test_full_trace_files_are_rotated_and_the_oldest_deleted(tmp_path: Path) -> None:
    write = partial(write_trace, TraceFiles(tmp_path, most=3, largest=2000), words=False)
    size = len(json.dumps(trace_line(observed(), words=False))) + 1
    for _ in range(40):
        write(observed())
    assert len(files(tmp_path)) == 3
    assert all(path.stat().st_size <= 2000 for path in files(tmp_path))
    assert [len(path.read_bytes().splitlines()) for path in files(tmp_path)][:2] == [2000 // size] * 2
    assert files(tmp_path)[0].name.endswith("-0001.jsonl") is False


def test_a_symbolic_link_in_place_of_a_trace_file_is_not_followed(tmp_path: Path) -> None:
    write = partial(write_trace, TraceFiles(tmp_path, most=3), words=False)
    write(observed())
    [path] = files(tmp_path)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        write(observed())


def test_trace_lines_about_a_document_and_truncated_trace_lines_can_be_removed(tmp_path: Path) -> None:
    write = partial(write_trace, TraceFiles(tmp_path, most=3), words=True)
    for name in ("one", "two", "three"):
        write(observed(documents=(("library", name, "hash"),)))
    with files(tmp_path)[0].open("a", encoding="utf-8") as stream:
        stream.write('{"question": "cut o')
    assert erase_trace_lines(tmp_path, lambda documents, _: ("library", "two", "hash") in documents) == 2
    assert [it["documents"][0][1] for it in lines(tmp_path)] == ["one", "three"]
    write(observed(documents=(("library", "four", "hash"),)))
    assert len(lines(tmp_path)) == 3


@pytest.fixture
def asked_about(tmp_path: Path) -> Iterator[Store]:
    """Ingest a collection, and write one trace line about each document, with a word of that document."""
    canary = {f"part-0/{CANARY}.md": f"# Cane\n\nThe text tells of {CANARY}.\n"}
    run_ingest(tmp_path / "data", write_files(tmp_path / "docs", {**generated_files(4), **canary}))
    write = partial(write_trace, TraceFiles(tmp_path / "data", most=3), words=True)
    with writing(tmp_path / "data") as store, closing(open_state(tmp_path / "data")):
        record = store.collections.get(COLLECTION)
        for document in store.documents.in_generation(record.id, record.published or 0):
            told = CANARY if CANARY in document.source else "leaf"
            shown = ((COLLECTION, document.document_id, document.document_hash),)
            write(
                QuestionObservation(
                    "ask", "default", "local", "answered", question=f"Who tells of {told}?", documents=shown
                )
            )
        yield store


def test_forgetting_a_document_removes_the_trace_lines_about_it(asked_about: Store) -> None:
    before = len(lines(asked_about.data_dir))
    forget(asked_about, COLLECTION, f"part-0/{CANARY}.md", SilentListener())
    assert len(lines(asked_about.data_dir)) == before - 1
    assert CANARY not in files(asked_about.data_dir)[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("dropped", [True, False])
def test_a_purge_keeps_the_trace_lines_about_published_documents(asked_about: Store, dropped: bool) -> None:
    before = len(lines(asked_about.data_dir))
    if dropped:
        drop(asked_about, COLLECTION)
    receipt = purge(asked_about, [], SilentListener())
    assert len(lines(asked_about.data_dir)) == (0 if dropped else before)
    assert not receipt.check.found_in
