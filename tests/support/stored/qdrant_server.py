"""A fake Qdrant server on loopback, which uses the client's local mode, and checks keys and fails on request."""

import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from elt_llm_core.settings.tree import IndexSettings
from qdrant_client import QdrantClient
from qdrant_client import models as q

KEY, READER_KEY = "writer-key", "reader-key"
_DONE = q.UpdateResult(operation_id=0, status=q.UpdateStatus.COMPLETED)


@dataclass
class QdrantServer:
    """A running server. `requests` has method, path and body of each request so far.

    `with_keys` demands a key; `write_fault` is the status and message with which every writing request is refused.
    """

    client: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    schemas: dict[str, dict[str, q.PayloadIndexInfo]] = field(default_factory=dict)
    with_keys: bool = False
    write_fault: tuple[int, str] | None = None
    port: int = 0

    @property
    def settings(self) -> IndexSettings:
        """The settings that name the server."""
        return IndexSettings(backend="qdrant", url=f"http://127.0.0.1:{self.port}", timeout_seconds=60)

    def bodies(self, ending: str) -> list[Any]:
        """Return the bodies of the requests whose path ends with this text."""
        return [body for _, path, body in self.requests if path.endswith(ending)]

    def refusal(self, method: str, path: str, key: str | None) -> tuple[int, str] | None:
        """Return the status and text for a request that is not allowed, or None if it is allowed."""
        writes = method in {"PUT", "DELETE"} or path.endswith(("/delete", "/payload"))
        if self.with_keys and key not in {KEY, READER_KEY}:
            return 401, "Must provide an API key or an Authorization bearer token"
        if self.with_keys and writes and key == READER_KEY:
            return 403, '{"status":{"error":"Forbidden: Global manage access is required"},"time":0.0}'
        if writes and self.write_fault:
            status, message = self.write_fault
            return status, json.dumps({"status": {"error": message}, "time": 0.0})
        return None

    def result(self, method: str, path: str, body: Any) -> Any:
        """Carry out a request of `/collections/NAME/...`."""
        _, _, name, *rest = path.split("/")
        actions: dict[tuple[str, str], Callable[[str, Any], Any]] = {
            ("GET", "exists"): lambda name, _: {"exists": self.client.collection_exists(name)},
            ("GET", ""): self._describe,
            ("PUT", ""): lambda name, body: self.client.create_collection(name, q.VectorParams(**body["vectors"])),
            ("PUT", "index"): self._index,
            ("PUT", "points"): self._write,
            ("POST", "points/query/batch"): self._search,
            ("POST", "points/count"): self._count,
            ("POST", "points/scroll"): self._scroll,
            ("POST", "points/delete"): self._delete,
            ("POST", "points/payload"): self._set_payload,
        }
        return actions[method, "/".join(rest)](name, body)

    def _describe(self, name: str, _body: Any) -> Any:
        return self.client.get_collection(name).model_copy(update={"payload_schema": self.schemas.get(name, {})})

    def _index(self, name: str, body: Any) -> Any:
        made = q.PayloadIndexInfo(data_type=body["field_schema"]["type"], params=body["field_schema"], points=0)
        self.schemas.setdefault(name, {})[body["field_name"]] = made
        return _DONE

    def _write(self, name: str, body: Any) -> Any:
        self.client.upsert(name, q.PointsList.model_validate(body).points)
        return _DONE

    def _search(self, name: str, body: Any) -> Any:
        asked = [it.model_copy(update={"params": None}) for it in q.QueryRequestBatch.model_validate(body).searches]
        return self.client.query_batch_points(name, asked)

    def _count(self, name: str, body: Any) -> Any:
        return self.client.count(name, q.CountRequest.model_validate(body).filter)

    def _scroll(self, name: str, body: Any) -> Any:
        asked = q.ScrollRequest.model_validate(body)
        points, following = self.client.scroll(
            name, asked.filter, asked.limit or 10, offset=asked.offset, with_payload=asked.with_payload or False
        )
        return {"points": [point.model_dump(mode="json") for point in points], "next_page_offset": following}

    def _delete(self, name: str, body: Any) -> Any:
        self.client.delete(name, q.FilterSelector.model_validate(body))
        return _DONE

    def _set_payload(self, name: str, body: Any) -> Any:
        asked = q.SetPayload.model_validate(body)
        self.client.set_payload(name, asked.payload, points=asked.filter or q.Filter())
        return _DONE


class _Handler(BaseHTTPRequestHandler):
    server_state: QdrantServer
    lock: threading.Lock
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        state, path = self.server_state, urlsplit(self.path).path
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        if refused := state.refusal(self.command, path, self.headers.get("api-key")):
            self._reply(*refused)
            return
        with self.lock, warnings.catch_warnings():
            state.requests.append((self.command, path, body))
            result = state.result(self.command, path, body)
        self._reply(200, json.dumps({"result": result, "status": "ok", "time": 0.0}, default=_as_json))

    def _reply(self, status: int, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


def _as_json(value: Any) -> Any:
    return value.model_dump(mode="json")


@contextmanager
def running_qdrant() -> Iterator[QdrantServer]:
    """Run a server on a free port of loopback."""
    server = QdrantServer()
    handler = type("Handler", (_Handler,), {"server_state": server, "lock": threading.Lock()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
            server.client.close()
