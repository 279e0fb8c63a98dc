"""Embedding through a server adds prefixes, sends batches, enforces limits and detects wrong replies."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from elt_llm_core.errors import (
    ModelBroken,
    ModelError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    SettingsError,
    UnusableReply,
)
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_embedding, settings_of

PATHS = {"ollama": "/api/embed", "openai_like": "/v1/embeddings"}
PATIENCE = 0.4  # seconds, for a server that sends nothing
TEXTS = ["A club registers its players.", "Rain falls on the hill.", "The third text."]

FAILURES: list[tuple[Fault, type[ModelError], str]] = [
    (Fault.CLOSE, ModelBroken, "broke off"),
    (Fault.LOADING, ModelUnavailable, "loading model"),
    (Fault.MISSING, ModelMissing, "does not have the model"),
    (Fault.CRASHED, ModelBroken, "terminated"),
    (Fault.FULL, ModelRefused, "memory"),
    (Fault.TOO_LONG, PromptTooLong, "context length"),
    (Fault.REDIRECT, ModelRefused, "307"),
    (Fault.HANG, ModelTimeout, "sent nothing"),
    (Fault.NOT_JSON, UnusableReply, "cannot be read"),
    (Fault.WRONG_DIMENSION, UnusableReply, "dimension 31 instead of 32"),
    (Fault.UNLIKE_DIMENSIONS, UnusableReply, "different lengths"),
    (Fault.NOT_A_NUMBER, UnusableReply, "not finite"),
    (Fault.ZERO, UnusableReply, "has length 0"),
    (Fault.ONE_SHORT, UnusableReply, "4 vectors for 5 texts"),
    (Fault.WRONG_ORDER, UnusableReply, "in the wrong order"),
]


@pytest.fixture
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend()) as running:
        yield running


def embedded(provider: str, server: ModelHttpServer, texts: list[str], **sections: dict[str, Any]) -> np.ndarray:
    with open_embedding(settings_of(provider, server, sections=sections)) as model:
        return model.embed_texts(texts)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("provider", PATHS)
@pytest.mark.parametrize(("fault", "error", "words"), FAILURES, ids=[fault.name for fault, *_ in FAILURES])
def test_each_type_of_embedding_server_failure_raises_its_own_error(
    server: ModelHttpServer, provider: str, fault: Fault, error: type[ModelError], words: str
) -> None:
    patience = PATIENCE if fault is Fault.HANG else 20.0
    with open_embedding(settings_of(provider, server, patience=patience)) as model:
        assert model.fingerprint.dimension == 32
        server.faults.always(PATHS[provider], fault)
        with pytest.raises(error, match=words) as caught:
            model.embed_texts(TEXTS)
    assert type(caught.value) is error
    assert caught.value.hint


@pytest.mark.parametrize("provider", PATHS)
def test_an_unreachable_embedding_server_is_reported_at_first_use(provider: str) -> None:
    with open_embedding(settings_of(provider)) as model, pytest.raises(ModelUnavailable, match="cannot be reached"):
        model.embed_texts(TEXTS)


@pytest.mark.parametrize("provider", PATHS)
def test_a_temporary_failure_of_an_embedding_server_is_retried(server: ModelHttpServer, provider: str) -> None:
    server.faults.plan(PATHS[provider], Fault.LOADING, Fault.CLOSE)
    assert len(embedded(provider, server, TEXTS)) == len(TEXTS)


def test_a_missing_model_is_reported_with_the_command_that_pulls_it(server: ModelHttpServer) -> None:
    with pytest.raises(ModelMissing) as caught:
        embedded("ollama", server, TEXTS, embedding={"model": "nomic-embed-text"})
    assert caught.value.hint == "Run: ollama pull nomic-embed-text"


@pytest.mark.parametrize("provider", PATHS)
def test_texts_are_sent_to_the_server_in_batches_and_the_vectors_are_returned_in_text_order(
    server: ModelHttpServer, provider: str
) -> None:
    texts = [f"text number {number} of many" for number in range(7)]
    chosen: dict[str, dict[str, Any]] = {"ollama": {"embed_batch_size": 3}, "openai_like": {"embed_batch_size": 3}}
    vectors = embedded(provider, server, texts, **chosen)
    sent = [body["input"] for body in server.bodies(PATHS[provider])[2:]]
    assert [text for batch in sent for text in batch[1:-1]] == texts
    assert [len(batch) for batch in sent] == [5, 5, 3]
    assert np.allclose(vectors, np.concatenate([embedded(provider, server, [text]) for text in texts]), atol=1e-5)


def test_embedding_requests_to_ollama_forbid_truncation(server: ModelHttpServer) -> None:
    embedded("ollama", server, TEXTS)
    assert {body["truncate"] for body in server.bodies("/api/embed")} == {False}
    assert {body["options"]["num_ctx"] for body in server.bodies("/api/embed")} == {server.backend.context_length}


def test_an_ollama_chat_model_is_refused_as_embedding_model_and_the_error_names_the_setting(
    server: ModelHttpServer,
) -> None:
    server.faults.always("/api/embed", Fault.NO_EMBEDDINGS)
    with pytest.raises(ModelRefused, match="gives no vectors") as caught:
        embedded("ollama", server, TEXTS)
    assert "embedding.model" in caught.value.hint
    assert len(server.bodies("/api/embed")) == 1


def test_texts_are_sent_to_ollama_unchanged(server: ModelHttpServer) -> None:
    """By default LlamaIndex's class strips texts and lets the server truncate them (decision 0032)."""
    from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

    text = " A club registers its players.\n"
    plain = LlamaIndexOllamaEmbedding("scripted:latest", server.address, text_instruction="doc: ")
    plain.get_text_embedding_batch([text])
    plain._client.close()  # type: ignore[no-untyped-call]  # the integration has no public close
    (alone,) = server.bodies("/api/embed")
    assert "truncate" not in alone
    assert alone["input"] == ["doc: A club registers its players."]
    embedded("ollama", server, [text], embedding={"text_prefix": "doc: "})
    wrapped = server.bodies("/api/embed")[-1]
    assert wrapped["truncate"] is False
    assert wrapped["input"][1] == f"doc: {text}"


@pytest.mark.parametrize(
    ("name", "before_question", "before_text", "limit"),
    [
        ("nomic-embed-text:latest", "search_query: ", "search_document: ", 1024 - 2 - 4),
        ("multilingual-e5-large", "query: ", "passage: ", 381),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", "", 510),
        ("a-model-of-my-own", "", "", 766),
    ],
)
def test_a_known_embedding_model_gets_its_prefixes_and_token_limit(
    name: str, before_question: str, before_text: str, limit: int
) -> None:
    with (
        running_model_server(ScriptedBackend(name=name, context_length=1024)) as server,
        open_embedding(settings_of("ollama", server)) as model,
    ):
        model.embed_texts(["a text"])
        model.embed_question("a question")
        text, question = (body["input"][1] for body in server.bodies("/api/embed")[-2:])
        fingerprint = model.fingerprint
    assert (text, question) == (f"{before_text}a text", f"{before_question}a question")
    assert (fingerprint.query_prefix, fingerprint.text_prefix) == (before_question, before_text)
    assert fingerprint.token_limit == limit


def test_the_settings_replace_or_remove_the_prefixes_of_a_model() -> None:
    with running_model_server(ScriptedBackend(name="nomic-embed-text")) as server:
        chosen = {"query_prefix": "", "text_prefix": "doc: "}
        with open_embedding(settings_of("ollama", server, embedding=chosen)) as model:
            assert (model.fingerprint.query_prefix, model.fingerprint.text_prefix) == ("", "doc: ")


@pytest.mark.parametrize("provider", PATHS)
def test_a_long_question_is_embedded_in_parts_without_truncation(server: ModelHttpServer, provider: str) -> None:
    with open_embedding(settings_of(provider, server)) as model:
        words = [f"word{number}" for number in range(model.token_limit)]
        vector = model.embed_question(" ".join(words))
        (*_, last) = server.bodies(PATHS[provider])
    assert len(last["input"]) > 3
    assert "".join(last["input"][1:-1]) == " ".join(words)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_an_embedding_model_that_changes_under_the_same_name_has_another_fingerprint() -> None:
    keys = set()
    for digest in ("a" * 64, "b" * 64):
        backend = ScriptedBackend()
        backend.digest = digest
        with running_model_server(backend) as server, open_embedding(settings_of("ollama", server)) as model:
            keys.add(model.fingerprint.key)
    assert len(keys) == 2


def test_a_model_that_changes_between_two_batches_raises_unusable_reply(server: ModelHttpServer) -> None:
    with open_embedding(settings_of("ollama", server)) as model:
        assert model.fingerprint.dimension == 32
        server.backend = Turned()
        with pytest.raises(UnusableReply, match="the model has changed"):
            model.embed_texts(TEXTS)


class Turned(ScriptedBackend):
    """A model that returns the negated vectors of another model."""

    def embed(self, texts: Any) -> tuple[list[list[float]], int]:
        vectors, tokens = super().embed(texts)
        return [[-value for value in vector] for vector in vectors], tokens


def test_the_address_of_a_hosted_embedding_service_is_refused_unless_the_settings_allow_it() -> None:
    chosen = {"base_url": "https://models.example.com/v1"}
    with pytest.raises(SettingsError, match="allow_remote_models"):
        create_embedding(settings_of("openai_like", openai_like=chosen))
    allowed = create_embedding(settings_of("openai_like", network={"allow_remote_models": True}, openai_like=chosen))
    assert isinstance(allowed, EmbeddingModel)
    allowed.close()  # type: ignore[attr-defined]  # a connection was prepared, none was made
