"""Reject malformed requests and file addresses that point elsewhere."""

import re
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from elt_llm_api.serve.asgi import header, header_values, send_error

Refusal = tuple[int, str, str, str]
"""Status, kind, message and hint."""
_MAX_RANGES = 5
_MAX_HEADER_BYTES = 32 << 10  # of all headers together
_FORM_TYPES = frozenset({"text/plain", "application/x-www-form-urlencoded"})
"""Types that pages of other sites may send without a preflight request; no API route accepts them."""
_API_PREFIXES = ("/v1/", "/mcp")


class RequestChecks:
    """Refuses malformed requests, form types where JSON belongs, and files named by an address or with `..`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request if it passes every check."""
        refusal = None
        if scope["type"] == "http":
            refusal = next(filter(None, (check(scope) for check in _CHECKS)), None)
        if refusal:
            await send_error(scope, send, *refusal)
        else:
            await self._app(scope, receive, send)


def _check_target(scope: Scope) -> Refusal | None:
    """Refuse `GET http://elsewhere/ HTTP/1.1`, which is a request to a proxy."""
    if scope["path"].startswith("/") or (scope["path"] == "*" and scope["method"] == "OPTIONS"):
        return None
    return 400, "odd_target", "The target of the request is not a path.", "Start it with /."


def _check_header_size(scope: Scope) -> Refusal | None:
    if sum(len(key) + len(value) for key, value in scope.get("headers", ())) <= _MAX_HEADER_BYTES:
        return None
    message = f"The headers have more than {_MAX_HEADER_BYTES} bytes."
    return 431, "too_many_headers", message, "Send fewer, or shorter ones."


def _check_content_length(scope: Scope) -> Refusal | None:
    """Refuse two lengths, by which a request is hidden in another one behind a proxy (RFC 9112, 6.1)."""
    if not (header_values(scope, "transfer-encoding") and header_values(scope, "content-length")):
        return None
    return 400, "two_lengths", "The request gives the length of its body in two ways.", "Give one of them."


def _check_ranges(scope: Scope) -> Refusal | None:
    ranges = header_values(scope, "range")
    if len(ranges) <= 1 and all(value.count(",") < _MAX_RANGES for value in ranges):
        return None
    return 416, "too_many_ranges", f"At most {_MAX_RANGES} ranges are served at once.", "Request one range."


def _check_content_type(scope: Scope) -> Refusal | None:
    """Refuse types that a page of another site can send with a cookie; JSON needs a preflight request."""
    if scope["method"] in {"GET", "HEAD", "OPTIONS"} or not scope["path"].startswith(_API_PREFIXES):
        return None
    content_type = header(scope, "content-type")
    has_body = (header(scope, "content-length") or "0") != "0" or header_values(scope, "transfer-encoding")
    if content_type is None and not has_body:
        return None
    if content_type is not None and content_type.partition(";")[0].strip().lower() not in _FORM_TYPES:
        return None
    message = "The body is not JSON according to its Content-Type."
    return 415, "unsupported_media_type", message, "Send Content-Type: application/json."


_DECODING_ROUNDS = 4  # of percent encoding: more nesting than any server decodes
_ADDRESS = re.compile(rb"(?:file|path|url)=[^&]{0,4}(?:[a-z][a-z0-9+.-]{1,30}:|//|\\\\)", re.IGNORECASE)
_UPWARDS = re.compile(rb"(?:^|[/\\=])\.\.(?:[/\\]|$)|\x00")


def _check_file_address(scope: Scope) -> Refusal | None:
    path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    query: bytes = scope.get("query_string", b"")
    if points_elsewhere(path.partition(b"?")[0] + (b"?" + query if query else b"")):
        return 403, "forbidden_file", "Files elsewhere are not fetched.", ""
    return None


def points_elsewhere(target: bytes) -> bool:
    """Whether path and query of a request name a file by an address, or lead out of their folder."""
    for _ in range(_DECODING_ROUNDS):
        if _ADDRESS.search(target) or _UPWARDS.search(target.partition(b"?")[0]):
            return True
        decoded = unquote_to_bytes(target)
        if decoded == target:
            return False
        target = decoded
    return True


_CHECKS = (
    *(_check_target, _check_header_size, _check_content_length, _check_ranges, _check_content_type),
    _check_file_address,
)
