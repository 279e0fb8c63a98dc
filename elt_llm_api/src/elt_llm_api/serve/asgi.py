"""Helpers of ASGI middleware: request headers, and an error response that bypasses the app."""

import json
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Scope, Send

REQUEST_ID = "elt_llm_request_id"
PRINCIPAL = "elt_llm_principal"
PEER = "elt_llm_peer"
"""The key of an ASGI scope with the IP address that the connection comes from. Behind a proxy, it is the proxy's."""


def header_values(scope: Scope, name: str) -> list[str]:
    """Return all values of a request header, in order. `name` is in lower case."""
    wanted = name.encode("ascii")
    return [value.decode("latin-1") for key, value in scope.get("headers", ()) if key.lower() == wanted]


def header(scope: Scope, name: str) -> str | None:
    """Return the value of a request header, or None if the header is missing or ambiguous because it was sent twice."""
    values = header_values(scope, name)
    return values[0] if len(values) == 1 else None


class Middleware:
    """Base class of ASGI middleware that only needs the app that it wraps."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app


async def send_error(
    scope: Scope,
    send: Send,
    status: int,
    kind: str,
    message: str,
    hint: str = "",
    headers: Iterable[tuple[str, str]] = (),
) -> None:
    """Send an error response in the JSON shape of all errors. A request to open a web socket is rejected."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": kind})
        return
    body = json.dumps(error_body(kind, message, hint, scope.get(REQUEST_ID, "")), ensure_ascii=False).encode()
    content = [("content-type", "application/json"), ("content-length", str(len(body)))]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*content, *headers)]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def error_body(kind: str, message: str, hint: str, request_id: str) -> dict[str, Any]:
    """Return `{"error": {"type", "message", "hint", "request_id"}}`, the JSON shape of all errors."""
    return {"error": {"type": kind, "message": message, "hint": hint, "request_id": request_id}}
