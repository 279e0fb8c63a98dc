"""Authenticate every request before it reaches a route."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from elt_llm_api.serve.access.gate import AccessGate, AccessRefusal, presented_secret, set_cookie_header
from elt_llm_api.serve.asgi import PRINCIPAL, header, send_error

PUBLIC_PATHS = frozenset({"/health", "/login", "/logout"})
"""Paths that need no key: they only report that the process is alive, and show the login form."""
_PAGE_ASSETS = ("/assets/", "/static/")
"""Static files. A page loads dozens of them at once, so they do not count against the caller's rate limit."""
_API_PATHS = ("/v1", "/mcp", "/metrics", "/gradio_api")


class Authentication:
    """Refuses missing and wrong keys (401), too many wrong keys (429), and too many requests (429).

    A browser that requests a page without a valid key is redirected to the login form.
    """

    def __init__(self, app: ASGIApp, gate: AccessGate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an admitted request, with the caller in its scope."""
        if scope["type"] not in {"http", "websocket"} or scope["path"] in PUBLIC_PATHS:
            await self._app(scope, receive, send)
            return
        secret = presented_secret(scope)
        admitted = self._gate.admit(scope, secret, counted=not scope["path"].startswith(_PAGE_ASSETS))
        if not isinstance(admitted, AccessRefusal):
            scope[PRINCIPAL] = admitted
            await self._app(scope, receive, send)
        elif admitted.status == 401 and _requests_page(scope):
            # Delete a revoked key from the browser. If the browser kept sending it, the address would be locked out.
            cookie = {"set-cookie": set_cookie_header(None, scope)} if secret is not None else {}
            await RedirectResponse("/login", 303, {"cache-control": "no-store", **cookie})(scope, receive, send)
        else:
            await send_error(
                scope, send, admitted.status, admitted.kind, admitted.message, admitted.hint, admitted.headers
            )


def _requests_page(scope: Scope) -> bool:
    """Return whether a browser requests a page. Programs get an error response instead of a redirect."""
    path = scope["path"]
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "text/html" in (header(scope, "accept") or "")
        and not any(path == prefix or path.startswith(f"{prefix}/") for prefix in _API_PATHS)
    )
