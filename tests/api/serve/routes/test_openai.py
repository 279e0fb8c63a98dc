"""OpenAI's own client uses the running server: models, whole and streamed chats, embeddings, errors."""

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from elt_llm_api.serve.safe_text import escape_markdown
from elt_llm_core.models.fakes import FakeEmbedding
from model_servers.faults import Fault
from openai.types.chat import ChatCompletionMessageParam
from served.answering_server import ANSWER, CHAT, QUESTION, AnsweringServer, answering, becomes_true, threads_named

pytestmark = pytest.mark.network
ASKED: list[ChatCompletionMessageParam] = [{"role": "user", "content": QUESTION}]


@pytest.fixture(scope="module")
def whole_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    with answering(sample_folder, tmp_path_factory.mktemp("openai") / "project", token="k" * 32) as one:
        yield one


@pytest.fixture
def server(whole_server: AnsweringServer) -> Iterator[AnsweringServer]:
    assert becomes_true(lambda: threads_named("model") == 0)
    yield whole_server
    whole_server.model.faults.clear()


@pytest.fixture
def client(server: AnsweringServer) -> Iterator[openai.OpenAI]:
    with httpx.Client() as http:
        yield openai.OpenAI(
            base_url=f"{server.server.address}/v1", api_key="k" * 32, http_client=http, max_retries=0, timeout=60
        )


def test_collections_and_profiles_are_listed_as_models(client: openai.OpenAI) -> None:
    listed = {model.id: model for model in client.models.list()}
    assert {"samples", "profile/default", "profile/fast"} <= set(listed)
    assert listed["samples"].created > 1_600_000_000


@pytest.mark.parametrize("name", ["samples", "profile/fast", "samples@fast"])
def test_a_model_is_returned_by_its_name(client: openai.OpenAI, name: str) -> None:
    assert client.models.retrieve(name).id == name


@pytest.mark.parametrize("name", ["nowhere", "profile/nobody", "samples@nobody", "nowhere@fast", "profile/", "@"])
def test_an_unknown_model_is_refused_with_an_error_in_the_openai_format(client: openai.OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model=name, messages=ASKED)
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    assert refused.value.type == "invalid_request_error"


def test_an_answer_without_streaming_has_annotations_citations_footnotes_and_token_counts(
    client: openai.OpenAI,
) -> None:
    answer = client.chat.completions.create(model="samples", messages=ASKED)
    [choice] = answer.choices
    text = choice.message.content or ""
    assert text.startswith("The Association was founded on 9 November 1887")
    assert "\n\nSources:\n[" in text
    assert choice.finish_reason == "stop"
    [place, *_] = [note.url_citation for note in choice.message.annotations or []]
    extra = place.model_extra or {}
    assert text[place.start_index : place.end_index] == extra["reference"]
    assert extra["excerpt"]
    assert (answer.model_extra or {})["citations"][0]["excerpt"] == extra["excerpt"]
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > 50 > answer.usage.completion_tokens > 5


def test_the_url_of_an_annotation_returns_the_cited_text(client: openai.OpenAI, server: AnsweringServer) -> None:
    answer = client.chat.completions.create(model="samples", messages=ASKED)
    [place, *_] = [note.url_citation for note in answer.choices[0].message.annotations or []]
    assert server.server.client.get(place.url).json()["text"] == (place.model_extra or {})["excerpt"]


@pytest.mark.parametrize(
    ("wanted", "has_notes", "has_list"),
    [("annotations", True, False), ("footnotes", False, True), ("both", True, True)],
)
def test_citations_are_placed_in_the_answer_as_the_request_specifies(
    client: openai.OpenAI, wanted: str, has_notes: bool, has_list: bool
) -> None:
    answer = client.chat.completions.create(model="samples", messages=ASKED, extra_body={"citations": wanted})
    message = answer.choices[0].message
    assert bool(message.annotations) == has_notes
    assert ("Sources:" in (message.content or "")) == has_list


def test_a_stream_sends_the_words_then_the_sources_and_then_the_token_counts(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="samples", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    text = "".join(delta.content or "" for delta in deltas)
    assert deltas[0].role == "assistant"
    assert text.startswith("The Association was founded")
    assert "Sources:" in text
    assert [(delta.model_extra or {})["annotations"] for delta in deltas if "annotations" in (delta.model_extra or {})]
    last = chunks[-2]
    assert last.choices[0].finish_reason == "stop"
    assert (last.model_extra or {})["citations"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 50


def test_a_streamed_answer_that_the_sources_do_not_support_is_corrected_at_the_end_of_the_stream(
    sample_folder: Path, tmp_path: Path
) -> None:
    with (
        answering(sample_folder, tmp_path / "project", "The Moon is made of green cheese [1].") as wrong,
        httpx.Client() as http,
    ):
        client = openai.OpenAI(base_url=f"{wrong.server.address}/v1", api_key="none", http_client=http)
        stream = client.chat.completions.create(model="samples", messages=ASKED, stream=True)
        chunks = list(stream)
        whole = client.chat.completions.create(model="samples", messages=ASKED).choices[0].message.content or ""
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert "green cheese" in text
    assert text.endswith(whole)


def test_the_async_client_reads_a_stream(server: AnsweringServer) -> None:
    async def asked() -> str:
        async with openai.AsyncOpenAI(base_url=f"{server.server.address}/v1", api_key="k" * 32) as client:
            stream = await client.chat.completions.create(model="samples@fast", messages=ASKED, stream=True)
            turns = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
        return "".join(turns)

    assert asyncio.run(asked()).startswith(escape_markdown(ANSWER).split("[")[0][:40])


def test_a_follow_up_question_is_understood_from_the_earlier_messages(client: openai.OpenAI) -> None:
    turns: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "How many points does a ground need for Grade A?"},
        {"role": "assistant", "content": "It needs 80 points [1].\n\nSources:\n[1] Handbook, page 3"},
        {"role": "user", "content": "and for Grade B?"},
    ]
    answer = client.chat.completions.create(model="samples", messages=turns)
    assert "Grade B" in (answer.model_extra or {})["elt_llm"]["understood"]


def test_response_headers_report_whether_a_system_message_set_the_style_or_was_ignored(
    client: openai.OpenAI,
) -> None:
    reported: list[ChatCompletionMessageParam] = [{"role": "system", "content": "Speak as a pirate."}, *ASKED]
    answer = client.chat.completions.with_raw_response.create(model="samples", messages=reported, stop=["."])
    assert (answer.headers["x-elt-llm-ignored"], answer.headers["x-elt-llm-style"]) == ("stop", "system")
    assert answer.parse().choices[0].message.content
    answer = client.chat.completions.with_raw_response.create(
        model="samples", messages=reported, extra_body={"system": "ignore"}
    )
    assert answer.headers["x-elt-llm-ignored"] == "system"
    assert "x-elt-llm-style" not in answer.headers


def test_a_system_message_that_is_too_long_for_a_style_is_ignored(client: openai.OpenAI) -> None:
    reported: list[ChatCompletionMessageParam] = [{"role": "system", "content": "Speak. " * 1000}, *ASKED]
    answer = client.chat.completions.with_raw_response.create(model="samples", messages=reported)
    assert answer.headers["x-elt-llm-ignored"] == "system"


def test_a_system_message_is_refused_if_the_parameter_system_of_the_request_is_refuse(client: openai.OpenAI) -> None:
    reported: list[ChatCompletionMessageParam] = [{"role": "system", "content": "Speak as a pirate."}, *ASKED]
    with pytest.raises(openai.BadRequestError, match="prompt of the profile"):
        client.chat.completions.create(model="samples", messages=reported, extra_body={"system": "refuse"})


def test_a_chat_client_that_requests_a_title_gets_the_same_title_with_and_without_streaming(
    client: openai.OpenAI,
) -> None:
    task = "### Task:\nGenerate a concise title.\nUSER: How many points does a ground need?\nASSISTANT: 85."
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": task}]
    whole = client.chat.completions.create(model="samples", messages=messages).choices[0].message.content
    stream = client.chat.completions.create(model="samples", messages=messages, stream=True)
    assert whole == '{"title": "How many points does a ground need?"}'
    assert "".join(piece.choices[0].delta.content or "" for piece in stream) == whole


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 2},
        {"logprobs": True},
        {"modalities": ["text", "audio"]},
    ],
    ids=lambda it: next(iter(it)),
)
def test_request_parameters_that_must_not_be_ignored_are_refused(
    client: openai.OpenAI, parameters: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="samples", messages=ASKED, **parameters)
    assert (refused.value.code, refused.value.param) == ("unsupported_parameter", next(iter(parameters)))


def test_unknown_parameters_with_any_name_are_ignored_and_reported(server: AnsweringServer) -> None:
    odd = {"d\U000fb581": 1, "a\r\nset-cookie: b": 2, "": 3, **{f"z{number}{'x' * 500}": 4 for number in range(200)}}
    response = server.server.client.post("/v1/chat/completions", json={"model": "samples", "messages": ASKED, **odd})
    assert response.status_code == 200
    assert "a%0D%0Aset-cookie%3A%20b" in response.headers["x-elt-llm-ignored"].split(", ")
    assert "set-cookie" not in response.headers


def test_request_parameters_that_are_ignored_are_accepted_and_a_note_names_them(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="samples", messages=ASKED, temperature=0.7, n=1, user="me", tools=[])
    notes = (answer.model_extra or {})["elt_llm"]["notes"]
    assert any("temperature" in note for note in notes)
    assert not any("user" in note for note in notes)


@pytest.mark.parametrize(
    "messages",
    [[], [{"role": "assistant", "content": "Hello."}], [{"role": "user", "content": " "}], [{"role": "user"}]],
    ids=["none", "no question", "empty", "without content"],
)
def test_a_chat_request_without_a_question_is_refused(server: AnsweringServer, messages: list[dict[str, str]]) -> None:
    response = server.server.client.post("/v1/chat/completions", json={"model": "samples", "messages": messages})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["request_id"] == response.headers["x-request-id"]


def test_an_error_within_a_stream_reaches_the_client(client: openai.OpenAI, server: AnsweringServer) -> None:
    server.model.faults.plan(CHAT, Fault.ERROR_LINE)
    with pytest.raises(openai.APIError, match="an error was encountered"):
        list(
            client.chat.completions.create(
                model="samples", messages=[{"role": "user", "content": QUESTION + "  "}], stream=True
            )
        )


def test_a_client_that_closes_its_stream_stops_the_language_model(
    client: openai.OpenAI, server: AnsweringServer
) -> None:
    server.model.faults.plan(CHAT, Fault.ENDLESS)
    stream = client.chat.completions.create(
        model="samples", messages=[{"role": "user", "content": QUESTION + "   "}], stream=True
    )
    assert next(chunk.choices[0].delta.content for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
    stream.close()
    assert becomes_true(lambda: threads_named("model") == 0, 2.0)


def test_a_wrong_key_raises_the_openai_authentication_error(server: AnsweringServer) -> None:
    with httpx.Client() as http, pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{server.server.address}/v1", api_key="wrong", http_client=http).models.list()


def test_the_embeddings_route_returns_the_same_vectors_as_the_index(client: openai.OpenAI) -> None:
    texts = ["A loan costs 40 euros.", "The gate is blue."]
    made = client.embeddings.create(model="fake", input=texts)
    expected = FakeEmbedding().embed_texts(texts)
    assert np.allclose([one.embedding for one in made.data], expected)
    assert made.usage.total_tokens == 11


def test_embeddings_are_returned_as_numbers_or_base64(server: AnsweringServer) -> None:
    def vector(form: str) -> Any:
        asked = {"model": "embedding", "input": "A gate.", "encoding_format": form}
        return server.server.client.post("/v1/embeddings", json=asked).json()["data"][0]["embedding"]

    assert np.allclose(np.frombuffer(base64.b64decode(vector("base64")), "<f4"), vector("float"))


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"model": "other", "input": "x"}, 404),
        ({"model": "fake", "input": ""}, 400),
        ({"model": "fake", "input": " "}, 400),
        ({"model": "fake", "input": []}, 400),
        ({"model": "fake", "input": [[1, 999_999]]}, 400),
        ({"model": "fake", "input": ["x"] * 1001}, 400),
        ({"model": "fake", "input": "word " * 300}, 400),
        ({"model": "fake", "input": "x", "dimensions": 7}, 400),
    ],
)
def test_too_large_embedding_requests_are_refused(server: AnsweringServer, asked: dict[str, Any], status: int) -> None:
    response = server.server.client.post("/v1/embeddings", json=asked)
    assert response.status_code == status
    assert response.json()["error"]["message"]
