"""Lets go of a model server that says nothing: a connection that one thread reads from can be ended by another."""

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class Line:
    """The connection of a request. Servers stop computing for who has hung up, and for nobody else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._ended = False

    def carry(self, work: Callable[[], Result]) -> Result:
        """Do work whose requests, through clients with the hook `on_its_line`, go over this line."""
        reset = _LINE.set(self)
        try:
            return work()
        finally:
            _LINE.reset(reset)

    def hang_up(self) -> None:
        """End the connection, now or as soon as there is one; who reads from it is told that it was closed."""
        with self._lock:
            self._ended = True
            self._end()

    def heard(self, event: str, told: Mapping[str, Any]) -> None:
        """What the client tells of its work (https://www.encode.io/httpcore/extensions/#trace)."""
        if event in _CONNECTED:
            with self._lock:
                self._connection = told["return_value"].get_extra_info("socket")
                if self._ended:
                    self._end()

    def _end(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # it was closed already
                # Not SSLSocket.shutdown, which takes away what the other thread reads with.
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


_LINE: ContextVar[Line | None] = ContextVar("line", default=None)


def on_its_line(request: "httpx.Request") -> None:
    """A hook for requests of a client: one that is made for a line has a connection of its own, told to the line."""
    line = _LINE.get()
    if line is not None:
        request.headers["Connection"] = "close"
        request.extensions = {**request.extensions, "trace": line.heard}
