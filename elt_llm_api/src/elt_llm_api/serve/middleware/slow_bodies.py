"""Clients that bring their body a byte at a time are told to come back when they have it."""

import asyncio

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send, refuse
from elt_llm_api.serve.middleware.replacing import Replaceable

SECONDS = 20.0
BYTES_PER_SECOND = 16_384


class SlowBodies:
    """Refuses (408) a body that takes longer than `seconds`, and one more for each `bytes_per_second` it brings.

    Only reading is timed: how long an answer takes is not the client's doing.
    """

    def __init__(self, app: App, seconds: float = SECONDS, bytes_per_second: int = BYTES_PER_SECOND) -> None:
        self._app, self._seconds, self._bytes_per_second = app, seconds, bytes_per_second

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and be as patient as what it brings is worth."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        patient_until, whole = loop.time() + self._seconds, False
        answer = Replaceable(send)

        async def timed() -> Message:
            nonlocal patient_until, whole
            if whole or answer.replaced:  # what comes now is that the client left
                return {"type": "http.disconnect"} if answer.replaced else await receive()
            try:
                async with asyncio.timeout_at(patient_until):
                    message = await receive()
            except TimeoutError:
                answer.replace()
                return {"type": "http.disconnect"}
            patient_until += len(message.get("body", b"")) / self._bytes_per_second
            whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        if await answer.of(self._app, scope, timed):
            message = "The body of the request came too slowly."
            await refuse(scope, send, 408, "too_slow", message, "Try again.", [("connection", "close")])
