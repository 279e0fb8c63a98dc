"""Questions over HTTP: whole answers, streams, and cancellation when the client disconnects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from model_servers.faults import Fault
from served.answering_server import CHAT, QUESTION, AnsweringServer, answering, becomes_true, threads_named
from served.server import served

ASKED = {"question": QUESTION, "collections": ["samples"]}
STREAM = {"accept": "text/event-stream"}
pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def asked_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    with answering(sample_folder, tmp_path_factory.mktemp("asking") / "project") as one:
        yield one


@pytest.fixture
def one(asked_server: AnsweringServer) -> Iterator[AnsweringServer]:
    """Yield the server, and reset its model after each test."""
    assert becomes_true(lambda: threads_named("model") == 0)
    yield asked_server
    asked_server.model.faults.clear()


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """Return name and content of each event of a stream. A comment is an event without a name."""
    for frame in response.iter_text():
        for one in frame.split("\n\n"):
            if one.startswith("event: "):
                name, _, data = one.removeprefix("event: ").partition("\ndata: ")
                yield name, json.loads(data)
            elif one.startswith(":"):
                yield "", one


def unlike(number: int) -> dict[str, Any]:
    """Return a question that no cache contains."""
    return {**ASKED, "question": QUESTION + " " * number}


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/query"])
def test_a_question_is_answered_with_citations_and_the_time_of_each_stage(one: AnsweringServer, path: str) -> None:
    response = one.server.client.post(path, json=ASKED)
    result = response.json()
    assert response.status_code == 200
    assert result["answer"].startswith("The Association was founded")
    assert result["citations"][0]["collection"] == "samples"
    assert "answer;dur=" in response.headers["server-timing"]


def test_the_explain_option_reports_for_each_chunk_whether_it_was_kept(one: AnsweringServer) -> None:
    result = one.server.client.post("/v1/ask", json={**ASKED, "explain": True}).json()
    assert result["trace"]["stages"]
    assert any("chunks" in str(stage["details"]) for stage in result["trace"]["stages"])


def test_the_search_route_returns_chunks_but_no_answer(one: AnsweringServer) -> None:
    before = one.asked_of_model()
    found = one.server.client.post("/v1/search", json={**ASKED, "top_k": 3}).json()
    assert len(found["chunks"]) == 3
    assert one.asked_of_model() == before


def test_a_stream_sends_the_sources_then_the_words_and_then_the_complete_result(one: AnsweringServer) -> None:
    with one.server.client.stream("POST", "/v1/ask", json=unlike(1), headers=STREAM) as response:
        reported = list(events(response))
    names = [name for name, _ in reported]
    assert names[:2] == ["sources", "started"]
    assert names[-1] == "result"
    assert "".join(content["text"] for name, content in reported if name == "piece").startswith(
        "The Association was founded"
    )
    assert reported[-1][1]["answered"]


def test_an_error_before_the_first_event_of_a_stream_is_returned_as_an_http_error(one: AnsweringServer) -> None:
    for headers in ({}, STREAM):
        response = one.server.client.post("/v1/ask", json={**ASKED, "collections": ["nowhere"]}, headers=headers)
        assert response.status_code == 403
        assert response.json()["error"]["type"] == "forbidden"


def test_an_error_within_a_stream_is_the_last_event_of_the_stream(one: AnsweringServer) -> None:
    one.model.faults.plan(CHAT, Fault.ERROR_LINE)
    with one.server.client.stream("POST", "/v1/ask", json=unlike(2), headers=STREAM) as response:
        name, content = list(events(response))[-1]
    assert name == "error"
    assert content["error"]["type"] == "model_broken"
    assert content["error"]["request_id"] == response.headers["x-request-id"]


def test_closing_a_stream_stops_the_language_model(one: AnsweringServer) -> None:
    one.model.faults.plan(CHAT, Fault.ENDLESS)
    with one.server.client.stream("POST", "/v1/ask", json=unlike(3), headers=STREAM) as response:
        assert next(name for name, _ in events(response) if name == "piece")
        assert threads_named("model") == 1
    assert becomes_true(lambda: threads_named("model") == 0, 2.0)


@pytest.mark.parametrize("fault", [Fault.ENDLESS, Fault.HANG])
def test_a_client_that_disconnects_from_an_unstreamed_answer_stops_the_language_model(
    one: AnsweringServer, fault: Fault
) -> None:
    one.model.faults.plan(CHAT, fault)
    before = one.asked_of_model()
    with pytest.raises(httpx.ReadTimeout):
        one.server.client.post("/v1/ask", json=unlike(40 + len(fault)), timeout=1.5)
    assert one.asked_of_model() == before + 1
    assert becomes_true(lambda: threads_named("model") == 0, 2.0)


def test_a_question_may_include_earlier_turns_as_history(one: AnsweringServer) -> None:
    turns = [{"question": "How many points does a ground need for Grade A?", "answer": "It needs 80 points [1]."}]
    with one.server.client.stream(
        "POST", "/v1/ask", json={**ASKED, "question": "and for Grade B?", "history": turns}, headers=STREAM
    ) as response:
        name, content = next(events(response))
    assert name == "understood"
    assert "Grade B" in content["question"]


def test_a_question_with_both_a_session_and_a_history_is_refused(one: AnsweringServer) -> None:
    session = one.server.client.post("/v1/sessions", json={"collections": ["samples"]}).json()["id"]
    turns = [{"question": "What is it?", "answer": "It is so."}]
    response = one.server.client.post("/v1/ask", json={**ASKED, "session": session, "history": turns})
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("wrong", "reason", "hint"),
    [
        ({"question": ""}, "body.question: String should have at least 1 character.", "See /openapi.json"),
        ({"question": "x" * 20_001}, "body.question: String should have at most 20000 characters.", "See"),
        ({"question": "Why?", "collection": "a"}, "body.collection: unknown field.", "Nearest: collections"),
        ({"question": "Why?", "strategy": "magic"}, "body.strategy: Input should be 'dense', 'sparse',", "See"),
        ({"question": "Why?", "where": "a=b"}, "body.where: Input should be a valid list, not a string.", "See"),
        (
            {"question": "Why?", "history": [["a", "b"]]},
            "body.history.0: Input should be an object, not a list.",
            "See",
        ),
        ([], "body: Input should be an object, not a list.", "See"),
        ({"question": "x", "collections": ["a"] * 201}, "body.collections: List should have at most 200 items", "See"),
    ],
)
def test_an_invalid_request_is_refused_with_the_reason(
    one: AnsweringServer, wrong: object, reason: str, hint: str
) -> None:
    response = one.server.client.post("/v1/ask", json=wrong)
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (422, "invalid_request")
    assert reason in error["message"]
    assert error["hint"].startswith(hint)


def test_text_that_is_not_json_is_refused_with_the_place_of_the_mistake(one: AnsweringServer) -> None:
    json_type = {"content-type": "application/json"}
    error = one.server.client.post("/v1/ask", content='{"question"', headers=json_type).json()["error"]
    assert "The text is not valid JSON from character 11: Expecting ':' delimiter." in error["message"]
    for unreadable in ('{"question": "Prüfvermerk?"}'.encode("latin-1"), b"[" * 100_000):
        response = one.server.client.post("/v1/ask", content=unreadable, headers=json_type)
        error = response.json()["error"]
        assert (response.status_code, error["type"]) == (400, "invalid_request")
        assert error["message"] == "The body is not UTF-8, or nested too deeply."


def test_a_prefix_that_matches_no_collection_is_refused_by_name(one: AnsweringServer) -> None:
    [first, *_] = one.server.client.get("/v1/collections").json()
    for named in ((), (first["name"],)):
        asked = {"question": "Who decides?", "collections": named, "prefixes": ["", "zz"]}
        response = one.server.client.post("/v1/search", json=asked)
        assert response.status_code == 403
        assert response.json()["error"]["message"] == "No collection that this key may read starts with 'zz'."


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("/v1/aks", "There is no route GET /v1/aks.", "GET /v1 lists the routes."),
        ("/v1/ask", "There is no route GET /v1/ask.", "This path accepts POST."),
    ],
)
def test_an_unknown_route_is_named_with_the_methods_of_its_path(
    one: AnsweringServer, path: str, message: str, hint: str
) -> None:
    error = one.server.client.get(path).json()["error"]
    assert (error["message"], error["hint"]) == (message, hint)


def test_an_unknown_profile_is_refused_and_the_error_contains_no_path_of_the_server(one: AnsweringServer) -> None:
    response = one.server.client.post("/v1/ask", json={**ASKED, "profile": "nobody"})
    assert response.status_code == 400
    assert str(one.server.folder) not in response.text


def test_a_client_that_disconnects_from_a_search_stops_the_language_model_in_use(one: AnsweringServer) -> None:
    one.model.faults.plan(CHAT, Fault.ENDLESS)
    before = one.asked_of_model()
    with pytest.raises(httpx.ReadTimeout):
        one.server.client.post("/v1/search", json={**unlike(5), "strategy": "hyde"}, timeout=2.5)
    assert one.asked_of_model() == before + 1
    assert becomes_true(lambda: threads_named("model") == 0, 2.0)


def test_the_error_for_a_question_before_the_first_ingest_names_the_ingest_command(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        refused = server.client.post("/v1/query", json={"question": QUESTION})
    assert refused.status_code == 409
    assert refused.json()["error"]["message"] == "Nothing was ingested yet."
    assert "elt-llm ingest" in refused.json()["error"]["hint"]
