"""The contract of every language model, including a real one."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.completion import complete
from elt_llm_core.models.fakes import ScriptedLLM, ScriptedReply
from llama_index.core.llms import LLM, ChatMessage
from model_servers.backends import ScriptedBackend
from model_servers.http_server import running_model_server
from model_servers.settings import open_llm, settings_of
from model_servers.smollm import SmolLmBackend, smollm_file

pytestmark = pytest.mark.halved


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


def test_an_answer_is_streamed_with_token_counts_and_finish_reason(llm: LLM) -> None:
    pieces: list[str] = []
    written = complete(llm, MESSAGES, on_piece=pieces.append)
    assert written.text
    assert "".join(pieces) == written.text
    assert written.finish == "length"
    assert written.answer_tokens == 6
    assert written.prompt_tokens is not None
    assert 9 <= written.prompt_tokens < 60


def test_the_model_gives_the_same_answer_to_the_same_prompt_twice(llm: LLM) -> None:
    assert complete(llm, MESSAGES).text == complete(llm, MESSAGES).text


def test_the_metadata_of_a_language_model_are_available_without_a_request(llm: LLM) -> None:
    assert llm.metadata.num_output < llm.metadata.context_window
    assert llm.metadata.model_name


def test_a_streamed_answer_can_be_cancelled_after_any_piece(llm: LLM) -> None:
    pieces: list[str] = []
    written = complete(llm, MESSAGES, on_piece=pieces.append, cancelled=lambda: bool(pieces))
    assert (written.finish, written.text) == ("cut off", "".join(pieces))
    assert len(pieces) == 1


def test_a_prompt_above_the_context_window_is_an_error(llm: LLM) -> None:
    if isinstance(llm, ScriptedLLM):
        llm = ScriptedLLM([ScriptedReply(ANSWER, prompt_tokens=llm.metadata.context_window)])
    with pytest.raises(PromptTooLong) as caught:
        complete(llm, [ChatMessage(role="user", content="word " * 20000)])
    assert caught.value.hint
