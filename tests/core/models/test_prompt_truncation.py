"""Truncated prompts are detected whether or not the server refuses them or reports its context window."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.completion import LlmCompletion, complete
from elt_llm_core.models.token_counts import MIN_WINDOW
from llama_index.core.llms import LLM, ChatMessage
from model_servers.backends import ScriptedBackend, WindowBehaviour
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_llm, settings_of

PATHS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}
SILENT = WindowBehaviour(reports=False, refuses=False)
LINE = "change-of-name/once-a-season: form-7-b, by-post/by-1-July.\n"  # far more tokens than words
LINES = 80
MESSAGES = [
    ChatMessage(role="system", content="Answer from the sources."),
    ChatMessage(role="user", content=LINE * 5 + "How often may a club do that?"),
    ChatMessage(role="assistant", content="Once a season [1]."),
    ChatMessage(role="user", content=LINE * LINES + "How often may a club do that?"),
]
WHOLE = sum(len(re.findall(r"\w+|[^\w\s]", message.content or "")) for message in MESSAGES)

Cuts = Literal["to the window", "to half of it", "oldest messages first"]


@contextmanager
def model_of(provider: str, behaviour: WindowBehaviour, window: int = 8192) -> Iterator[tuple[LLM, ModelHttpServer]]:
    sections: dict[str, dict[str, Any]] = {provider: {"context_window": window}}
    with (
        running_model_server(ScriptedBackend(["It is so [1]."], context_length=window, behaviour=behaviour)) as server,
        open_llm(settings_of(provider, server, sections=sections)) as llm,
    ):
        yield llm, server


def asked(llm: LLM) -> LlmCompletion:
    return complete(llm, MESSAGES)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("cut", [Fault.CUT_5, Fault.CUT_10, Fault.CUT_20, Fault.CUT_50, Fault.PROMPT_CUT])
def test_a_prompt_that_a_server_truncates_by_any_amount_raises_prompt_too_long(provider: str, cut: Fault) -> None:
    with model_of(provider, SILENT) as (llm, server):
        server.faults.plan(PATHS[provider], cut)
        with pytest.raises(PromptTooLong) as caught:
            asked(llm)
    assert f"{provider}.context_window" in caught.value.hint


@pytest.mark.sampled(10)
@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("cuts", ["to the window", "to half of it", "oldest messages first"])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 0.97])
def test_a_context_window_that_is_smaller_than_configured_is_detected(provider: str, cuts: Cuts, share: float) -> None:
    window = int(share * WHOLE)
    with (
        model_of(provider, WindowBehaviour(loaded=window, reports=False, refuses=False, cuts=cuts)) as (llm, _),
        pytest.raises(PromptTooLong),
    ):
        asked(llm)


@pytest.mark.parametrize("provider", PATHS)
def test_the_error_states_the_smaller_context_window_that_the_server_reports(provider: str) -> None:
    with (
        model_of(provider, WindowBehaviour(loaded=1000, refuses=False)) as (llm, _),
        pytest.raises(PromptTooLong, match="loaded the model with 1000"),
    ):
        asked(llm)


@pytest.mark.parametrize("provider", PATHS)
def test_a_sufficient_context_window_is_requested_from_the_server_once(provider: str) -> None:
    with model_of(provider, WindowBehaviour(refuses=False)) as (llm, server):
        for _ in range(3):
            assert asked(llm).prompt_tokens == WHOLE
    assert len(server.bodies(PATHS[provider])) == 3
    assert len(server.bodies("/api/ps")) == 1


@pytest.mark.parametrize("provider", PATHS)
def test_a_prompt_that_fits_the_smallest_context_window_is_not_checked_for_truncation(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        assert complete(llm, [ChatMessage(role="user", content=LINE * 8)]).finish == "stop"
    assert [path for path, _ in server.requests] == [PATHS[provider]]


@pytest.mark.parametrize("provider", PATHS)
def test_a_prompt_that_may_be_truncated_is_counted_once_more_in_small_pieces(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        assert asked(llm).prompt_tokens == WHOLE
        first, *again = server.bodies(PATHS[provider])
        assert len(first["messages"]) == len(MESSAGES)
        assert all(sum(len(one["content"].split()) for one in body["messages"]) < MIN_WINDOW for body in again)
        assert sum(LINE in body["messages"][0]["content"] for body in again) > 3
        complete(llm, [ChatMessage(role="user", content=LINE * 20)])
        assert len(server.bodies(PATHS[provider])) == 2 + len(again)


@pytest.mark.parametrize("provider", PATHS)
def test_a_prompt_is_assumed_complete_if_the_server_sometimes_reports_no_token_count(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        server.faults.plan(PATHS[provider], Fault.NONE, Fault.SILENT_COUNTS)
        assert asked(llm).finish == "stop"


def test_ollama_is_asked_to_refuse_long_prompts_instead_of_truncating_them() -> None:
    with model_of("ollama", WindowBehaviour(loaded=1000, reports=False)) as (llm, server):
        with pytest.raises(PromptTooLong, match=r"and Ollama at .* reads 1000"):
            asked(llm)
        (body,) = server.bodies("/api/chat")
    assert body["truncate"] is False
    assert "shift" not in body


def test_a_cancelled_answer_is_not_checked_for_prompt_truncation() -> None:
    with model_of("ollama", SILENT) as (llm, server):
        answers = iter([False, False])
        written = complete(llm, MESSAGES, cancelled=lambda: next(answers, True))
    assert written.finish in {"cut off", "stop"}
    assert len(server.bodies("/api/chat")) <= 3
