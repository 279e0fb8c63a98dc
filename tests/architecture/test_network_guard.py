"""The guard of tests/conftest.py itself."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

Refused = Callable[[], list[str]]


def test_a_connection_beyond_this_machine_is_refused(refused_connections: Refused) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client, pytest.raises(Exception, match="stay on this"):
        client.connect(("192.0.2.1", 80))
    assert refused_connections() == ["socket.connect to 192.0.2.1"]


def test_a_name_is_not_even_looked_up(refused_connections: Refused) -> None:
    with pytest.raises(Exception, match="stay on this machine"):
        socket.getaddrinfo("example.invalid", 443)
    assert refused_connections() == ["socket.getaddrinfo to example.invalid"]


def test_a_refusal_that_was_swallowed_is_still_on_record(refused_connections: Refused) -> None:
    with contextlib.suppress(Exception), socket.create_connection(("192.0.2.1", 80), timeout=1):
        pass
    assert refused_connections()


def test_a_program_that_a_test_starts_is_kept_on_this_machine_too(refused_connections: Refused) -> None:
    reaching_out = (
        "import contextlib, socket\nwith contextlib.suppress(Exception): socket.create_connection(('192.0.2.1', 80))"
    )
    subprocess.run([sys.executable, "-c", reaching_out], check=True)
    assert refused_connections() == ["socket.getaddrinfo to 192.0.2.1"]


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
