"""An overloaded server rejects questions at once, and clients that disconnect release their threads."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from model_servers.faults import Fault
from served.answering_server import CHAT, QUESTION, AnsweringServer, answering, becomes_true, threads_named

pytestmark = [pytest.mark.network, pytest.mark.halved]
LEAVING = 64
STREAM = {"accept": "text/event-stream"}


def asked(number: int) -> dict[str, Any]:
    """Return a question that no cache contains."""
    return {"question": QUESTION + " " * number, "collections": ["samples"]}


def is_full(one: AnsweringServer) -> bool:
    """Return whether the server reports that it is full."""
    return "as many questions as it can take" in one.server.client.get("/ready").text


@pytest.fixture(scope="module")
def narrow_server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    """Start a server that answers one question at a time, while one other question may wait."""
    folder = tmp_path_factory.mktemp("overload") / "project"
    with answering(sample_folder, folder, workers="1", queue="1") as one:
        one.server.client.post("/v1/ask", json=asked(0))  # the first question opens the engine
        yield one


@pytest.fixture
def narrow(narrow_server: AnsweringServer) -> Iterator[AnsweringServer]:
    yield narrow_server
    narrow_server.model.faults.clear()
    assert becomes_true(lambda: not is_full(narrow_server) and threads_named("model") == 0)


@contextmanager
def filled(narrow: AnsweringServer, *numbers: int) -> Iterator[None]:
    """Keep the server full for the length of the block: it answers one of these questions, and another one waits."""
    client = httpx.AsyncClient(base_url=narrow.server.address, timeout=60)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        asking = [portal.start_task_soon(_asked, client, number) for number in numbers]
        try:
            assert becomes_true(lambda: is_full(narrow))
            yield
        finally:
            for one in asking:
                one.cancel()


def test_an_overloaded_server_rejects_questions_at_once_with_retry_after(narrow: AnsweringServer) -> None:
    narrow.model.faults.always(CHAT, Fault.ENDLESS)
    with filled(narrow, 1, 2):
        for path, content in (
            ("/v1/ask", asked(3)),
            ("/v1/search", asked(3)),
            ("/v1/chat/completions", {"model": "samples", "messages": [{"role": "user", "content": QUESTION}]}),
            ("/v1/embeddings", {"model": "embedding", "input": "A gate."}),
        ):
            started = time.monotonic()
            refused = narrow.server.client.post(path, json=content)
            assert time.monotonic() - started < 1
            assert refused.status_code == 503, path
            assert int(refused.headers["retry-after"]) >= 1
            assert "server_overloaded" in refused.json()["error"].values()
        assert narrow.server.client.get("/health").status_code == 200


def test_an_overloaded_server_rejects_streams_with_an_http_error_status(narrow: AnsweringServer) -> None:
    narrow.model.faults.always(CHAT, Fault.ENDLESS)
    # Only the status is read: a stream that is not rejected would never end.
    with filled(narrow, 4, 5), narrow.server.client.stream("POST", "/v1/ask", json=asked(6), headers=STREAM) as refused:
        assert refused.status_code == 503
        assert "retry-after" in refused.headers


def test_a_question_that_its_caller_abandons_in_the_queue_is_never_started(narrow: AnsweringServer) -> None:
    narrow.model.faults.always(CHAT, Fault.ENDLESS)
    before = narrow.asked_of_model()
    with ThreadPoolExecutor(2) as waiting:
        first = waiting.submit(narrow.server.client.post, "/v1/ask", json=asked(7), timeout=3)
        assert becomes_true(lambda: narrow.asked_of_model() == before + 1)
        second = waiting.submit(narrow.server.client.post, "/v1/ask", json=asked(8), timeout=0.5)
        assert isinstance(second.exception(), httpx.ReadTimeout)
        assert becomes_true(lambda: not is_full(narrow), 2.0)
        assert isinstance(first.exception(), httpx.ReadTimeout)
    assert becomes_true(lambda: threads_named("model") == 0)
    assert narrow.asked_of_model() == before + 1


@pytest.fixture(scope="module")
def wide(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringServer]:
    """Start a server that answers eight questions at a time, while any number may wait."""
    folder = tmp_path_factory.mktemp("leaving") / "project"
    with answering(sample_folder, folder, workers="8", queue=str(LEAVING), requests_per_minute="100000") as one:
        yield one


@pytest.mark.parametrize("accept", [STREAM, {"accept": "application/json"}], ids=["streams", "whole answers"])
def test_sixty_four_disconnecting_clients_release_all_threads_and_model_calls(
    wide: AnsweringServer, accept: dict[str, str]
) -> None:
    wide.model.faults.always(CHAT, Fault.ENDLESS)
    start_time = wide.asked_of_model()
    asyncio.run(_all_leave(wide, accept, start_time))
    assert becomes_true(lambda: threads_named("model") == 0, 4.0)
    wide.model.faults.clear()
    answer = wide.server.client.post("/v1/ask", json=asked(LEAVING + len(accept["accept"])), timeout=10).json()
    assert answer["answered"]
    assert becomes_true(lambda: threads_named("model") == 0)


async def _all_leave(wide: AnsweringServer, accept: dict[str, str], start_time: int) -> None:
    """Ask with all clients, and disconnect all of them once the model is writing eight more answers."""
    limits = httpx.Limits(max_connections=LEAVING)
    async with httpx.AsyncClient(base_url=wide.server.address, headers=accept, limits=limits, timeout=30) as client:
        asking = [asyncio.create_task(_asked(client, number)) for number in range(LEAVING)]
        deadline = time.monotonic() + 20
        while wide.asked_of_model() < start_time + 8:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


async def _asked(client: httpx.AsyncClient, number: int) -> None:
    async with client.stream("POST", "/v1/ask", json=asked(number)) as response:
        async for _ in response.aiter_bytes():
            """Reads on."""
