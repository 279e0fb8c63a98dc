"""After an unsupported answer the model searches again, and the better of both answers is returned."""

from pathlib import Path

import pytest
from elt_llm_api.cli import run
from model_servers.backends import ScriptedBackend
from model_servers.http_server import running_model_server
from processes.command_line import CommandResult
from served.scripted_answers import EMBEDDED, INVENTED, QUESTION, TRUE, Library, written_by

pytestmark = pytest.mark.halved


TEXTS = {
    "loans.md": "# Loans\n\nBooks may be borrowed for four weeks.\n",
    "cards.md": "# Cards\n\nA reader's card costs 25 euros a year.\n",
    "rooms.md": "# Reading room\n\nThe reading room opens at nine on weekdays.\n",
}
LOOK = "KEYWORD: reading room opens"
MIXED = f"{TRUE} {INVENTED}"
NARROW = {"ANSWER__FURTHER_STEPS": "1", "QUERY__RERANKER_TOP_K": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert run(["ingest", *(str(folder / name) for name in TEXTS), "-c", "library"], EMBEDDED, folder) == 0
    return folder


@pytest.fixture
def library(folder: Path, capsys: pytest.CaptureFixture[str]) -> Library:
    return Library(folder, capsys)


def ask(library: Library, *replies: str, show: str = "--json") -> CommandResult:
    with running_model_server(ScriptedBackend(replies)) as server:
        ended = library.ask(written_by("ollama", server, **NARROW), show, question=QUESTION)
        assert len(server.bodies("/api/chat")) == len(replies)
    assert ended.code == 0, ended
    return ended


def test_the_answer_after_a_further_search_is_returned_if_it_is_better_than_the_first(library: Library) -> None:
    result = ask(library, INVENTED, LOOK, TRUE).json
    assert result["answer"].startswith("Books may be borrowed for four weeks. [")
    assert {chunk["source"] for chunk in result["chunks"]} > {"loans.md"}
    assert [stage["name"] for stage in result["trace"]["stages"]][-4:] == ["answer", "gate", "step 1", "answer again"]


def test_if_the_first_answer_is_kept_it_is_returned_with_the_chunks_it_was_written_from(library: Library) -> None:
    result = ask(library, MIXED, LOOK, INVENTED).json
    assert result["answer"].startswith("Books may be borrowed for four weeks. [1]")
    assert [chunk["source"] for chunk in result["chunks"]] == ["loans.md"]


def test_the_answer_that_a_stream_shows_last_is_the_final_answer(library: Library) -> None:
    shown = ask(library, MIXED, LOOK, INVENTED, show="--stream").out
    last = shown.rpartition("The first answer again:")[2]
    assert "Sources\n[1] loans.md" in shown
    assert last.startswith("\nBooks may be borrowed for four weeks")


def test_token_counts_include_each_search_step(library: Library) -> None:
    stages = ask(library, INVENTED, LOOK, TRUE).json["trace"]["stages"]
    (step,) = [stage["details"] for stage in stages if stage["name"] == "step 1"]
    assert step["call"]["counted"] > 0
    assert step["call"]["finish"] == "stop"


def test_an_answer_is_kept_if_writing_the_next_answer_fails(library: Library) -> None:
    result = ask(library, MIXED, LOOK, " ").json
    assert result["answer"].startswith("Books may be borrowed for four weeks. [1]")
    assert "Searching further failed" in " ".join(result["notes"])
