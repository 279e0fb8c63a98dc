"""A project folder with files and a configuration, commands that run in it, and a server."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from elt_llm_api.cli import run
from served.server import RunningServer, served
from stored.folders import write_files

PATIENCE = 120.0  # seconds that a job may take


@dataclass(frozen=True)
class Project:
    """A project folder. `settings` are written into its configuration for the server, its jobs and commands."""

    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the configuration."""
        ingest = {"workers": 1, **self.settings.get("ingest", {})}
        given = {"embedding": {"provider": "fake"}, **self.settings, "ingest": ingest}
        write_files(self.folder, {"config/rag_config.yaml": yaml.safe_dump(given)})

    def write(self, files: Mapping[str, str]) -> None:
        """Write texts to paths relative to the project folder."""
        write_files(self.folder, files)

    def run(self, *arguments: str | Path) -> None:
        """Run a command in the folder and require success."""
        assert run([str(argument) for argument in arguments], {}, self.folder) == 0

    @contextmanager
    def served(self, **serve: str) -> Iterator["Asker"]:
        """Serve the project and yield a client."""
        with served(self.folder, environment={}, **serve) as server:
            yield Asker(server)


@dataclass(frozen=True)
class Asker:
    """Sends requests to a running server and compares every citation with its document."""

    server: RunningServer

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON of a GET request."""
        answer = self.server.client.get(path, params=parameters or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON response to a POST request."""
        answer: httpx.Response = self.server.client.post(path, json=dict(body))
        assert answer.is_success, answer.text
        return answer.json()

    def ask(self, question: str, **more: Any) -> dict[str, Any]:
        """Return a whole answer, and check that each citation equals the text of its document."""
        result: dict[str, Any] = self.post("/v1/ask", {"question": question, **more})
        for citation in result["citations"]:
            begin, end = citation["span"]
            place = f"/v1/documents/{citation['collection']}/{citation['source_id']}/text"
            assert self.get(place, start=begin, end=end)["text"] == citation["excerpt"]
        return result

    def search(self, question: str, **more: Any) -> list[dict[str, Any]]:
        """Return the chunks for a question, best first."""
        found: list[dict[str, Any]] = self.post("/v1/search", {"question": question, **more})["chunks"]
        return found

    def done(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Submit a job, wait for its end, and return its report."""
        job, deadline = self.post(path, body), time.monotonic() + PATIENCE
        while job["status"] not in {"done", "failed", "cancelled"}:
            assert time.monotonic() < deadline, job
            time.sleep(0.1)
            job = self.get(f"/v1/jobs/{job['id']}")
        assert job["status"] == "done", json.dumps(job)
        report: dict[str, Any] = self.get(f"/v1/jobs/{job['id']}/result")
        return report
