"""Failures as OpenAI's clients read them: `{"error": {"message", "type", "code", "param"}}`, and ours beside it."""

from collections.abc import Callable, Coroutine
from typing import Any

from elt_llm_core.errors import EltError
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.chat_requests import NotSupported
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.errors import error_of, headers_of, status_of
from elt_llm_api.serve.refusals import NotThere

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAiErrorContent(BaseModel):
    """What went wrong."""

    message: str = Field(examples=["There is no model 'x', or this key may not read it."])
    type: str = Field(examples=["invalid_request_error"])
    code: str | None = Field(None, examples=["model_not_found"])
    param: str | None = Field(None, examples=["model"])
    hint: str = Field("", examples=["GET /v1/models lists those there are."])
    request_id: str = Field(examples=["b1946ac92492d2347c6235b4d2611184"])


class OpenAiError(BaseModel):
    """A failure."""

    error: OpenAiErrorContent


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAiError} for status in (400, 403, 404, 409, 422, 500, 502, 503, 504)
}


class OpenAiRoute(APIRoute):
    """A route whose failures are told in OpenAI's shape; what is not as described is a 400, as it is there."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with its failures caught."""
        handler = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                return _invalid(error, request)
            except EltError as error:
                status = status_of(error)
                body = openai_error(error, request.scope.get(REQUEST_ID, ""))
                return JSONResponse(body, status, headers_of(status))

        return told


def openai_error(error: EltError, request_id: str) -> dict[str, Any]:
    """A failure in that shape."""
    ours = error_of(error, request_id)["error"]
    status = status_of(error)
    code, param = ours["type"], None
    if isinstance(error, NotThere):
        code, param = "model_not_found", "model"
    if isinstance(error, NotSupported):
        code, param = "unsupported_parameter", error.parameter
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {**ours, "type": kind, "code": code, "param": param}}


def _invalid(error: RequestValidationError, request: Request) -> JSONResponse:
    first = error.errors()[0]
    places = [str(part) for part in first["loc"] if part != "body"]
    content = OpenAiErrorContent(
        message=f"The request is not as described: {'.'.join(places) or 'body'}: {first['msg']}.",
        type="invalid_request_error",
        code="invalid_value",
        param=places[0] if places else None,
        hint="See /openapi.json",
        request_id=request.scope.get(REQUEST_ID, ""),
    )
    return JSONResponse(OpenAiError(error=content).model_dump(), 400)
