"""The guard in tests/conftest.py keeps tests from connecting to other machines."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

Refused = Callable[[], list[str]]


def test_a_test_cannot_connect_to_another_machine(refused_connections: Refused) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client, pytest.raises(Exception, match="stay on this"):
        client.connect(("192.0.2.1", 80))
    assert refused_connections() == ["socket.connect to 192.0.2.1"]


def test_the_network_guard_looks_up_no_remote_host_name(refused_connections: Refused) -> None:
    with pytest.raises(Exception, match="stay on this machine"):
        socket.getaddrinfo("example.invalid", 443)
    assert refused_connections() == ["socket.getaddrinfo to example.invalid"]


def test_a_refused_connection_is_recorded_even_if_a_library_ignores_the_error(refused_connections: Refused) -> None:
    with contextlib.suppress(Exception), socket.create_connection(("192.0.2.1", 80), timeout=1):
        pass
    assert refused_connections()


def test_programs_that_tests_start_are_restricted_to_this_machine(refused_connections: Refused) -> None:
    reaching_out = (
        "import contextlib, socket\nwith contextlib.suppress(Exception): socket.create_connection(('192.0.2.1', 80))"
    )
    subprocess.run([sys.executable, "-c", reaching_out], check=True)
    assert refused_connections() == ["socket.getaddrinfo to 192.0.2.1"]


def test_a_test_may_connect_to_a_loopback_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
