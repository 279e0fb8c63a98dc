"""Run the server process: connection limits, TLS certificate, redacted logs, graceful shutdown."""

import asyncio
import logging
import os
import re
import socket
import ssl
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, cast
from urllib.parse import urlsplit

import uvicorn
from elt_llm_core.errors import UsageError
from elt_llm_core.settings.tree import Settings
from elt_llm_core.state.keys import KEY_PREFIX
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from elt_llm_api.exposure import BACKLOG
from elt_llm_api.serve.middleware.origins import is_loopback

HEADER_SECONDS = 20.0
WRITE_SECONDS = 60.0


class BoundedProtocol(H11Protocol):
    """Uvicorn's protocol, with time limits for the request's headers to arrive and for the client to read the response.

    Uvicorn limits only the pauses between requests, so a connection that never completes its headers would stay open.
    """

    header_seconds, write_seconds = HEADER_SECONDS, WRITE_SECONDS

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._header_timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel both time limits."""
        _cancel(self._header_timer)
        _cancel(self._write_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data. The time limit for headers ends when all have arrived, and starts again with the next request."""
        before = cast("RequestResponseCycle | None", self.cycle)  # uvicorn's annotation omits None
        idle = before is None or before.response_complete
        super().data_received(data)
        if self.cycle is not before:
            _cancel(self._header_timer)
            self._header_timer = None
        elif idle and self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read its response."""
        _cancel(self._write_timer)
        self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Cancel the time limit, because the client reads again."""
        _cancel(self._write_timer)
        super().resume_writing()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


GRACE_SECONDS = 3.0  # time for running responses to finish
CANCEL_SECONDS = 3.0  # time for cancelled requests to end
FORCED_EXIT_SECONDS = 15.0  # time after which the process exits in any case
_MAX_CONNECTIONS = 900  # below the 1,024 files that a process usually may open
_MAX_HEADER_BYTES = 32 << 10  # of a request line and its headers
_KEEP_ALIVE = 15  # seconds

TlsCertificate = tuple[Path, Path]
"""The certificate chain and its private key, both PEM files."""


class GracefulServer(uvicorn.Server):
    """Stops in bounded time: running responses may finish, then the rest are cancelled, and finally the process exits.

    `ready` is called when the server accepts requests.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self._ready = ready
        self.stop_signal = 0
        """The number of the signal that stopped the server, or 0."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server, then call `ready`."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut the server down gracefully after the first signal. Exit at once after the second."""
        if self.should_exit:
            os._exit(128 + sig)  # committed data are already on the disk
        self.stop_signal = sig
        forced_exit = threading.Timer(FORCED_EXIT_SECONDS, os._exit, (128 + sig,))
        forced_exit.daemon = True
        forced_exit.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests, finish or cancel the running ones, and close all connections."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        log = logging.getLogger("uvicorn.error")
        log.addFilter(_is_no_cut_response)
        try:
            await _finish_requests(self.server_state.tasks)
            await super().shutdown(sockets)
        finally:
            log.removeFilter(_is_no_cut_response)


def uvicorn_config(
    app: ASGIApp, certificate: TlsCertificate | None = None, protocol: type[BoundedProtocol] = BoundedProtocol
) -> uvicorn.Config:
    """Return uvicorn's settings: limits, no Server header, no web sockets, and no trust in proxy headers."""
    chain, key = certificate or (None, None)
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
        limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
        ssl_certfile=chain,
        ssl_keyfile=key,
    )


def _is_no_cut_response(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's error about a response that the shutdown cut off on purpose: it is not logged."""
    return "without completing response" not in record.getMessage()


async def _finish_requests(tasks: set[asyncio.Task[None]]) -> None:
    """Give running requests time to end, then cancel those that still run, and wait until they have ended."""
    if not tasks:
        return
    _, unfinished = await asyncio.wait(set(tasks), timeout=GRACE_SECONDS)
    for task in unfinished:
        task.cancel()
    if unfinished:
        await asyncio.wait(unfinished, timeout=CANCEL_SECONDS)


_CERTIFICATE_HINT = "TLS needs two PEM files: the certificate chain, and its private key without a password."


def check_certificate(chain: Path | None, key: Path | None) -> TlsCertificate | None:
    """Return the paths of certificate chain and key, or None without both. Raises UsageError if one cannot be used."""
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise UsageError(
            "TLS needs a certificate and its private key, but only one of them is given.",
            hint="Give both --certificate and --key.",
        )
    for path in (chain, key):
        if not path.is_file():
            raise UsageError(f"There is no file {path}.", hint=_CERTIFICATE_HINT)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key, password=_reject_encrypted_key)
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"{chain} and {key} cannot be used for TLS: {error}.", hint=_CERTIFICATE_HINT) from error
    return chain, key


def _reject_encrypted_key() -> NoReturn:
    raise UsageError("The private key of the TLS certificate is encrypted with a password.", hint=_CERTIFICATE_HINT)


_HIDDEN = "[hidden]"
_SECRETS = (
    re.compile(r"\b(bearer|basic) {1,4}[^\s'\",;)\]}]{1,4096}", re.IGNORECASE),
    re.compile(r"\b(elt_llm_key)=[^\s'\",;)\]}]{1,4096}", re.IGNORECASE),
    re.compile(rf"\b({KEY_PREFIX})[A-Za-z0-9_-]{{20,200}}"),
    re.compile(r"\b(https?://[^\s'\"?#]{1,2048})\?[^\s'\"]{1,8192}", re.IGNORECASE),
    re.compile(r"\b(https?://)[^\s'\"/@]{1,200}@", re.IGNORECASE),
)
_VERBOSE_LIBRARIES = (
    *("httpx", "httpcore", "openai", "urllib3", "gradio", "mcp", "llama_index", "python_multipart", "asyncio"),
)
"""Libraries that log addresses, headers, or complete requests with their text."""


class RedactingFormatter(logging.Formatter):
    """Formats log lines with secrets hidden. An error is logged by its type and place, without its message.

    An error's message may quote a document, for example text that a parser could not read.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = tuple(secret for secret in secrets if secret)

    def format(self, record: logging.LogRecord) -> str:
        """Return the complete line with secrets hidden."""
        record.exc_text = None  # another formatter may have stored the message of the error
        line = super().format(record)
        record.exc_text = None
        for secret in self._secrets:
            line = line.replace(secret, _HIDDEN)
        for pattern in _SECRETS:
            line = pattern.sub(rf"\1{_HIDDEN}", line)
        return line

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name that logging calls
        """Return the types of the errors and where they were raised, the innermost last."""
        error = ei[1] if isinstance(ei, tuple) else None
        lines: list[str] = []
        while isinstance(error, BaseException):
            frames = [f"  {one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
            lines = [f"{type(error).__module__}.{type(error).__qualname__}", *frames, *lines]
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(lines)


def log_to_stderr(verbose: int, secrets: Iterable[str]) -> None:
    """Log warnings and errors. With `verbose` 1, log each request too; with 2, everything except document text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(secrets))
    handler.addFilter(_is_no_cancelled_request)
    levels = (logging.WARNING, logging.INFO, logging.DEBUG)
    logging.basicConfig(level=levels[min(verbose, 2)], handlers=[handler], force=True)
    for name in _VERBOSE_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


def _is_no_cancelled_request(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)


def model_exposure_warnings(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning if other machines may reach Ollama, and one for each model server on another machine."""
    ollama_host = environment.get("OLLAMA_HOST", "")
    if ollama_host and not _is_local_address(ollama_host):
        yield f"OLLAMA_HOST is {ollama_host}: an Ollama server started with it accepts requests of other machines."
    embedding, llm = settings.embedding.provider, settings.llm.provider
    servers = {
        settings.ollama.base_url: "ollama" in {embedding, llm} or llm == "auto",
        settings.openai_like.base_url: "openai_like" in {embedding, llm},
    }
    for address, used in servers.items():
        if used and not _is_local_address(address):
            parts = urlsplit(address)
            server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"  # without user name and password
            yield f"Questions and chunks leave this machine: the model server is {server}."


def _is_local_address(address: str) -> bool:
    return is_loopback(urlsplit(address if "//" in address else f"//{address}").hostname or "")
