"""Upload documents to a running server, and wait for the resulting jobs."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import httpx
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue, QueuedJob
from elt_llm_core.state.keys import KeyTable
from served.server import RunningServer

TOKEN = "the-token-of-a-server-in-a-test-0123456789"
_SECONDS = 120


def key(server: RunningServer, name: str, read: list[str], write: list[str]) -> dict[str, str]:
    """Create a key and return its request headers."""
    with closing(open_state(server.data_dir)) as state:
        return {"authorization": f"Bearer {KeyTable(state).create(name, read, write)}"}


def upload(
    client: httpx.Client, collection: str, files: Mapping[str, str | bytes], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Upload files by name and return the response."""
    sent = [("files", (name, data.encode() if isinstance(data, str) else data)) for name, data in files.items()]
    return client.post("/v1/documents", data={"collection": collection}, files=sent, headers=headers)


def uploaded(client: httpx.Client, collection: str, files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Upload files by name, wait until they are ingested, and return the ended job."""
    answer = upload(client, collection, files)
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json()["job"]["id"])


def ended(client: httpx.Client, identity: str) -> dict[str, Any]:
    """Wait for the end of a job and return it."""
    return until(client, identity, "done", "failed", "cancelled")


def until(client: httpx.Client, identity: str, *statuses: str, notes: str = "") -> dict[str, Any]:
    """Wait until a job has one of these statuses and a note that contains this text."""
    deadline = time.monotonic() + _SECONDS
    while True:
        job: dict[str, Any] = client.get(f"/v1/jobs/{identity}").json()
        if job["status"] in statuses and notes in "".join(job["progress"].get("notes", [])):
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.15)


def documents(client: httpx.Client, collection: str) -> dict[str, dict[str, Any]]:
    """Return the documents of a collection by source."""
    listed = client.get("/v1/documents", params={"collection": collection}).json()["documents"]
    return {one["source"]: one for one in listed}


def wait_for_job(queue: JobQueue, identity: str) -> QueuedJob:
    """Wait for the end of a job in a queue and return it."""
    deadline = time.monotonic() + _SECONDS
    while not (job := queue.get(identity)).has_ended:
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
    return job
