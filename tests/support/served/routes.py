"""List every route of a server: those of its OpenAPI description, and all others."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from elt_llm_api.serve.ui import mounting
from elt_llm_api.serve.ui.mounting import UserInterfaceRoute
from fastapi import FastAPI
from served.server import RunningServer
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

METHODS = ("get", "post", "put", "patch", "delete")
_SOME = ("GET", "POST")


@dataclass(frozen=True)
class Operation:
    """A route with a method. `path` contains `{names}`; `parameters` and `body` are OpenAPI objects."""

    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    def named(self, place: str) -> list[str]:
        """Return the names of the parameters in `path` or `query`."""
        return [one["name"] for one in self.parameters if one["in"] == place]


@dataclass(frozen=True)
class FilledRequest:
    """A request to a route."""

    method: str
    path: str
    query: Mapping[str, str]
    content: bytes | None

    def send(self, client: httpx.Client, **headers: str) -> httpx.Response:
        """Send the request."""
        typed = {"content-type": "application/json"} if self.content is not None else {}
        return client.request(
            self.method, self.path, params=self.query, content=self.content, headers={**typed, **headers}
        )


def app_within(app: ASGIApp) -> FastAPI:
    """Return the app with the routes, inside of its middleware."""
    inner: Any = app
    while not isinstance(inner, FastAPI):
        inner = getattr(inner, "_app", None) or inner.app
    return inner


def operations(server: RunningServer) -> list[Operation]:
    """The OpenAPI description of the server."""
    description = app_within(server.app).openapi()
    return [
        Operation(method, path, tuple(known.get("parameters", ())), _body_of(known, description))
        for path, methods in description["paths"].items()
        for method, known in methods.items()
        if method in METHODS
    ]


def every_path(server: RunningServer) -> set[tuple[str, str]]:
    """Return method and path of every route, including mounted apps and undocumented routes."""
    return {(method, path) for path, methods in _paths(app_within(server.app).routes, "") for method in methods}


def fill(
    operation: Operation, text: str, known: Mapping[str, Any] | None = None, *, sparing: bool = False
) -> FilledRequest:
    """Fill a request with `text` for every text value, except for names in `known`.

    If `sparing` is true, optional query parameters that are not in `known` are left out.
    """
    given = known or {}
    path = operation.path
    for name in operation.named("path"):
        path = path.replace(f"{{{name}}}", str(given.get(name, text)))
    asked = [one for one in operation.parameters if one["in"] == "query"]
    named = [one["name"] for one in asked if not sparing or one.get("required") or one["name"] in given]
    query = {name: str(given.get(name, text)) for name in named}
    content = json.dumps(_example(operation.body, text, given, 0)).encode() if operation.body else None
    return FilledRequest(operation.method, path, query, content)


def _paths(routes: Sequence[BaseRoute], before: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for route in routes:
        path = before + getattr(route, "path", "")
        included = getattr(route, "original_router", None)
        if isinstance(route, Mount):
            yield from _paths(route.routes, path)
            yield path + "/", _SOME
        elif included is not None:
            yield from _paths(included.routes, before)
        elif isinstance(route, UserInterfaceRoute):
            yield from ((one, _SOME) for one in (*mounting._PATHS, *mounting._PREFIXES))
        else:
            assert path, f"a route of which nobody knows the path: {route}"
            yield path, tuple(getattr(route, "methods", None) or _SOME)


def _body_of(known: Mapping[str, Any], description: Mapping[str, Any]) -> Mapping[str, Any]:
    content = known.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    return {"schema": schema, "all": description["components"]["schemas"]} if schema else {}


def _example(body: Mapping[str, Any], text: str, given: Mapping[str, Any], depth: int) -> Any:
    """Return a value of the schema, with `text` for its texts; `{}` below the maximum depth."""
    schema, known = _resolved(body["schema"], body["all"]), body["all"]
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    simple = {"string": text, "integer": 1, "number": 1, "boolean": False}
    kind = schema.get("type")
    if kind in simple:
        return simple[kind]
    if kind == "array":
        return [_example({"schema": schema.get("items", {}), "all": known}, text, given, depth + 1)]
    return {
        name: given[name] if name in given else _example({"schema": part, "all": known}, text, given, depth + 1)
        for name, part in schema.get("properties", {}).items()
        if depth < 5 and (name in given or name in schema.get("required", ()) or _takes_text(part, known))
    }


def _resolved(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a reference, or the first of several schemas."""
    if "$ref" in schema:
        return _resolved(known[schema["$ref"].rpartition("/")[2]], known)
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if not several:
        return schema
    return _resolved(next((one for one in several if one.get("type") != "null"), several[0]), known)


def _takes_text(schema: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    resolved = _resolved(schema, known)
    return resolved.get("type") in {"string", "array"} and "enum" not in resolved
