"""The server as a process: patient to a limit with its clients, and gone in bounded time when asked to go."""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from elt_llm_api.serve.asgi import App
from elt_llm_api.serve.listening.addresses import BACKLOG
from elt_llm_api.serve.listening.protocol import BoundedProtocol

GRACE = 3.0  # seconds that answers are given to come to their end
CANCELLED = 3.0  # seconds that cancelled ones are given to notice
LATEST = 15.0  # seconds after which the process is gone, whatever still works
_MOST_CONNECTIONS = 900  # below the 1,024 files that a process usually may open
_LARGEST_HEAD = 32 << 10  # bytes of a request line and its headers
_KEEP_ALIVE = 15  # seconds


class Certificate:
    """A certificate chain and its private key, both PEM."""

    def __init__(self, chain: Path, key: Path) -> None:
        self.chain, self.key = chain, key


class GracefulServer(uvicorn.Server):
    """Ends in bounded time: answers may come to their end, then they are cancelled, at last the process goes.

    `ready` is called when requests are taken.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self._ready = ready
        self.ended_by = 0
        """The signal that ended it, or 0."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open everything, then say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, or end at once if it is asked for again."""
        if self.should_exit:
            os._exit(128 + sig)  # everything that was committed is on the disk
        self.ended_by = sig
        late = threading.Timer(LATEST, os._exit, (128 + sig,))
        late.daemon = True
        late.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, end those there are, and close everything."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        log = logging.getLogger("uvicorn.error")
        log.addFilter(_is_no_cut)
        try:
            await _ended(self.server_state.tasks)
            await super().shutdown(sockets)
        finally:
            log.removeFilter(_is_no_cut)


def configured(
    app: App, certificate: Certificate | None = None, protocol: type[BoundedProtocol] = BoundedProtocol
) -> uvicorn.Config:
    """How the app is served: no word of what serves it, no proxy believed, no sockets of the web, and limits."""
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )


def _is_no_cut(record: logging.LogRecord) -> bool:
    """An answer that the end of the server cuts off is no error; it is cut so that nobody takes it for the whole."""
    return "without completing response" not in record.getMessage()


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Requests come to their end, or notice that they are cancelled, before what they use is closed."""
    if not tasks:
        return
    _, late = await asyncio.wait(set(tasks), timeout=GRACE)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=CANCELLED)
