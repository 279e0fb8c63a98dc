"""OpenAI's request, response and error models, and how answers are converted to them."""

import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from elt_llm_core.errors import EltError
from elt_llm_core.results import Citation, QueryResult
from elt_llm_core.settings.tree import StrategyName
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from elt_llm_api.serve.actions.openai import (
    ChatMessage,
    NotSupported,
    Places,
    UsageCounts,
    citation_annotations,
    footnote_list,
    usage_counts,
)
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.errors import NotFound, error_content, headers_of, status_of
from elt_llm_api.serve.safe_text import escape_markdown

_CHAT_EXAMPLE: dict[str, JsonValue] = {
    "model": "handbook",
    "messages": [{"role": "user", "content": "How many points does a ground need for Grade A?"}],
    "stream": False,
}


class StreamOptions(BaseModel):
    """What a stream contains besides the answer."""

    include_usage: StrictBool = False


class ChatRequest(BaseModel):
    """A chat whose last message is the question. Further parameters of OpenAI's may be sent; see the documentation."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_CHAT_EXAMPLE]})

    model: str = Field(min_length=1, max_length=200, description="COLLECTION, profile/NAME or COLLECTION@PROFILE.")
    messages: list[ChatMessage] = Field(min_length=1, max_length=500)
    stream: StrictBool = False
    stream_options: StreamOptions | None = None
    where: tuple[str, ...] = Field((), max_length=50, description="Ours: conditions on metadata, such as year>=2020.")
    strategy: StrategyName | None = Field(None, description="Ours: how to retrieve.")
    citations: Places = Field("both", description="Ours: where to list the sources.")
    system: Literal["refuse", "ignore"] = Field("refuse", description="Ours: what to do with system messages.")


class ChatChoice(BaseModel):
    """The answer."""

    index: int = 0
    message: dict[str, Any] = Field(description="role, content, refusal, annotations.")
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class AnswerDetails(BaseModel):
    """Ours: further details of the answer."""

    answered: bool = Field(description="False if the documents do not contain the answer.")
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    understood: str = Field(description="The question that was searched.")
    request_id: str


class ChatAnswer(BaseModel):
    """A whole answer."""

    id: str = Field(examples=["chatcmpl-b1946ac92492d2347c6235b4d2611184"])
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[ChatChoice, ...]
    usage: UsageCounts
    citations: tuple[Citation, ...] = Field(description="Ours: every citation of the answer.")
    elt_llm: AnswerDetails


_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAiErrorContent(BaseModel):
    """The error."""

    message: str = Field(examples=["There is no model 'x', or this key may not read it."])
    type: str = Field(examples=["invalid_request_error"])
    code: str | None = Field(None, examples=["model_not_found"])
    param: str | None = Field(None, examples=["model"])
    hint: str = Field("", examples=["GET /v1/models lists the models."])
    request_id: str = Field(examples=["b1946ac92492d2347c6235b4d2611184"])


class OpenAiError(BaseModel):
    """An error in OpenAI's shape."""

    error: OpenAiErrorContent


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAiError} for status in (400, 403, 404, 409, 422, 500, 502, 503, 504)
}


class OpenAiRoute(APIRoute):
    """A route that returns errors in OpenAI's shape, and 400 for invalid requests, as OpenAI does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with its errors converted."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            request_id = request.scope.get(REQUEST_ID, "")
            try:
                return await handler(request)
            except RequestValidationError as error:
                return JSONResponse(_validation_error(error, request_id), 400)
            except EltError as error:
                status = status_of(error)
                return JSONResponse(openai_error(error, request_id), status, headers_of(status))

        return handle


def openai_error(error: EltError, request_id: str) -> dict[str, Any]:
    """Return an error in OpenAI's shape."""
    ours = error_content(error, request_id)["error"]
    status = status_of(error)
    code, param = ours["type"], None
    if isinstance(error, NotFound):
        code, param = "model_not_found", "model"
    if isinstance(error, NotSupported):
        code, param = "unsupported_parameter", error.parameter
    kind = _ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {**ours, "type": kind, "code": code, "param": param}}


def _validation_error(error: RequestValidationError, request_id: str) -> dict[str, Any]:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"] if part != "body"]
    content = OpenAiErrorContent(
        message=f"The request does not match its schema: {'.'.join(path) or 'body'}: {first['msg']}.",
        type="invalid_request_error",
        code="invalid_value",
        param=path[0] if path else None,
        hint="See /openapi.json",
        request_id=request_id,
    )
    return OpenAiError(error=content).model_dump()


class ChatFormatter:
    """Converts one result to OpenAI's shapes."""

    def __init__(self, request: ChatRequest, request_id: str, notes: tuple[str, ...]) -> None:
        self.request, self.request_id = request, request_id
        self._id = f"chatcmpl-{request_id}"
        self._notes = notes
        self._created = int(time.time())

    def whole(self, result: QueryResult) -> ChatAnswer:
        """Return the whole answer."""
        text = escape_markdown(result.answer)
        message = {
            "role": "assistant",
            "content": text + self.footnotes(result),
            "refusal": None,
            "annotations": self.annotations(text, result),
        }
        return ChatAnswer(
            id=self._id,
            created=self._created,
            model=self.request.model,
            choices=(ChatChoice(message=message, finish_reason="stop" if result.complete else "length"),),
            usage=usage_counts(result),
            citations=result.citations,
            elt_llm=self.details(result),
        )

    def footnotes(self, result: QueryResult) -> str:
        """Return the list of sources, if it is requested and the answer has some."""
        return footnote_list(result.citations) if self.request.citations != "annotations" else ""

    def annotations(self, text: str, result: QueryResult) -> list[dict[str, Any]]:
        """Return the citations with their offsets in the text, if they are requested."""
        return citation_annotations(text, result.citations) if self.request.citations != "footnotes" else []

    def details(self, result: QueryResult) -> AnswerDetails:
        """Return our own fields of an answer."""
        return AnswerDetails(
            answered=result.answered,
            confidence=result.confidence,
            notes=(*self._notes, *result.notes),
            understood=result.question,
            request_id=self.request_id,
        )

    def chunk(self, **content: Any) -> dict[str, Any]:
        """Return one `chat.completion.chunk` of a stream."""
        model = self.request.model
        return {"id": self._id, "object": "chat.completion.chunk", "created": self._created, "model": model, **content}
