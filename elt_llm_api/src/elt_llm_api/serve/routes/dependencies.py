"""The FastAPI dependency of all routes: services and caller; and cancellation when a client disconnects."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PRINCIPAL, REQUEST_ID
from elt_llm_api.serve.services import Services


@dataclass(frozen=True)
class RouteCall:
    """A request with the services of the app, and its caller, whom the middleware has authenticated."""

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


T = TypeVar("T")
CLIENT_DISCONNECTED = 499
"""The status that proxies log when the client is gone; it is sent to nobody."""


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which is cancelled as soon as the client closes the connection.

    The body of the request must have been read. Raises what the work raises, and HTTPException after a disconnect.
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
