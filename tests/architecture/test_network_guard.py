"""The guard of tests/conftest.py itself."""

import contextlib
import socket

import pytest


def test_a_connection_beyond_this_machine_is_refused(refused_connections: list[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client, pytest.raises(Exception, match="stay on this"):
        client.connect(("192.0.2.1", 80))
    assert refused_connections == ["socket.connect to 192.0.2.1"]
    refused_connections.clear()


def test_a_name_is_not_even_looked_up(refused_connections: list[str]) -> None:
    with pytest.raises(Exception, match="stay on this machine"):
        socket.getaddrinfo("example.invalid", 443)
    refused_connections.clear()


def test_a_refusal_that_was_swallowed_is_still_on_record(refused_connections: list[str]) -> None:
    with contextlib.suppress(Exception), socket.create_connection(("192.0.2.1", 80), timeout=1):
        pass
    assert refused_connections
    refused_connections.clear()


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
