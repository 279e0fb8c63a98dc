"""A collection that two tenants share: every name, word and value of tenant `zbeta` contains `zbeta`."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.store.conditions import DocumentCondition
from served.project import PATIENCE, Project
from served.server import RunningServer, served

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

TOKEN = "t" * 40
OWN, FOREIGN = "zacme", "zbeta"
COLLECTION = "shared"
_FOREIGN_WORD = re.compile(r"zbeta\w+", re.IGNORECASE)
_JOB = f"""collection: {COLLECTION}
paths: [share]
path_fields: "{{tenant_id}}/{{knowledge_base_id}}/**"
"""
_TERMS = f"description: Terms of all tenants.\nsources: {{handbook: [{COLLECTION}]}}\n"
SAME = "# Holiday calendar\n\nHolidays are announced in January by the calendar office of the group.\n"


def document(tenant: str, number: int) -> str:
    """Return a Markdown document whose title, headings, words and metadata contain the tenant's name.

    Its front matter claims to belong to the other tenant.
    """
    other = FOREIGN if tenant == OWN else OWN
    return f"""---
title: {tenant}title{number} guideline
author: {tenant}author{number}
{tenant}field: {tenant}value{number}
tenant_id: {other}
---

# {tenant}title{number} guideline

## {tenant}section{number}: Who approves {tenant}travel?

{tenant}travel means a journey of staff that the {tenant}manager{number} approves in writing before it starts.

## Expenses of {tenant}travel

The {tenant}office repays expenses up to {40 + number} euros a day.

Dr {tenant}person{number} of {tenant}corp Ltd decides.
"""


@dataclass(frozen=True)
class Tenants:
    """A server, a client with each tenant's key, and the ids of what the foreign tenant made, by kind of object."""

    server: RunningServer
    own: httpx.Client
    foreign: httpx.Client
    secrets: dict[str, str]
    made: dict[str, str]


def foreign_words(shown: str, asked: str = "") -> set[str]:
    """Return the words of the foreign tenant in a response that the request did not contain itself."""
    sent = asked.casefold()
    return {word for word in _FOREIGN_WORD.findall(shown.casefold()) if word not in sent}


def finished(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of a job."""
    deadline = time.monotonic() + PATIENCE
    while job["status"] not in {"done", "failed", "cancelled"}:
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
        job = client.get(f"/v1/jobs/{job['id']}").json()
    return job


def upload(client: httpx.Client, name: str, text: str, **fields: str) -> httpx.Response:
    """Upload a text file into the shared collection."""
    form = {"collection": COLLECTION, **fields}
    return client.post("/v1/documents", data=form, files={"files": (name, text.encode())})


def in_postgres(server: "PostgresServer", folder: Path) -> dict[str, Any]:
    """Return the settings of a project in `folder` that has its documents and vectors in a new database."""
    storage = {"backend": "postgres", "dsn_file": str(server.workspace(folder).dsn_file)}
    return {"storage": storage, "index": {"backend": "pgvector"}}


@contextmanager
def shared_library(folder: Path, settings: Mapping[str, Any] | None = None) -> Iterator[Tenants]:
    """Serve a collection with four documents of each tenant, after the foreign tenant and the operator have used it."""
    project = Project(folder, settings or {})
    for tenant in (OWN, FOREIGN):
        base = f"share/{tenant}/{tenant}kb"
        project.write({f"{base}/{tenant}file{number}.md": document(tenant, number) for number in range(3)})
        project.write({f"{base}/{tenant}calendar.md": SAME})
    project.write({"config/ingest/shared.yaml": _JOB, "config/consumer/terms.yaml": _TERMS})
    project.run("ingest", "--job", "shared")
    with served(folder, token=TOKEN, environment={}, requests_per_minute="1000000") as server:
        with closing(open_state(server.workspace)) as state:
            secrets = {
                tenant: KeyTable(state).create(
                    tenant, [COLLECTION], [COLLECTION], conditions=(DocumentCondition("tenant_id", (tenant,)),)
                )
                for tenant in (OWN, FOREIGN)
            }
        own, foreign = (
            httpx.Client(base_url=server.address, headers={"authorization": f"Bearer {secrets[tenant]}"}, timeout=60)
            for tenant in (OWN, FOREIGN)
        )
        with own, foreign:
            yield Tenants(server, own, foreign, secrets, _used(server, foreign))


def _used(server: RunningServer, foreign: httpx.Client) -> dict[str, str]:
    """Let the foreign tenant and the operator use everything, and return the ids of what they made."""
    listed = foreign.get("/v1/documents", params={"collection": COLLECTION})
    assert listed.is_success, listed.text
    documents = listed.json()["documents"]
    session = foreign.post("/v1/sessions", json={"collections": [COLLECTION]}).json()["id"]
    asked = foreign.post("/v1/ask", json={"question": "Who approves zbetatravel?", "session": session})
    assert "zbeta" in asked.text
    uploaded = upload(foreign, "zbetaupload.md", document(FOREIGN, 9)).json()["job"]
    assert finished(foreign, uploaded)["status"] == "done"
    terms = server.client.post("/v1/batch-jobs/glossary", json={"job": "terms"})
    assert terms.is_success, terms.text
    assert finished(server.client, terms.json())["status"] == "done"
    chunk = foreign.post("/v1/search", json={"question": "zbetatravel"}).json()["chunks"][0]
    return {
        "identity": documents[0]["id"],
        "session": session,
        "request_id": asked.headers["x-request-id"],
        "job": uploaded["id"],
        "terms": terms.json()["id"],
        "node": chunk["node_id"],
    }


def as_text(value: Any) -> str:
    """Return any result as one text."""
    return json.dumps(value, ensure_ascii=False, default=str)
