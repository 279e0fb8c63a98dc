"""Completions return pieces, token counts and finish reasons, and can be cancelled and retried."""

import threading
import time
from collections.abc import Iterator

import pytest
from elt_llm_core.errors import ModelError, ModelMissing, ModelUnavailable, PromptTooLong
from elt_llm_core.models.completion import complete
from elt_llm_core.models.fakes import ScriptedLLM, ScriptedReply
from elt_llm_core.models.token_counts import is_truncated, min_tokens
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage, ChatResponse, ChatResponseGen, CustomLLM
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_llm, settings_of

QUESTION = [ChatMessage(role="user", content="Is it so?")]


@pytest.fixture
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(["one two three four five"])) as running:
        yield running


def test_the_pieces_of_a_streamed_answer_arrive_in_order_and_form_the_complete_text() -> None:
    pieces: list[str] = []
    written = complete(ScriptedLLM(["It is so, says page 2."]), QUESTION, on_piece=pieces.append)
    assert "".join(pieces) == written.text == "It is so, says page 2."
    assert len(pieces) > 1
    assert written.finish == "stop"


def test_the_pieces_of_a_streamed_answer_are_delivered_in_the_thread_of_the_caller() -> None:
    threads: set[int] = set()
    complete(ScriptedLLM(["one two"]), QUESTION, on_piece=lambda _: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("finish", ["stop", "length", "cut off"])
def test_a_completion_has_the_finish_reason_that_the_server_reports(finish: str) -> None:
    assert complete(ScriptedLLM([ScriptedReply("one two", finish)]), QUESTION).finish == finish


def test_a_completion_has_the_token_counts_that_the_server_reports() -> None:
    written = complete(ScriptedLLM([ScriptedReply("one two", prompt_tokens=12, answer_tokens=3)]), QUESTION)
    assert (written.prompt_tokens, written.answer_tokens) == (12, 3)


def test_a_prompt_with_more_words_than_the_server_counts_tokens_is_reported_as_truncated() -> None:
    with pytest.raises(PromptTooLong, match="read only 2 tokens of the prompt, which has at least 3 words"):
        complete(ScriptedLLM([ScriptedReply("one two", prompt_tokens=2)]), QUESTION)


def test_each_piece_of_an_answer_is_delivered_once_even_after_a_retry() -> None:
    pieces: list[str] = []
    llm = ScriptedLLM([ModelUnavailable("busy"), ModelUnavailable("busy"), "yes"])
    assert complete(llm, QUESTION, on_piece=pieces.append).text == "yes"
    assert pieces == ["yes"]


def test_after_three_failed_attempts_the_error_of_the_last_attempt_is_raised() -> None:
    llm = ScriptedLLM([ModelUnavailable("first"), ModelUnavailable("second"), ModelUnavailable("third"), "yes"])
    with pytest.raises(ModelUnavailable, match="third"):
        complete(llm, QUESTION)


def test_a_permanent_failure_of_a_completion_is_not_retried() -> None:
    llm = ScriptedLLM([ModelMissing("no such model"), "yes"])
    with pytest.raises(ModelMissing):
        complete(llm, QUESTION)
    assert len(llm.prompts) == 1


def test_a_cancelled_completion_has_the_text_received_so_far(server: ModelHttpServer) -> None:
    pieces: list[str] = []
    with open_llm(settings_of("ollama", server)) as llm:
        written = complete(llm, QUESTION, on_piece=pieces.append, cancelled=lambda: len(pieces) >= 2)
    assert (written.text, written.finish) == ("one two ", "cut off")


def test_cancellation_does_not_wait_for_a_silent_server(server: ModelHttpServer) -> None:
    server.faults.plan("/api/chat", Fault.HANG)
    began = time.monotonic()
    with open_llm(settings_of("ollama", server, patience=60.0)) as llm:
        written = complete(llm, QUESTION, cancelled=lambda: time.monotonic() - began > 0.3)
    assert (written.text, written.finish) == ("", "cut off")
    assert time.monotonic() - began < 20


def test_an_error_raised_by_the_callback_is_passed_on_unchanged() -> None:
    def fail(_: str) -> None:
        raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        complete(ScriptedLLM(["one two"]), QUESTION, on_piece=fail)


def test_the_thinking_of_a_model_is_separated_from_its_answer() -> None:
    pieces: list[str] = []
    llm = ScriptedLLM(["<think>\nLet me see: it is two.\n</think>\n\nIt is two."])
    written = complete(llm, QUESTION, on_piece=pieces.append)
    assert written.text == "It is two."
    assert "".join(pieces) == "It is two."


def test_a_failure_of_a_custom_model_is_converted_to_a_model_error() -> None:
    class Broken(ScriptedLLM):
        def stream_chat(self, messages: object, **_: object) -> ChatResponseGen:
            raise ConnectionResetError("gone")

    assert issubclass(Broken, CustomLLM)
    with pytest.raises(ModelError, match="The language model at scripted broke off"):
        complete(Broken(), QUESTION)


def test_the_hint_for_an_error_of_a_custom_model_names_no_address_in_the_settings() -> None:
    class Failing(ScriptedLLM):
        def stream_chat(self, messages: object, **_: object) -> ChatResponseGen:
            raise RuntimeError("boom")

    with pytest.raises(ModelError, match="boom") as caught:
        complete(Failing(), QUESTION)
    assert caught.value.hint == "Correct the class of the language model, which raised this error"


def test_a_programming_error_in_a_custom_model_is_passed_on_unchanged() -> None:
    class Odd(ScriptedLLM):
        def stream_chat(self, messages: object, **_: object) -> ChatResponseGen:
            yield ChatResponse(message=ChatMessage(role="assistant", content="a"), delta="a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        complete(Odd(), QUESTION)


def test_a_request_to_a_model_server_contains_all_settings_of_the_provider(server: ModelHttpServer) -> None:
    chosen = {"seed": 7, "num_predict": 3, "context_window": 768, "keep_alive": "10m"}
    with open_llm(settings_of("ollama", server, ollama=chosen, llm={"temperature": 0.5, "top_p": 0.8})) as llm:
        assert (llm.metadata.context_window, llm.metadata.num_output) == (768, 3)
        assert server.requests == []
        written = complete(llm, QUESTION)
    (body,) = server.bodies("/api/chat")
    expected = {"temperature": 0.5, "top_p": 0.8, "seed": 7, "num_predict": 3, "num_ctx": 768}
    assert body["options"] == expected
    assert (body["stream"], body["think"], body["keep_alive"]) == (True, False, "10m")
    assert (written.text, written.finish, written.answer_tokens) == ("one two three ", "length", 3)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), max_size=30))
def test_the_lower_bound_on_tokens_is_at_most_the_token_count_of_any_text(words: list[str]) -> None:
    assert min_tokens(" ".join(words)) <= sum(len(word) for word in words)


@pytest.mark.parametrize(
    ("counted", "window", "text", "cut"),
    [
        (4096, 4096, "word", True),
        (2050, 4096, "Rindfleischetikettierungsverordnung " * 1000, True),
        (2050, 4096, "東京都に住んでいます。" * 600, True),
        (2050, 4096, "one two " * 1000, False),
        (2040, 4096, "Rindfleischetikettierungsverordnung " * 1000, False),
        (2050, None, "東京都に住んでいます。" * 600, False),
    ],
)
def test_a_truncated_prompt_is_detected_by_its_token_count(
    counted: int, window: int | None, text: str, cut: bool
) -> None:
    assert is_truncated(counted, window, [text]) is cut


def test_the_lower_bound_on_tokens_counts_the_characters_of_scripts_without_spaces() -> None:
    assert min_tokens("東京都に住んでいます") == 2
    assert min_tokens("It is so?") == 3
    assert min_tokens("") == 0
