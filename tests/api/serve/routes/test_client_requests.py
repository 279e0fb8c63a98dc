"""Requests as common chat clients send them are answered, and headers report which parts were not used."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from served.answering_server import CHAT, EXTRACTIVE, AnsweringServer, answering
from served.client_requests import CHATS, EMBEDDINGS, MODEL, QUESTION, SYSTEM, ChatClientRequest
from served.server import RunningServer, served

pytestmark = pytest.mark.network
ANSWER = "A ground needs 85 points for Grade A [1]."


@pytest.fixture(scope="module")
def writing(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    """A server whose answers a language model writes."""
    folder = tmp_path_factory.mktemp("writing") / "project"
    with answering(sample_folder, folder, *[ANSWER] * (2 * len(CHATS)), requests_per_minute="10000") as one:
        yield one


@pytest.fixture(scope="module")
def quoting(sample_folder: Path) -> Iterator[RunningServer]:
    """A server without a language model."""
    with served(sample_folder, environment=EXTRACTIVE, requests_per_minute="10000") as one:
        yield one


def chat(client: httpx.Client, request: ChatClientRequest) -> httpx.Response:
    body = {"model": MODEL, **request.body}
    return client.post("/v1/chat/completions", json=body, headers=dict(request.headers))


def text_of(response: httpx.Response) -> str:
    """Return the text of a whole or streamed response, as a client puts it together."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return str(response.json()["choices"][0]["message"]["content"])
    data = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    chunks = [json.loads(one) for one in data[:-1]]
    assert not [chunk for chunk in chunks if "error" in chunk]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@pytest.mark.parametrize("name", CHATS)
def test_chat_requests_of_common_clients_are_answered_if_a_language_model_writes_the_answers(
    writing: AnsweringServer, name: str
) -> None:
    request = CHATS[name]
    response = chat(writing.server.client, request)
    assert response.status_code == 200, response.text
    assert text_of(response).startswith(request.reply)
    assert response.headers.get("x-elt-llm-ignored", "") == request.ignored
    assert response.headers.get("x-elt-llm-style", "") == request.style


@pytest.mark.parametrize("name", CHATS)
def test_chat_requests_of_common_clients_are_answered_if_answers_quote_the_documents(
    quoting: RunningServer, name: str
) -> None:
    request = CHATS[name]
    response = chat(quoting.client, request)
    assert response.status_code == 200, response.text
    assert text_of(response).startswith(request.reply)
    ignored = sorted(filter(None, [*request.ignored.split(", "), *request.style.split(", ")]))
    assert response.headers.get("x-elt-llm-ignored", "") == ", ".join(ignored)
    assert "x-elt-llm-style" not in response.headers


def test_the_system_message_of_a_client_reaches_the_model_after_our_own_rules(writing: AnsweringServer) -> None:
    assert chat(writing.server.client, CHATS["langchain invoke"]).status_code == 200
    messages = next(body["messages"] for body in reversed(writing.model.bodies(CHAT)) if SYSTEM in str(body))
    rules, found, style = messages[0]["content"].partition("The caller asks for the style below.")
    assert messages[0]["role"] == "system"
    assert rules.startswith("You answer questions from the sources given")
    assert found
    assert SYSTEM in style


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_the_embedding_requests_of_a_client_return_the_vector_of_the_text(quoting: RunningServer, name: str) -> None:
    response = quoting.client.post("/v1/embeddings", json=EMBEDDINGS[name])
    assert response.status_code == 200, response.text
    [entry] = response.json()["data"]
    vector: Any = entry["embedding"]
    if isinstance(vector, str):
        vector = np.frombuffer(base64.b64decode(vector), "<f4")
    assert np.allclose(vector, FakeEmbedding().embed_texts(["A gate."])[0])


def test_a_thousand_texts_are_embedded_in_one_request(quoting: RunningServer) -> None:
    body = {"model": "embedding", "input": [f"Gate {number}." for number in range(1000)]}
    vectors = quoting.client.post("/v1/embeddings", json=body).json()["data"]
    assert np.allclose(vectors[999]["embedding"], FakeEmbedding().embed_texts(["Gate 999."])[0])


def test_a_picture_in_a_chat_is_refused_with_a_readable_message(quoting: RunningServer) -> None:
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]
    body = {"model": MODEL, "messages": [{"role": "user", "content": parts}]}
    error = quoting.client.post("/v1/chat/completions", json=body).json()["error"]
    assert error["message"] == "A message has a part of the type 'image_url', but only text is read."
    assert "POST /v1/documents" in error["hint"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "input: Input should be a valid string or a valid list, not a number"),
        (None, "input: Input should be a valid string or a valid list, not null"),
        ({"text": "A gate."}, "input: Input should be a valid string or a valid list, not an object"),
        ("", "input: String should have at least 1 character"),
        ([], "input: List should have at least 1 item after validation, not 0"),
        (["A gate.", None], "input.1: Input should be a valid string, not null"),
        ([1, 2, "A gate."], "input.2: Input should be a valid integer, not a string"),
        ([[1], [2, 0.5]], "input.1.1: Input should be a valid integer, not a decimal"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_one_message_that_fits_the_nearest_allowed_type(
    quoting: RunningServer, value: object, message: str
) -> None:
    response = quoting.client.post("/v1/embeddings", json={"model": "embedding", "input": value})
    assert response.status_code == 400
    assert response.json()["error"]["message"] == f"The request does not match its schema: {message}."
    assert response.json()["error"]["param"] == "input"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (5, "messages.0.content: Input should be a valid string or a valid list, not a number"),
        ([{"type": "text", "text": 5}], "messages.0.content.0.text: Input should be a valid string, not a number"),
    ],
)
def test_the_wrong_part_of_a_chat_message_is_named_without_the_types_of_the_schema(
    quoting: RunningServer, content: object, message: str
) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": content}]}
    response = quoting.client.post("/v1/chat/completions", json=body)
    assert response.json()["error"]["message"] == f"The request does not match its schema: {message}."


def test_every_mistake_of_a_request_is_named_at_its_place(quoting: RunningServer) -> None:
    error = quoting.client.post("/v1/ask", json={"top": 1, "where": [5], "collections": "x"}).json()["error"]
    places = [one.partition(":")[0] for one in error["message"].partition(": ")[2].split("; ")]
    assert places == ["body.collections", "body.question", "body.where.0", "body.top"]
    assert "query.limit: " in quoting.client.get("/v1/jobs", params={"limit": 0}).json()["error"]["message"]
