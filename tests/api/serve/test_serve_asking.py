"""Questions over HTTP: whole, as they are made, and given up when nobody waits for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from answering import CHAT, QUESTION, Answering, answering, soon, threads_named
from model_faults import Fault

ASKED = {"question": QUESTION, "collections": ["samples"]}
STREAM = {"accept": "text/event-stream"}
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def asked_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    with answering(sample_folder, tmp_path_factory.mktemp("asking") / "project") as one:
        yield one


@pytest.fixture
def one(asked_server: Answering) -> Iterator[Answering]:
    """The server, whose model does again as it should afterwards."""
    assert soon(lambda: threads_named("model") == 0)
    yield asked_server
    asked_server.model.faults.clear()


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Name and content of each event of a stream; comments as an event without a name."""
    for frame in response.iter_text():
        for one in frame.split("\n\n"):
            if one.startswith("event: "):
                name, _, data = one.removeprefix("event: ").partition("\ndata: ")
                yield name, json.loads(data)
            elif one.startswith(":"):
                yield "", one


def unlike(number: int) -> dict[str, Any]:
    """A question that no cache knows."""
    return {**ASKED, "question": QUESTION + " " * number}


def test_a_question_is_answered_with_citations_and_the_time_of_each_stage(one: Answering) -> None:
    response = one.server.client.post("/v1/query", json=ASKED)
    result = response.json()
    assert response.status_code == 200
    assert result["answer"].startswith("The Association was founded")
    assert result["citations"][0]["collection"] == "samples"
    assert "answer;dur=" in response.headers["server-timing"]


def test_an_explained_question_tells_what_became_of_each_passage(one: Answering) -> None:
    result = one.server.client.post("/v1/query", json={**ASKED, "explain": True}).json()
    assert result["trace"]["stages"]
    assert any("passages" in str(stage["details"]) for stage in result["trace"]["stages"])


def test_a_search_gives_passages_and_no_answer(one: Answering) -> None:
    before = one.asked_of_model()
    found = one.server.client.post("/v1/search", json={**ASKED, "top_k": 3}).json()
    assert len(found["chunks"]) == 3
    assert one.asked_of_model() == before


def test_a_stream_tells_sources_then_words_then_the_whole(one: Answering) -> None:
    with one.server.client.stream("POST", "/v1/query", json=unlike(1), headers=STREAM) as response:
        told = list(events(response))
    names = [name for name, _ in told]
    assert names[:2] == ["sources", "begins"]
    assert names[-1] == "result"
    assert "".join(content["text"] for name, content in told if name == "piece").startswith(
        "The Association was founded"
    )
    assert told[-1][1]["answered"]


def test_an_error_before_the_first_word_has_its_status(one: Answering) -> None:
    for headers in ({}, STREAM):
        response = one.server.client.post("/v1/query", json={**ASKED, "collections": ["nowhere"]}, headers=headers)
        assert response.status_code == 403
        assert response.json()["error"]["type"] == "forbidden"


def test_an_error_amid_the_words_is_the_last_event(one: Answering) -> None:
    one.model.faults.plan(CHAT, Fault.ERROR_LINE)
    with one.server.client.stream("POST", "/v1/query", json=unlike(2), headers=STREAM) as response:
        name, content = list(events(response))[-1]
    assert name == "error"
    assert content["error"]["type"] == "model_broken"
    assert content["error"]["request_id"] == response.headers["x-request-id"]


def test_the_model_is_left_in_peace_when_the_reader_of_a_stream_leaves(one: Answering) -> None:
    one.model.faults.plan(CHAT, Fault.ENDLESS)
    with one.server.client.stream("POST", "/v1/query", json=unlike(3), headers=STREAM) as response:
        assert next(name for name, _ in events(response) if name == "piece")
        assert threads_named("model") == 1
    assert soon(lambda: threads_named("model") == 0, 2.0)


@pytest.mark.parametrize("fault", [Fault.ENDLESS, Fault.HANG])
def test_the_model_is_left_in_peace_when_who_waits_for_a_whole_answer_leaves(one: Answering, fault: Fault) -> None:
    one.model.faults.plan(CHAT, fault)
    before = one.asked_of_model()
    with pytest.raises(httpx.ReadTimeout):
        one.server.client.post("/v1/query", json=unlike(40 + len(fault)), timeout=1.5)
    assert one.asked_of_model() == before + 1
    assert soon(lambda: threads_named("model") == 0, 2.0)


def test_a_question_may_bring_its_own_conversation(one: Answering) -> None:
    said = [{"question": "How many points does a ground need for Grade A?", "answer": "It needs 80 points [1]."}]
    with one.server.client.stream(
        "POST", "/v1/query", json={**ASKED, "question": "and for Grade B?", "history": said}, headers=STREAM
    ) as response:
        name, content = next(events(response))
    assert name == "understood"
    assert "Grade B" in content["question"]


def test_a_question_is_not_of_two_conversations(one: Answering) -> None:
    session = one.server.client.post("/v1/sessions", json={"collections": ["samples"]}).json()["id"]
    said = [{"question": "What is it?", "answer": "It is so."}]
    response = one.server.client.post("/v1/query", json={**ASKED, "session": session, "history": said})
    assert response.status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": ""},
        {"question": "x" * 20_001},
        {"question": "Why?", "unknown": 1},
        {"question": "Why?", "strategy": "magic"},
    ],
    ids=["empty", "too long", "an unknown field", "an unknown strategy"],
)
def test_a_request_that_is_not_as_described_is_told_so(one: Answering, wrong: dict[str, Any]) -> None:
    response = one.server.client.post("/v1/query", json=wrong)
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "invalid_request"


def test_an_unknown_profile_is_told_without_paths_of_the_server(one: Answering) -> None:
    response = one.server.client.post("/v1/query", json={**ASKED, "profile": "nobody"})
    assert response.status_code == 400
    assert str(one.server.folder) not in response.text


def test_a_model_that_helps_to_search_is_left_in_peace_too(one: Answering) -> None:
    one.model.faults.plan(CHAT, Fault.ENDLESS)
    before = one.asked_of_model()
    with pytest.raises(httpx.ReadTimeout):
        one.server.client.post("/v1/search", json={**unlike(5), "strategy": "hyde"}, timeout=2.5)
    assert one.asked_of_model() == before + 1
    assert soon(lambda: threads_named("model") == 0, 2.0)
