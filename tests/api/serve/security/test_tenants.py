"""Two tenants share a collection: no interface shows one of them a text, name, value or count of the other.

Everything of the tenant `zbeta` contains `zbeta`, so a leak is found in any response, wherever it is. Requests name the
objects of that tenant by their ids, misspell its words to provoke suggestions, and filter by its values.
"""

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import httpx
import pytest
from browsing.gradio_events import Events
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from elt_llm_core.store.conditions import DocumentCondition
from elt_llm_core.utilities import CONDITIONS_LEFT_OUT, FAILPOINT_VARIABLE
from mcp.client import Client
from mcp_types import CallToolResult
from optional import needs
from sampling import FULL
from served.mcp_clients import HttpAgent
from served.routes import Operation, every_path, fill, operations
from served.tenants import (
    COLLECTION,
    FOREIGN,
    OWN,
    Tenants,
    as_text,
    foreign_words,
    in_postgres,
    shared_library,
    upload,
)

pytestmark = pytest.mark.network
REQUESTS = 1600 if FULL else 184
TOOL_ROUNDS, EVENT_ROUNDS = (12, 8) if FULL else (2, 1)
# Misspelt words of the foreign tenant, which no response may correct, and texts that both tenants have.
TEXTS = (
    "Who approves zbetatravl?",
    "zbetamanagr1 and zbetaperso0",
    "What is zbet?",
    "Who approves zacmetravel?",
    "expenses a day",
    "Holidays are announced in January",
    "list all documents about travel",
    "Dr zbetapersn2 of zbetacorpp Ltd",
)
WHERES: tuple[list[str], ...] = (
    [],
    ["tenant_id=zbet"],
    ["tenant_id!=zacme"],
    ["tenant_id in zacme,zbet"],
    ["knowledge_base_id!=zacmekb"],
    ["zbetafild=x"],
    ["zbetafield=zbetavalu1"],
    ["source=zbeta/zbetakb/zbetafile.md"],
    ["title=zbetatitle"],
    ["authors=zbetaautho1"],
    ["document=zbetacalendr.md"],
    ["organisations=zbetacorp"],
)
# Routes that read no document: static files, the login form, and descriptions of the program. The routes of page events
# and of MCP have separate tests below.
WITHOUT_DOCUMENTS = {
    *("/assets/", "/static/", "/docs", "/docs/{name}", "/favicon.ico", "/page.js", "/theme.css", "/openapi.json"),
    *("/login", "/logout", "/v1/models/{model:path}", "/gradio_api/app_id"),
}
PAGE_ROUTES = {
    *("/", "/config", "/gradio_api/cancel", "/gradio_api/heartbeat/", "/gradio_api/queue/data"),
    *("/gradio_api/queue/join", "/gradio_api/reset", "/gradio_api/startup-events", "/gradio_api/upload"),
    "/gradio_api/upload_progress",
}
# Operations that always fail for a key with conditions, because they concern the whole collection or the server.
REFUSED = {
    "POST /v1/collections/{name}/verify",
    "POST /v1/collections/{name}/rollback",
    "GET /v1/documents/{collection}/{identity}/text",
    "GET /v1/documents/{collection}/{identity}/page/{number}.png",
    "DELETE /v1/documents/{collection}/{identity}",
    "GET /v1/sessions/{session}",
    "GET /v1/sessions/{session}/markdown",
    "DELETE /v1/sessions/{session}",
    "POST /v1/feedback",
    "GET /v1/feedback",
    "GET /v1/jobs/{identity}",
    "GET /v1/jobs/{identity}/result",
    "GET /v1/jobs/{identity}/events",
    "POST /v1/jobs/{identity}/cancel",
    "POST /v1/batch-jobs/{kind}",
    "POST /v1/ingest",
    "POST /v1/evaluate",
    "GET /v1/rows/{job}/{kind}",
    "GET /v1/rows/{job}/{kind}/row",
    "POST /v1/rows/{job}/{kind}/review",
    "GET /v1/rows/{job}/{kind}/status",
    "GET /v1/rows/{job}/{kind}/stale",
    "GET /v1/rows/{job}/{kind}/files",
    "GET /v1/rows/{job}/{kind}/files/{wanted}",
    "GET /metrics",
    "GET /v1/monitoring",
}
TOOLS: dict[str, dict[str, Any]] = {
    "search": {},
    "ask": {},
    "explain": {},
    "get_span": {"document": "zbetafile0.md", "start": 0, "end": 20},
    "verify_quote": {"quote": "journey of staff that the zbetamanage0 approves"},
    "list_collections": {},
    "collection_status": {"collection": COLLECTION},
    "optimize_search": {"queries": ["zbetatravl"], "labels": {"zbetatravl": ["zbetafil1.md"]}},
    "model_neighbours": {"entity": "zbetacrp"},
    "ingest_path": {"path": "share"},
    "reindex": {},
    "list_jobs": {},
    "run_job": {"job": "terms", "kind": "glossary"},
    "job_status": {},
    "job_rows": {"job": "terms", "kind": "glossary"},
}


LOCAL, PGVECTOR, POLICIES = "SQLite", "PostgreSQL", "policies of PostgreSQL alone"


@pytest.fixture(scope="module", params=[LOCAL, PGVECTOR, POLICIES] if FULL else [LOCAL, POLICIES])
def tenants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    """Serve two tenants. With POLICIES, only PostgreSQL enforces the conditions, and this program enforces none."""
    folder, settings = tmp_path_factory.mktemp("tenants") / "project", {}
    with pytest.MonkeyPatch.context() as patch:
        if request.param != LOCAL:
            settings = in_postgres(request.getfixturevalue("postgres"), folder)
        if request.param == POLICIES:
            patch.setenv(FAILPOINT_VARIABLE, CONDITIONS_LEFT_OUT)
        with shared_library(folder, settings) as library:
            yield library


def _known(operation: Operation, tenants: Tenants, chance: random.Random) -> dict[str, Any]:
    """Return values for the fields of a request: ids of the other tenant's objects, and names that both may read."""
    made = tenants.made
    is_job = "/jobs/" in operation.path
    return {
        "collection": COLLECTION,
        "collections": [COLLECTION] if chance.random() < 0.7 else [],
        "prefixes": chance.choice([[], ["s"], [""]]),
        "name": COLLECTION,
        "identity": chance.choice([made["job"], made["terms"]]) if is_job else made["identity"],
        "session": None if operation.method == "post" and chance.random() < 0.7 else made["session"],
        "request_id": made["request_id"],
        "turn": 1,
        "history": [],
        "style": "",
        "where": chance.choice(WHERES),
        "profile": "default",
        "profiles": ["default"],
        "explain": chance.random() < 0.5,
        "stream": chance.random() < 0.3,
        "model": COLLECTION,
        "job": "terms",
        "kind": "glossary",
        "table": "terms",
        "key": "zbetatravel",
        "wanted": chance.choice(["xlsx", "json", "html"]),
        "status": chance.choice(["done", "queued"]) if is_job or operation.path == "/v1/jobs" else "PENDING",
        "review": "none",
        "verdict": "up" if "feedback" in operation.path else "supported",
        "paths": ["share"],
        "number": "1",
        "limit": 100,
        "offset": 0,
        "role": "user",
        "top_k": chance.choice([None, 200]),
    }


def _requests(tenants: Tenants) -> Iterator[tuple[Operation, httpx.Response, str]]:
    chance = random.Random(49)  # noqa: S311 - repeatable, not secret
    listed = operations(tenants.server)
    for number in range(REQUESTS):
        operation = listed[number % len(listed)]
        text = chance.choice(TEXTS)
        request = fill(operation, text, _known(operation, tenants, chance), sparing=chance.random() < 0.5)
        if body := _openai_body(operation, text, stream=chance.random() < 0.5):
            request = replace(request, content=json.dumps(body).encode())
        sent = f"{request.path} {as_text(dict(request.query))} {(request.content or b'').decode()}"
        yield operation, request.send(tenants.own), sent


def _openai_body(operation: Operation, text: str, *, stream: bool) -> dict[str, Any]:
    """Return the body of an OpenAI route, whose schemas are too wide to be filled from their description."""
    bodies: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {
            "model": COLLECTION,
            "messages": [{"role": "user", "content": text}],
            "stream": stream,
        },
        "/v1/embeddings": {"model": "embedding", "input": [text]},
    }
    return bodies.get(operation.path, {})


def test_no_route_reveals_data_of_another_tenant(tenants: Tenants) -> None:
    statuses: dict[str, list[int]] = defaultdict(list)
    for operation, response, sent in _requests(tenants):
        shown = f"{dict(response.headers)} {response.text}"
        assert not foreign_words(shown, sent), (str(operation), sent, response.text)
        assert response.status_code < 500, (str(operation), sent, response.text)
        statuses[str(operation)].append(response.status_code)
    assert statuses.keys() == {str(one) for one in operations(tenants.server)}
    # Requests that all fail prove nothing, so each operation outside REFUSED must succeed once, except uploads.
    succeeded = {name for name, seen in statuses.items() if any(status < 300 for status in seen)}
    assert statuses.keys() - succeeded - REFUSED <= {"POST /v1/documents"}, statuses
    assert not succeeded & REFUSED, statuses


def test_every_route_of_the_server_is_tested_for_two_tenants(tenants: Tenants) -> None:
    described = {one.path for one in operations(tenants.server)}
    others = {path for _, path in every_path(tenants.server)} - described
    assert others <= {*WITHOUT_DOCUMENTS, *PAGE_ROUTES, "/mcp"}


def test_no_tool_reveals_data_of_another_tenant(tenants: Tenants) -> None:
    chance = random.Random(50)  # noqa: S311 - repeatable, not secret

    async def call_all(client: Client) -> list[tuple[str, dict[str, Any], CallToolResult]]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == TOOLS.keys()
        results = []
        for name in sorted(tools) * TOOL_ROUNDS:
            asked = {
                "question": chance.choice(TEXTS),
                "collection": COLLECTION,
                "where": chance.choice(WHERES),
                "id": chance.choice([tenants.made["job"], tenants.made["terms"]]),
                **TOOLS[name],
            }
            accepted = tools[name].input_schema["properties"]
            arguments = {key: value for key, value in asked.items() if key in accepted}
            results.append((name, arguments, await client.call_tool(name, arguments)))
        return results

    answered = set()
    for name, arguments, result in HttpAgent(tenants.server.address, tenants.secrets[OWN]).with_client(call_all):
        shown = as_text([one.model_dump() for one in result.content]) + as_text(result.structured_content)
        assert not foreign_words(shown, as_text(arguments)), (name, arguments, shown)
        if not result.is_error:
            answered.add(name)
    assert answered >= {"search", "ask", "explain", "list_collections", "collection_status", "list_jobs"}


def _event_value(kind: str, text: str) -> Any:
    return {
        "multimodaltextbox": {"text": text, "files": []},
        "textbox": text,
        "checkboxgroup": [COLLECTION],
        "dropdown": COLLECTION,
        "radio": COLLECTION,
        "number": 1,
        "slider": 5,
        "checkbox": False,
    }.get(kind)


@pytest.mark.sampled(1)
def test_no_event_of_the_web_page_reveals_data_of_another_tenant(tenants: Tenants) -> None:
    needs("gradio")
    chance = random.Random(51)  # noqa: S311 - repeatable, not secret
    assert not foreign_words(tenants.own.get("/").text)
    config = tenants.own.get("/config").json()
    assert not foreign_words(json.dumps(config))
    kinds = {one["id"]: one["type"] for one in config["components"]}
    events = [one for one in config["dependencies"] if one.get("api_name") and one.get("backend_fn")]
    names = [one["api_name"] for one in events]
    seen = 0
    for number, event in enumerate(events * EVENT_ROUNDS):
        data = [_event_value(kinds[inner], chance.choice(TEXTS)) for inner in event["inputs"]]
        said = Events(tenants.own, f"own{number}").outcome(event["api_name"], data)
        assert not foreign_words(as_text(said), as_text(data)), (event["api_name"], data, said)
        seen += said[-1]["msg"] == "process_completed"
    assert {"ask", "choices"} <= set(names)
    assert seen >= len(names) * EVENT_ROUNDS // 2


def test_a_tenant_sees_counts_of_only_its_own_documents(tenants: Tenants) -> None:
    [listed] = tenants.own.get("/v1/collections").json()
    assert (listed["documents"], listed["chunks"]) == (4, 4)
    documents = tenants.own.get("/v1/documents", params={"collection": COLLECTION}).json()
    assert documents["total"] == len(documents["documents"]) == 4
    found = tenants.own.post("/v1/search", json={"question": "travel", "where": ["language=en"]}).json()
    filtered = next(stage["details"] for stage in found["stages"] if stage["name"] == "filter")
    assert (filtered["left"], filtered["of"]) == ({COLLECTION: 4}, {COLLECTION: 4})


def test_identical_documents_of_two_tenants_are_counted_once_for_each_tenant(tenants: Tenants) -> None:
    both = DocumentCondition("tenant_id", (OWN, FOREIGN))
    with closing(open_state(tenants.server.workspace)) as state:
        secret = KeyTable(state).create("both", [COLLECTION], [], conditions=(both,))
    headers = _headers_of(tenants, secret)
    status = tenants.server.client.get(f"/v1/collections/{COLLECTION}", headers=headers).json()["status"]
    # Besides four files, the other tenant has an upload.
    assert (status["documents"], status["nodes"], status["duplicates"]) == (9, 9, 0)
    assert (status["skipped"], status["skipped_files"], status["forgotten"]) == (
        None,
        [],
        None,
    )  # nothing records whose such files are


def _headers_of(tenants: Tenants, secret: str) -> dict[str, str]:
    """Return the headers of a new key, once the server knows the key: it reads keys in PostgreSQL once a second.

    The server gets no request before that, because repeated requests with an unknown key lock out their address.
    """
    time.sleep(1.1 if tenants.server.workspace.is_shared else 0)
    return {"authorization": f"Bearer {secret}"}


def test_suggested_words_values_and_fields_come_only_from_the_tenants_own_documents(tenants: Tenants) -> None:
    def search(question: str, *where: str) -> dict[str, Any]:
        found: dict[str, Any] = tenants.own.post("/v1/search", json={"question": question, "where": where}).json()
        return found

    assert search("x", "zbetafild=1")["error"]["hint"] == "Nearest: zacmefield."
    assert "zacmetravel" in as_text(search("zacmetravl")["notes"])  # a suggestion is made, so the test can fail
    assert not foreign_words(as_text(search("zbetatravl")), "zbetatravl")


def test_conversations_jobs_and_answers_of_another_tenant_cannot_be_used(tenants: Tenants) -> None:
    session, job = tenants.made["session"], tenants.made["job"]
    assert tenants.own.get(f"/v1/sessions/{session}").status_code == 403
    missing = tenants.own.get(f"/v1/sessions/{'0' * 32}").json()["error"]["message"].replace("0" * 32, session)
    assert tenants.own.get(f"/v1/sessions/{session}").json()["error"]["message"] == missing
    assert tenants.own.post("/v1/ask", json={"question": "x?", "session": session}).status_code == 403
    assert tenants.own.post(f"/v1/jobs/{job}/cancel").status_code == 403
    rating = {"request_id": tenants.made["request_id"], "verdict": "up"}
    assert tenants.own.post("/v1/feedback", json=rating).status_code == 403
    assert tenants.foreign.get(f"/v1/sessions/{session}").status_code == 200


def test_a_key_with_conditions_cannot_end_the_rollback_of_a_whole_collection_with_an_upload(tenants: Tenants) -> None:
    refused = upload(tenants.own, "x.md", "# x", resume="true")
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "forbidden")


def test_a_key_recreated_for_another_tenant_cannot_read_conversations_of_the_revoked_key(tenants: Tenants) -> None:
    def remake(tenant: str) -> dict[str, str]:
        with closing(open_state(tenants.server.workspace)) as state:
            conditions = (DocumentCondition("tenant_id", (tenant,)),)
            return _headers_of(tenants, KeyTable(state).create("moved", ["*"], [], conditions=conditions))

    before = remake(FOREIGN)
    made = tenants.server.client.post("/v1/sessions", json={"collections": [COLLECTION]}, headers=before).json()
    with closing(open_state(tenants.server.workspace)) as state:
        KeyTable(state).revoke("moved")
    assert tenants.server.client.get(f"/v1/sessions/{made['id']}", headers=remake(OWN)).status_code == 403
