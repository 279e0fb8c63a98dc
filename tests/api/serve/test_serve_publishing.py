"""What another process publishes is answered from without a restart; what began before ends on what it began with."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import ANSWER, CHAT, QUESTION, Answering, answering
from command_line import FAKE, run_process
from elt_llm_api.cli import run
from folders import write_files
from model_faults import Fault

pytestmark = pytest.mark.network
_NEWS = {"news.md": "# News\n\nThe Zebrafinch Trophy was founded in 2031 and is played in Quillhaven.\n"}


@pytest.fixture
def one(sample_folder: Path, tmp_path: Path) -> Iterator[Answering]:
    """A server of its own, whose answers take long to say."""
    with answering(sample_folder, tmp_path / "project", " ".join([ANSWER] * 20)) as server:
        yield server


def _search(one: Answering) -> list[str]:
    asked = {"question": "When was the Zebrafinch Trophy founded?", "collections": ["samples"]}
    return [chunk["source"] for chunk in one.server.client.post("/v1/search", json=asked).json()["chunks"]]


def _generation(one: Answering) -> int:
    """The one that a question is answered from now; asked without waiting for the model."""
    asked = {"question": QUESTION, "collections": ["samples"]}
    result = one.server.client.post("/v1/query", json=asked).json()
    return int(result["metadata"]["generations"]["samples"])


def test_what_another_process_publishes_is_found_by_the_next_search(one: Answering) -> None:
    write_files(one.server.folder / "more", _NEWS)
    assert "news.md" not in _search(one)
    before = _generation(one)
    ended = run_process("ingest", "more", "-c", "samples", folder=one.server.folder, **FAKE)
    assert ended.code == 0, ended
    assert _search(one)[0] == "news.md"
    assert _generation(one) == before + 1


def test_an_answer_that_began_before_ends_on_the_generation_it_began_with(one: Answering) -> None:
    write_files(one.server.folder / "more", _NEWS)
    before = _generation(one)
    one.model.faults.plan(CHAT, Fault.SLOW)
    began, published, results = threading.Event(), threading.Event(), list[tuple[bool, Any]]()

    def listen() -> None:
        asked = {"question": f"{QUESTION} Say it slowly.", "collections": ["samples"]}
        headers, was_published = {"accept": "text/event-stream"}, False
        with one.server.client.stream("POST", "/v1/query", json=asked, headers=headers) as response:
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
