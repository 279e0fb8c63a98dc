"""No prompt that a server cut passes for read, whether it refuses, tells its window, or says nothing at all."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.prompt_proof import SMALLEST_WINDOW
from elt_llm_core.models.writing import Written, write
from llama_index.core.llms import LLM, ChatMessage
from model_backends import Manners, ScriptedBackend
from model_faults import Fault
from model_http_server import ModelHttpServer, running_model_server
from model_settings import open_llm, settings_of

PATHS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}
SILENT = Manners(tells=False, refuses=False)
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
def model_of(provider: str, manners: Manners, window: int = 8192) -> Iterator[tuple[LLM, ModelHttpServer]]:
    sections: dict[str, dict[str, Any]] = {provider: {"context_window": window}}
    with (
        running_model_server(ScriptedBackend(["It is so [1]."], context_length=window, manners=manners)) as server,
        open_llm(settings_of(provider, server, sections=sections)) as llm,
    ):
        yield llm, server


def asked(llm: LLM) -> Written:
    return write(llm, MESSAGES)


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("cut", [Fault.CUT_5, Fault.CUT_10, Fault.CUT_20, Fault.CUT_50, Fault.PROMPT_CUT])
def test_a_cut_of_any_share_is_an_error(provider: str, cut: Fault) -> None:
    with model_of(provider, SILENT) as (llm, server):
        server.faults.plan(PATHS[provider], cut)
        with pytest.raises(PromptTooLong) as caught:
            asked(llm)
    assert f"{provider}.context_window" in caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize("cuts", ["to the window", "to half of it", "oldest messages first"])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 0.97])
def test_a_server_with_a_smaller_window_than_set_is_found_out(provider: str, cuts: Cuts, share: float) -> None:
    window = int(share * WHOLE)
    with (
        model_of(provider, Manners(loaded=window, tells=False, refuses=False, cuts=cuts)) as (llm, _),
        pytest.raises(PromptTooLong),
    ):
        asked(llm)


@pytest.mark.parametrize("provider", PATHS)
def test_a_server_that_tells_of_its_smaller_window_is_quoted(provider: str) -> None:
    with (
        model_of(provider, Manners(loaded=1000, refuses=False)) as (llm, _),
        pytest.raises(PromptTooLong, match="loaded the model with 1000"),
    ):
        asked(llm)


@pytest.mark.parametrize("provider", PATHS)
def test_a_server_that_tells_a_window_large_enough_is_asked_for_it_once(provider: str) -> None:
    with model_of(provider, Manners(refuses=False)) as (llm, server):
        for _ in range(3):
            assert asked(llm).prompt_tokens == WHOLE
    assert len(server.bodies(PATHS[provider])) == 3
    assert len(server.bodies("/api/ps")) == 1


@pytest.mark.parametrize("provider", PATHS)
def test_a_prompt_that_fits_any_window_is_never_looked_into(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        assert write(llm, [ChatMessage(role="user", content=LINE * 8)]).finish == "stop"
    assert [path for path, _ in server.requests] == [PATHS[provider]]


@pytest.mark.parametrize("provider", PATHS)
def test_an_honest_prompt_is_counted_again_in_small_pieces_and_then_known(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        assert asked(llm).prompt_tokens == WHOLE
        first, *again = server.bodies(PATHS[provider])
        assert len(first["messages"]) == len(MESSAGES)
        assert all(sum(len(one["content"].split()) for one in body["messages"]) < SMALLEST_WINDOW for body in again)
        assert sum(LINE in body["messages"][0]["content"] for body in again) > 3
        write(llm, [ChatMessage(role="user", content=LINE * 20)])
        assert len(server.bodies(PATHS[provider])) == 2 + len(again)


@pytest.mark.parametrize("provider", PATHS)
def test_a_server_that_counts_only_now_and_then_is_believed(provider: str) -> None:
    with model_of(provider, SILENT) as (llm, server):
        server.faults.plan(PATHS[provider], Fault.NONE, Fault.SILENT_COUNTS)
        assert asked(llm).finish == "stop"


def test_ollama_is_told_to_refuse_and_does() -> None:
    with model_of("ollama", Manners(loaded=1000, tells=False)) as (llm, server):
        with pytest.raises(PromptTooLong, match="exceeds the context length"):
            asked(llm)
        (body,) = server.bodies("/api/chat")
    assert (body["truncate"], body["shift"]) == (False, False)


def test_what_is_cancelled_is_not_counted_again() -> None:
    with model_of("ollama", SILENT) as (llm, server):
        answers = iter([False, False])
        written = write(llm, MESSAGES, cancelled=lambda: next(answers, True))
    assert written.finish in {"cut off", "stop"}
    assert len(server.bodies("/api/chat")) <= 3
