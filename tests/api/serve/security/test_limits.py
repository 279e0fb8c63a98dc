"""Security cases S-UP and S-DOS: large, slow and excessive requests are refused."""

import asyncio
import json
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from elt_llm_api.serve.middleware.limits import BodyLimits
from optional import needs
from served.server import RunningServer, served
from starlette.types import Message, Receive, Scope, Send

pytestmark = pytest.mark.network

MEGABYTE = 1 << 20
SOON = 5.0  # seconds; a limit against hangs on a busy machine, not a measurement
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    """Start a server that accepts bodies of one megabyte and uploads of two."""
    with served(sample_folder, max_body_mb="1", max_upload_mb="2", requests_per_minute="100000") as running:
        yield running


def _zeros(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes * 16):
        yield bytes(MEGABYTE // 16)


@pytest.mark.parametrize("path", ["/v1/search", "/v1/query", "/v1/documents", "/v1/feedback", "/login", "/mcp"])
def test_request_bodies_that_are_too_large_are_refused_with_and_without_a_content_length(
    path: str, server: RunningServer
) -> None:
    if path == "/mcp":
        needs("mcp")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reported = _answer(server, path, b"0" * (20 * MEGABYTE))
    unannounced = _answer(server, path, _zeros(20))
    assert reported == 413
    assert unannounced in {413, 415}  # some routes check the content type first and then do not read the body
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 * 1024
    )  # this includes the 20 headers of the client


def test_the_server_stops_reading_a_body_soon_after_the_size_limit(server: RunningServer) -> None:
    """The client sends a gigabyte in pieces; the server reads up to the limit and closes the connection."""
    sent = 0
    with _connected(server) as connection:
        connection.sendall(_head("POST /v1/search", "Transfer-Encoding: chunked", "Content-Type: application/json"))
        piece = b"10000\r\n" + bytes(65536) + b"\r\n"
        try:
            while sent < 1024 * MEGABYTE:
                connection.sendall(piece)
                sent += 65536
        except OSError:
            pass
    assert sent < 16 * MEGABYTE  # the server reads 1 MB; the rest is in socket buffers


@pytest.mark.parametrize("length", ["-1", "1e9", "99999999999999999999999999", "0x10", "1, 2", ""])
def test_an_invalid_content_length_is_refused(length: str, server: RunningServer) -> None:
    with _connected(server) as connection:
        connection.sendall(_head("POST /v1/search", f"Content-Length: {length}", "Content-Type: application/json"))
        assert connection.recv(64).split()[1] in {b"400", b"411", b"413"}


def test_a_request_body_with_two_content_lengths_is_refused(server: RunningServer) -> None:
    with _connected(server) as connection:
        both = ("Content-Length: 5", "Transfer-Encoding: chunked", "Content-Type: application/json")
        connection.sendall(_head("POST /v1/search", *both) + b"0\r\n\r\n")
        assert connection.recv(64).split()[1] == b"400"


def test_upload_forms_with_many_parts_or_very_long_names_are_refused_quickly(server: RunningServer) -> None:
    """Every upload route refuses these forms quickly, with a status other than 500."""
    started = time.monotonic()
    parts = [("file", (f"{number}.txt", b"x")) for number in range(10_000)]
    long_name = [("file", ("x" * MEGABYTE + ".txt", b"x"))]
    statuses = [server.client.post("/v1/documents", files=it).status_code for it in (parts, long_name)]
    assert all(400 <= status < 500 for status in statuses), statuses
    assert time.monotonic() - started < 4 * SOON


def test_request_headers_that_are_too_large_are_refused(server: RunningServer) -> None:
    with _connected(server) as connection:
        connection.sendall(_head("GET /health", "X-Filler: " + "x" * 100_000))
        assert connection.recv(64).split()[1] in {b"400", b"431"}


def _deep(opening: str, closing: str) -> bytes:
    return (opening * 10_000 + closing * 10_000).encode()


MUCH = {
    "a question of a megabyte": json.dumps({"question": "x" * 1_000_000}).encode(),
    "a thousand million passages": b'{"question": "x", "top_k": 1000000000}',
    "a number of passages that is no number": b'{"question": "x", "top_k": 1e999}',
    "ten thousand filters": json.dumps({"question": "x", "where": ["year>=2020"] * 10_000}).encode(),
    "ten thousand collections": json.dumps({"question": "x", "collections": ["a"] * 10_000}).encode(),
    "ten thousand prefixes": json.dumps({"question": "x", "prefixes": [""] * 10_000}).encode(),
    "lists ten thousand deep": b'{"question": ' + _deep("[", "]") + b"}",
    "objects ten thousand deep": _deep('{"question":', "}"),
    "a number of many digits": b'{"question": "x", "top_k": ' + b"9" * 100_000 + b"}",
    "no JSON at all": b"\xff\xfe",
    "half a surrogate pair": b'{"question": "\\ud800", "collections": ["\\udfff"]}',
}


@pytest.mark.parametrize("name", sorted(MUCH))
@pytest.mark.parametrize("path", ["/v1/search", "/v1/query"])
def test_requests_with_excessive_values_are_refused_quickly(path: str, name: str, server: RunningServer) -> None:
    started = time.monotonic()
    refused = server.client.post(path, content=MUCH[name], headers=JSON)
    assert 400 <= refused.status_code < 500
    assert set(refused.json()["error"]) == {"type", "message", "hint", "request_id"}
    assert len(refused.content) < 4000
    assert time.monotonic() - started < SOON


def test_requests_for_many_byte_ranges_are_refused_on_every_route(server: RunningServer) -> None:
    many = "bytes=" + ",".join(f"{number}-{number}" for number in range(2000))
    for path in ("/health", "/openapi.json", "/v1/collections"):
        assert server.client.get(path, headers={"range": many}).status_code == 416, path
    with _connected(server) as connection:
        connection.sendall(_head("GET /health", "Range: bytes=" + ",".join(["0-0"] * 10_000)))
        assert connection.recv(64).split()[1] in {b"400", b"416", b"431"}


def test_slow_clients_do_not_delay_other_clients(server: RunningServer) -> None:
    idle = [_connected(server) for _ in range(50)]
    try:
        for number, connection in enumerate(idle):
            head = _head("POST /v1/search", "Content-Length: 1000", "Content-Type: application/json")
            connection.sendall(head if number % 2 else head[:30])  # half of the clients do not complete their headers
        started = time.monotonic()
        for connection in idle:
            connection.sendall(b"x")
        assert server.client.get("/health").status_code == 200
        assert server.client.post("/v1/search", json={"question": "Grade A"}).status_code == 200
        assert time.monotonic() - started < SOON
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize(("pause", "status"), [(0.5, 408), (0.0, 200)])
def test_a_request_body_that_arrives_too_slowly_is_refused(pause: float, status: int) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    async def reads_three(_: Scope, receive: Receive, send: Send) -> None:
        for _number in range(3):
            if (await receive())["type"] == "http.disconnect":
                return
        await send({"type": "http.response.start", "status": 200, "headers": []})

    limits = BodyLimits(reads_three, MEGABYTE, MEGABYTE, seconds=0.2)
    asyncio.run(limits({"type": "http", "path": "/v1/search"}, receive, send))
    assert sent[0]["status"] == status


def _answer(server: RunningServer, path: str, content: bytes | Iterator[bytes]) -> int:
    """Return the status of a response that arrives while the client is still sending."""
    try:
        return server.client.post(path, content=content, headers=JSON).status_code
    except httpx.WriteError:
        return 413  # the server may close the connection while the client sends


def _connected(server: RunningServer) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def _head(request: str, *headers: str) -> bytes:
    return "\r\n".join((f"{request} HTTP/1.1", "Host: localhost", *headers, "", "")).encode()
