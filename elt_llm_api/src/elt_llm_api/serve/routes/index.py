"""`/v1`, the index of the API, and `/docs`, its description as a page, whose files all come from this machine."""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from elt_llm_api.serve.errors import NotFound

router = APIRouter()
_OWN = Path(__file__).parent
_FILES = {
    "docs.js": _OWN,
    "swagger-ui.css": files("fastapi_offline") / "static",
    "swagger-ui-bundle.js": files("fastapi_offline") / "static",
}
"""The files of the page `/docs`, and the folder of each."""


class RouteEntry(BaseModel):
    """A route: its method and path, and what it does."""

    method: str = Field(examples=["POST"])
    path: str = Field(examples=["/v1/ask"])
    does: str = Field(description="What the route does, in a sentence.", examples=["Answer a question."])


class ApiIndex(BaseModel):
    """The addresses of the API documentation, the user interface and the MCP tools, and every route."""

    version: str = Field(examples=["0.1.0"])
    documentation: str = Field("/docs", description="The description of the API as a page for browsers.")
    openapi: str = Field("/openapi.json", description="The description of the API for programs.")
    page: str = Field("/", description="The user interface for browsers.")
    agents: str = Field("/mcp", description="The tools for agents (MCP).")
    routes: tuple[RouteEntry, ...]


@router.get("/v1", tags=["health"])
def get_index(request: Request) -> ApiIndex:
    """List every route with what it does, and the addresses of the API documentation, the user interface and MCP."""
    routes = tuple(
        RouteEntry(method=method.upper(), path=path, does=operation["summary"])
        for path, methods in request.app.openapi()["paths"].items()
        for method, operation in methods.items()
    )
    return ApiIndex(version=version("elt-llm-api"), routes=routes)


@router.get("/docs", include_in_schema=False)
def get_documentation() -> FileResponse:
    """Return the page that shows the description of the API."""
    return FileResponse(_OWN / "docs.html", headers={"cache-control": "no-cache"})


@router.get("/docs/{name}", include_in_schema=False)
def get_documentation_file(name: str) -> FileResponse:
    """Return a script or style sheet of the page `/docs`. Raises NotFound for any other name."""
    if name not in _FILES:
        raise NotFound("The page /docs has no such file.")
    return FileResponse(str(_FILES[name] / name), headers={"cache-control": "max-age=3600"})
