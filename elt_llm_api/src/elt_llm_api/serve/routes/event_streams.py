"""Responses of Server-Sent Events."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, TypeVar

from elt_llm_core.errors import EltError
from fastapi.sse import EventSourceResponse, format_sse_event

from elt_llm_api.serve.errors import error_content

T = TypeVar("T")
EVENT_STREAM = "text/event-stream"
HEARTBEAT = 10.0
"""Seconds without an event after which a comment is sent: proxies close connections that are silent for a minute."""
HEARTBEAT_COMMENT = format_sse_event(data_str=None, comment="still at work")
_EVENT_SCHEMA = {
    "type": "object",
    "required": ["data"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {EVENT_STREAM: {"schema": _EVENT_SCHEMA}}}}
"""The OpenAPI description of a response that may be a stream of events, each with a name and JSON."""


def json_event(name: str, content: Any) -> bytes:
    """Return one event with a name and JSON."""
    return format_sse_event(data_str=json.dumps(content, ensure_ascii=False), event=name)


async def event_frames(
    first: T, events: AsyncGenerator[T, None], frame_of: Callable[[T], bytes | None], request_id: str
) -> AsyncIterator[bytes]:
    """Yield a frame for `first` and each further event, except where `frame_of` returns None.

    An error becomes an `error` event: the status was sent already. Closing this generator closes `events`.
    """
    try:
        if (frame := frame_of(first)) is not None:
            yield frame
        async for event in events:
            if (frame := frame_of(event)) is not None:
                yield frame
    except EltError as error:
        yield json_event("error", error_content(error, request_id))
    finally:
        await events.aclose()


def event_stream(frames: AsyncIterator[bytes]) -> EventSourceResponse:
    """Return frames as a response that no proxy buffers."""
    return EventSourceResponse(frames, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
