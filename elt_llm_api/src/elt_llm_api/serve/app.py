"""The app: every route, with everything that stands around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from elt_llm_core.settings_loader import LoadedSettings
from fastapi import FastAPI

from elt_llm_api.serve.asgi import App
from elt_llm_api.serve.errors import add_error_handlers
from elt_llm_api.serve.guards import gate_for, guarded
from elt_llm_api.serve.jobs.running import running_jobs
from elt_llm_api.serve.mcp.mount import mount_tools
from elt_llm_api.serve.openapi import describe, name_of
from elt_llm_api.serve.routes import (
    asking,
    batch_jobs,
    collections,
    documents,
    evaluate,
    feedback,
    health,
    ingest,
    jobs,
    login,
    metrics,
    openai_chat,
    openai_embeddings,
    openai_models,
    profiles,
    rows,
    sessions,
    version,
)
from elt_llm_api.serve.services import open_services
from elt_llm_api.serve.ui.mounting import Interface, InterfaceRoute

ROUTERS = (
    health.router,
    asking.router,
    batch_jobs.router,
    collections.router,
    documents.router,
    evaluate.router,
    feedback.router,
    ingest.router,
    jobs.router,
    login.router,
    metrics.router,
    openai_chat.router,
    openai_embeddings.router,
    openai_models.router,
    profiles.router,
    rows.router,
    sessions.router,
    version.router,
)


def create_app(loaded: LoadedSettings, *, token: str | None = None) -> App:
    """The app over the data directory of the settings; `token` is what callers must show, beside keys that were made.

    Everything is opened when the server starts and closed when it ends. What comes back is the app with its guards
    around it: there is no way to a route that does not lead through them.
    """
    services = open_services(loaded)
    interface = Interface(services)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with services, running_jobs(services.queue, lambda: services.loaded):
            async with tools, interface:
                yield

    app = FastAPI(
        title="elt-llm", lifespan=lifespan, docs_url=None, redoc_url=None, generate_unique_id_function=name_of
    )
    app.state.services = services
    app.state.gate = gate_for(services, token)
    add_error_handlers(app)
    describe(app)
    for router in ROUTERS:
        app.include_router(router)
    tools = mount_tools(app, services)
    app.router.routes.append(InterfaceRoute(interface))
    return guarded(app, app.state.gate, loaded.settings.serve)
