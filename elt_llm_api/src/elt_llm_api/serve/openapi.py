"""The description of all routes: one shape for every error, the key that is asked for, names that say what is done."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

OPEN_PATHS = frozenset({"/health"})
_METHODS = ("get", "put", "post", "delete", "patch")
_ERROR = "#/components/schemas/ErrorAnswer"
ERRORS = MappingProxyType(
    {
        "400": "The request cannot be done as it is.",
        "401": "A key is needed, and this is none.",
        "403": "The key does not allow it, or there is no such thing.",
        "404": "There is nothing of that name.",
        "405": "That cannot be done here.",
        "408": "The body of the request came too slowly.",
        "409": "Somebody else is writing, or the collection was built with another model.",
        "413": "The request brings more than is taken.",
        "415": "The request is not of a kind that is read here.",
        "416": "More ranges are asked for than are served at once.",
        "421": "The server does not answer to that host.",
        "422": "The request is not as described.",
        "429": "Too many requests; Retry-After says when to try again.",
        "431": "The headers are too large.",
        "500": "Only the operator can mend it.",
        "502": "The model's server failed.",
        "503": "Every place is taken, or something is not there; Retry-After says when to try again.",
        "504": "The model took too long.",
        "507": "There is no room for what is brought.",
    }
)


class ErrorContent(BaseModel):
    """What went wrong."""

    type: str = Field(description="One word for programs.", examples=["unknown_collection"])
    message: str = Field(description="One sentence.", examples=["There is no collection 'x'."])
    hint: str = Field(description="What to do about it, or nothing.", examples=["Name another."])
    request_id: str = Field(description="As in the header X-Request-ID.", examples=["b1946ac92492d2347c6235b4d2611184"])


class ErrorAnswer(BaseModel):
    """Every failure of every route."""

    error: ErrorContent


def name_of(route: APIRoute) -> str:
    """The operation's id: the name of its function, which says what it does."""
    return route.name


def describe(app: FastAPI) -> None:
    """Have the app tell its routes so, at /openapi.json."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _described(app: FastAPI) -> dict[str, Any]:
    told = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
    components = told.setdefault("components", {})
    schemas: dict[str, Any] = components.setdefault("schemas", {})
    schemas.update(_schemas(ErrorAnswer))
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operation in _operations(told):
        _with_errors(operation)
        if path not in OPEN_PATHS:
            operation["security"] = [{"key": []}]
    return told


def _operations(told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in told["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield path, methods[method]


def _with_errors(operation: dict[str, Any]) -> None:
    """Every status that an error may have here, unless the route describes it otherwise."""
    responses = operation.setdefault("responses", {})
    own = responses.get("422", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if own.get("$ref", "").endswith("/HTTPValidationError"):
        del responses["422"]
    for status, meaning in ERRORS.items():
        content = {"application/json": {"schema": {"$ref": _ERROR}}}
        responses.setdefault(status, {"description": meaning, "content": content})


def _schemas(model: type[BaseModel]) -> dict[str, Any]:
    whole = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**whole.pop("$defs", {}), model.__name__: whole}
