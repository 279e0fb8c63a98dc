"""The little of ASGI that middleware needs: types, headers, and an answer that goes nowhere near the app."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

REQUEST_ID = "elt_llm_request_id"
PRINCIPAL = "elt_llm_principal"


def header(scope: Scope, name: str) -> str | None:
    """The only value of a header, or None. A header given twice has no value that could be trusted."""
    wanted = name.lower().encode("ascii")
    values = [value for key, value in scope.get("headers", ()) if key.lower() == wanted]
    return values[0].decode("latin-1") if len(values) == 1 else None


def has_header(scope: Scope, name: str) -> bool:
    """Whether a header was given at all, once or more."""
    wanted = name.lower().encode("ascii")
    return any(key.lower() == wanted for key, _ in scope.get("headers", ()))


async def refuse(
    scope: Scope,
    send: Send,
    status: int,
    kind: str,
    message: str,
    hint: str = "",
    headers: Iterable[tuple[str, str]] = (),
) -> None:
    """Answer with the one shape that errors have; a web socket is closed before it was opened."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": kind})
        return
    body = json.dumps(error_body(kind, message, hint, scope.get(REQUEST_ID, "")), ensure_ascii=False).encode()
    given = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    length = str(len(body)).encode("ascii")
    start = [(b"content-type", b"application/json"), (b"content-length", length), *given]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


def error_body(kind: str, message: str, hint: str, request_id: str) -> dict[str, Any]:
    """`{"error": {"type", "message", "hint", "request_id"}}`."""
    return {"error": {"type": kind, "message": message, "hint": hint, "request_id": request_id}}
