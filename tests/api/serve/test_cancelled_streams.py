"""Shutdown cancels a stream that ignores its cancellation, as the streams of the MCP library do."""

import asyncio
import threading

import httpx
import pytest
from elt_llm_api.exposure import bind, listen, url_of
from elt_llm_api.serve.listening import GracefulServer, uvicorn_config
from starlette.types import Receive, Scope, Send

pytestmark = pytest.mark.network


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"started", "more_body": True})
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return


def test_a_stream_cut_off_by_shutdown_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    bound = bind("127.0.0.1", 0)
    listen(bound)
    server = GracefulServer(uvicorn_config(endless))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    with httpx.stream("GET", url_of(bound, encrypted=False), timeout=30) as response:
        assert next(response.iter_raw()) == b"started"
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
