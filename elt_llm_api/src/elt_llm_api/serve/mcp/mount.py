"""Mount the MCP tools at `/mcp` over streamable HTTP, with sessions bound to the key that opened them."""

from collections import OrderedDict
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

from elt_llm_core.utilities import install_command
from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from elt_llm_api.serve.asgi import PRINCIPAL, header
from elt_llm_api.serve.errors import NotInstalled
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

PATH = "/mcp"
_MOST_SESSIONS = 1000
MOST_SESSIONS_PER_KEY = 100
"""Most sessions of one caller. A further session closes the least recently used one of the same caller."""
_SESSION = "mcp-session-id"


def is_installed() -> bool:
    """Return whether the MCP library is installed."""
    return find_spec("mcp") is not None


def not_installed_error() -> NotInstalled:
    """Return the error for a missing MCP library."""
    return NotInstalled("Tools for agents are not installed here.", hint=f"Run: {install_command('mcp')}")


def mount_tools(app: FastAPI, services: Services) -> AbstractAsyncContextManager[None]:
    """Serve the tools at `/mcp`, and return a context manager. The app must run inside it.

    Without the MCP library, requests to the path fail with the command that installs the library.
    """
    if not is_installed():
        app.router.routes.append(Route(PATH, _not_installed_route, methods=["GET", "POST", "DELETE"]))
        return nullcontext()
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from elt_llm_api.serve.mcp.server import create_server
    from elt_llm_api.serve.mcp.tool_call import principal_of_context

    # The library also builds a separate app for its sessions. One route behind our middleware is enough here.
    server = create_server(services, principal_of_context)
    serve = services.loaded.settings.serve
    server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=transport_security(serve.allowed_hosts, serve.cors_origins),
        max_request_body_size=serve.max_body_mb << 20,
        max_sessions=_MOST_SESSIONS,
    )
    manager: StreamableHTTPSessionManager = server.session_manager
    app.router.routes.append(Route(PATH, SessionGuard(manager)))
    return manager.run()


def transport_security(hosts: tuple[str, ...], origins: tuple[str, ...]) -> "TransportSecuritySettings":
    """Return settings for the MCP library, which checks Host and Origin a second time, after our middleware.

    Any port is allowed for the server's own names, because the middleware has already compared the ports.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = ["127.0.0.1", "localhost", "[::1]", *(f"[{host}]" if ":" in host else host for host in hosts)]
    own = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[*origins, *own, *(f"{origin}:*" for origin in own)],
    )


class SessionGuard:
    """Forwards a request to its MCP session. Only the key that opened a session can use the session."""

    def __init__(self, manager: "StreamableHTTPSessionManager") -> None:
        self._manager = manager
        self._opened: dict[str, OrderedDict[str, None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with its authenticated user, then close sessions beyond the caller's limit."""
        name = scope[PRINCIPAL].owner
        own = self._opened.setdefault(name, OrderedDict())
        session = header(scope, _SESSION)
        if session is not None and session in own:
            own.move_to_end(session)

        async def send_and_note_session(message: Message) -> None:
            if session is None and message["type"] == "http.response.start" and message["status"] < 300:
                values = [value for key, value in message.get("headers", ()) if key.lower() == _SESSION.encode("ascii")]
                own.update(dict.fromkeys(value.decode("latin-1") for value in values))
            await send(message)

        await self._forward(scope, name, receive, send_and_note_session)
        while len(own) > MOST_SESSIONS_PER_KEY:
            await self._close_session(scope, name, own.popitem(last=False)[0])

    async def _forward(self, scope: Scope, name: str, receive: Receive, send: Send) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        user = AuthenticatedUser(AccessToken(token="", client_id=name, subject=name, scopes=[]))
        await self._manager.handle_request({**scope, "user": user}, receive, send)

    async def _close_session(self, scope: Scope, name: str, session: str) -> None:
        """Close a session with a DELETE request, as its client would."""
        host = [one for one in scope["headers"] if one[0].lower() == b"host"]
        headers = [*host, (_SESSION.encode("ascii"), session.encode("latin-1"))]
        await self._forward({**scope, "method": "DELETE", "headers": headers}, name, _empty_body, _discard)


async def _empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(_: Message) -> None:
    return


async def _not_installed_route(_: Request) -> None:
    raise not_installed_error()
