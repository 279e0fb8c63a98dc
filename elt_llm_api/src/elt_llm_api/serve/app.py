"""The app: every route, with everything that stands around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from elt_llm_core.settings_loader import LoadedSettings
from fastapi import FastAPI

from elt_llm_api.serve.access.callers import Callers
from elt_llm_api.serve.access.lockout import Lockout, RateLimit
from elt_llm_api.serve.asgi import App
from elt_llm_api.serve.errors import add_error_handlers
from elt_llm_api.serve.middleware.authentication import Authentication
from elt_llm_api.serve.middleware.body_limit import BodyLimit
from elt_llm_api.serve.middleware.file_addresses import FileAddresses
from elt_llm_api.serve.middleware.headers import SafeHeaders
from elt_llm_api.serve.middleware.hosts import Hosts
from elt_llm_api.serve.middleware.request_ids import RequestIds
from elt_llm_api.serve.routes import asking, health
from elt_llm_api.serve.services import Services, open_services
from elt_llm_api.serve.ui.mounting import Interface, InterfaceRoute

_MEGABYTE = 1 << 20


def create_app(loaded: LoadedSettings, *, token: str | None = None) -> App:
    """The app over the data directory of the settings; `token` is what callers must show, beside keys that were made.

    Everything is opened when the server starts and closed when it ends. What comes back is the app with its guards
    around it: there is no way to a route that does not lead through them.
    """
    services = open_services(loaded)
    interface = Interface(services)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with services:
            async with interface:
                yield

    app = FastAPI(title="elt-llm", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.services = services
    add_error_handlers(app)
    for routes in (health, asking):
        app.include_router(routes.router)
    app.router.routes.append(InterfaceRoute(interface))
    return guarded(app, services, token)


def guarded(app: App, services: Services, token: str | None) -> App:
    """The app with its guards, the outermost first: names, headers, hosts, files, sizes, keys."""
    serve = services.loaded.settings.serve
    callers = Callers(token, services.keys.find, lambda: bool(services.keys.all()))
    lockout, rate = Lockout(serve.tries, serve.lockout_seconds), RateLimit(serve.requests_per_minute)
    inner: App = Authentication(app, callers, lockout, rate)
    inner = BodyLimit(inner, serve.max_body_mb * _MEGABYTE, serve.max_upload_mb * _MEGABYTE)
    inner = FileAddresses(inner)
    inner = Hosts(inner, serve.allowed_hosts, serve.cors_origins)
    return RequestIds(SafeHeaders(inner))
