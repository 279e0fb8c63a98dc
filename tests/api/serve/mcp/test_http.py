"""Security case S-MCP: tools over HTTP refuse other hosts and origins, and calls of tools can be stopped."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client import Client
from model_servers.faults import Fault
from served.answering_server import CHAT, QUESTION, AnsweringServer, answering, becomes_true, threads_named
from served.mcp_clients import Era, HttpAgent, answered
from served.server import RunningServer, served

pytestmark = pytest.mark.network

TOKEN = "t" * 40
ACCEPT = {"accept": "application/json, text/event-stream"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ERAS: tuple[Era, ...] = ("auto", "legacy")


@pytest.fixture(scope="module")
def server(sample_folder: Path) -> Iterator[RunningServer]:
    with served(sample_folder, token=TOKEN, tries="1000", max_body_mb="1") as running:
        yield running


@pytest.fixture(scope="module")
def written(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    """Start a server whose answers are written by a model."""
    with answering(sample_folder, tmp_path_factory.mktemp("mcp") / "project") as one:
        yield one


@pytest.mark.parametrize("era", ERAS)
def test_both_versions_of_the_mcp_protocol_are_supported(server: RunningServer, era: Era) -> None:
    result = HttpAgent(server.address, TOKEN, era).call("search", question=QUESTION, top_k=1)
    assert answered(result)["chunks"]


@pytest.mark.parametrize("key", [None, "wrong", TOKEN[:-1]])
def test_requests_without_a_key_are_refused(server: RunningServer, key: str | None) -> None:
    shown = {"authorization": f"Bearer {key}"} if key else {}
    for method in ("POST", "GET", "DELETE"):
        refused = httpx.request(method, f"{server.address}/mcp", headers={**ACCEPT, **shown}, json=LISTING)
        assert refused.status_code == 401
        assert refused.json()["error"]["type"] == "unauthenticated"


@pytest.mark.parametrize("host", ["evil.com", "localhost.evil.com", "127.0.0.1:1@evil.com", ""])
def test_requests_with_the_host_name_of_another_server_are_refused(server: RunningServer, host: str) -> None:
    refused = server.client.post("/mcp", headers={**ACCEPT, "host": host}, json=LISTING)
    assert refused.status_code in {421, 400}


@pytest.mark.parametrize("origin", ["null", "https://evil.com", "http://localhost:1"])
def test_requests_from_web_pages_of_other_origins_are_refused(server: RunningServer, origin: str) -> None:
    refused = server.client.post("/mcp", headers={**ACCEPT, "origin": origin}, json=LISTING)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


def test_requests_from_web_pages_of_allowed_origins_are_accepted(server: RunningServer) -> None:
    agent = HttpAgent(server.address, TOKEN, headers={"origin": server.address})
    assert answered(agent.call("list_collections"))["collections"]


def test_a_request_body_that_is_too_large_is_refused(server: RunningServer) -> None:
    large = {**LISTING, "params": {"padding": "x" * (1 << 20)}}
    assert server.client.post("/mcp", headers=ACCEPT, json=large).status_code == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff" * 9, b"[" * 5000])
def test_an_invalid_protocol_message_is_refused_without_internal_details(server: RunningServer, body: bytes) -> None:
    for version in ({}, {"mcp-protocol-version": "2026-07-28"}):
        headers = {**ACCEPT, **version, "content-type": "application/json"}
        refused = server.client.post("/mcp", headers=headers, content=body)
        assert 400 <= refused.status_code < 500, refused.text
        assert "Traceback" not in refused.text


def test_responses_with_tool_results_have_the_security_headers(server: RunningServer) -> None:
    refused = server.client.post("/mcp", headers=ACCEPT, json=LISTING)
    assert refused.headers["x-content-type-options"] == "nosniff"
    assert refused.headers["x-request-id"]


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_that_answers_a_question_reports_its_progress(written: AnsweringServer, era: Era) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def ask(client: Client) -> dict[str, Any]:
        asked = {"question": f"{QUESTION}{' ' * len(era)}"}
        return answered(await client.call_tool("ask", asked, progress_callback=hear))

    result = HttpAgent(written.server.address, era=era).with_client(ask)
    assert result["answer"].startswith("The Association was founded")
    assert result["checked"][0]["verdict"] == "supported"
    steps = [step for step, _ in told]
    assert steps == sorted(set(steps))
    assert "chunks found" in (told[0][1] or "")


@pytest.mark.parametrize("era", ERAS)
def test_cancelling_an_answer_stops_the_language_model(written: AnsweringServer, era: Era) -> None:
    assert becomes_true(lambda: threads_named("model") == 0)
    written.model.faults.plan(CHAT, Fault.ENDLESS)

    async def leave(client: Client) -> float:
        asked = written.asked_of_model()
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    question = {"question": f"{QUESTION}{' ' * (7 + len(era))}"}
                    await client.call_tool("ask", question)

                group.start_soon(ask)
                assert await anyio.to_thread.run_sync(becomes_true, lambda: written.asked_of_model() > asked)
                scope.cancel()
        return time.monotonic()

    left = HttpAgent(written.server.address, era=era).with_client(leave)
    try:
        assert becomes_true(lambda: threads_named("model") == 0, 5)
        assert time.monotonic() - left < 10
    finally:
        written.model.faults.clear()


def test_tool_calls_that_wait_for_a_model_do_not_block_other_tool_calls(written: AnsweringServer) -> None:
    written.model.faults.plan(CHAT, Fault.ENDLESS)

    async def ask_beside(client: Client) -> float:
        asked = written.asked_of_model()
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await client.call_tool("ask", {"question": f"{QUESTION}{' ' * 20}"})

            group.start_soon(ask)
            assert await anyio.to_thread.run_sync(becomes_true, lambda: written.asked_of_model() > asked)
            begun = time.monotonic()
            assert (await anyio.to_thread.run_sync(written.server.client.get, "/health")).status_code == 200
            answered(await client.call_tool("list_collections", {}))
            took = time.monotonic() - begun
            group.cancel_scope.cancel()
        return took

    try:
        assert HttpAgent(written.server.address).with_client(ask_beside) < 5
    finally:
        written.model.faults.clear()
