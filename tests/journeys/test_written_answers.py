"""Ingest, then ask through the command, with a model that writes: what is shown, checked, left out and kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from elt_llm_api.streaming import StreamPrinter
from elt_llm_core.results import QueryResult
from elt_llm_query.events import AnswerBegins, Piece
from model_backends import ScriptedBackend
from model_faults import Fault
from model_http_server import ModelHttpServer, running_model_server
from smollm_backend import SmolLmBackend, smollm_file
from written_journeys import CHATS, INVENTED, QUESTION, TRUE, Library, ingested, written_by

FIELDS = {
    "answer",
    "contexts",
    "citations",
    "reasoning_steps",
    "checked",
    "complete",
    "confidence",
    "tokens_used",
    "latency_ms",
    "metadata",
    "trace",
    "notes",
}
STEPS = "1. The question is about loans.\n2. Source 1 tells how long they last.\nAnswer: " + TRUE
BY_STRATEGY = {
    "simple": ([TRUE], 1),
    "cot": ([STEPS], 1),
    "tot": ([STEPS, STEPS, STEPS, "1: 9\n2: 5\n3: 2"], 4),
    "reflect": ([INVENTED, TRUE], 2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.fixture
def library(folder: Path, capsys: pytest.CaptureFixture[str]) -> Library:
    return Library(folder, capsys)


@contextmanager
def saying(*answers: str) -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(answers)) as server:
        yield server


@pytest.mark.parametrize("provider", CHATS)
def test_a_server_writes_the_answer_and_json_carries_all_of_it(provider: str, library: Library) -> None:
    with saying(TRUE) as server:
        ended = library.ask(written_by(provider, server), "--json")
        assert len(server.bodies(CHATS[provider])) == 1
    assert ended.code == 0, ended.err
    result = ended.json
    assert set(result) >= FIELDS
    assert result["answer"] == "Books may be borrowed for four weeks. [1]"
    assert [one["verdict"] for one in result["checked"]] == ["supported"]
    assert result["citations"][0]["excerpt"].startswith("Books may be borrowed for four weeks.")
    assert (result["answered"], result["complete"], result["metadata"]["cached"]) == (True, True, False)
    assert "scripted" in result["metadata"]["model"]
    assert result["tokens_used"] > 0 < result["latency_ms"]
    assert 0 < result["confidence"] <= 1
    assert {"answer", "gate"} <= {stage["name"] for stage in result["trace"]["stages"]}


def test_without_a_model_the_documents_are_quoted(library: Library) -> None:
    result = library.ask(written_by("extractive"), "--json").json
    assert "four weeks" in result["answer"]
    assert (result["metadata"]["model"], result["tokens_used"], result["checked"]) == ("extractive", 0, [])


def test_why_no_model_was_found_is_said_once_with_what_mends_it(library: Library) -> None:
    result = library.ask(written_by("auto"), "--json").json
    (note,) = [note for note in result["notes"] if "No language model is in use" in note]
    assert note.endswith("cannot be reached. Run: ollama serve.")
    assert result["answered"]


def test_the_fake_model_without_a_script_fails_and_nothing_is_quoted_instead(library: Library) -> None:
    ended = library.ask(written_by("fake"), "--json")
    assert ended.code == 1
    assert ended.json["error"]["type"] == "ModelError"


def test_a_real_model_behind_a_server_writes_what_is_checked(library: Library) -> None:
    with running_model_server(SmolLmBackend()) as server:
        window = {"OLLAMA__CONTEXT_WINDOW": "1024", "OLLAMA__NUM_PREDICT": "32"}
        ended = library.ask(written_by("ollama", server, LLM__ANSWER_TIMEOUT="240", **window), "--json")
    assert ended.code == 0, ended.err
    _is_told_whole(ended.json)


def test_a_real_model_in_this_process_writes_what_is_checked(library: Library) -> None:
    settings = {
        "LLAMA_CPP__MODEL_PATH": str(smollm_file()),
        "LLAMA_CPP__CONTEXT_WINDOW": "1024",
        "LLAMA_CPP__NUM_PREDICT": "32",
        "LLAMA_CPP__THREADS": "1",
        "LLM__ANSWER_TIMEOUT": "240",
    }
    ended = library.ask(written_by("llama_cpp", None, **settings), "--json")
    assert ended.code == 0, ended.err
    _is_told_whole(ended.json)


def test_streaming_shows_the_sources_then_the_words_then_what_bears_them_out(library: Library) -> None:
    with saying(TRUE) as server:
        ended = library.ask(written_by("ollama", server), "--stream")
    assert ended.code == 0, ended.err
    places = [ended.out.index(part) for part in ("Sources\n[1] rules.md", TRUE, "Borne out by\n[1] rules.md")]
    assert places == sorted(places)


@pytest.mark.parametrize("refusal", ["Not found in these documents.", "The sources do not say who that was."])
def test_a_refusal_that_was_streamed_is_not_said_twice(refusal: str, library: Library) -> None:
    with saying(refusal) as server:
        ended = library.ask(written_by("ollama", server), "--stream", question="Who opens the reading room at nine?")
    assert ended.code == 0, ended.err
    assert ended.out.count(refusal) == 1
    assert ended.out.count("Not found in these documents") <= 1
    sources, _, closest = ended.out.partition("Closest passages\n")
    listed, shown = ({line[:3] for line in part.splitlines() if line.startswith("[")} for part in (sources, closest))
    assert shown <= listed


def test_a_refusal_is_said_after_words_that_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    printer = StreamPrinter()
    printer(Piece(INVENTED))
    refused = QueryResult(question=QUESTION, answer="Not found in these documents.", answered=False)
    assert "Not found in these documents." in "".join(printer.after(refused))
    printer(AnswerBegins("once more"))
    printer(Piece(refused.answer))
    assert "Not found" not in "".join(printer.after(refused))
    assert INVENTED in capsys.readouterr().out


@pytest.mark.parametrize("strategy", ["simple", "cot"])
def test_no_number_is_streamed_where_none_are_wanted(strategy: str, library: Library) -> None:
    said = TRUE if strategy == "simple" else STEPS
    with saying(said) as server:
        quiet = written_by("ollama", server, ANSWER__ENABLE_CITATION="false", ANSWER__STRATEGY=strategy)
        ended = library.ask(quiet, "--stream")
    _, _, shown = ended.out.partition("\n\n")
    assert "Books may be borrowed for four weeks." in shown
    assert "[1]" not in shown


def test_a_program_that_wants_json_is_told_that_it_is_not_streamed(library: Library) -> None:
    ended = library.ask(written_by("extractive"), "--json", "--stream")
    assert ended.code == 2
    assert "--stream" in ended.json["error"]["message"]
    assert library.ask(written_by("extractive"), "--json", "--no-stream").code == 0


def test_an_invented_sentence_beside_a_true_one_is_marked(library: Library) -> None:
    with saying(f"{TRUE} {INVENTED}") as server:
        told = library.ask(written_by("ollama", server), "--json").json
        shown = library.ask(written_by("ollama", server))
    assert [one["verdict"] for one in told["checked"]] == ["supported", "unsupported"]
    assert told["checked"][1]["reasons"]
    assert f"“{INVENTED}”" in " ".join(shown.out.split("Not borne out by the passages")[1].split())


def test_a_strict_answer_leaves_an_invented_sentence_out(library: Library) -> None:
    with saying(f"{TRUE} {INVENTED}") as server:
        strict = written_by("ollama", server, ANSWER__STRICT="true")
        told = library.ask(strict, "--json").json
        streamed = library.ask(strict, "--stream")
    assert told["answer"] == "Books may be borrowed for four weeks. [1]"
    before, _, _ = streamed.out.partition("Borne out by")
    assert "Otto" not in before


@pytest.mark.parametrize("strategy", BY_STRATEGY)
def test_every_strategy_reaches_the_true_answer(strategy: str, library: Library) -> None:
    answers, calls = BY_STRATEGY[strategy]
    with saying(*answers) as server:
        result = library.ask(written_by("ollama", server, ANSWER__STRATEGY=strategy), "--json").json
        assert len(server.bodies("/api/chat")) == calls
    assert result["answer"] == "Books may be borrowed for four weeks. [1]"
    assert bool(result["reasoning_steps"]) == (strategy != "simple")


def test_an_answer_cut_at_its_longest_is_flagged(library: Library) -> None:
    with saying(TRUE) as server:
        server.faults.always("/api/chat", Fault.LENGTH)
        result = library.ask(written_by("ollama", server), "--json").json
    assert not result["complete"]
    assert any("ollama.num_predict is 64" in note for note in result["notes"])


@pytest.mark.parametrize("provider", CHATS)
def test_a_server_that_is_down_ends_the_command_with_what_mends_it(provider: str, library: Library) -> None:
    ended = library.ask(written_by(provider))
    assert (ended.code, ended.out) == (1, "")
    assert "cannot be reached" in ended.err
    assert ("ollama serve" if provider == "ollama" else "Start") in ended.err


def _is_told_whole(result: dict[str, object]) -> None:
    """A small model may write anything: whatever it wrote is checked, counted and never quoted instead."""
    assert result["question"] == QUESTION
    assert isinstance(result["metadata"], dict)
    assert result["metadata"]["model"] != "extractive"
    assert result["tokens_used"] != 0
    assert isinstance(result["checked"], Sequence)
    assert result["checked"] or not result["answered"]
