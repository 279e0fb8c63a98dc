"""The server's errors, their HTTP status, and the JSON shape of error responses."""

import logging
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from elt_llm_consumer.review.reviews import RowChanged
from elt_llm_core.errors import (
    CorruptIndex,
    EltError,
    FingerprintMismatch,
    LockHeld,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    StoreUnavailable,
    UnknownCollection,
    UsageError,
)
from elt_llm_core.utilities import nearest_names
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.asgi import PRINCIPAL, REQUEST_ID, error_body
from elt_llm_api.serve.workers import ServerOverloaded, retry_after_seconds


class NotFound(EltError):
    """HTTP status 404: the requested object does not exist, or no longer exists."""


class NotReady(EltError):
    """HTTP status 409: the result is not ready yet."""

    retryable = True


class RolledBack(EltError):
    """HTTP status 409: the collection was rolled back, and the ingest does not state whether to continue from there."""


NOTHING_INGESTED_HINT = "Run: elt-llm ingest PATH -c NAME"


class TooLarge(EltError):
    """HTTP status 413: the request is larger than allowed."""


class UnsupportedUpload(EltError):
    """HTTP status 415: the type of the file, or of the request, is not supported."""


class WrongFormField(UsageError):
    """HTTP status 422: the form has a field that is not read, such as a misspelt one, or a field with a wrong value."""


class NotInstalled(UsageError):
    """HTTP status 501: this part of the server needs an extra that is not installed."""


class NoRoom(EltError):
    """HTTP status 507: the quota of the collection, or the disk, is full."""


_STATUS: tuple[tuple[int, tuple[type[EltError], ...]], ...] = (
    (403, (Forbidden,)),
    (404, (NotFound, UnknownCollection)),
    (409, (NotReady, RolledBack, RowChanged, LockHeld, FingerprintMismatch)),
    (413, (TooLarge,)),
    (415, (UnsupportedUpload,)),
    (422, (WrongFormField, PromptTooLong)),
    (501, (NotInstalled,)),
    (503, (ServerOverloaded, StoreUnavailable, CorruptIndex, ModelUnavailable)),
    (504, (ModelTimeout,)),
    (507, (NoRoom,)),
    (400, (UsageError,)),  # last, like ModelError, because it is the parent of some of the others
    (502, (ModelError,)),
)
logger = logging.getLogger(__name__)
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def status_of(error: EltError) -> int:
    """Return the HTTP status of an error; 500 for errors that only the operator can fix."""
    return next((status for status, kinds in _STATUS if isinstance(error, kinds)), 500)


def headers_of(status: int) -> dict[str, str]:
    """Return the Retry-After header for HTTP status 503, and no header for others."""
    return {"retry-after": str(retry_after_seconds())} if status == 503 else {}


def error_content(error: EltError, request_id: str) -> dict[str, Any]:
    """Return an error in the JSON shape of all errors, for streams whose HTTP status was already sent."""
    return error_body(_error_type(error), str(error), error.hint, request_id)


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers that return every error of every route in the same JSON shape."""
    app.add_exception_handler(EltError, _elt_error_response)
    app.add_exception_handler(RequestValidationError, _validation_error_response)
    app.add_exception_handler(HTTPException, _http_error_response)
    app.add_exception_handler(Exception, unexpected_error_response)


async def unexpected_error_response(request: Request, error: Exception) -> JSONResponse:
    """Return 500 without the message of the error, which may quote documents. Log type and request id."""
    request_id = request.scope.get(REQUEST_ID, "")
    logger.error("Request %s failed unexpectedly: %s", request_id, type(error).__name__)
    hint = f"The operator finds the reason in the server's log, at request {request_id}."
    return _error_response(request, 500, "internal_error", "The server failed.", hint)


async def _elt_error_response(request: Request, error: Exception) -> JSONResponse:
    """Return an error response. Only administrators get message and hint of a status 500, which may name paths."""
    assert isinstance(error, EltError)  # noqa: S101 - FastAPI calls each handler for its error class only
    status, message, hint = status_of(error), str(error), error.hint
    principal = request.scope.get(PRINCIPAL)
    if status == 500 and not (isinstance(principal, Principal) and principal.administers):
        request_id = request.scope.get(REQUEST_ID, "")
        logger.error("Request %s failed: %s %s", request_id, message, hint)
        message = "The server cannot do this at present."
        hint = f"The operator finds the cure in the server's log, at request {request_id}."
    return _error_response(request, status, _error_type(error), message, hint, headers_of(status))


async def _validation_error_response(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    mistakes = "; ".join(f"{'.'.join(path)}: {message}" for path, message in mistakes_of(error)[:5])
    message = f"The request does not match its schema: {mistakes}."
    unknown = [one["loc"][1] for one in error.errors() if one["type"] == "extra_forbidden" and len(one["loc"]) == 2]
    body = getattr(request.scope.get("route"), "body_field", None)
    known = list(body.field_info.annotation.model_fields) if unknown and body else []
    hint = f"{nearest_names(unknown[0], known)} See /openapi.json" if known else "See /openapi.json"
    return _error_response(request, 422, "invalid_request", message, hint)


_TYPES = {bool: "a boolean", int: "a number", float: "a decimal", str: "a string", list: "a list", dict: "an object"}
_Location = tuple[str | int, ...]


def mistakes_of(error: RequestValidationError) -> list[tuple[list[str], str]]:
    """Return the path and the message of each mistake in a request.

    Where several types are allowed, pydantic lists the mistakes for each of them. Only those for the nearest type are
    returned; if none is near, one message with all types.
    """
    reported = [{**one, "msg": _json_words(one["msg"])} for one in error.errors()]
    places = groupby(reported, lambda one: _place_in_body(one, error.body))
    found = (mistake for place, mistakes in places for mistake in _nearest(place, mistakes))
    return [([str(part) for part in location], message) for location, message in found]


def mistake_message(mistake: Mapping[str, Any]) -> str:
    """Return pydantic's message in the words of JSON, with the type of the value, or the reason why JSON is invalid."""
    message = _json_words(mistake["msg"])
    if mistake["type"] == "json_invalid":
        return f"The text is not valid JSON from character {mistake['loc'][-1]}: {mistake['ctx']['error']}"
    is_type = mistake["type"].endswith("_type") and message.startswith("Input should be ")
    return f"{message}, not {_TYPES.get(type(mistake['input']), 'null')}" if is_type else message


def _json_words(message: str) -> str:
    message = message.replace("a valid tuple", "a valid list").replace("Tuple should", "List should")
    message = message.replace("Extra inputs are not permitted", "unknown field")
    return message.replace("a valid dictionary or object to extract fields from", "an object")


def _place_in_body(mistake: Mapping[str, Any], body: Any) -> _Location:
    """Return the location of a mistake up to the name of a type, which is its first part that is not in the body."""
    location: _Location = mistake["loc"]
    value = {"body": body}
    for index, part in enumerate(location if location[0] == "body" else ()):
        try:
            value = value[part]  # type: ignore[index]  # as caught
        except (KeyError, IndexError, TypeError):
            return location if mistake["type"] == "missing" and part == location[-1] else location[:index]
    return location


def _nearest(place: _Location, mistakes: Iterable[Mapping[str, Any]]) -> list[tuple[_Location, str]]:
    """Return the mistakes for one type: of those for which more fits than the kind of value, that with the fewest."""
    depth = len(place)
    types = [list(same) for _, same in groupby(mistakes, lambda one: one["loc"][: depth + 1])]
    if len(types) == 1:
        return [(one["loc"], mistake_message(one)) for one in types[0]]
    near = [same for same in types if len(same[0]["loc"]) > depth + 1 or not same[0]["type"].endswith("_type")]
    if near:
        return [((*place, *one["loc"][depth + 1 :]), mistake_message(one)) for one in min(near, key=len)]
    allowed = " or ".join(dict.fromkeys(same[0]["msg"].removeprefix("Input should be ") for same in types))
    return [(place, f"Input should be {allowed}, not {_TYPES.get(type(types[0][0]['input']), 'null')}")]


async def _http_error_response(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    path, methods = f"{request.method} {request.scope['path'][:100]}", allowed_methods(request)
    kind, message, hint = {
        404: ("not_found", f"There is no route {path}", "GET /v1 lists the routes."),
        405: ("method_not_allowed", f"There is no route {path}", f"This path accepts {methods}."),
    }.get(error.status_code, ("refused", error.detail, "See /openapi.json"))
    if error.detail == "There was an error parsing the body":  # of FastAPI, for all that is not a mistake in JSON
        kind, message, hint = "invalid_request", "The body is not UTF-8, or nested too deeply", "Send JSON in UTF-8."
    headers = {**(error.headers or {}), **({"allow": methods} if error.status_code == 405 else {})}
    return _error_response(request, error.status_code, kind, f"{message}.", hint, headers)


def allowed_methods(request: Request) -> str:
    """Return every HTTP method that any route accepts for a request's path. Starlette lists those of one route only."""
    scope = {"type": "http", "path": request.scope["path"], "root_path": "", "headers": [], "path_params": {}}
    routes = request.app.router.routes
    return ", ".join(
        method
        for method in ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    )


def _error_response(
    request: Request, status: int, kind: str, message: str, hint: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(error_body(kind, message, hint, request.scope.get(REQUEST_ID, "")), status, headers)


def _error_type(error: EltError) -> str:
    """Return the class name in snake case, such as `unknown_collection`."""
    return _WORD_START.sub("_", type(error).__name__).lower()
