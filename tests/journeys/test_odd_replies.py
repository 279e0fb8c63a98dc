"""Unusual model replies are reported correctly, and nothing is dropped silently."""

from pathlib import Path

import pytest
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import running_model_server
from processes.command_line import CommandResult
from served.scripted_answers import INVENTED, TRUE, Library, ingested, written_by

pytestmark = pytest.mark.halved


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingested(tmp_path_factory.mktemp("library"))


@pytest.fixture
def library(folder: Path, capsys: pytest.CaptureFixture[str]) -> Library:
    return Library(folder, capsys)


def replied(library: Library, reply: str, *, fault: Fault = Fault.NONE, **settings: str) -> CommandResult:
    with running_model_server(ScriptedBackend((reply,))) as server:
        server.faults.always("/api/chat", fault)
        return library.ask(written_by("ollama", server, **settings), "--json")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("abstain", ["true", "false"])
@pytest.mark.parametrize("reply", ["\n \n", "[1]", "<think>Which source has it?", "<think>It is source 1.</think>"])
def test_an_empty_model_reply_is_not_reported_as_missing_information(
    reply: str, abstain: str, library: Library
) -> None:
    ended = replied(library, reply, ANSWER__ABSTAIN=abstain)
    assert ended.code == 1
    assert ended.json["error"]["type"] == "ResponseGenerationError"
    assert "without any words" in ended.json["error"]["message"]


def test_a_model_whose_thinking_uses_all_tokens_is_reported_with_the_setting_to_change(library: Library) -> None:
    ended = replied(library, "<think>It may be so or so", fault=Fault.LENGTH)
    assert ended.code == 1
    assert "ollama.num_predict" in ended.json["error"]["hint"]


def test_an_answer_that_admits_that_some_information_is_missing_is_kept(library: Library) -> None:
    ended = replied(library, f"{TRUE} The sources do not say how long films may be kept.")
    assert ended.json["answered"]
    assert ended.json["answer"].startswith("Books may be borrowed for four weeks. [1]")


def test_text_that_the_model_writes_after_a_refusal_is_left_out_with_a_note(library: Library) -> None:
    ended = replied(library, "Not found in these documents. However, books cost 3 euros.")
    assert not ended.json["answered"]
    assert "what else it wrote was left out" in " ".join(ended.json["notes"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("abstain", ["true", "false"])
def test_a_strict_answer_without_supported_sentences_is_a_refusal(abstain: str, library: Library) -> None:
    ended = replied(library, INVENTED, ANSWER__STRICT="true", ANSWER__ABSTAIN=abstain)
    assert not ended.json["answered"]
    assert ended.json["answer"].startswith("Not found in these documents.")
    assert ended.json["checked"][0]["verdict"] == "unsupported"
    assert ended.json["confidence"] <= 0.5


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "reply",
    [
        "According to source 1, books may be borrowed for four weeks.",
        "As stated in [source 1], books may be borrowed for four weeks.",
        "Books may be borrowed for four weeks (Source 1).",
        "Books may be borrowed for four weeks【1】.",
    ],
)
def test_a_true_sentence_is_supported_whatever_the_form_of_its_citation(reply: str, library: Library) -> None:
    ended = replied(library, reply, ANSWER__STRICT="true")
    assert [one["verdict"] for one in ended.json["checked"]] == ["supported"]
    assert ended.json["answer"].endswith("four weeks. [1]")


def test_the_answer_timeout_covers_all_model_calls_of_an_answer(library: Library) -> None:
    reply = f"1. It is asked how long.\nAnswer: {TRUE}"  # 14 pieces, each delayed by a tenth of a second
    ended = replied(library, reply, fault=Fault.SLOW, ANSWER__STRATEGY="tot", LLM__ANSWER_TIMEOUT="2.5")
    assert ended.code == 1
    assert ended.json["error"]["type"] == "ModelTimeout"
    assert "llm.answer_timeout" in ended.json["error"]["hint"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("language", "refusal"),
    [("German", "In diesen Dokumenten"), ("Lithuanian", "Šiuose dokumentuose"), ("Polish", "Not found in")],
)
def test_a_refusal_is_in_the_configured_answer_language_if_that_language_has_a_refusal_text(
    language: str, refusal: str, library: Library
) -> None:
    ended = replied(library, "Not found in these documents.", LLM__ANSWER_LANGUAGE=language)
    assert ended.json["answer"].startswith(refusal)
