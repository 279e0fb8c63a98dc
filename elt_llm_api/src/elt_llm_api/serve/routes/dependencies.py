"""Helpers of all routes: services and caller, cancellation when a client disconnects, Server-Sent Events."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.utilities import nearest_name
from fastapi import Depends, Request
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.exceptions import HTTPException

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PRINCIPAL, REQUEST_ID
from elt_llm_api.serve.errors import error_content
from elt_llm_api.serve.services import Services


@dataclass(frozen=True)
class RouteCall:
    """A request with the services of the app and its caller, whom the middleware has authenticated."""

    request: Request
    services: Services
    principal: Principal

    @property
    def request_id(self) -> str:
        """The id in the header X-Request-ID of the response."""
        return str(self.request.scope.get(REQUEST_ID, ""))


async def _call_of_request(request: Request) -> RouteCall:
    return RouteCall(request, request.app.state.services, request.scope[PRINCIPAL])


Call = Annotated[RouteCall, Depends(_call_of_request)]


async def refuse_unknown_parameters(request: Request) -> None:
    """Raise UsageError if the request has a query parameter that its route does not have and would ignore."""
    operations = request.app.openapi()["paths"].get(request.scope["route"].path_format)
    if not operations or not request.query_params:
        return
    parameters = operations[request.method.lower()].get("parameters", ())
    known = [one["name"] for one in parameters if one["in"] == "query"]
    none = "The route has none; the fields of a POST belong in its body."
    accepted = f"The route has: {', '.join(known)}." if known else none
    for name in request.query_params:
        if name not in known:
            near = nearest_name(name, known)
            hint = f"Did you mean {near}? {accepted}" if near else accepted
            raise UsageError(f"There is no query parameter '{name[:100]}'.", hint=hint)


T = TypeVar("T")
CLIENT_DISCONNECTED = 499
"""The HTTP status that proxies log after a disconnect. No client receives it."""


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which is cancelled as soon as the client closes the connection.

    The body of the request must have been read. Raises the errors of the work, and HTTPException after a disconnect.
    """
    working, disconnected = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(CLIENT_DISCONNECTED, "The client has disconnected")
        return working.result()
    finally:
        for task in (working, disconnected):
            task.cancel()
        await asyncio.gather(working, disconnected, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        """Skip the rest of the body."""


EVENT_STREAM = "text/event-stream"
HEARTBEAT = 10.0
"""Seconds without an event until a comment is sent, since proxies close connections that are idle for a minute."""
HEARTBEAT_COMMENT = format_sse_event(data_str=None, comment="still at work")
_EVENT_SCHEMA = {
    "type": "object",
    "required": ["data"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {EVENT_STREAM: {"schema": _EVENT_SCHEMA}}}}
"""The OpenAPI description of a response that may be a stream of events, each with a name and JSON data."""


def json_event(name: str | None, content: Any) -> bytes:
    """Return one Server-Sent Event with JSON data, and with a name unless it is None."""
    return format_sse_event(data_str=json.dumps(content, ensure_ascii=False), event=name)


async def event_frames(
    first: T, events: AsyncGenerator[T, None], frame_of: Callable[[T], bytes | None], request_id: str
) -> AsyncIterator[bytes]:
    """Yield a frame for the event `first` and for each later event, unless `frame_of` returns None for it.

    An error becomes an `error` event, because the HTTP status was already sent. Closing this generator closes `events`.
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
    """Return a streaming response that no proxy buffers."""
    return EventSourceResponse(frames, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
