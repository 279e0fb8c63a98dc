"""A model server on loopback with the protocols of Ollama and OpenAI; a script defines its faults."""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from elt_llm_core.models.ollama import same_model
from model_servers import protocols as protocol
from model_servers.backends import AnswerEnd, Backend, TooLong
from model_servers.faults import Fault, FaultScript

_STATUSES: Mapping[Fault, tuple[int, str]] = {
    Fault.LOADING: (503, "loading model"),
    Fault.LOADING_500: (500, "llm server loading model"),
    Fault.BUSY: (503, "server busy, please try again. maximum pending requests exceeded"),
    Fault.MISSING: (404, "model 'x' not found"),
    Fault.FULL: (500, "model requires more system memory (9 GiB) than is available (1 GiB)"),
    Fault.CRASHED: (500, "llama runner process has terminated: exit status 2"),
    Fault.TOO_LONG: (400, "the input length exceeds the context length"),
    Fault.NO_THINKING: (400, '"x" does not support thinking'),
    Fault.NO_EMBEDDINGS: (501, "This server does not support embeddings. Start it with `--embeddings`"),
    Fault.REDIRECT: (307, ""),
}
_KEPT = {Fault.PROMPT_CUT: 0.25, Fault.CUT_5: 0.95, Fault.CUT_10: 0.9, Fault.CUT_20: 0.8, Fault.CUT_50: 0.5}
_DURATION = re.compile(r"-?(?:0|(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+)")
_MOST_EQUAL = 30  # pieces in a row; Ollama ends an answer that repeats itself
_PAUSE = 0.02  # seconds between the pieces of an endless answer
_LONG_PAUSE = 0.1  # seconds between the pieces of a slow answer


class Abandoned(Exception):
    """The connection must be closed without a reply."""


@dataclass
class ModelHttpServer:
    """A running server. `requests` are the path and body of each request so far."""

    backend: Backend
    faults: FaultScript = field(default_factory=FaultScript)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    other_models: list[str] = field(default_factory=list)
    """Further models that the server has loaded."""
    launches: list[tuple[object, ...]] = field(default_factory=list)
    """The options of each launch of the runner. A request with other options than the last launches a new runner."""

    def launch(self, *options: object) -> None:
        """Record that the model runner starts, unless it already runs with these options."""
        if self.launches[-1:] != [options]:
            self.launches.append(options)

    @property
    def address(self) -> str:
        """The address of the Ollama API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_address(self) -> str:
        """The address of the OpenAI API."""
        return f"{self.address}/v1"

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies sent to a path, oldest first."""
        return [body for asked, body in self.requests if asked == path]


@contextmanager
def running_model_server(backend: Backend, port: int = 0) -> Iterator[ModelHttpServer]:
    """Run the server of a backend on a loopback port, 0 for a free one; hanging requests are released at the end."""
    server = ModelHttpServer(backend)
    handler = type("Handler", (_Handler,), {"server_state": server})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as http:
        http.daemon_threads = True
        http.block_on_close = False
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server_state: ModelHttpServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""

    def _answer(self, body: dict[str, Any]) -> None:
        state = self.server_state
        state.requests.append((self.path, body))
        fault = state.faults.next(self.path)
        try:
            self._before(fault)
            if not same_model(str(body.get("model") or state.backend.name), state.backend.name):
                self._reply(404, protocol.error_body(self.path, f"model '{body['model']}' not found"))
                raise Abandoned
            self._check_keep_alive(body)
            if self.path in {"/api/chat", "/api/generate", "/v1/chat/completions"}:
                self._write(body, fault)
            elif self.path in {"/api/embed", "/v1/embeddings"}:
                self._embed(body, fault)
            else:
                self._describe()
        except (Abandoned, ConnectionError):
            self.close_connection = True
        except TooLong as error:
            message = protocol.too_long_message(self.path, error.tokens, error.window, cannot_cut=error.cannot_cut)
            self._reply(400, protocol.error_body(self.path, message))

    def _check_keep_alive(self, body: Mapping[str, Any]) -> None:
        value = body.get("keep_alive")
        if isinstance(value, str) and not _DURATION.fullmatch(value):
            self._reply(400, protocol.error_body(self.path, f'time: invalid duration "{value}"'))
            raise Abandoned

    def _before(self, fault: Fault) -> None:
        if fault in _STATUSES:
            status, message = _STATUSES[fault]
            self._reply(status, protocol.error_body(self.path, message))
            raise Abandoned
        if fault is Fault.NOT_JSON:
            self._reply(200, b"<html><body>It works!</body></html>")
            raise Abandoned
        if fault is Fault.HANG:
            self.server_state.released.wait()
        if fault in {Fault.CLOSE, Fault.HANG}:
            raise Abandoned

    def _describe(self) -> None:
        backend = self.server_state.backend
        replies: dict[str, Callable[[], dict[str, Any]]] = {
            "/api/tags": lambda: protocol.ollama_tags(backend),
            "/api/show": lambda: protocol.ollama_show(backend),
            "/api/ps": lambda: protocol.ollama_ps(
                backend, loaded=bool(self.server_state.launches), others=self.server_state.other_models
            ),
            "/api/version": lambda: {"version": "0.30.0"},
            "/v1/models": lambda: protocol.openai_models(backend),
        }
        if self.path in replies:
            self._reply(200, json.dumps(replies[self.path]()).encode())
        else:
            self._reply(404, b"404 page not found")

    def _embed(self, body: Mapping[str, Any], fault: Fault) -> None:
        backend = self.server_state.backend
        asked = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if "embedding" not in backend.capabilities:
            self._before(Fault.NO_EMBEDDINGS)
        if "" in asked:
            self._reply(400, protocol.error_body(self.path, "Input content cannot be empty"))
            return
        self.server_state.launch("embedding")
        vectors, tokens = backend.embed(asked)
        if self.path == "/api/embed":
            vectors = [[value / math.hypot(*vector) for value in vector] for vector in vectors]
        shape = protocol.openai_vectors if self.path.startswith("/v1/") else protocol.ollama_vectors
        self._reply(200, json.dumps(shape(backend, spoilt(vectors, fault), tokens)).encode())

    def _write(self, body: Mapping[str, Any], fault: Fault) -> None:
        state, openai = self.server_state, self.path.startswith("/v1/")
        options = body.get("options") or {}
        state.launch("chat", body.get("shift") is not False, options.get("num_ctx"))
        said = state.backend.chat(protocol.messages_of(body), protocol.options_of(body))
        if body.get("stream", not openai):
            first = next(said)  # a prompt that is too long is refused before the stream starts
            self._begin_stream("text/event-stream" if openai else "application/x-ndjson")
            self._stream(_again(first, said), fault)
            self._chunk(b"")
        else:
            *pieces, end = said
            assert isinstance(end, AnswerEnd)
            text = "".join(piece for piece in pieces if isinstance(piece, str))
            counted = _recounted(end, fault)
            whole = protocol.openai_whole(state.backend, counted, text) if openai else self._ollama_whole(counted, text)
            self._reply(200, json.dumps(whole).encode())

    def _ollama_whole(self, end: AnswerEnd, text: str) -> dict[str, Any]:
        return protocol.ollama_end(self.server_state.backend, self.path, end, text=text)

    def _stream(self, said: Iterator[str | AnswerEnd], fault: Fault) -> None:
        equal, last = 0, ""
        for number, piece in enumerate(said):
            equal, last = (equal + 1 if piece == last else 1), str(piece)
            if equal > _MOST_EQUAL:
                return  # the reply ends without `done: true`
            if isinstance(piece, AnswerEnd):
                if fault is not Fault.NO_DONE:
                    self._last(_recounted(piece, fault))
                return
            self._line(self._piece(piece))
            time.sleep(_LONG_PAUSE if fault is Fault.SLOW else 0)
            if number == 0:
                self._amid(fault)

    def _amid(self, fault: Fault) -> None:
        """Apply a fault that occurs in the middle of a stream, after the first piece of the answer."""
        if fault is Fault.STALL:
            self.server_state.released.wait()
        if fault in {Fault.DROP, Fault.STALL}:
            raise Abandoned
        if fault is Fault.ERROR_LINE:
            message = "an error was encountered while running the model: unexpected EOF"
            self._line(json.loads(protocol.error_body(self.path, message)))
            self._chunk(b"")
            raise Abandoned
        if fault is Fault.GARBAGE:
            self._chunk(b"data: {not json\n\n" if self.path.startswith("/v1/") else b"{not json\n")
        while fault is Fault.ENDLESS and not self.server_state.released.is_set():
            self._line(self._piece("on and "))
            time.sleep(_PAUSE)

    def _piece(self, text: str) -> dict[str, Any]:
        backend = self.server_state.backend
        if self.path.startswith("/v1/"):
            return protocol.openai_piece(backend, text)
        return protocol.ollama_piece(backend, self.path, text)

    def _last(self, end: AnswerEnd) -> None:
        backend = self.server_state.backend
        if not self.path.startswith("/v1/"):
            self._line(protocol.ollama_end(backend, self.path, end))
            return
        self._line(protocol.openai_piece(backend, "", reason=end.reason))
        self._line(protocol.openai_usage(backend, end))
        self._chunk(b"data: [DONE]\n\n")

    def _line(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value).encode()
        self._chunk(b"data: " + text + b"\n\n" if self.path.startswith("/v1/") else text + b"\n")

    def _begin_stream(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, content: bytes) -> None:
        """Send a chunk of the HTTP stream; an empty chunk ends the stream."""
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def spoilt(vectors: Sequence[Sequence[float]], fault: Fault) -> list[list[float]]:
    """Return the vectors as a server with this fault sends them, such as too few or with invalid numbers."""
    whole = [list(vector) for vector in vectors]
    if not whole:
        return []
    first, last = whole[0], whole[-1]
    wrong = {
        Fault.WRONG_DIMENSION: [vector[:-1] for vector in whole],
        Fault.UNLIKE_DIMENSIONS: [first[:-1], *whole[1:]],
        Fault.NOT_A_NUMBER: [*whole[:-1], [float("nan"), *last[1:]]],
        Fault.ZERO: [*whole[:-1], [0.0] * len(last)],
        Fault.ONE_SHORT: whole[:-1],
        Fault.WRONG_ORDER: whole[::-1],
    }
    return wrong.get(fault, whole)


def _recounted(end: AnswerEnd, fault: Fault) -> AnswerEnd:
    if fault is Fault.LENGTH:
        return AnswerEnd(end.prompt_tokens, end.answer_tokens, "length")
    if fault in _KEPT:
        return AnswerEnd(int(end.prompt_tokens * _KEPT[fault]), end.answer_tokens, end.reason)
    return AnswerEnd(-1, -1, end.reason) if fault is Fault.SILENT_COUNTS else end


def _again(first: str | AnswerEnd, rest: Iterator[str | AnswerEnd]) -> Iterator[str | AnswerEnd]:
    yield first
    yield from rest
