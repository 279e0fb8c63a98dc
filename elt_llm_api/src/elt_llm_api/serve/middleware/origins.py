"""Host, origin and CORS checks, and the security headers of every response."""

import ipaddress
import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elt_llm_api.serve.asgi import Middleware, header, header_values, send_error

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:(?P<name>[A-Za-z0-9_.-]{1,255})|\[(?P<address>[0-9A-Fa-f:.]{2,45})\])(?::[0-9]{1,5})?")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class HostGuard:
    """Refuses requests for another host (421) and from pages of other origins (403).

    `names` are the allowed hosts besides loopback, without ports. Pages from `origins` may call the server. A request
    without an Origin header is refused only if a browser marks it as sent by another site. Following a link from
    another site is allowed.
    """

    def __init__(self, app: ASGIApp, names: Collection[str], origins: Collection[str]) -> None:
        self._app = app
        self._names = {*_LOOPBACK_NAMES, *(name.lower().strip("[]") for name in names)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request if its Host and Origin are allowed."""
        if scope["type"] in {"http", "websocket"}:
            host = header(scope, "host")
            if host is None or hostname(host) not in self._names:
                hint = "Use a host name from the setting serve.allowed_hosts."
                await send_error(scope, send, 421, "misdirected", "This server does not accept this host name.", hint)
                return
            if not self._may_call(scope, host):
                hint = "Add the origin to the setting serve.cors_origins."
                await send_error(scope, send, 403, "cross_origin", "Pages of this origin may not use the server.", hint)
                return
        await self._app(scope, receive, send)

    def _may_call(self, scope: Scope, host: str) -> bool:
        if header_values(scope, "origin"):
            origin = (header(scope, "origin") or "").lower()
            # A page of ours has our host and port as its origin. The same host with another port is a foreign origin.
            scheme = "https" if scope.get("scheme") in {"https", "wss"} else "http"
            return origin in self._origins or origin == f"{scheme}://{host.lower()}"
        follows_link = scope.get("method") in _SAFE_METHODS and header(scope, "sec-fetch-mode") == "navigate"
        return follows_link or header(scope, "sec-fetch-site") not in {"cross-site", "same-site"}


def hostname(host: str) -> str:
    """Return the name in a Host header in lower case, without the port; an empty string for a malformed header."""
    match = _HOST.fullmatch(host)
    return (match["name"] or match["address"]).lower() if match else ""


def is_loopback(host: str) -> bool:
    """Return whether an IP address or `localhost` can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class CorsPolicy(CORSMiddleware):
    """Lets pages of the listed origins read responses (https://fetch.spec.whatwg.org/#http-cors-protocol).

    HostGuard runs first and refuses origins that are not listed. No response has `Access-Control-Allow-Origin: *` or
    allows credentials. A page of a listed origin therefore sends its own API key, and never the cookie of its visitor.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        super().__init__(
            app,
            allow_origins=[origin.lower().rstrip("/") for origin in origins if origin != "*"],
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("authorization", "content-type", "accept", "x-request-id", "last-event-id"),
            expose_headers=(
                *("x-request-id", "retry-after", "content-disposition"),
                *("x-elt-llm-ignored", "x-elt-llm-style"),
            ),
        )

    async def send(self, message: Message, send: Send, request_headers: Headers) -> None:
        """Send a message with our CORS headers, without the CORS headers of a mounted app."""
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            message["headers"] = [it for it in headers if not it[0].lower().startswith(b"access-control-")]
        await super().send(message, send, request_headers)


POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; font-src 'self' data:;"
    " connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_STANDARD_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # with "no-referrer", browsers would send our own forms with `Origin: null`
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    b"content-security-policy": POLICY.encode("ascii"),
}


class SecurityHeaders(Middleware):
    """Adds the security headers that a response lacks, and removes the Server header."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, and add the headers to its response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower(), value) for name, value in message.get("headers", ())]
                missing = [(name, value) for name, value in _STANDARD_HEADERS.items() if name not in dict(own)]
                message["headers"] = [*(it for it in own if it[0] != b"server"), *missing]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)
