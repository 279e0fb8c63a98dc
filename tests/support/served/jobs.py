"""Serve a project with three jobs: one that was run, one that needs more permissions, and one with an error."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from row_jobs.fake_jobs import project, run, some_terms
from served.server import RunningServer, served
from stored.folders import run_ingest, write_files

TOKEN = "t" * 40
JOB = "/v1/rows/rules/glossary"
READER, WRITER, STRANGER = "reader", "writer", "stranger"
_OPEN = ["library", "meadow"]
_SCOPES = {READER: (_OPEN, []), WRITER: (_OPEN, _OPEN), STRANGER: (["else_*"], ["else_*"])}
_BIRDS = """# Birds of the meadow

## Singing birds

Skylark means a small bird that sings while it climbs above the meadow on a spring morning, and nests on the ground.

## Wading birds

Curlew means a large wader with a bill that bends down, which breeds in wet meadows and spends winters by the sea.
"""
_CLOSED = "description: All of it.\nsources: {handbook: [library, secret]}\n"


@dataclass(frozen=True)
class ServedJobs:
    """The server, and the secrets of its keys by name."""

    server: RunningServer
    secrets: dict[str, str]

    def get(self, path: str, holder: str = "", /, **parameters: Any) -> httpx.Response:
        """Send a GET request with the key of this name; without a name, with the operator's token."""
        return self.server.client.get(path, params=parameters or None, headers=self._headers(holder))

    def post(self, path: str, body: object, holder: str = "") -> httpx.Response:
        """Send a POST request with JSON; the key is chosen as in `get`."""
        return self.server.client.post(path, json=body, headers=self._headers(holder))

    def row(self, key: str = "Term 01", table: str = "terms") -> dict[str, Any]:
        """Return one row of the job that was run, with its evidence."""
        answer = self.get(f"{JOB}/row", table=table, key=key)
        assert answer.status_code == 200, answer.text
        row: dict[str, Any] = answer.json()
        return row

    def _headers(self, holder: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secrets[holder]}"} if holder else {}


def job_project(folder: Path) -> Path:
    """Build a project with six terms in three documents, the job `rules` that was run, and three jobs that were not."""
    documents = {"a/one.md": some_terms(2), "b/two.md": some_terms(2, first=2), "c/three.md": some_terms(2, first=4)}
    loaded = project(folder, documents, job="description: Terms of the rules.\n")
    write_files(folder / "secret", {"plans.md": "Canary means a bird that nobody may see.\n"})
    run_ingest(loaded.data_dir, folder / "secret", collection="secret")
    write_files(folder / "meadow", {"birds.md": _BIRDS})
    run_ingest(loaded.data_dir, folder / "meadow", collection="meadow")
    files = {"closed": _CLOSED, "birds": "sources: {handbook: [meadow]}\n", "broken": "sources: {handbok: []}\n"}
    write_files(folder / "config", {f"consumer/{name}.yaml": text for name, text in files.items()})
    run(loaded)
    return folder


@contextmanager
def served_jobs(folder: Path, **serve: str) -> Iterator[ServedJobs]:
    """Serve a project of `job_project`, with a key that reads, a key that writes, and a key for another collection.

    `serve` are settings as for `served`.
    """
    with closing(open_state(folder / ".elt_llm")) as state:
        secrets = {name: KeyTable(state).create(name, *scope) for name, scope in _SCOPES.items()}
    with served(folder, token=TOKEN, environment={}, **serve) as server:
        yield ServedJobs(server, secrets)


def ended(jobs: ServedJobs, identity: str) -> dict[str, Any]:
    """Wait at most two minutes for the end of a job and return it."""
    deadline = time.monotonic() + 120
    while True:
        job: dict[str, Any] = jobs.get(f"/v1/jobs/{identity}").json()
        if job["status"] in {"done", "failed", "cancelled"}:
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
