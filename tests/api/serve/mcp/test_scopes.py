"""Security case S-ISO: no tool reveals data that a key may not read, and no key can use another key's session."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from served.jobs import READER, STRANGER, WRITER, ServedJobs, job_project, served_jobs
from served.mcp_clients import HttpAgent, answered, refused

pytestmark = pytest.mark.network

CANARY = "a bird that nobody may see"
QUESTION = "What is a canary?"
ASKED_SO: dict[str, list[dict[str, Any]]] = {
    "search": [
        {"question": QUESTION},
        {"question": QUESTION, "prefixes": [""]},
        {"question": QUESTION, "prefixes": ["s", "sec"]},
        {"question": QUESTION, "collections": ["secret"]},
        {"question": QUESTION, "collections": ["library", "secret"]},
    ],
    "ask": [{"question": QUESTION}, {"question": QUESTION, "collections": ["secret"]}],
    "explain": [{"question": QUESTION, "prefixes": [""]}, {"question": QUESTION, "collections": ["secret"]}],
    "get_span": [{"collection": "secret", "document": "plans.md", "start": 0, "end": 20}],
    "verify_quote": [{"collection": "secret", "quote": f"Canary means {CANARY}"}],
    "list_collections": [{}],
    "collection_status": [{"collection": "secret"}],
    "optimize_search": [
        {"queries": [QUESTION]},
        {"queries": [QUESTION], "labels": {QUESTION: ["plans.md"]}},
        {"queries": [QUESTION], "collections": ["secret"]},
    ],
    "model_neighbours": [{"entity": "Canary", "collection": "secret"}, {"entity": "Canary", "job": "closed"}],
    "ingest_path": [{"collection": "secret", "path": "/etc"}],
    "reindex": [{"collection": "secret"}],
    "list_jobs": [{}],
    "run_job": [{"job": "closed", "kind": "glossary"}],
    "job_status": [{"id": "0" * 32}],
    "job_rows": [{"job": "closed", "kind": "glossary"}],
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    with served_jobs(job_project(tmp_path_factory.mktemp("scopes"))) as server:
        yield server


def agent(jobs: ServedJobs, holder: str) -> HttpAgent:
    return HttpAgent(jobs.server.address, jobs.secrets[holder])


async def _all_of_it(client: Client) -> list[tuple[str, dict[str, Any], CallToolResult]]:
    return [
        (tool, arguments, await client.call_tool(tool, arguments))
        for tool, variants in ASKED_SO.items()
        for arguments in variants
    ]


def test_the_tests_with_unreadable_collections_cover_every_tool(jobs: ServedJobs) -> None:
    async def names(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    assert agent(jobs, READER).with_client(names) == set(ASKED_SO)


@pytest.mark.parametrize("holder", [READER, WRITER, STRANGER])
def test_no_tool_returns_data_that_the_key_may_not_read(jobs: ServedJobs, holder: str) -> None:
    for tool, arguments, result in agent(jobs, holder).with_client(_all_of_it):
        told = json.dumps([one.model_dump() for one in result.content]) + json.dumps(result.structured_content)
        asked = json.dumps(arguments)
        assert CANARY not in told or CANARY in asked, tool
        assert "plans.md" not in told or "plans.md" in asked, tool
        assert "secret" not in told or "secret" in asked, (tool, told)
        if "secret" in asked:
            assert result.is_error, (tool, told)


def test_tools_use_only_the_collections_that_the_callers_key_may_read(jobs: ServedJobs) -> None:
    reader = agent(jobs, READER)
    found = answered(reader.call("search", question="What is a curlew?", prefixes=[""]))["chunks"]
    assert {chunk["collection"] for chunk in found} <= {"library", "meadow"}
    assert answered(reader.call("ask", question="What is a curlew?"))["answered"]
    listed = answered(reader.call("list_collections"))["collections"]
    assert {one["collection"] for one in listed} == {"library", "meadow"}


def test_an_unreadable_collection_gets_the_same_response_as_a_missing_collection(jobs: ServedJobs) -> None:
    reader = agent(jobs, READER)
    for tool, arguments in (
        ("search", {"question": QUESTION, "collections": ["{}"]}),
        ("get_span", {"collection": "{}", "document": "plans.md", "start": 0, "end": 20}),
        ("verify_quote", {"collection": "{}", "quote": "Canary"}),
        ("collection_status", {"collection": "{}"}),
        ("model_neighbours", {"collection": "{}", "entity": "Canary"}),
    ):
        told = [refused(reader.call(tool, **_filled(arguments, name))) for name in ("secret", "nowhere")]
        assert told[0].replace("secret", "nowhere") == told[1], tool


def _filled(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    filled: dict[str, Any] = json.loads(json.dumps(arguments).replace("{}", name))
    return filled


def test_the_operator_reads_every_collection(jobs: ServedJobs) -> None:
    operator = HttpAgent(jobs.server.address, jobs.server.client.headers["authorization"].removeprefix("Bearer "))
    told = answered(operator.call("verify_quote", collection="secret", quote=f"Canary means {CANARY}"))
    assert told["verbatim"]


def test_resources_are_visible_only_to_readers_of_their_collection(jobs: ServedJobs) -> None:
    async def read(client: Client) -> str:
        try:
            return str(await client.read_resource("elt-llm://secret/plans.md"))
        except MCPError as error:
            return str(error)

    assert "There is no collection 'secret', or this key may not read it." in agent(jobs, READER).with_client(read)


def test_jobs_are_visible_only_to_readers_of_their_collections(jobs: ServedJobs) -> None:
    queued = answered(agent(jobs, WRITER).call("run_job", job="birds", kind="glossary", dry_run=True))
    assert answered(agent(jobs, READER).call("job_status", id=queued["id"]))["kind"] == "glossary"
    assert "There is no job" in refused(agent(jobs, STRANGER).call("job_status", id=queued["id"]))


def test_agents_can_read_the_status_and_the_result_of_a_job(jobs: ServedJobs) -> None:
    queued = answered(agent(jobs, WRITER).call("run_job", job="birds", kind="glossary", dry_run=True))
    assert queued["mine"]
    told = jobs.get(f"/v1/jobs/{queued['id']}").json()
    assert queued.keys() == told.keys() | {"result"}
    assert queued["arguments"] == told["arguments"]


def test_a_read_only_key_cannot_run_a_job(jobs: ServedJobs) -> None:
    assert "neither run it" in refused(agent(jobs, READER).call("run_job", job="rules", kind="glossary"))


def test_jobs_and_their_rows_are_returned_with_evidence(jobs: ServedJobs) -> None:
    reader = agent(jobs, READER)
    assert {one["name"] for one in answered(reader.call("list_jobs"))["jobs"]} == {"rules", "birds"}
    page = answered(reader.call("job_rows", job="rules", kind="glossary", table="terms", limit=2))["page"]
    assert [row["name"] for row in page["rows"]] == ["Term 00", "Term 01"]
    one = reader.call("job_rows", job="rules", kind="glossary", table="terms", key="Term 01")
    row = answered(one)["row"]
    assert row["quotes"][0]["evidence"]["quote"] == "Term 01 means a thing of the number 1."
    assert "Give `table`" in refused(reader.call("job_rows", job="rules", kind="glossary", key="Term 01"))


def test_a_session_is_available_only_to_the_key_that_opened_it(jobs: ServedJobs) -> None:
    address = f"{jobs.server.address}/mcp"
    opened = httpx.post(address, json=_initialize(), headers=_headers(jobs, READER), timeout=30)
    session = opened.headers["mcp-session-id"]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    statuses = {
        holder: httpx.post(
            address, json=listing, headers={**_headers(jobs, holder), "mcp-session-id": session}, timeout=30
        ).status_code
        for holder in (WRITER, STRANGER, READER)
    }
    assert statuses == {WRITER: 404, STRANGER: 404, READER: 200}


def _initialize() -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}


def _headers(jobs: ServedJobs, holder: str) -> dict[str, str]:
    accept = "application/json, text/event-stream"
    return {"authorization": f"Bearer {jobs.secrets[holder]}", "accept": accept}
