"""A name for every request, told in its answer and in the log."""

import re
import uuid

from elt_llm_api.serve.asgi import REQUEST_ID, App, Message, Receive, Scope, Send, header

_GIVEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


class RequestIds:
    """Takes the caller's X-Request-ID if it is a plain one, and makes one otherwise."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its name, and the answer with the same."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        given = header(scope, "x-request-id") or ""
        name = scope[REQUEST_ID] = given if _GIVEN.fullmatch(given) else uuid.uuid4().hex

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", name.encode("ascii"))]
            await send(message)

        await self._app(scope, receive, named)
