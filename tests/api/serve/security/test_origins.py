"""Security cases S-HOST and S-CSRF: the server refuses requests for other hosts and of pages of other origins."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from served.server import RunningServer, served

pytestmark = pytest.mark.network

LISTED = "https://wiki.example"
WAYS = ("/v1/collections", "/", "/mcp", "/openapi.json", "/login", "/gradio_api/queue/data")
"""One path of each kind: the HTTP interface, the pages, MCP, the OpenAPI description, the login form, Gradio."""
HOSTS = (
    "evil.com",
    "localhost.evil.com",
    "127.0.0.1:1@evil.com",
    "evil.com:7860",
    "localhost.",
    "127.0.0.1.nip.io",
    "[::1].evil.com",
    "localhost:x",
    "localhost/evil.com",
    "",
    "localhost evil.com",
    "0.0.0.0",  # noqa: S104 - asked for, not listened at
    "[::ffff:127.0.0.1]",
)
ORIGINS = ("null", "https://evil.com", "http://localhost:1", "http://127.0.0.1", "file://", "", LISTED + ".evil.com")


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    """Start a server without keys that allows the pages of one other origin."""
    with served(sample_folder, cors_origins=f"[{LISTED}]", requests_per_minute="100000") as running:
        yield running


@pytest.mark.parametrize("host", HOSTS)
def test_requests_with_the_host_name_of_another_server_are_refused(host: str, server: RunningServer) -> None:
    statuses = {path: server.client.get(path, headers={"host": host}).status_code for path in WAYS}
    assert set(statuses.values()) <= {421, 400}, statuses


@pytest.mark.parametrize("origin", ORIGINS)
def test_requests_from_pages_of_other_origins_are_refused(origin: str, server: RunningServer) -> None:
    for path in WAYS:
        for method in ("GET", "POST", "OPTIONS"):
            refused = server.client.request(method, path, headers={"origin": origin})
            assert refused.status_code == 403, (method, path)
            assert "access-control-allow-origin" not in refused.headers


def test_requests_with_two_host_headers_or_none_are_refused(server: RunningServer) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    assert _raw(host, int(port), b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421")
    twice = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\nConnection: close\r\n\r\n"
    assert _raw(host, int(port), twice).startswith(b"HTTP/1.1 400")
    absolute = b"GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert _raw(host, int(port), absolute).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1"])
def test_requests_with_a_host_name_of_this_machine_are_answered(host: str, server: RunningServer) -> None:
    assert server.client.get("/health", headers={"host": host}).status_code == 200


def test_requests_from_pages_of_the_server_itself_are_answered(server: RunningServer) -> None:
    assert server.client.get("/v1/collections", headers={"origin": server.address}).status_code == 200


def test_a_page_of_an_allowed_origin_can_read_responses_but_sends_no_credentials(server: RunningServer) -> None:
    ahead = {
        "origin": LISTED,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    preflight = server.client.options("/v1/search", headers=ahead)
    answer = server.client.post("/v1/search", json={"question": "Grade A"}, headers={"origin": LISTED})
    assert (preflight.status_code, answer.status_code) == (200, 200)
    for response in (preflight, answer):
        assert response.headers["access-control-allow-origin"] == LISTED
        assert "origin" in response.headers["vary"].lower()
        assert "access-control-allow-credentials" not in response.headers
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "content-type" in preflight.headers["access-control-allow-headers"].lower()


def test_no_response_allows_every_origin(server: RunningServer) -> None:
    answers = [server.client.get(path, headers=headers) for path in WAYS[2:5] for headers in ({}, {"origin": LISTED})]
    assert all(answer.headers.get("access-control-allow-origin") in {None, LISTED} for answer in answers)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "TEXT/PLAIN;charset=utf-8", None])
def test_a_json_body_with_the_content_type_of_a_form_is_refused(kind: str | None, server: RunningServer) -> None:
    typed = {"content-type": kind} if kind else {}
    refused = server.client.post("/v1/search", content=b'{"question": "Grade A"}', headers=typed)
    assert refused.status_code == 415
    assert refused.json()["error"]["type"] == "unsupported_media_type"
    assert "multipart/form-data to upload files" in refused.json()["error"]["hint"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_requests_are_refused_unless_the_user_followed_a_link(site: str, server: RunningServer) -> None:
    output = {"sec-fetch-site": site}
    assert server.client.get("/v1/collections", headers=output).status_code == 403
    assert server.client.post("/login", data={"key": "x"}, headers=output).status_code == 403
    followed = {**output, "sec-fetch-mode": "navigate"}
    assert server.client.get("/login", headers=followed).status_code != 403
    assert server.client.post("/login", data={"key": "x"}, headers=followed).status_code == 403


def test_a_form_submitted_from_another_site_is_refused(server: RunningServer) -> None:
    form = {"origin": "https://evil.com", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    for path in ("/v1/sessions", "/v1/query", "/login", "/logout", "/gradio_api/queue/join", "/gradio_api/upload"):
        assert server.client.post(path, data={"question": "x"}, headers=form).status_code in {403, 415}, path


def test_requests_with_a_host_name_listed_in_the_settings_are_answered(sample_folder: Path) -> None:
    with served(sample_folder, allowed_hosts="[rag.example]") as running:
        assert running.client.get("/health", headers={"host": "rag.example:7860"}).status_code == 200
        assert running.client.get("/health", headers={"host": "rag.example.evil"}).status_code == 421


def _raw(host: str, port: int, request: bytes) -> bytes:
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(4096)
