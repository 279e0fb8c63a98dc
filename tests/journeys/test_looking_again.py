"""An answer that its passages do not bear out: the model looks further, and the better of both answers is given."""

from pathlib import Path

import pytest
from command_line import Ended
from elt_llm_api.cli import run
from model_backends import ScriptedBackend
from model_http_server import running_model_server
from written_journeys import EMBEDDED, INVENTED, QUESTION, TRUE, Library, written_by

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


def asked(library: Library, *replies: str, show: str = "--json") -> Ended:
    with running_model_server(ScriptedBackend(replies)) as server:
        ended = library.ask(written_by("ollama", server, **NARROW), show, question=QUESTION)
        assert len(server.bodies("/api/chat")) == len(replies)
    assert ended.code == 0, ended
    return ended


def test_what_a_step_found_is_answered_from_where_that_is_better(library: Library) -> None:
    told = asked(library, INVENTED, LOOK, TRUE).json
    assert told["answer"].startswith("Books may be borrowed for four weeks. [")
    assert {chunk["source"] for chunk in told["contexts"]} > {"loans.md"}
    assert [stage["name"] for stage in told["trace"]["stages"]][-4:] == ["answer", "gate", "step 1", "answer again"]


def test_an_answer_that_stays_has_the_passages_it_was_written_from(library: Library) -> None:
    told = asked(library, MIXED, LOOK, INVENTED).json
    assert told["answer"].startswith("Books may be borrowed for four weeks. [1]")
    assert [chunk["source"] for chunk in told["contexts"]] == ["loans.md"]


def test_what_is_shown_last_is_the_answer_that_counts(library: Library) -> None:
    shown = asked(library, MIXED, LOOK, INVENTED, show="--stream").out
    last = shown.rpartition("The answer stays:")[2]
    assert "Sources\n[1] loans.md" in shown
    assert last.startswith("\nBooks may be borrowed for four weeks")


def test_each_step_is_in_the_account_of_what_was_read_and_written(library: Library) -> None:
    stages = asked(library, INVENTED, LOOK, TRUE).json["trace"]["stages"]
    (step,) = [stage["details"] for stage in stages if stage["name"] == "step 1"]
    assert step["call"]["counted"] > 0
    assert step["call"]["finish"] == "stop"


def test_an_answer_is_not_lost_where_the_one_after_it_comes_to_nothing(library: Library) -> None:
    told = asked(library, MIXED, LOOK, " ").json
    assert told["answer"].startswith("Books may be borrowed for four weeks. [1]")
    assert "Looking further came to nothing" in " ".join(told["notes"])
