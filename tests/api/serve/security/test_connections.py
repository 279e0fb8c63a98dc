"""Connections of silent or slow clients are closed, and shutdown ends running requests."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from elt_llm_api.exposure import bind, listen, url_of
from elt_llm_api.serve.listening import BoundedProtocol, GracefulServer, uvicorn_config
from elt_llm_api.serve.middleware.request_log import ShutdownResponse
from starlette.types import ASGIApp, Receive, Scope, Send

pytestmark = pytest.mark.network


class Impatient(BoundedProtocol):
    """The server's protocol with shorter time limits."""

    header_seconds, write_seconds = 0.3, 0.3


class Heard:
    """An app that sends megabytes or never responds, and records how its requests ended."""

    def __init__(self) -> None:
        self.cancelled, self.started = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                kind = (await receive())["type"]
                await send({"type": f"{kind}.complete"})
            return
        self.started.set()
        try:
            if scope["path"] == "/never":
                await asyncio.sleep(600)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000 if scope["path"] == "/much" else 1):
                await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


@contextmanager
def running(app: ASGIApp) -> Iterator[tuple[str, Callable[[], None]]]:
    """Run a server for the app; yield its address and a function that stops the server."""
    bound = bind("127.0.0.1", 0)
    listen(bound)
    server = GracefulServer(uvicorn_config(app, protocol=Impatient))
    thread = threading.Thread(target=server.run, args=([bound],))

    def end() -> None:
        server.should_exit = True
        thread.join(30)

    thread.start()
    try:
        yield url_of(bound, encrypted=False), end
    finally:
        end()
    assert not thread.is_alive()


def test_connections_with_unfinished_headers_are_closed() -> None:
    with running(Heard()) as (address, _), _connected(address) as silent, _connected(address) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: local")
        assert silent.recv(1) == b""
        assert half.recv(1) == b""
        with _connected(address) as again:
            again.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert again.recv(65536).startswith(b"HTTP/1.1 200")
            again.sendall(b"GET / HT")
            _read_to_the_end(again)


def test_connections_that_never_read_the_response_are_closed() -> None:
    with running(Heard()) as (address, _), _connected(address) as connection:
        connection.sendall(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(1.5)
        assert _read_to_the_end(connection) < 64 << 20  # of a thousand connections


def test_shutdown_cancels_running_requests_and_answers_503() -> None:
    heard = Heard()
    with running(ShutdownResponse(heard)) as (address, end):
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(httpx.get(f"{address}/never", timeout=30)))
        asking.start()
        assert heard.started.wait(10)
        started = time.monotonic()
        end()
        asking.join(30)
    assert heard.cancelled.is_set()
    assert time.monotonic() - started < 20
    [answer] = answers
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "stopping")


def test_many_simultaneous_connections_are_all_answered() -> None:
    with running(Heard()) as (address, _):
        connections = [_connected(address) for _ in range(100)]
        for connection in connections:
            connection.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert all(connection.recv(15) == b"HTTP/1.1 200 OK" for connection in connections)
        for connection in connections:
            connection.close()


def _connected(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def _read_to_the_end(connection: socket.socket) -> int:
    """Return the bytes received until the server closes the connection, properly or not."""
    read = 0
    try:
        while piece := connection.recv(1 << 20):
            read += len(piece)
    except ConnectionResetError:
        logging.getLogger(__name__).debug("reset after %d bytes", read)
    return read
