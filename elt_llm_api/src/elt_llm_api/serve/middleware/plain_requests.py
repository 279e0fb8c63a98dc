"""What no honest client sends is refused before anything looks at it."""

from collections.abc import Callable

from elt_llm_api.serve.asgi import App, Receive, Scope, Send, has_header, header, refuse

Refusal = tuple[int, str, str, str]
"""Status, kind, message and hint."""
_MOST_RANGES = 5
_LARGEST_HEAD = 32 << 10  # bytes of all headers together
_FORMS = frozenset({"text/plain", "application/x-www-form-urlencoded"})
"""What pages of others may send without asking ahead, and no route of the interface takes."""
_FOR_PROGRAMS = ("/v1/", "/mcp")


class PlainRequests:
    """Refuses odd targets, large heads, bodies of two lengths, many ranges, and a form's type where JSON belongs."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is plain."""
        if scope["type"] == "http":
            for check in _CHECKS:
                if refusal := check(scope):
                    await refuse(scope, send, *refusal)
                    return
        await self._app(scope, receive, send)


def _target(scope: Scope) -> Refusal | None:
    """`GET http://elsewhere/ HTTP/1.1` is what proxies are asked; a path is looked at as it stands, by all of us."""
    if scope["path"].startswith("/") or (scope["path"] == "*" and scope["method"] == "OPTIONS"):
        return None
    return 400, "odd_target", "The target of a request is a path here.", "Begin it with /."


def _size(scope: Scope) -> Refusal | None:
    if sum(len(key) + len(value) for key, value in scope.get("headers", ())) <= _LARGEST_HEAD:
        return None
    return 431, "too_many_headers", f"The headers have more than {_LARGEST_HEAD} bytes.", "Send fewer, or shorter ones."


def _length(scope: Scope) -> Refusal | None:
    """Two lengths are how a request is hidden in another behind a proxy (RFC 9112, 6.1)."""
    if not (has_header(scope, "transfer-encoding") and has_header(scope, "content-length")):
        return None
    return 400, "two_lengths", "The request gives the length of its body in two ways.", "Give one of them."


def _ranges(scope: Scope) -> Refusal | None:
    wanted = [value for key, value in scope.get("headers", ()) if key.lower() == b"range"]
    if len(wanted) <= 1 and all(value.count(b",") < _MOST_RANGES for value in wanted):
        return None
    return 416, "too_many_ranges", f"At most {_MOST_RANGES} ranges are served at once.", "Ask for one range."


def _content_type(scope: Scope) -> Refusal | None:
    """A page elsewhere can have a browser send these with a cookie; JSON it cannot, without asking ahead."""
    if scope["method"] in {"GET", "HEAD", "OPTIONS"} or not scope["path"].startswith(_FOR_PROGRAMS):
        return None
    given = header(scope, "content-type")
    if given is None and (header(scope, "content-length") or "0") == "0" and not has_header(scope, "transfer-encoding"):
        return None
    if given is not None and given.partition(";")[0].strip().lower() not in _FORMS:
        return None
    return 415, "unsupported_media_type", "The body is not JSON by its type.", "Send Content-Type: application/json."


_CHECKS: tuple[Callable[[Scope], Refusal | None], ...] = (_target, _size, _length, _ranges, _content_type)
