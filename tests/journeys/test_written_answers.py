"""Ingest, then ask through the command with a language model: what is shown, checked, left out and stored."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from elt_llm_api.cli.render.answers import StreamPrinter
from elt_llm_core.results import QueryResult
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.smollm import SmolLmBackend, smollm_file
from served.scripted_answers import CHATS, INVENTED, QUESTION, TRUE, Library, ingested, written_by

pytestmark = pytest.mark.halved


FIELDS = {
    "answer",
    "chunks",
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
def model_server_with(*answers: str) -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(answers)) as server:
        yield server


@pytest.mark.parametrize("provider", CHATS)
def test_an_answer_written_by_a_model_server_is_complete_in_the_json_output(provider: str, library: Library) -> None:
    with model_server_with(TRUE) as server:
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


def test_without_a_language_model_the_answer_quotes_the_documents(library: Library) -> None:
    result = library.ask(written_by("extractive"), "--json").json
    assert "four weeks" in result["answer"]
    assert (result["metadata"]["model"], result["tokens_used"], result["checked"]) == ("extractive", 0, [])


def test_a_missing_language_model_is_reported_once_with_the_remedy(library: Library) -> None:
    result = library.ask(written_by("auto"), "--json").json
    (note,) = [note for note in result["notes"] if "No language model is in use" in note]
    assert note.endswith("cannot be reached. Run: ollama serve.")
    assert result["answered"]


def test_a_failing_language_model_is_not_silently_replaced_by_quotes(library: Library) -> None:
    ended = library.ask(written_by("fake"), "--json")
    assert ended.code == 1
    assert ended.json["error"]["type"] == "ModelError"


@pytest.mark.sampled(1, "real model")
def test_an_answer_of_a_real_model_behind_a_server_is_checked(library: Library) -> None:
    with running_model_server(SmolLmBackend()) as server:
        window = {"OLLAMA__CONTEXT_WINDOW": "1024", "OLLAMA__NUM_PREDICT": "32"}
        ended = library.ask(written_by("ollama", server, LLM__ANSWER_TIMEOUT="240", **window), "--json")
    assert ended.code == 0, ended.err
    _is_complete(ended.json)


@pytest.mark.sampled(1, "real model")
def test_an_answer_of_a_real_model_in_this_process_is_checked(library: Library) -> None:
    settings = {
        "LLAMA_CPP__MODEL_PATH": str(smollm_file()),
        "LLAMA_CPP__CONTEXT_WINDOW": "1024",
        "LLAMA_CPP__NUM_PREDICT": "32",
        "LLAMA_CPP__THREADS": "1",
        "LLM__ANSWER_TIMEOUT": "240",
    }
    ended = library.ask(written_by("llama_cpp", None, **settings), "--json")
    assert ended.code == 0, ended.err
    _is_complete(ended.json)


def test_streaming_shows_the_sources_then_the_words_then_the_citations(library: Library) -> None:
    with model_server_with(TRUE) as server:
        ended = library.ask(written_by("ollama", server), "--stream")
    assert ended.code == 0, ended.err
    places = [ended.out.index(part) for part in ("Sources\n[1] rules.md", TRUE, "Supported by\n[1] rules.md")]
    assert places == sorted(places)


@pytest.mark.parametrize("refusal", ["Not found in these documents.", "The sources do not say who that was."])
def test_a_streamed_refusal_is_displayed_only_once(refusal: str, library: Library) -> None:
    with model_server_with(refusal) as server:
        ended = library.ask(written_by("ollama", server), "--stream", question="Who opens the reading room at nine?")
    assert ended.code == 0, ended.err
    assert ended.out.count(refusal) == 1
    assert ended.out.count("Not found in these documents") <= 1
    sources, _, closest = ended.out.partition("Closest chunks\n")
    listed, shown = ({line[:3] for line in part.splitlines() if line.startswith("[")} for part in (sources, closest))
    assert shown <= listed


def test_a_refusal_is_displayed_after_a_streamed_answer_that_is_not_supported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printer = StreamPrinter()
    printer(AnswerDelta(INVENTED))
    refused = QueryResult(question=QUESTION, answer="Not found in these documents.", answered=False)
    assert "Not found in these documents." in "".join(printer.after(refused))
    printer(AnswerStarted("once more"))
    printer(AnswerDelta(refused.answer))
    assert "Not found" not in "".join(printer.after(refused))
    assert INVENTED in capsys.readouterr().out


@pytest.mark.parametrize("strategy", ["simple", "cot"])
def test_a_streamed_answer_has_no_citation_marks_if_citations_are_switched_off(strategy: str, library: Library) -> None:
    reply = TRUE if strategy == "simple" else STEPS
    with model_server_with(reply) as server:
        quiet = written_by("ollama", server, ANSWER__ENABLE_CITATION="false", ANSWER__STRATEGY=strategy)
        ended = library.ask(quiet, "--stream")
    _, _, shown = ended.out.partition("\n\n")
    assert "Books may be borrowed for four weeks." in shown
    assert "[1]" not in shown


def test_the_json_option_together_with_streaming_is_refused(library: Library) -> None:
    ended = library.ask(written_by("extractive"), "--json", "--stream")
    assert ended.code == 2
    assert "--stream" in ended.json["error"]["message"]
    assert library.ask(written_by("extractive"), "--json", "--no-stream").code == 0


def test_an_invented_sentence_after_a_true_sentence_is_marked(library: Library) -> None:
    with model_server_with(f"{TRUE} {INVENTED}") as server:
        result = library.ask(written_by("ollama", server), "--json").json
        shown = library.ask(written_by("ollama", server))
    assert [one["verdict"] for one in result["checked"]] == ["supported", "unsupported"]
    assert result["checked"][1]["reasons"]
    assert f"“{INVENTED}”" in " ".join(shown.out.split("Not supported by the chunks")[1].split())


def test_in_strict_mode_the_answer_leaves_out_an_invented_sentence(library: Library) -> None:
    with model_server_with(f"{TRUE} {INVENTED}") as server:
        strict = written_by("ollama", server, ANSWER__STRICT="true")
        result = library.ask(strict, "--json").json
        streamed = library.ask(strict, "--stream")
    assert result["answer"] == "Books may be borrowed for four weeks. [1]"
    before, _, _ = streamed.out.partition("Supported by")
    assert "Otto" not in before


@pytest.mark.parametrize("strategy", BY_STRATEGY)
def test_every_answer_strategy_reaches_the_true_answer(strategy: str, library: Library) -> None:
    answers, calls = BY_STRATEGY[strategy]
    with model_server_with(*answers) as server:
        result = library.ask(written_by("ollama", server, ANSWER__STRATEGY=strategy), "--json").json
        assert len(server.bodies("/api/chat")) == calls
    assert result["answer"] == "Books may be borrowed for four weeks. [1]"
    assert bool(result["reasoning_steps"]) == (strategy != "simple")


def test_an_answer_cut_at_the_token_limit_is_flagged(library: Library) -> None:
    with model_server_with(TRUE) as server:
        server.faults.always("/api/chat", Fault.LENGTH)
        result = library.ask(written_by("ollama", server), "--json").json
    assert not result["complete"]
    assert any("ollama.num_predict is 64" in note for note in result["notes"])


@pytest.mark.parametrize("provider", CHATS)
def test_a_model_server_that_is_down_ends_the_command_with_an_error_that_names_the_remedy(
    provider: str, library: Library
) -> None:
    ended = library.ask(written_by(provider))
    assert (ended.code, ended.out) == (1, "")
    assert "cannot be reached" in ended.err
    assert ("ollama serve" if provider == "ollama" else "Start") in ended.err


def _is_complete(result: dict[str, object]) -> None:
    """Check that each sentence of the model has a verdict, that tokens are counted, that a model answered."""
    assert result["question"] == QUESTION
    assert isinstance(result["metadata"], dict)
    assert result["metadata"]["model"] != "extractive"
    assert result["tokens_used"] != 0
    assert isinstance(result["checked"], Sequence)
    assert result["checked"] or not result["answered"]
