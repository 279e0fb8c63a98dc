"""Server-Sent Events as every route sends them (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import json
from types import MappingProxyType
from typing import Any

from elt_llm_core.errors import EltError

from elt_llm_api.serve.errors import error_of

EVENT_STREAM = "text/event-stream"
STREAM_HEADERS = MappingProxyType({"cache-control": "no-store", "x-accel-buffering": "no"})
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


def error_frame(error: EltError, request_id: str) -> bytes:
    """A failure in the one shape, in place of a status, which was sent already."""
    return frame("error", json.dumps(error_of(error, request_id), ensure_ascii=False))
