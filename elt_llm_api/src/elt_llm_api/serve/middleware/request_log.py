"""Request ids, the client address behind a proxy, the access log, and the response during shutdown."""

import asyncio
import ipaddress
import logging
import re
import time
import uuid
from urllib.parse import quote

from starlette.types import Message, Receive, Scope, Send

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.asgi import PEER, PRINCIPAL, REQUEST_ID, Middleware, header, header_values, send_error

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_MAX_PATH = 120  # characters
logger = logging.getLogger(__name__)


class RequestLog(Middleware):
    """Gives each request an id, and logs the request when it has ended. A valid X-Request-ID is used as the id.

    The log contains method, path, status, milliseconds, caller and request id. It contains no query string, header or
    body.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with its id in the scope, and the response with the id in X-Request-ID."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        sent = header(scope, "x-request-id") or ""
        request_id = scope[REQUEST_ID] = sent if _PLAIN_ID.fullmatch(sent) else uuid.uuid4().hex
        started, status = time.monotonic(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode("ascii"))]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            if scope["type"] == "http" and logger.isEnabledFor(logging.INFO):
                logger.info("%s", _log_line(scope, status, time.monotonic() - started))


def _log_line(scope: Scope, status: int, seconds: float) -> str:
    principal = scope.get(PRINCIPAL)
    caller = quote(principal.name, safe="@") if isinstance(principal, Principal) else "-"
    path = quote(scope["path"], safe="/:@-._~")[:_MAX_PATH]  # percent-encoded, so that no path can start a new line
    return f"{scope['method']} {path} {status or '-'} {seconds * 1000:.0f} ms {caller} {scope.get(REQUEST_ID, '-')}"


class ProxyHeaders(Middleware):
    """Takes the client's address and the scheme from X-Forwarded-For and X-Forwarded-Proto.

    Only the last value of each header is used, which the nearest proxy added. Earlier values come from more distant
    hosts and may be forged. Use the class only if every request passes a proxy that sets both headers.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with the client's address and the scheme that the proxy reports."""
        if scope["type"] in {"http", "websocket"}:
            scope[PEER] = (scope.get("client") or ("", 0))[0]
            address = _parse_address(_last_value(scope, "x-forwarded-for"))
            if address:
                scope["client"] = (address, 0)
            scheme = _last_value(scope, "x-forwarded-proto").lower()
            if scheme in {"http", "https"}:
                secure = scheme == "https"
                scope["scheme"] = ("wss" if secure else "ws") if scope["type"] == "websocket" else scheme
        await self._app(scope, receive, send)


def _last_value(scope: Scope, name: str) -> str:
    return ",".join(header_values(scope, name)).rpartition(",")[2].strip()


def _parse_address(text: str) -> str | None:
    """Return the IP address in `192.0.2.7`, `192.0.2.7:4711` or `[2001:db8::1]:4711`, or None for other text."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


_RETRY_AFTER = "10"  # seconds that a restart takes


class ShutdownResponse(Middleware):
    """Responds with 503 to a request that is cancelled before its response has started.

    Only a server that is stopping cancels requests. A response that has started is cut off, so that no client
    believes that it is complete.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, and respond with 503 if it is cancelled."""
        started = False

        async def observe(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            headers = [("retry-after", _RETRY_AFTER), ("connection", "close")]
            await send_error(scope, send, 503, "stopping", "The server is stopping.", "Try again soon.", headers)
