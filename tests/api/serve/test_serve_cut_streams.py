"""A stream that swallows its own cancellation when the server ends, as those of agents do."""

import asyncio
import threading

import httpx
import pytest
from elt_llm_api.serve.asgi import Receive, Scope, Send
from elt_llm_api.serve.listening.addresses import address_of, bind, listen
from elt_llm_api.serve.listening.server import GracefulServer, configured

pytestmark = pytest.mark.network


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return


def test_a_stream_that_the_end_of_the_server_cuts_off_is_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bound = bind("127.0.0.1", 0)
    listen(bound)
    server = GracefulServer(configured(endless))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    with httpx.stream("GET", address_of(bound, encrypted=False), timeout=30) as response:
        assert next(response.iter_raw()) == b"begun"
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
