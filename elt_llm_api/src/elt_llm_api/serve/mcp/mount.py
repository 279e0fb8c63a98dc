"""`/mcp`: the tools over streamable HTTP, within the app and so behind its guards."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route

from elt_llm_api.serve.asgi import PRINCIPAL, Message, Receive, Scope, Send, header
from elt_llm_api.serve.refusals import NotInstalled
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

PATH = "/mcp"
_MOST_SESSIONS = 1000
MOST_OF_ONE = 100
"""Sessions of one caller: whoever opens more loses those unused for longest, so that nobody takes all there are."""
_SESSION = "mcp-session-id"


def is_installed() -> bool:
    """Whether the library of the protocol is there."""
    return find_spec("mcp") is not None


def not_installed() -> NotInstalled:
    """What is said where it is not."""
    return NotInstalled("Tools for agents are not installed here.", hint="Run: uv sync --inexact --extra mcp")


def mount_tools(app: FastAPI, services: Services) -> AbstractAsyncContextManager[None]:
    """Serve the tools at `/mcp`; what comes back is to be entered while the app runs.

    Without the library the path says what to install.
    """
    if not is_installed():
        app.router.routes.append(Route(PATH, _not_installed, methods=["GET", "POST", "DELETE"]))
        return _nothing()
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from elt_llm_api.serve.mcp.given import caller_of_request
    from elt_llm_api.serve.mcp.server import create_server

    # The library builds its own app around its sessions; here the guards are around it, and one route is enough.
    server = create_server(services, caller_of_request)
    serve = services.loaded.settings.serve
    server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=transport_security(serve.allowed_hosts, serve.cors_origins),
        max_request_body_size=serve.max_body_mb << 20,
        max_sessions=_MOST_SESSIONS,
    )
    manager: StreamableHTTPSessionManager = server.session_manager
    app.router.routes.append(Route(PATH, Door(manager)))
    return manager.run()


def transport_security(hosts: tuple[str, ...], origins: tuple[str, ...]) -> "TransportSecuritySettings":
    """The library's own check of Host and Origin, with our names: a second door behind `Hosts`, closed if that fails.

    Pages of ours may call from whatever port this server listens at; `Hosts` has held that against the request.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = ["127.0.0.1", "localhost", "[::1]", *(f"[{host}]" if ":" in host else host for host in hosts)]
    own = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[*origins, *own, *(f"{origin}:*" for origin in own)],
    )


class Door:
    """Passes requests to the sessions, each bound to the key that opened it: another key does not find it."""

    def __init__(self, manager: "StreamableHTTPSessionManager") -> None:
        self._manager = manager
        self._opened: dict[str, OrderedDict[str, None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell the library who asks, in its own words; end what the caller opened too many of."""
        name = scope[PRINCIPAL].name
        own = self._opened.setdefault(name, OrderedDict())
        session = header(scope, _SESSION)
        if session is not None and session in own:
            own.move_to_end(session)

        async def heard(message: Message) -> None:
            if session is None and message["type"] == "http.response.start" and message["status"] < 300:
                given = [value for key, value in message.get("headers", ()) if key.lower() == _SESSION.encode("ascii")]
                own.update(dict.fromkeys(value.decode("latin-1") for value in given))
            await send(message)

        await self._pass(scope, name, receive, heard)
        while len(own) > MOST_OF_ONE:
            await self._end(scope, name, own.popitem(last=False)[0])

    async def _pass(self, scope: Scope, name: str, receive: Receive, send: Send) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        user = AuthenticatedUser(AccessToken(token="", client_id=name, subject=name, scopes=[]))
        await self._manager.handle_request({**scope, "user": user}, receive, send)

    async def _end(self, scope: Scope, name: str, session: str) -> None:
        """As if the caller had said that it does not need the session any more."""
        host = [one for one in scope["headers"] if one[0].lower() == b"host"]
        headers = [*host, (_SESSION.encode("ascii"), session.encode("latin-1"))]
        await self._pass({**scope, "method": "DELETE", "headers": headers}, name, _no_body, _to_nobody)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _to_nobody(_: Message) -> None:
    return


async def _not_installed(_: Request) -> None:
    raise not_installed()


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield
