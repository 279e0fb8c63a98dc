"""Every failure as one shape: `{"error": {"type", "message", "hint", "request_id"}}`, with the status that fits."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from elt_llm_consumer.review.deciding import RowChanged
from elt_llm_core.errors import (
    CorruptIndex,
    EltError,
    FingerprintMismatch,
    LockHeld,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    PromptTooLong,
    UnknownCollection,
    UsageError,
)
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.asgi import PRINCIPAL, REQUEST_ID, error_body
from elt_llm_api.serve.refusals import NoRoom, NotInstalled, NotThere, NotYet, TooLarge, UnsupportedUpload
from elt_llm_api.serve.workers import Overloaded, retry_after

_STATUS: tuple[tuple[type[EltError], int], ...] = (
    (Forbidden, 403),
    (Overloaded, 503),
    (NotThere, 404),
    (NotYet, 409),
    (RowChanged, 409),
    (TooLarge, 413),
    (UnsupportedUpload, 415),
    (NotInstalled, 501),
    (NoRoom, 507),
    (UnknownCollection, 404),
    (UsageError, 400),
    (LockHeld, 409),
    (FingerprintMismatch, 409),
    (CorruptIndex, 503),
    (ModelTimeout, 504),
    (PromptTooLong, 422),
    (ModelUnavailable, 503),
    (ModelError, 502),
)
logger = logging.getLogger(__name__)
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def status_of(error: EltError) -> int:
    """The HTTP status of a failure; 500 for one that only the operator can mend."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def headers_of(status: int) -> dict[str, str] | None:
    """When to try again, where that helps."""
    return {"retry-after": str(retry_after())} if status == 503 else None


def error_of(error: EltError, request_id: str) -> dict[str, Any]:
    """A failure in the one shape, for where the status was sent already."""
    return error_body(_kind(error), str(error), error.hint, request_id)


def add_error_handlers(app: FastAPI) -> None:
    """Have every failure of every route told in the one shape."""
    app.add_exception_handler(EltError, _elt_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, unexpected)


async def unexpected(request: Request, error: Exception) -> JSONResponse:
    """What nobody thought of: told without a word of what happened, which may be text of documents. The log has it."""
    name = request.scope.get(REQUEST_ID, "")
    logger.error("Request %s failed unexpectedly: %s", name, type(error).__name__)
    return _answer(request, 500, "unexpected", "The server failed.", f"Its log says more, of request {name}.")


async def _elt_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, EltError)  # noqa: S101 - it is registered for these alone
    status = status_of(error)
    principal = request.scope.get(PRINCIPAL)
    if status == 500 and not (isinstance(principal, Principal) and principal.administers):
        return _for_the_operator(request, error)
    return _answer(request, status, _kind(error), str(error), error.hint, headers_of(status))


def _for_the_operator(request: Request, error: EltError) -> JSONResponse:
    """What names paths and commands of this machine is told to those who run it, and to others by its id."""
    name = request.scope.get(REQUEST_ID, "")
    logger.error("Request %s failed: %s %s", name, error, error.hint)
    hint = f"Whoever runs it finds in its log what mends it, of request {name}."
    return _answer(request, 500, _kind(error), "The server cannot do this at present.", hint)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
    return _answer(request, 422, "invalid_request", f"The request is not as described: {told}.", "See /openapi.json")


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    headers = {**(error.headers or {}), **({"allow": allowed(request)} if error.status_code == 405 else {})}
    return _answer(request, error.status_code, kind, f"{error.detail}.", "See /openapi.json", headers)


def allowed(request: Request) -> str:
    """The methods of a path, of all its routes together: each route alone knows its own."""
    scope = {"type": "http", "path": request.scope["path"], "root_path": "", "headers": [], "path_params": {}}
    routes = request.app.router.routes
    known = [
        method
        for method in ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    return ", ".join(known)


def _answer(
    request: Request, status: int, kind: str, message: str, hint: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    body = error_body(kind, message, hint, request.scope.get(REQUEST_ID, ""))
    return JSONResponse(body, status, dict(headers or {}))


def _kind(error: EltError) -> str:
    """Such as `unknown_collection`."""
    return _WORD.sub("_", type(error).__name__).lower()
