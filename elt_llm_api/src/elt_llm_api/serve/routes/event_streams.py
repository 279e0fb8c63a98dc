"""Server-Sent Events as every route sends them (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import MappingProxyType
from typing import Any, TypeVar

from elt_llm_core.errors import EltError
from fastapi.responses import StreamingResponse

from elt_llm_api.serve.errors import error_of

T = TypeVar("T")
EVENT_STREAM = "text/event-stream"
_HEADERS = MappingProxyType({"cache-control": "no-store", "x-accel-buffering": "no"})
HEARTBEAT = 10.0
"""Seconds without an event after which a comment is sent: proxies close what is silent for a minute or less."""
STILL_AT_WORK = b": still at work\n\n"
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            EVENT_STREAM: {
                "schema": {
                    "type": "object",
                    "required": ["data"],
                    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
                }
            }
        }
    }
}
"""How a route describes that its answer may come as events, each with a name and JSON."""


def frame(name: str, data: str, identity: str = "") -> bytes:
    """One event; `data` is on one line, and `identity` what a client that comes again says it has seen."""
    begins = f"id: {identity}\n" if identity else ""
    return f"{begins}event: {name}\ndata: {data}\n\n".encode()


async def frames(
    first: T, events: AsyncGenerator[T, None], sent: Callable[[T], bytes | None], request_id: str
) -> AsyncIterator[bytes]:
    """What `sent` makes of each event, if anything; the first one was waited for already. Closing closes the events.

    A failure is told in the one shape, in place of a status, which was sent already.
    """
    try:
        if (told := sent(first)) is not None:
            yield told
        async for event in events:
            if (told := sent(event)) is not None:
                yield told
    except EltError as error:
        yield frame("error", json.dumps(error_of(error, request_id), ensure_ascii=False))
    finally:
        await events.aclose()


def event_stream(told: AsyncIterator[bytes]) -> StreamingResponse:
    """Frames as an answer that nothing on the way keeps back."""
    return StreamingResponse(told, media_type=EVENT_STREAM, headers=_HEADERS)
