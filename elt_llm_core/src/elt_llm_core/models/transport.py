"""Requests to model servers that can be cancelled at any time and limit a reply's size and duration."""

import contextvars
import json
import math
import queue
import socket
import threading
import time
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx

from elt_llm_core.errors import EltError, UnusableReply
from elt_llm_core.models.server import ModelServer, client_errors, error_from_status, error_text, to_model_error
from elt_llm_core.settings.tree import OllamaSettings, OpenAiLikeSettings
from elt_llm_core.utilities import Closeable

Result = TypeVar("Result")
_CONNECTED_EVENTS = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class CancellableConnection:
    """The connection of one request. Closing the connection is the only way to make a server stop computing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cancelled = False

    def run(self, work: Callable[[], Result]) -> Result:
        """Call `work` and return its result. Meanwhile, `cancel` can close the connection of the request in `work`.

        For this, the HTTP client that sends the request must have `attach_connection` as its request hook.
        """
        reset = _CURRENT_CONNECTION.set(self)
        try:
            return work()
        finally:
            _CURRENT_CONNECTION.reset(reset)

    def cancel(self) -> None:
        """Close the connection at once, or as soon as it is opened. The reading thread then gets a connection error."""
        with self._lock:
            self._cancelled = True
            self._shut_down()

    def on_event(self, event: str, details: Mapping[str, Any]) -> None:
        """Receive a trace event from the client (https://www.encode.io/httpcore/extensions/#trace)."""
        if event in _CONNECTED_EVENTS:
            with self._lock:
                self._socket = details["return_value"].get_extra_info("socket")
                if self._cancelled:
                    self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # already closed
                # SSLSocket.shutdown would remove the state that the reading thread needs.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


_CURRENT_CONNECTION: ContextVar[CancellableConnection | None] = ContextVar("connection", default=None)


def attach_connection(request: httpx.Request) -> None:
    """Give a request its own connection, which `CancellableConnection.cancel` can close.

    HTTP clients call this hook before each request. Outside of `CancellableConnection.run`, it does nothing.
    """
    connection = _CURRENT_CONNECTION.get()
    if connection is not None:
        request.headers["Connection"] = "close"
        request.extensions = {**request.extensions, "trace": connection.on_event}


Piece = TypeVar("Piece")
_POLL_SECONDS = 0.1  # between two checks for cancellation


class StreamTimeout(TimeoutError):
    """The stream was not read completely before the deadline."""


class CancellableStream(Generic[Piece]):
    """Reads a stream, which `start` opens, piece by piece.

    `start` may block; it runs in the thread that reads the stream. A silent server cannot block the consumer, because
    closing the connection ends that thread. If the connection cannot be closed, the thread goes on alone until the next
    piece or the connection's timeout. At most `_AHEAD` pieces are read before the consumer needs them.
    """

    _AHEAD = 64

    def __init__(self, start: Callable[[], Iterator[Piece]]) -> None:
        self._start = start
        self._abandoned = threading.Event()
        self._connection = CancellableConnection()
        self._pieces: queue.Queue[Piece | BaseException | None] = queue.Queue(self._AHEAD)

    def pieces(self, deadline: float, cancelled: Callable[[], bool]) -> Iterator[Piece]:
        """Yield the pieces in order, until the end or until `cancelled` returns true.

        Raises StreamTimeout after `deadline`, a time of `time.monotonic`, and raises every error of the stream.
        """
        if cancelled():
            return
        run = contextvars.copy_context().run
        thread = threading.Thread(target=run, args=(self._connection.run, self._read), name="model", daemon=True)
        thread.start()
        try:
            while (piece := self._next(deadline, cancelled)) is not None:
                yield piece
        finally:
            self._abandoned.set()
            if thread.is_alive():
                self._connection.cancel()
            # Python crashes if it exits while this thread is computing, but not if the thread is only waiting.
            thread.join(_POLL_SECONDS * 3)

    def _next(self, deadline: float, cancelled: Callable[[], bool]) -> Piece | None:
        while not cancelled():
            if time.monotonic() >= deadline:
                raise StreamTimeout
            try:
                piece = self._pieces.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(piece, BaseException):
                raise piece
            return piece
        return None

    def _read(self) -> None:
        with ExitStack() as stack:
            stack.push(self._end)
            stream = self._start()
            for piece in stream:
                if not self._put(piece):
                    break
            if close := getattr(stream, "close", None):
                close()  # releases the connection of an abandoned stream at once

    def _end(self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        """Pass the stream's error to the waiting thread, which raises it. At the end of the stream, pass None."""
        self._put(error)
        return True

    def _put(self, piece: Piece | BaseException | None) -> bool:
        while not self._abandoned.is_set():
            try:
                self._pieces.put(piece, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return True
        return False


MAX_REPLY_BYTES = 128 << 20
"""The maximum size of a reply. A thousand vectors of 4096 numbers take 100 MB, 128,000 streamed tokens 50 MB."""
_GRACE_SECONDS = 10.0  # the reader's own deadline comes first and gives a better message


class _LimitedStream(httpx.SyncByteStream):
    """The bytes of a reply, limited to `MAX_REPLY_BYTES` and to `seconds` plus ten seconds.

    A larger reply raises UnusableReply. A slower one raises httpx.ReadTimeout. A compressed reply raises UnusableReply,
    because its content may be a thousand times as large as the received bytes.
    """

    def __init__(self, response: httpx.Response, seconds: float) -> None:
        self._address = f"{response.url.scheme}://{response.url.netloc.decode()}"
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise UnusableReply(
                f"The model server at {self._address} compresses its replies although the request forbids compression",
                hint="Turn off compression in the server, or in the proxy in front of it",
            )
        self._deadline = time.monotonic() + seconds + _GRACE_SECONDS
        self._stream: Any = response.stream

    def __iter__(self) -> Iterator[bytes]:
        left = MAX_REPLY_BYTES
        for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise UnusableReply(
                    f"The model server at {self._address} sends more than {MAX_REPLY_BYTES >> 20} MB in one reply",
                    hint="Check that this is the address of a model server, and look at its log",
                )
            if time.monotonic() >= self._deadline:
                raise httpx.ReadTimeout("The reply did not end within the time limit")
            yield piece

    def close(self) -> None:
        self._stream.close()


def client_options(
    chosen: OllamaSettings | OpenAiLikeSettings,
    address: str,
    *,
    patience: float | None = None,
    reply_seconds: float | None = None,
    request_hooks: Sequence[Callable[[httpx.Request], None]] = (),
) -> dict[str, Any]:
    """Return the options for an httpx client that connects only to this address.

    The client ignores proxies in the environment and does not follow redirections. Its requests can be cancelled, and
    its replies are limited. The maximum time between two reads is the smaller of `patience` and the configured
    `request_timeout`, in seconds. `reply_seconds` limits a whole reply; its default is the same maximum.
    """
    seconds = min(patience or chosen.request_timeout, chosen.request_timeout)

    def limit_reply(response: httpx.Response) -> None:
        response.stream = _LimitedStream(response, reply_seconds or seconds)

    return {
        "timeout": httpx.Timeout(seconds, connect=min(seconds, chosen.connect_timeout)),
        "trust_env": False,
        "follow_redirects": False,
        # Without https, there is no certificate to verify, and loading the list of authorities takes 20 ms per client.
        "verify": address.startswith("https"),
        "headers": {"Accept-Encoding": "identity"},
        "event_hooks": {"request": [attach_connection, *request_hooks], "response": [limit_reply]},
    }


_CANCELLED: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=lambda: False)


def cancel_requests_when(cancelled: Callable[[], bool]) -> None:
    """Let `call_server` raise CancelledError in this thread as soon as `cancelled` returns true."""
    _CANCELLED.set(cancelled)


def call_server(call: Callable[[], Result], patience: float | None, server: ModelServer) -> Result:
    """Return the result of `call`, which may take up to three times `patience` seconds, or raise a ModelError.

    Raises CancelledError if the condition of `cancel_requests_when` occurs.
    """

    def results() -> Iterator[Result]:
        yield call()

    try:
        deadline = time.monotonic() + 3 * (patience or math.inf)  # to connect, to wait for the reply, and to read it
        for result in CancellableStream(results).pieces(deadline, _CANCELLED.get()):
            return result
        raise CancelledError
    except client_errors() as error:
        raise to_model_error(error, server) from error


WireMessage = Mapping[str, str]


class JsonServer(Closeable):
    """A client that sends JSON requests to one model server. Every failure raises a ModelError with a hint."""

    def __init__(self, described: ModelServer, options: Mapping[str, Any]) -> None:
        self.described = described
        self._client = httpx.Client(base_url=described.address, **options)
        weakref.finalize(self, self._client.close)  # for owners that do not close the server

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    @abstractmethod
    def loaded_window(self) -> int | None:
        """Return the loaded model's context window, or None if the server does not report it."""

    @abstractmethod
    def count_tokens(self, messages: Sequence[WireMessage]) -> int | None:
        """Return how many tokens the messages have, as counted by the server, or None if it reports no count.

        The count is taken from the reply to a request for an answer of one token.
        """

    def explain(self, error: EltError) -> EltError:
        """Return the error with details from the server, such as its context window. This base class adds none."""
        return error

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the JSON object in the reply. Raises a ModelError if there is none."""

        def exchange() -> tuple[int, bytes, Any]:
            reply = self._client.request(method, path, json=body)
            return reply.status_code, reply.content, json.loads(reply.content) if reply.status_code == 200 else None

        status, content, value = call_server(exchange, self._client.timeout.read, self.described)
        if status != 200:
            raise error_from_status(status, error_text(content), self.described)
        if not isinstance(value, dict):
            address_key = f"{self.described.section}.base_url"
            raise UnusableReply(f"{self.described} does not reply with a JSON object", hint=f"Correct {address_key}")
        return value
