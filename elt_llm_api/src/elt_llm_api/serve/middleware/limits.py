"""Limit size and duration of request bodies. Reject malformed requests and those that name a file by URL or `..`."""

import asyncio
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elt_llm_api.serve.asgi import Middleware, header, header_values, send_error

_UPLOADS = ("/v1/documents", "/gradio_api/upload")
_TOO_SLOW = (408, "too_slow", "The body of the request came too slowly.", "Try again.")
_SIZE_HINT = "Send less, or raise serve.max_body_mb or serve.max_upload_mb."
BASE_SECONDS = 20.0
BYTES_PER_SECOND = 16_384


class BodyLimits:
    """Rejects bodies of more than `max_bytes` (`max_upload_bytes` for uploads) with 413, and slow bodies with 408.

    A body may take `seconds`, plus one second for each `BYTES_PER_SECOND` received. A body that exceeds a limit looks
    to the app like a disconnected client, which every framework handles. The duration of the response is not limited.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, max_upload_bytes: int, seconds: float = BASE_SECONDS) -> None:
        self._app, self._max_bytes, self._max_upload_bytes, self._seconds = app, max_bytes, max_upload_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request while its body keeps to the limits. Send an error if the app has not yet responded."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._max_upload_bytes if scope["path"].startswith(_UPLOADS) else self._max_bytes
        length = header(scope, "content-length") or "0"
        body = _LimitedBody(receive, send, limit, self._seconds)
        if not length.isdecimal() or int(length[:20]) > limit:  # 20 digits exceed every limit
            body.rejected = 413
        else:
            try:
                await self._app(scope, body.receive, body.send)
            except ClientDisconnect:
                if not body.rejected:
                    raise
        if body.answered or not body.rejected:
            return
        error = _TOO_SLOW
        if body.rejected == 413:
            error = (413, "too_large", f"The body of this request may have at most {limit} bytes.", _SIZE_HINT)
        await send_error(scope, send, *error, headers=[("connection", "close")])


class _LimitedBody:
    """The receive and send functions of a request, which enforce the limits of its body.

    `rejected` is 0, or the status 413 or 408 once the body exceeds a limit. Then the app's response is dropped unless
    it has started.
    """

    def __init__(self, receive: Receive, send: Send, limit: int, seconds: float) -> None:
        self._receive, self._send, self._left = receive, send, limit
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._complete = self.answered = False
        self.rejected = 0

    async def receive(self) -> Message:
        if self.rejected:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()  # the next message is the client's disconnect
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self.rejected = 408
            return {"type": "http.disconnect"}
        size = len(message.get("body", b""))
        self._left -= size
        self._deadline += size / BYTES_PER_SECOND
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        if self._left < 0:
            self.rejected = 413
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if self.answered or not self.rejected:
            self.answered = True
            await self._send(message)


Refusal = tuple[int, str, str, str]
"""Status, error type, message and hint of an error response."""
_MAX_RANGES = 5
_MAX_HEADER_BYTES = 32 << 10  # for all headers together
_FORM_TYPES = frozenset({"text/plain", "application/x-www-form-urlencoded"})
"""Content types that pages of other sites may send without a preflight request; no API route accepts these types."""
_API_PREFIXES = ("/v1/", "/mcp")


class RequestChecks(Middleware):
    """Refuses malformed requests, forms where JSON is required, and requests that name a file by a URL or with `..`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request if it passes every check."""
        refusal = next(_refusals(scope), None) if scope["type"] == "http" else None
        if refusal:
            await send_error(scope, send, *refusal)
        else:
            await self._app(scope, receive, send)


def _refusals(scope: Scope) -> Iterator[Refusal]:
    """Yield each reason to refuse a request."""
    if not scope["path"].startswith("/") and (scope["path"], scope["method"]) != ("*", "OPTIONS"):
        # `GET http://elsewhere/ HTTP/1.1` is a request to a proxy.
        yield 400, "odd_target", "The request line names no path.", "Request a path that starts with /."
    if sum(len(key) + len(value) for key, value in scope.get("headers", ())) > _MAX_HEADER_BYTES:
        message = f"The headers have more than {_MAX_HEADER_BYTES} bytes."
        yield 431, "too_many_headers", message, "Send fewer or shorter headers."
    if header_values(scope, "transfer-encoding") and header_values(scope, "content-length"):
        # Behind a proxy, a body with two lengths could hide another request (RFC 9112, 6.1).
        yield 400, "two_lengths", "The request gives the length of its body in two ways.", "Send only Content-Length."
    ranges = header_values(scope, "range")
    if len(ranges) > 1 or any(value.count(",") >= _MAX_RANGES for value in ranges):
        yield 416, "too_many_ranges", f"At most {_MAX_RANGES} ranges are served at once.", "Request one range."
    if _avoids_preflight(scope):
        message = "The body is not JSON according to its Content-Type."
        hint = "Send Content-Type: application/json, or multipart/form-data to upload files."
        yield 415, "unsupported_media_type", message, hint
    if _points_elsewhere(scope):
        yield 403, "forbidden_file", "The request names a file by a URL or outside of its folder.", ""


def _avoids_preflight(scope: Scope) -> bool:
    """Return whether a page of another site may send this body without a preflight request. JSON requires one."""
    if scope["method"] in {"GET", "HEAD", "OPTIONS"} or not scope["path"].startswith(_API_PREFIXES):
        return False
    if (content_type := header(scope, "content-type")) is not None:
        return content_type.partition(";")[0].strip().lower() in _FORM_TYPES
    return (header(scope, "content-length") or "0") != "0" or bool(header_values(scope, "transfer-encoding"))


_DECODING_ROUNDS = 4  # rounds of percent decoding, more than any server applies
_ADDRESS = re.compile(rb"(?:file|path|url)=[^&]{0,4}(?:[a-z][a-z0-9+.-]{1,30}:|//|\\\\)", re.IGNORECASE)
_UPWARDS = re.compile(rb"(?:^|[/\\=])\.\.(?:[/\\]|$)|\x00")


def _points_elsewhere(scope: Scope) -> bool:
    """Return whether the path or query of a request names a file by a URL, or by a path with `..`."""
    path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query: bytes = scope.get("query_string", b"")
    target = path.partition(b"?")[0] + (b"?" + query if query else b"")
    for _ in range(_DECODING_ROUNDS):
        if _ADDRESS.search(target) or _UPWARDS.search(target.partition(b"?")[0]):
            return True
        decoded = unquote_to_bytes(target)
        if decoded == target:
            return False
        target = decoded
    return True
