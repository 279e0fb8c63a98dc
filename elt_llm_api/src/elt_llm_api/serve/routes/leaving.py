"""Whoever leaves before it was answered: the work for it is stopped."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

T = TypeVar("T")
CLIENT_LEFT = 499
"""The status of an answer that nobody reads, as proxies log it; it is sent to nobody."""


async def while_waited_for(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, which is cancelled as soon as the client closes the connection.

    To be called when the body of the request was read. Raises what the work raises, and HTTPException if nobody waits.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(CLIENT_LEFT, "The client has left")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        """More of a body that nobody asked for."""
