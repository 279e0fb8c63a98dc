"""What a request is told that the end of the server breaks off."""

import asyncio

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send, refuse

_RETRY_AFTER = "10"  # seconds: what a restart takes


class Stopping:
    """Answers 503 where a request is cancelled before its answer began: only a server that ends cancels requests.

    An answer that began is cut off, so that nobody takes it for the whole.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            if begun or scope["type"] != "http":
                raise
            headers = [("retry-after", _RETRY_AFTER), ("connection", "close")]
            await refuse(scope, send, 503, "stopping", "The server is being stopped.", "Try again soon.", headers)
