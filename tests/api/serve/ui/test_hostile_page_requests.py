"""Requests to the routes of the page that no page sends: each gets an HTTP status below 500."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from optional import needs
from served.answering_server import EXTRACTIVE, copied_project
from served.server import RunningServer, served

pytestmark = pytest.mark.network
ROUNDS = int(os.environ.get("PAGE_FUZZED", "150"))
LONG = "a" * 3000
ADDRESSES = [
    *(f"/assets/{LONG}", f"/static/{LONG}", "/assets/%00", "/static/%00", "/assets/..%2f..%2fetc%2fpasswd", "/static/"),
    *(f"/gradio_api/heartbeat/{LONG}", f"/gradio_api/upload_progress?upload_id={LONG}", f"/theme.css?v={LONG}"),
    *(f"/docs/{LONG}", "/docs/%00", "/docs/..%2f..%2fetc%2fpasswd", "/docs/" + "%ff" * 20),
    *("/config", "/gradio_api/startup-events", "/gradio_api/reset", "/assets/" + "%ff" * 20, "/static/" + "x/" * 500),
]
VALUES: list[Any] = [None, -1, 0, 3, 99_999, 1.5, "x", True, [], {}, LONG, [[[]]], {"path": "/etc/passwd"}, 2**70]
FIELDS = ("data", "event_data", "event_id", "fn_index", "session_hash", "trigger_id", "unknown")
ROUTES = ("/gradio_api/queue/join", "/gradio_api/cancel", "/gradio_api/reset")


@pytest.fixture(scope="module")
def client(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    needs("gradio")
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("hostile") / "project")
    server: RunningServer
    with served(folder, environment=EXTRACTIVE, requests_per_minute="100000") as server:
        assert server.client.get("/").status_code == 200  # builds the page
        yield server.client


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT"])
@pytest.mark.parametrize("address", ADDRESSES, ids=lambda it: it[:24])
def test_a_request_for_a_malformed_page_address_causes_no_internal_error(
    client: httpx.Client, address: str, method: str
) -> None:
    assert client.request(method, address).status_code < 500


@pytest.mark.parametrize("number", [-1, 99_999, "0", 1.5, True, None])
def test_an_event_for_an_unknown_handler_is_refused_with_the_remedy(client: httpx.Client, number: object) -> None:
    answer = client.post(ROUTES[0], json={"data": [], "fn_index": number, "session_hash": "abc"})
    assert (answer.status_code, answer.json()["error"]["hint"]) == (400, "Load the page again.")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'"x"', b"1"])
@pytest.mark.parametrize("route", [*ROUTES, "/gradio_api/upload"])
def test_a_request_body_that_is_not_an_event_causes_no_internal_error(
    client: httpx.Client, route: str, body: bytes
) -> None:
    assert client.post(route, content=body, headers={"content-type": "application/json"}).status_code < 500


def test_random_events_cause_no_internal_errors(client: httpx.Client) -> None:
    chance = random.Random(5)  # noqa: S311 - reproducible events, no secret
    failed = []
    for number in range(ROUNDS):
        event = {field: chance.choice(VALUES) for field in FIELDS if chance.random() < 0.8}
        event |= {"session_hash": f"s{number}"} if chance.random() < 0.7 else {}
        event |= {"data": [chance.choice(VALUES) for _ in range(chance.randrange(6))]} if chance.random() < 0.6 else {}
        answer = client.post(chance.choice(ROUTES), content=json.dumps(event).encode())
        failed += [(event, answer.status_code)] if answer.status_code >= 500 else []
    assert failed == []
