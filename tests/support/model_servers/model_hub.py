"""A model hub on loopback that speaks the endpoints that huggingface_hub uses."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class ModelHub:
    """The files of each repository, and the requests received. Files may be changed at any time."""

    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""

    def publish(self, repository: str, folder: Path) -> None:
        """Offer the files of a folder as a repository."""
        self.repositories[repository] = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }


@contextmanager
def model_hub() -> Iterator[ModelHub]:
    """Serve a hub until the block ends."""
    hub = ModelHub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        hub.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: ModelHub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""

    def _answer(self) -> None:
        path = self.path.split("?")[0].lstrip("/")
        self.hub.requests.append(f"{self.command} {path}")
        self.hub.keys.append(self.headers.get("Authorization"))
        if path.startswith("api/models/"):
            self._describe("/".join(path.split("/")[2:4]))
        else:
            owner, name, _, _, file = path.split("/", 4)
            self._send_file(self.hub.repositories.get(f"{owner}/{name}", {}).get(file))

    def _describe(self, repository: str) -> None:
        files = self.hub.repositories.get(repository)
        if files is None:
            self._reply(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            return
        siblings = [{"rfilename": name, "size": len(content)} for name, content in files.items()]
        self._reply(200, json.dumps({"id": repository, "sha": COMMIT, "siblings": siblings}).encode(), {})

    def _send_file(self, content: bytes | None) -> None:
        if content is None:
            self._reply(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes="):
            first = int(asked[6:].split("-")[0])
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            self._reply(206, content[first:], headers)
        else:
            self._reply(200, content, headers)

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
