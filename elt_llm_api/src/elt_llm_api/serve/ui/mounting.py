"""The user interface as a part of the app: built when it is first visited, reached through its own few paths only."""

import asyncio
import importlib.util
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self

from starlette.routing import BaseRoute, Match, NoMatchFound

from elt_llm_api.serve.asgi import App, Receive, Scope, Send
from elt_llm_api.serve.heap import settle
from elt_llm_api.serve.refusals import NotInstalled
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.own_events import OwnEvents
from elt_llm_api.serve.ui.pages import StrictPages

if TYPE_CHECKING:
    from starlette.datastructures import URLPath

_EXACT = frozenset(
    {
        "/",
        "/config",
        "/theme.css",
        "/favicon.ico",
        "/gradio_api/cancel",
        "/gradio_api/queue/data",
        "/gradio_api/queue/join",
        "/gradio_api/reset",
        "/gradio_api/startup-events",
        "/gradio_api/upload",
        "/gradio_api/upload_progress",
    }
)
_BELOW = ("/assets/", "/static/", "/gradio_api/heartbeat/")
"""Not `/gradio_api/file=`: what was brought is taken, and shown from where it is kept."""


def is_of_interface(path: str) -> bool:
    """Whether a path is one that the pages of the user interface ask for; Gradio has many more, and all stay shut."""
    return path in _EXACT or path.startswith(_BELOW)


class InterfaceRoute(BaseRoute):
    """Takes the few paths of the user interface and no others: every other route keeps its own answers."""

    def __init__(self, interface: App) -> None:
        self._interface = interface

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """FULL for the paths of the user interface."""
        if scope["type"] == "http" and is_of_interface(scope["path"]):
            return Match.FULL, {}
        return Match.NONE, {}

    def url_path_for(self, name: str, /, **path_params: Any) -> "URLPath":
        """No path of it goes by a name."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the user interface answer."""
        await self._interface(scope, receive, send)


class Interface:
    """Builds the user interface for its first visitor: whoever only calls routes never pays for it."""

    def __init__(self, services: Services, library: str = "gradio") -> None:
        """`library` is what it is built with; where that is not installed, visitors are told how to bring it."""
        self._services, self._library = services, library
        self._opened = AsyncExitStack()
        self._building = asyncio.Lock()
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as soon as there is something to answer with. Raises NotInstalled."""
        async with self._building:
            self._app = self._app or await self._built()
        await self._app(scope, receive, send)

    async def __aenter__(self) -> Self:
        """Nothing is open before the first visitor."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let go of what the user interface keeps open."""
        await self._opened.aclose()

    async def _built(self) -> App:
        if importlib.util.find_spec(self._library) is None:
            raise NotInstalled(
                "The user interface is not installed here; the routes below /v1 answer.",
                hint="Run: uv sync --inexact --extra ui",
            )
        from elt_llm_api.serve.ui.building import build_interface, folder_of_files

        gradio_app = await asyncio.to_thread(build_interface, self._services)
        await self._opened.enter_async_context(gradio_app.router.lifespan_context(gradio_app))
        gradio_app.get_blocks().run_startup_events()  # type: ignore[no-untyped-call]
        settle()
        loaded = self._services.loaded
        most = loaded.settings.serve.upload_quota_mb << 20
        queues = gradio_app.get_blocks()._queue.event_queue_per_concurrency_id  # noqa: SLF001 - there is no other way

        def waiting() -> list[str]:
            return [str(event.session_hash) for one in queues.values() for event in one.queue]

        return StrictPages(OwnEvents(gradio_app, folder_of_files(loaded.data_dir), most, waiting))
