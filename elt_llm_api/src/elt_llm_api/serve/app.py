"""Create the ASGI app: routes, OpenAPI description, user interface and MCP mount, inside the middleware."""

import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.tree import ServeSettings
from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp

from elt_llm_api.serve.access.gate import AccessGate, CallerRegistry, Lockout, ProxiedPeople, RateLimit
from elt_llm_api.serve.errors import add_error_handlers, unexpected_error_response
from elt_llm_api.serve.jobs.runner import run_queued_jobs
from elt_llm_api.serve.mcp.mount import mount_tools
from elt_llm_api.serve.middleware.authentication import PUBLIC_PATHS, Authentication
from elt_llm_api.serve.middleware.limits import BodyLimits, RequestChecks
from elt_llm_api.serve.middleware.origins import CorsPolicy, HostGuard, SecurityHeaders
from elt_llm_api.serve.middleware.request_log import ProxyHeaders, RequestLog, ShutdownResponse
from elt_llm_api.serve.routes import (
    ask,
    collections,
    conversations,
    documents,
    health,
    index,
    jobs,
    login,
    openai,
    rows,
)
from elt_llm_api.serve.routes.dependencies import refuse_unknown_parameters
from elt_llm_api.serve.services import open_services
from elt_llm_api.serve.ui.mounting import UserInterface, UserInterfaceRoute


def with_middleware(app: ASGIApp, gate: AccessGate, serve: ServeSettings) -> ASGIApp:
    """Wrap the app in its middleware.

    A request passes the request log, the security headers, the request checks, the checks of host and origin, the
    limits of its body, and the authentication, in this order.
    """
    inner: ASGIApp = Authentication(app, gate)
    inner = BodyLimits(inner, serve.max_body_mb << 20, serve.max_upload_mb << 20)
    inner = HostGuard(CorsPolicy(inner, serve.cors_origins), serve.allowed_hosts, serve.cors_origins)
    # Errors outside the routes are returned in the same shape, then raised again, so that the server logs them.
    inner = ServerErrorMiddleware(RequestChecks(inner), handler=unexpected_error_response)
    inner = RequestLog(SecurityHeaders(ShutdownResponse(inner)))
    return ProxyHeaders(inner) if serve.behind_proxy else inner


ERRORS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("http_errors.toml").read_text(encoding="utf-8"))
"""The meaning of each HTTP error status, such as "404": "Nothing has that name."."""
_ERROR_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}


class ErrorContent(BaseModel):
    """The content of an error response: type, message, hint and request id."""

    type: str = Field(description="Name of the kind of error, for programs.", examples=["unknown_collection"])
    message: str = Field(description="What failed, in one sentence.", examples=["There is no collection 'x'."])
    hint: str = Field(description="How to solve the problem; may be empty.", examples=["Name another."])
    request_id: str = Field(description="As in the header X-Request-ID.", examples=["b1946ac92492d2347c6235b4d2611184"])


class ErrorResponse(BaseModel):
    """The JSON object of every error response of every route."""

    error: ErrorContent


def _openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description of all routes, with our error responses and the authentication by key added."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
    components = document.setdefault("components", {})
    schemas: dict[str, Any] = components.setdefault("schemas", {})
    error_schema = ErrorResponse.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update({**error_schema.pop("$defs"), ErrorResponse.__name__: error_schema})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["summary"] = operation["description"].partition("\n")[0]
            if path not in PUBLIC_PATHS:
                operation["security"] = [{"key": []}]
    return document


def _include_routes(app: FastAPI) -> None:
    for module in (ask, conversations, collections, documents, jobs, rows):
        app.include_router(module.router, dependencies=[Depends(refuse_unknown_parameters)])
    for module in (openai, health, index, login):  # clients, probes and links of others may add parameters
        app.include_router(module.router)


def create_app(loaded: LoadedSettings, *, token: str | None = None) -> ASGIApp:
    """Create the app for the data directory in the settings.

    If `token` is given or an API key is stored, callers must send one of them with every request.
    All resources are opened when the server starts and closed when it stops. The returned app includes the middleware,
    so no route can be reached without it.
    """
    people = ProxiedPeople(loaded.settings.serve)
    services = open_services(loaded)
    interface = UserInterface(services)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with services, run_queued_jobs(services.queue, lambda: services.loaded, prepare=True):
            async with tools, interface.resources:
                yield

    app = FastAPI(
        title="elt-llm",
        description="Ask your own documents, and get answers that show their source. All errors have the same form.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses={int(status): {"description": text, "content": _ERROR_CONTENT} for status, text in ERRORS.items()},
    )
    app.state.services = services
    serve = loaded.settings.serve
    keys = services.key_cache
    callers = CallerRegistry(token, keys.find, lambda: keys.has_keys, always=people.required)
    app.state.gate = AccessGate(
        callers, Lockout(serve.tries, serve.lockout_seconds), RateLimit(serve.requests_per_minute), people
    )
    add_error_handlers(app)
    app.openapi = cache(partial(_openapi_document, app))  # type: ignore[method-assign]  # the way that FastAPI documents
    _include_routes(app)
    tools = mount_tools(app, services)
    app.router.routes.append(UserInterfaceRoute(interface))
    return with_middleware(app, app.state.gate, serve)
