"""Which names the server answers to, and which pages may call it: against DNS rebinding and cross-site requests."""

import ipaddress
import re
from collections.abc import Collection

from elt_llm_api.serve.asgi import App, Receive, Scope, Send, has_header, header, refuse

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:(?P<name>[A-Za-z0-9_.-]{1,255})|\[(?P<address>[0-9A-Fa-f:.]{2,45})\])(?::[0-9]{1,5})?")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Hosts:
    """Refuses requests for another host than ours (421) and from pages of other origins (403).

    `names` are further hosts beside loopback, without a port; `origins` those whose pages may call. A request without
    an Origin comes from no page; one that a browser calls cross-site is refused, whatever it wants.
    """

    def __init__(self, app: App, names: Collection[str], origins: Collection[str]) -> None:
        self._app = app
        self._names = {*_LOOPBACK_NAMES, *(name.lower().strip("[]") for name in names)}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is for us and from us."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        host = header(scope, "host")
        if host is None or hostname(host) not in self._names:
            hint = "Ask by a name in serve.allowed_hosts."
            await refuse(scope, send, 421, "misdirected", "This server does not answer to that host.", hint)
            return
        if not self._may_call(scope, host):
            hint = "Name the origin in serve.cors_origins."
            await refuse(scope, send, 403, "cross_origin", "Pages of another origin may not call.", hint)
            return
        await self._app(scope, receive, send)

    def _may_call(self, scope: Scope, host: str) -> bool:
        if has_header(scope, "origin"):
            origin = (header(scope, "origin") or "").lower()
            return origin in self._origins or self._is_own(origin, host, scope)
        site = header(scope, "sec-fetch-site")
        return site not in {"cross-site", "same-site"} or self._is_visit(scope)

    def _is_own(self, origin: str, host: str, scope: Scope) -> bool:
        """A page of ours, at the very address it was asked by: localhost on another port is somebody else."""
        secure = scope.get("scheme") in {"https", "wss"}
        return origin == f"{'https' if secure else 'http'}://{host.lower()}"

    def _is_visit(self, scope: Scope) -> bool:
        """A link that somebody followed: a page is shown, and nothing is done."""
        return scope.get("method") in _READING and header(scope, "sec-fetch-mode") == "navigate"


def hostname(host: str) -> str:
    """The name in a Host header, without its port, in small letters; empty for what is no such header."""
    found = _HOST.fullmatch(host)
    return (found["name"] or found["address"]).lower() if found else ""


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone: one in numbers, or `localhost`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
