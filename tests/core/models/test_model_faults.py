"""Every way a model server fails ends soon: in one typed error that says what mends it, or in a flagged reply."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from elt_llm_core.errors import (
    ModelBroken,
    ModelError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    UnusableReply,
)
from elt_llm_core.models.retrying import ATTEMPTS
from elt_llm_core.models.writing import Written, write
from llama_index.core.llms import ChatMessage
from model_backends import ScriptedBackend
from model_faults import Fault
from model_http_server import ModelHttpServer, running_model_server
from model_settings import open_llm, settings_of

PATHS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}
PATIENCE = 0.4
QUESTION = [
    ChatMessage(role="system", content="Answer in a sentence."),
    ChatMessage(role="user", content="Is it so? " * 20),
]
SOON = 20.0  # seconds; a hang would take far longer

FAILURES: list[tuple[Fault, type[ModelError], str]] = [
    (Fault.CLOSE, ModelBroken, "log"),
    (Fault.LOADING, ModelUnavailable, "loading the model"),
    (Fault.LOADING_500, ModelUnavailable, "loading the model"),
    (Fault.BUSY, ModelUnavailable, "try again"),
    (Fault.MISSING, ModelMissing, "scripted:latest"),
    (Fault.FULL, ModelRefused, "smaller model"),
    (Fault.CRASHED, ModelBroken, "log"),
    (Fault.TOO_LONG, PromptTooLong, "context_window"),
    (Fault.NO_THINKING, ModelRefused, "thinking"),
    (Fault.REDIRECT, ModelRefused, "base_url"),
    (Fault.HANG, ModelTimeout, "request_timeout"),
    (Fault.STALL, ModelTimeout, "request_timeout"),
    (Fault.DROP, ModelBroken, "log"),
    (Fault.ERROR_LINE, ModelBroken, "log"),
    (Fault.PROMPT_CUT, PromptTooLong, "context_window"),
]


@pytest.fixture
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(["It is so, as the second page says [1]."])) as running:
        yield running


def written(provider: str, server: ModelHttpServer | None, **sections: dict[str, Any]) -> Written:
    chosen = {"llm": {"answer_timeout": 8.0}, **sections}
    with open_llm(settings_of(provider, server, patience=PATIENCE, sections=chosen)) as llm:
        return write(llm, QUESTION)


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(("fault", "error", "cure"), FAILURES, ids=[fault.name for fault, *_ in FAILURES])
def test_each_failure_ends_soon_in_its_own_error(
    server: ModelHttpServer, provider: str, fault: Fault, error: type[ModelError], cure: str
) -> None:
    server.faults.always(PATHS[provider], fault)
    began = time.monotonic()
    with pytest.raises(error) as caught:
        written(provider, server)
    assert time.monotonic() - began < SOON
    assert type(caught.value) is error
    assert cure in caught.value.hint
    assert str(caught.value)


@pytest.mark.parametrize(
    ("provider", "cure"), [("ollama", "Run: ollama serve"), ("openai_like", "openai_like.base_url")]
)
def test_a_server_that_is_down_is_told_with_what_starts_it(provider: str, cure: str) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        written(provider, None)
    assert cure in caught.value.hint


def test_a_missing_model_is_told_with_the_command_that_brings_it(server: ModelHttpServer) -> None:
    with pytest.raises(ModelMissing, match="'other:7b'") as caught:
        written("ollama", server, llm={"model": "other:7b"})
    assert caught.value.hint == "Run: ollama pull other:7b"


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.GARBAGE])
def test_what_is_no_reply_of_a_model_is_never_taken_for_one(
    server: ModelHttpServer, provider: str, fault: Fault
) -> None:
    server.faults.always(PATHS[provider], fault)
    with pytest.raises((UnusableReply, ModelBroken)) as caught:
        written(provider, server)
    assert caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(("fault", "finish"), [(Fault.NO_DONE, "cut off"), (Fault.LENGTH, "length")])
def test_an_answer_that_is_not_whole_is_flagged(
    server: ModelHttpServer, provider: str, fault: Fault, finish: str
) -> None:
    server.faults.plan(PATHS[provider], fault)
    reply = written(provider, server)
    assert reply.finish == finish
    assert reply.text.startswith("It is so")


@pytest.mark.parametrize("provider", PATHS)
def test_an_endless_answer_ends_with_the_time_allowed(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.ENDLESS)
    with pytest.raises(ModelTimeout, match="still writing") as caught:
        written(provider, server, llm={"answer_timeout": 1.0})
    assert "llm.answer_timeout" in caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.LOADING, Fault.CRASHED])
def test_what_passes_by_itself_is_tried_again(server: ModelHttpServer, provider: str, fault: Fault) -> None:
    server.faults.plan(PATHS[provider], fault, fault)
    assert written(provider, server).finish == "stop"
    assert len(server.bodies(PATHS[provider])) == ATTEMPTS


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.MISSING, Fault.TOO_LONG, Fault.HANG, Fault.DROP, Fault.ERROR_LINE])
def test_what_would_fail_again_or_was_begun_is_asked_once(server: ModelHttpServer, provider: str, fault: Fault) -> None:
    server.faults.plan(PATHS[provider], fault)
    with pytest.raises(ModelError):
        written(provider, server)
    assert len(server.bodies(PATHS[provider])) == 1


@pytest.mark.parametrize("provider", PATHS)
def test_a_server_that_counts_nothing_is_believed(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.SILENT_COUNTS)
    reply = written(provider, server)
    assert (reply.prompt_tokens, reply.answer_tokens, reply.finish) == (None, None, "stop")


def test_a_prompt_that_fills_the_whole_window_was_cut(server: ModelHttpServer) -> None:
    question = ChatMessage(role="user", content="What, if any, is it; or: not? " * 60)
    with (
        open_llm(settings_of("ollama", server, ollama={"context_window": 512})) as llm,
        pytest.raises(PromptTooLong) as caught,
    ):
        write(llm, [question])
    assert "ollama.context_window" in caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
def test_a_slow_answer_is_waited_for_as_long_as_pieces_come(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.SLOW)
    began = time.monotonic()
    assert written(provider, server).finish == "stop"
    assert time.monotonic() - began > PATIENCE


@pytest.mark.parametrize(
    ("provider", "fault", "hint"),
    [
        ("ollama", Fault.NO_THINKING, "Set ollama.thinking to false"),
        ("openai_like", Fault.NO_THINKING, "Turn thinking off at the server, or choose another model"),
        ("ollama", Fault.CRASHED, "Look at the log of Ollama"),
        ("openai_like", Fault.CRASHED, "Look at the log of the model server"),
    ],
)
def test_what_mends_it_is_said_of_the_server_in_use(
    server: ModelHttpServer, provider: str, fault: Fault, hint: str
) -> None:
    server.faults.always(PATHS[provider], fault)
    with pytest.raises(ModelError) as caught:
        written(provider, server)
    assert caught.value.hint == hint
