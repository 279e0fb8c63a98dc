"""Every failure of a model server soon ends in a typed error with a hint, or in an answer marked as cut off."""

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
from elt_llm_core.models.completion import LlmCompletion, complete
from elt_llm_core.models.server import MAX_ATTEMPTS
from llama_index.core.llms import ChatMessage
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_llm, settings_of

PATHS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}
PATIENCE = 0.4  # seconds, for a server that sends nothing, or nothing more
WAITING = {Fault.HANG, Fault.STALL, Fault.SLOW}
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


def written(
    provider: str, server: ModelHttpServer | None, fault: Fault | None = None, **sections: dict[str, Any]
) -> LlmCompletion:
    chosen = {"llm": {"answer_timeout": 8.0}, **sections}
    patience = PATIENCE if fault in WAITING else 20.0
    with open_llm(settings_of(provider, server, patience=patience, sections=chosen)) as llm:
        return complete(llm, QUESTION)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(("fault", "error", "cure"), FAILURES, ids=[fault.name for fault, *_ in FAILURES])
def test_each_type_of_model_server_failure_soon_raises_its_own_error(
    server: ModelHttpServer, provider: str, fault: Fault, error: type[ModelError], cure: str
) -> None:
    server.faults.always(PATHS[provider], fault)
    began = time.monotonic()
    with pytest.raises(error) as caught:
        written(provider, server, fault)
    assert time.monotonic() - began < SOON
    assert type(caught.value) is error
    assert cure in caught.value.hint
    assert str(caught.value)


@pytest.mark.parametrize(
    ("provider", "cure"), [("ollama", "Run: ollama serve"), ("openai_like", "openai_like.base_url")]
)
def test_an_unreachable_model_server_is_reported_with_the_command_that_starts_it(provider: str, cure: str) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        written(provider, None)
    assert cure in caught.value.hint


def test_a_missing_model_is_reported_with_the_command_that_pulls_it(server: ModelHttpServer) -> None:
    with pytest.raises(ModelMissing, match="'other:7b'") as caught:
        written("ollama", server, llm={"model": "other:7b"})
    assert caught.value.hint == "Run: ollama pull other:7b"


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.GARBAGE])
def test_a_malformed_reply_of_a_model_server_raises_an_error_with_a_hint(
    server: ModelHttpServer, provider: str, fault: Fault
) -> None:
    server.faults.always(PATHS[provider], fault)
    with pytest.raises((UnusableReply, ModelBroken)) as caught:
        written(provider, server)
    assert caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(("fault", "finish"), [(Fault.NO_DONE, "cut off"), (Fault.LENGTH, "length")])
def test_an_incomplete_answer_has_a_finish_reason_other_than_stop(
    server: ModelHttpServer, provider: str, fault: Fault, finish: str
) -> None:
    server.faults.plan(PATHS[provider], fault)
    reply = written(provider, server)
    assert reply.finish == finish
    assert reply.text.startswith("It is so")


@pytest.mark.parametrize("provider", PATHS)
def test_an_endless_answer_ends_after_the_configured_answer_timeout(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.ENDLESS)
    with pytest.raises(ModelTimeout, match="still writing") as caught:
        written(provider, server, llm={"answer_timeout": 1.0})
    assert "llm.answer_timeout" in caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.LOADING, Fault.CRASHED])
def test_a_temporary_failure_of_a_model_server_is_retried(server: ModelHttpServer, provider: str, fault: Fault) -> None:
    server.faults.plan(PATHS[provider], fault, fault)
    assert written(provider, server).finish == "stop"
    assert len(server.bodies(PATHS[provider])) == MAX_ATTEMPTS


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("fault", [Fault.MISSING, Fault.TOO_LONG, Fault.HANG, Fault.DROP, Fault.ERROR_LINE])
def test_permanent_failures_and_failures_after_the_first_streamed_piece_are_not_retried(
    server: ModelHttpServer, provider: str, fault: Fault
) -> None:
    server.faults.plan(PATHS[provider], fault)
    with pytest.raises(ModelError):
        written(provider, server, fault)
    assert len(server.bodies(PATHS[provider])) == 1


@pytest.mark.parametrize("provider", PATHS)
def test_a_prompt_is_assumed_complete_if_the_server_reports_no_token_counts(
    server: ModelHttpServer, provider: str
) -> None:
    server.faults.plan(PATHS[provider], Fault.SILENT_COUNTS)
    reply = written(provider, server)
    assert (reply.prompt_tokens, reply.answer_tokens, reply.finish) == (None, None, "stop")


def test_a_prompt_that_fills_the_whole_context_window_counts_as_truncated(server: ModelHttpServer) -> None:
    question = ChatMessage(role="user", content="What, if any, is it; or: not? " * 60)
    with (
        open_llm(settings_of("ollama", server, ollama={"context_window": 512})) as llm,
        pytest.raises(PromptTooLong) as caught,
    ):
        complete(llm, [question])
    assert "ollama.context_window" in caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
def test_a_slowly_streamed_answer_is_read_completely(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.SLOW)
    began = time.monotonic()
    assert written(provider, server, Fault.SLOW).finish == "stop"
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
def test_the_hint_of_a_model_error_names_the_server_in_use(
    server: ModelHttpServer, provider: str, fault: Fault, hint: str
) -> None:
    server.faults.always(PATHS[provider], fault)
    with pytest.raises(ModelError) as caught:
        written(provider, server)
    assert caught.value.hint == hint
