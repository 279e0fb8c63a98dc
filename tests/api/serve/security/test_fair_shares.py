"""One caller cannot take all sessions, waiting events, waiting jobs or page renderings."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from elt_llm_api.serve.access.principal import LOCAL, Principal
from elt_llm_api.serve.actions.evaluation import EvaluationRequest
from elt_llm_api.serve.actions.jobs import MOST_WAITING_PER_CALLER as MOST_JOBS
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.mcp.mount import MOST_SESSIONS_PER_KEY as MOST_SESSIONS
from elt_llm_api.serve.services import Services, open_services
from elt_llm_api.serve.ui.ask import ConversationState, ShownTurn
from elt_llm_api.serve.ui.building import build_interface, empty_upload_folder
from elt_llm_api.serve.ui.mounting import MOST_EVENTS_PER_CALLER as MOST_EVENTS
from elt_llm_api.serve.ui.mounting import MOST_UPLOADS_PER_CALLER, SessionIsolation
from elt_llm_api.serve.ui.sources import SourceCard
from elt_llm_api.serve.workers import ServerOverloaded
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyTable
from markupsafe import Markup
from served.answering_server import EXTRACTIVE, copied_project
from served.server import RunningServer, served
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

READER = Principal("reader", ("*",), ())
_OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "many", "version": "1"}},
}
_PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("shares") / "project")
    with served(folder, token="t" * 40, environment=EXTRACTIVE, requests_per_minute="100000") as one:
        yield one


def headers(secret: str, session: str | None = None) -> dict[str, str]:
    shown = {"authorization": f"Bearer {secret}", "accept": "application/json, text/event-stream"}
    return {**shown, **({"mcp-session-id": session} if session else {})}


@pytest.mark.network
def test_an_agent_with_too_many_sessions_loses_only_its_own_oldest_session(server: RunningServer) -> None:
    state = open_state(server.data_dir)
    try:
        many, one = (KeyTable(state).create(name, ["samples"], []) for name in ("many", "one"))
    finally:
        state.close()
    client = server.client

    def opened(secret: str) -> str:
        answer = client.post("/mcp", json=_OPENING, headers=headers(secret))
        assert answer.status_code == 200, answer.text
        return answer.headers["mcp-session-id"]

    def lives(secret: str, session: str) -> bool:
        return client.post("/mcp", json=_PING, headers=headers(secret, session)).status_code == 200

    others = opened(one)
    used, unused = opened(many), opened(many)
    for _ in range(MOST_SESSIONS - 2):
        opened(many)
    assert lives(many, used)
    last = opened(many)
    assert lives(many, used)
    assert lives(many, last)
    assert not lives(many, unused)
    assert lives(one, others)


@pytest.mark.parametrize(("waiting", "status"), [(MOST_EVENTS - 1, 200), (MOST_EVENTS, 503)])
def test_the_number_of_waiting_page_events_per_caller_is_limited(tmp_path: Path, waiting: int, status: int) -> None:
    sessions = [f"reader~{number}" for number in range(waiting)]

    def joined(caller: Principal) -> int:
        inner = SessionIsolation(PlainTextResponse("joined"), tmp_path, 1, lambda: sessions, [7])

        async def known(scope: Scope, receive: Receive, send: Send) -> None:
            await inner({**scope, PRINCIPAL: caller}, receive, send)

        async def ask() -> int:
            transport = httpx.ASGITransport(cast("Any", known))
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                reported = {"data": [], "fn_index": 7, "session_hash": "next"}
                return (await client.post("/gradio_api/queue/join", json=reported)).status_code

        return asyncio.run(ask())

    assert joined(READER) == status
    assert joined(Principal("reader2", ("*",), ())) == 200
    assert joined(LOCAL) == 200


def test_the_number_of_simultaneous_uploads_per_caller_is_limited(tmp_path: Path) -> None:
    async def main() -> tuple[list[int], int, int]:
        over = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await over.wait()
            await PlainTextResponse("brought")(scope, receive, send)

        inner = SessionIsolation(slow, tmp_path, 1 << 20, list, [])

        async def known(scope: Scope, receive: Receive, send: Send) -> None:
            name = dict(scope["headers"])[b"name"].decode()
            await inner({**scope, PRINCIPAL: Principal(name, (), ("*",))}, receive, send)

        transport = httpx.ASGITransport(cast("Any", known))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:

            async def brought(name: str) -> int:
                return (await client.post("/gradio_api/upload", headers={"name": name})).status_code

            many = [asyncio.ensure_future(brought("one")) for _ in range(MOST_UPLOADS_PER_CALLER)]
            await asyncio.sleep(0.2)
            refused, other = await brought("one"), asyncio.ensure_future(brought("two"))
            over.set()
            return await asyncio.gather(*many), refused, await other

    assert asyncio.run(main()) == ([200] * MOST_UPLOADS_PER_CALLER, 503, 200)


@pytest.fixture
def services(sample_folder: Path, tmp_path: Path) -> Iterator[Services]:
    with open_services(load_settings(None, EXTRACTIVE, copied_project(sample_folder, tmp_path / "project"))) as one:
        yield one


def test_requests_to_open_source_cards_run_in_the_bounded_worker_pool(services: Services) -> None:
    card = SourceCard("1.1", "[1]", "A title", (), Markup(""), "samples", "0" * 32, (0, 1))
    state = ConversationState(turns=(ShownTurn("?", cards=(card,)),))
    request = SimpleNamespace(request=SimpleNamespace(scope={PRINCIPAL: LOCAL}))

    empty_upload_folder(services.loaded.data_dir)
    blocks = build_interface(services).get_blocks()
    opener = next(one.fn for one in blocks.fns.values() if one.name == "run_command")

    async def while_all_are_busy() -> str:
        over, workers = Event(), services.workers
        busy = [asyncio.ensure_future(workers.run(lambda _: over.wait(30))) for _ in range(workers.free)]
        await asyncio.sleep(0)
        try:
            [reported] = [it async for it in cast("Any", opener)("source 1.1 1", [], "default", state, request)]
        finally:
            over.set()
            await asyncio.gather(*busy)
        return str(reported)

    assert "as many questions as it can take" in asyncio.run(while_all_are_busy())


def test_the_number_of_queued_jobs_per_caller_is_limited(services: Services) -> None:
    asked = EvaluationRequest(collection="samples")
    for _ in range(MOST_JOBS):
        JobActions(services).submit_evaluation(READER, asked)
    with pytest.raises(ServerOverloaded, match="jobs of this caller"):
        JobActions(services).submit_evaluation(READER, asked)
    for other in (Principal("other", ("*",), ()), LOCAL):
        assert JobActions(services).submit_evaluation(other, asked).status == "queued"
