"""A newly published generation is used without a restart; running answers finish on their generation."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elt_llm_api.cli import run
from model_servers.faults import Fault
from processes.command_line import FAKE, run_process
from served.answering_server import ANSWER, CHAT, QUESTION, AnsweringServer, answering
from stored.folders import write_files

pytestmark = [pytest.mark.network, pytest.mark.halved]
_NEWS = {"news.md": "# News\n\nThe Zebrafinch Trophy was founded in 2031 and is played in Quillhaven.\n"}


@pytest.fixture
def one(sample_folder: Path, tmp_path: Path) -> Iterator[AnsweringServer]:
    """Start a separate server with slow answers."""
    with answering(sample_folder, tmp_path / "project", " ".join([ANSWER] * 10)) as server:
        yield server


def _search(one: AnsweringServer) -> list[str]:
    asked = {"question": "When was the Zebrafinch Trophy founded?", "collections": ["samples"]}
    return [chunk["source"] for chunk in one.server.client.post("/v1/search", json=asked).json()["chunks"]]


def _generation(one: AnsweringServer) -> int:
    """Return the generation that searches use now, without waiting for the model."""
    asked = {"question": QUESTION, "collections": ["samples"]}
    result = one.server.client.post("/v1/ask", json=asked).json()
    return int(result["metadata"]["generations"]["samples"])


def test_the_next_search_uses_a_generation_that_another_process_published(one: AnsweringServer) -> None:
    write_files(one.server.folder / "more", _NEWS)
    assert "news.md" not in _search(one)
    before = _generation(one)
    ended = run_process("ingest", "more", "-c", "samples", folder=one.server.folder, **FAKE)
    assert ended.code == 0, ended
    assert _search(one)[0] == "news.md"
    assert _generation(one) == before + 1


def test_a_running_answer_continues_with_the_generation_it_started_with(one: AnsweringServer) -> None:
    write_files(one.server.folder / "more", _NEWS)
    before = _generation(one)
    one.model.faults.plan(CHAT, Fault.SLOW)
    began, published, results = threading.Event(), threading.Event(), list[tuple[bool, Any]]()

    def listen() -> None:
        asked = {"question": f"{QUESTION} Say it slowly.", "collections": ["samples"]}
        headers, was_published = {"accept": "text/event-stream"}, False
        with one.server.client.stream("POST", "/v1/ask", json=asked, headers=headers) as response:
            for line in response.iter_lines():
                if line == "event: piece":
                    was_published = published.is_set()
                    began.set()
                elif line.startswith("data: ") and '"generations"' in line:
                    results.append((was_published, json.loads(line.removeprefix("data: "))))

    thread = threading.Thread(target=listen)
    thread.start()
    assert began.wait(60)
    assert run(["ingest", "more", "-c", "samples", "--json"], FAKE, one.server.folder) == 0
    published.set()
    thread.join(120)
    [(went_on, result)] = results
    assert went_on, "the answer had ended before the publication"
    assert result["metadata"]["generations"]["samples"] == before
    assert _generation(one) == before + 1
