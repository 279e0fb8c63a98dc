"""A real model behind Ollama's protocol gives the token counts, vectors and finish reasons that the client expects."""

from collections.abc import Iterator

import numpy as np
import pytest
from elt_llm_core.errors import PromptTooLong
from elt_llm_core.models.completion import complete
from llama_index.core.llms import ChatMessage
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_embedding, open_llm, settings_of
from model_servers.smollm import SmolLmBackend

pytestmark = pytest.mark.halved


@pytest.fixture(scope="module")
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(SmolLmBackend()) as running:
        yield running


def test_the_prompt_token_count_equals_that_of_the_real_model(server: ModelHttpServer) -> None:
    short = [ChatMessage(role="user", content="Say yes.")]
    longer = [ChatMessage(role="user", content="Say yes. Rain falls.")]
    with open_llm(settings_of("ollama", server, ollama={"num_predict": 1}, patience=120.0)) as llm:
        first, second = complete(llm, short).prompt_tokens, complete(llm, longer).prompt_tokens
    assert first is not None
    assert second is not None
    assert second - first == len(["ĠRain", "Ġfalls", "."])


def test_the_finish_reason_of_a_complete_answer_is_stop(server: ModelHttpServer) -> None:
    question = [ChatMessage(role="user", content="Reply with the single word: yes")]
    with open_llm(settings_of("ollama", server, ollama={"num_predict": 60}, patience=120.0)) as llm:
        written = complete(llm, question)
    assert written.finish == "stop"
    assert written.answer_tokens is not None
    assert written.answer_tokens < 60


def test_the_vectors_of_a_real_embedding_model_pass_every_validity_check(server: ModelHttpServer) -> None:
    texts = ["A club registers its players.", "Players are registered by their club.", "Tax law of 1924, § 7"]
    with open_embedding(settings_of("ollama", server, patience=120.0)) as model:
        vectors = model.embed_texts(texts)
        question = model.embed_question("Who registers players?")
        assert model.fingerprint.dimension == vectors.shape[1] == question.shape[0] == 576
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_a_text_that_the_embedding_server_finds_too_long_is_refused_although_the_token_estimate_accepts_it(
    server: ModelHttpServer,
) -> None:
    # Each of these characters is one token by the estimate, and three by the model.
    text = "\U00013000" * 700
    with open_embedding(settings_of("ollama", server, patience=120.0)) as model:
        assert len(model.token_spans(text)) <= model.token_limit
        with pytest.raises(PromptTooLong):
            model.embed_texts([text])
