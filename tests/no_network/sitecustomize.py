"""Refuses every connection beyond loopback. Python imports a module of this name at its start, so that programs started
by tests are restricted too; tests/conftest.py loads it for the tests' own process.

It also collects garbage less often: collections during imports take a tenth of the time of a short program.
"""

import errno
import gc
import os
import sys
from pathlib import Path

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 - recognised, never bound
OLLAMA = 11434
"""Where `auto` looks for a model. No server listens there in tests, so that results do not depend on the machine."""
RECORD = "REFUSED_CONNECTIONS"
"""The variable that names the file where refusals are recorded, one a line."""


class NetworkRefused(Exception):
    """A test, or a program that it started, tried to connect beyond this machine."""


def refuse_to_leave_the_machine(event: str, arguments: tuple[object, ...]) -> None:
    """Install an audit hook, which sees every socket that any library opens in Python."""
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
    elif event == "socket.getaddrinfo":
        address = arguments
    else:
        return
    if not isinstance(address, tuple):
        return  # a UNIX socket
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if host is None or str(host) == "" or str(host).startswith(LOOPBACK):
        if event == "socket.connect" and address[1] == OLLAMA:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "tests have no Ollama")
        return
    if record := os.environ.get(RECORD):
        with Path(record).open("a", encoding="utf-8") as file:
            file.write(f"{event} to {host}\n")
    raise NetworkRefused(f"{event} to {host}: tests stay on this machine")


if RECORD in os.environ:
    sys.addaudithook(refuse_to_leave_the_machine)
    gc.set_threshold(20_000, 20, 20)
