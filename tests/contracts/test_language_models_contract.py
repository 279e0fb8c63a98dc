"""What every language model keeps to when it is asked through the one seam, a real one included."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.fakes import ScriptedLLM, ScriptedReply
from elt_llm_core.models.writing import write
from llama_index.core.llms import LLM, ChatMessage
from model_backends import ScriptedBackend
from model_http_server import running_model_server
from model_settings import open_llm, settings_of
from smollm_backend import SmolLmBackend, smollm_file

MESSAGES = [
    ChatMessage(role="system", content="You are brief."),
    ChatMessage(role="user", content="Name three colours of the rainbow."),
]
ANSWER = "Red, green and blue are three of them."
FEW = {"num_predict": 6}
PROVIDERS = ["fake", "ollama", "openai_like", "llama_cpp", "ollama with a real model", "openai_like with a real model"]


@pytest.fixture(scope="module")
def smollm() -> SmolLmBackend:
    return SmolLmBackend()


@pytest.fixture(params=PROVIDERS)
def llm(request: pytest.FixtureRequest) -> Iterator[LLM]:
    provider, _, real = str(request.param).partition(" with ")
    with ExitStack() as stack:
        if provider == "fake":
            yield ScriptedLLM([ScriptedReply(ANSWER, "length", prompt_tokens=12, answer_tokens=6)] * 2)
        elif provider == "llama_cpp":
            yield stack.enter_context(open_llm(settings_of(provider, gguf=smollm_file(), llama_cpp=FEW)))
        else:
            backend = request.getfixturevalue("smollm") if real else ScriptedBackend([ANSWER])
            server = stack.enter_context(running_model_server(backend))
            yield stack.enter_context(open_llm(settings_of(provider, server, patience=120.0, sections={provider: FEW})))


def test_an_answer_comes_in_pieces_with_its_counts_and_its_end(llm: LLM) -> None:
    pieces: list[str] = []
    written = write(llm, MESSAGES, on_piece=pieces.append)
    assert written.text
    assert "".join(pieces) == written.text
    assert written.finish == "length"
    assert written.answer_tokens == 6
    assert written.prompt_tokens is not None
    assert 9 <= written.prompt_tokens < 60
    assert written.thinking == ""


def test_the_same_question_has_the_same_answer_twice(llm: LLM) -> None:
    assert write(llm, MESSAGES).text == write(llm, MESSAGES).text


def test_it_tells_its_window_and_the_length_of_its_answers_without_being_asked_anything(llm: LLM) -> None:
    assert llm.metadata.num_output < llm.metadata.context_window
    assert llm.metadata.model_name


def test_an_answer_can_be_cut_off_at_any_piece(llm: LLM) -> None:
    pieces: list[str] = []
    written = write(llm, MESSAGES, on_piece=pieces.append, cancelled=lambda: bool(pieces))
    assert (written.finish, written.text) == ("cut off", "".join(pieces))
    assert len(pieces) == 1


def test_a_prompt_above_the_window_is_an_error_and_never_cut_in_silence(llm: LLM) -> None:
    if isinstance(llm, ScriptedLLM):
        llm = ScriptedLLM([ScriptedReply(ANSWER, prompt_tokens=llm.metadata.context_window)])
    with pytest.raises(PromptTooLong) as caught:
        write(llm, [ChatMessage(role="user", content="word " * 20000)])
    assert caught.value.hint
