"""One line in the log for each request: what was asked of which route, by whom, and how it ended; nothing of it."""

import logging
import time
from urllib.parse import quote

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PRINCIPAL, REQUEST_ID, App, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)
_LONGEST = 120  # characters of a path


class AccessLog:
    """Logs method, path, status, milliseconds, caller and request id; no query string, no header, no body."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it when it is done with."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), 0

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            if logger.isEnabledFor(logging.INFO):
                logger.info("%s", _line(scope, status, time.monotonic() - begun))


def _line(scope: Scope, status: int, seconds: float) -> str:
    principal = scope.get(PRINCIPAL)
    caller = principal.name if isinstance(principal, Principal) else "-"
    path = quote(scope["path"], safe="/:@-._~")[:_LONGEST]  # no line of ours is broken by what was asked for
    return f"{scope['method']} {path} {status or '-'} {seconds * 1000:.0f} ms {caller} {scope.get(REQUEST_ID, '-')}"
