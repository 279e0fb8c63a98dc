"""Who asks is settled before anything else is: around every route, those of libraries included."""

from elt_llm_api.serve.access.callers import cookie_of, shown
from elt_llm_api.serve.access.gate import Gate, Refused
from elt_llm_api.serve.asgi import PRINCIPAL, App, Headers, Receive, Scope, Send, header, refuse

OPEN = frozenset({"/health", "/login", "/logout"})
"""What whoever asks is told: that the process lives, and where to show a key. They tell no more."""
_PARTS_OF_PAGES = ("/assets/", "/static/")
"""A page asks for dozens of these at once, and they cost nothing: they are not counted as requests of a caller."""
_PROGRAMS = ("/v1", "/mcp", "/metrics", "/gradio_api")


class Authentication:
    """Refuses wrong and missing keys (401), those who try too many (429), and callers who ask too often (429).

    A browser that wants a page is led to where a key can be shown instead.
    """

    def __init__(self, app: App, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests with the caller in their scope."""
        if scope["type"] not in {"http", "websocket"} or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        secret = shown(scope)
        admitted = self._gate.admit(scope, secret, counted=not scope["path"].startswith(_PARTS_OF_PAGES))
        if not isinstance(admitted, Refused):
            scope[PRINCIPAL] = admitted
            await self._app(scope, receive, send)
        elif admitted.status == 401 and _wants_page(scope):
            await _lead_to_login(scope, send, forget=secret is not None)
        else:
            await refuse(scope, send, admitted.status, admitted.kind, admitted.message, admitted.hint, admitted.headers)


def _wants_page(scope: Scope) -> bool:
    """Whether somebody looks at a page: programs are told what is wrong, where they asked."""
    path = scope["path"]
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "text/html" in (header(scope, "accept") or "")
        and not any(path == start or path.startswith(f"{start}/") for start in _PROGRAMS)
    )


async def _lead_to_login(scope: Scope, send: Send, *, forget: bool) -> None:
    """A key that was revoked is forgotten on the way: the browser would be locked out for showing it."""
    headers: Headers = [(b"location", b"/login"), (b"content-length", b"0"), (b"cache-control", b"no-store")]
    if forget:
        headers.append((b"set-cookie", cookie_of(None, scope).encode("ascii")))
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
