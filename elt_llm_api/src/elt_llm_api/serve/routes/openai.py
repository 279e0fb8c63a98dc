"""OpenAI-compatible routes: chat completions with citations, models, embeddings."""

import base64
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from elt_llm_core.errors import EltError
from elt_llm_core.results import UNCERTAIN_TEXT, AnswerOutcome, Citation, QueryResult
from elt_llm_core.settings.tree import StrategyName
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted
from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.sse import format_sse_event
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt

from elt_llm_api.serve.actions import openai as chat
from elt_llm_api.serve.actions.questions import AskRequest, FinalAnswer, KeepAlive, QuestionActions, StreamEvent
from elt_llm_api.serve.asgi import REQUEST_ID, error_body
from elt_llm_api.serve.errors import NotFound, error_content, headers_of, mistakes_of, status_of
from elt_llm_api.serve.routes.ask import first_event
from elt_llm_api.serve.routes.dependencies import (
    HEARTBEAT,
    HEARTBEAT_COMMENT,
    STREAMED,
    Call,
    RouteCall,
    cancel_on_disconnect,
    event_stream,
    json_event,
)
from elt_llm_api.serve.safe_text import SafeMarkdown, escape_markdown

_MOST_NAMES, _LONGEST_NAME = 30, 60  # names in a header, and characters of each
_CHAT_EXAMPLE: dict[str, JsonValue] = {
    "model": "handbook",
    "messages": [{"role": "user", "content": "How many points does a ground need for Grade A?"}],
    "stream": False,
}


class StreamOptions(BaseModel):
    """Options of a streamed response, such as whether it ends with token counts."""

    include_usage: StrictBool = False


class ChatRequest(BaseModel):
    """A chat whose last message is the question. Other parameters of OpenAI are accepted; see the documentation."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_CHAT_EXAMPLE]})

    model: str = Field(min_length=1, max_length=200, description="COLLECTION, profile/NAME or COLLECTION@PROFILE.")
    messages: list[chat.ChatMessage] = Field(min_length=1, max_length=500)
    stream: StrictBool = False
    stream_options: StreamOptions | None = None
    where: tuple[str, ...] = Field(
        (), max_length=50, description="Extension: conditions on metadata, such as year>=2020."
    )
    strategy: StrategyName | None = Field(None, description="Extension: how to retrieve.")
    citations: chat.Places = Field("both", description="Extension: where to list the sources.")
    system: Literal["style", "ignore", "refuse"] = Field(
        "style",
        description="Extension: use system messages as the style in which a language model writes, or not at all.",
    )


class ChatChoice(BaseModel):
    """The answer as a choice; there is always one."""

    index: int = 0
    message: dict[str, Any] = Field(description="role, content, refusal, annotations.")
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class AnswerDetails(BaseModel):
    """Fields of the answer that OpenAI does not have."""

    answered: bool = Field(description="False if the documents do not contain the answer.")
    outcome: AnswerOutcome = Field(
        description="`answered`; `uncertain`, if the answer may well be wrong; or `not found`."
    )
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    understood: str = Field(description="The question that was searched.")
    request_id: str


class ChatAnswer(BaseModel):
    """A complete answer in OpenAI's shape of a chat completion."""

    id: str = Field(examples=["chatcmpl-b1946ac92492d2347c6235b4d2611184"])
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[ChatChoice, ...]
    usage: chat.UsageCounts
    citations: tuple[Citation, ...] = Field(description="Extension: every citation of the answer.")
    elt_llm: AnswerDetails


_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAiErrorContent(BaseModel):
    """The content of an error in OpenAI's shape."""

    message: str = Field(examples=["There is no model 'x', or this key may not read it."])
    type: str = Field(examples=["invalid_request_error"])
    code: str | None = Field(None, examples=["model_not_found"])
    param: str | None = Field(None, examples=["model"])
    hint: str = Field("", examples=["GET /v1/models lists the models."])
    request_id: str = Field(examples=["b1946ac92492d2347c6235b4d2611184"])


class OpenAiError(BaseModel):
    """An error response in the format of OpenAI's API."""

    error: OpenAiErrorContent


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAiError} for status in (400, 403, 404, 409, 422, 500, 502, 503, 504)
}


class OpenAiRoute(APIRoute):
    """A route that returns errors in OpenAI's shape. Invalid requests get status 400, as with OpenAI."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with its errors converted to OpenAI's shape."""
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
    if isinstance(error, chat.NotSupported):
        code, param = "unsupported_parameter", error.parameter
    kind = _ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {**ours, "type": kind, "code": code, "param": param}}


def _validation_error(error: RequestValidationError, request_id: str) -> dict[str, Any]:
    place, first = mistakes_of(error)[0]
    path = [part for part in place if part != "body"]
    message = f"The request does not match its schema: {'.'.join(path) or 'body'}: {first}."
    content = error_body("invalid_request_error", message, "See /openapi.json", request_id)["error"]
    return {"error": {**content, "code": "invalid_value", "param": path[0] if path else None}}


class ChatFormatter:
    """Converts the answer to one request to the response formats of OpenAI's API."""

    def __init__(self, request: ChatRequest, request_id: str, notes: tuple[str, ...]) -> None:
        self.request, self.request_id = request, request_id
        self._id = f"chatcmpl-{request_id}"
        self._notes = notes
        self._created = int(time.time())

    def whole(self, result: QueryResult) -> ChatAnswer:
        """Return the complete answer in OpenAI's shape."""
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
            usage=chat.usage_counts(result),
            citations=result.citations,
            elt_llm=self.details(result),
        )

    def task_reply(self, reply: str) -> ChatAnswer:
        """Return the reply to a prompt in which the chat client itself asks for a title, tags or the like."""
        made = self.whole(QueryResult(question="", answer="", answered=True))
        made.choices[0].message["content"] = reply
        return made

    def task_stream(self, reply: str) -> Response:
        """Stream the reply to a prompt in which the chat client itself asks for a title, tags or the like."""

        async def frames() -> AsyncIterator[bytes]:
            yield self.frame({"role": "assistant", "content": reply})
            yield self.frame({}, "stop")
            yield format_sse_event(data_str="[DONE]")

        return event_stream(frames())

    def footnotes(self, result: QueryResult) -> str:
        """Return the text after the answer: a warning if it is uncertain, and the sources if requested."""
        warning = f"\n\n{UNCERTAIN_TEXT}" if result.outcome == "uncertain" else ""
        return warning + (chat.footnote_list(result.citations) if self.request.citations != "annotations" else "")

    def annotations(self, text: str, result: QueryResult) -> list[dict[str, Any]]:
        """Return the citations with their offsets in the text if the request asks for annotations."""
        return chat.citation_annotations(text, result.citations) if self.request.citations != "footnotes" else []

    def details(self, result: QueryResult) -> AnswerDetails:
        """Return the fields of an answer that OpenAI does not have."""
        return AnswerDetails(
            answered=result.answered,
            outcome=result.outcome,
            confidence=result.confidence,
            notes=(*self._notes, *result.notes),
            understood=result.question,
            request_id=self.request_id,
        )

    def frame(self, delta: dict[str, Any], finish_reason: str | None = None, **fields: Any) -> bytes:
        """Return one `chat.completion.chunk` of a stream that contains the next part of the message."""
        choice = {"index": 0, "logprobs": None, "delta": delta, "finish_reason": finish_reason}
        return self.chunk_frame(choices=[choice], **fields)

    def chunk_frame(self, **content: Any) -> bytes:
        """Return one `chat.completion.chunk` of a stream with this content."""
        shared = {"id": self._id, "object": "chat.completion.chunk", "created": self._created}
        return json_event(None, {**shared, "model": self.request.model, **content})


_RESTART_TEXTS = {"": "", "once more": chat.RESTART_TEXT, "back": chat.FIRST_ANSWER_TEXT}


class ChatStream:
    """The Server-Sent Events of one streamed answer. Sent text cannot be withdrawn, so corrections are appended."""

    def __init__(self, formatter: ChatFormatter, first: StreamEvent, events: AsyncGenerator[StreamEvent, None]) -> None:
        self._formatter, self._first, self._events = formatter, first, events
        self._safe = SafeMarkdown()
        self._sent = ""  # all text
        self._answer = ""  # the text since the last restart of the answer

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield chunks and then `[DONE]`, or an error in OpenAI's shape. Closing the generator stops the answer."""
        try:
            yield self._formatter.frame({"role": "assistant", "content": ""})
            for frame in self._frames_of(self._first):
                yield frame
            async for event in self._events:
                for frame in self._frames_of(event):
                    yield frame
            yield format_sse_event(data_str="[DONE]")
        except EltError as error:
            yield json_event(None, openai_error(error, self._formatter.request_id))
        finally:
            await self._events.aclose()

    def _frames_of(self, event: StreamEvent) -> Iterator[bytes]:
        match event:
            case KeepAlive():
                yield HEARTBEAT_COMMENT
            case AnswerStarted(again) if self._sent:
                yield from self._text(_RESTART_TEXTS[again])
                self._answer = ""
            case AnswerDelta(text):
                yield from self._text(self._safe.feed(text))
            case FinalAnswer(result):
                yield from self._end(result)
            case _:
                return

    def _text(self, text: str) -> Iterator[bytes]:
        if text:
            self._sent += text
            self._answer += text
            yield self._formatter.frame({"content": text})

    def _end(self, result: QueryResult) -> Iterator[bytes]:
        yield from self._text(self._safe.end())
        yield from self._text(chat.remaining_text(self._answer, result))
        text = self._sent
        yield from self._text(self._formatter.footnotes(result))
        if annotations := self._formatter.annotations(text, result):
            yield self._formatter.frame({"annotations": annotations})
        finish = "stop" if result.complete else "length"
        citations = [citation.model_dump(mode="json") for citation in result.citations]
        details = self._formatter.details(result).model_dump(mode="json")
        yield self._formatter.frame({}, finish, citations=citations, elt_llm=details)
        options = self._formatter.request.stream_options
        if options and options.include_usage:
            yield self._formatter.chunk_frame(choices=[], usage=chat.usage_counts(result).model_dump())


router = APIRouter(prefix="/v1", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)


@router.post("/chat/completions", responses=STREAMED)
async def create_chat_completion(body: ChatRequest, call: Call, response: Response) -> ChatAnswer:
    """Answer the last message from the documents. Earlier messages give the context, and nothing is stored.

    `citations` selects where sources are listed: as annotations of the message, as footnotes in its text, or both.
    If a language model writes, system messages set its style (header X-Elt-Llm-Style). Otherwise they are ignored, as
    are tools, `stop` and `response_format` (header X-Elt-Llm-Ignored). A request for several choices or logprobs, or
    with pictures, is refused.
    """
    question, styled, ignored = await run_in_threadpool(parse_chat_request, body, call)
    # Clients choose the names of parameters, so names are encoded and cut.
    names = ", ".join(quote(name, safe="")[:_LONGEST_NAME] for name in ignored[:_MOST_NAMES])
    headers = {"X-Elt-Llm-Ignored": names, "X-Elt-Llm-Style": ", ".join(styled)}
    headers = {name: value for name, value in headers.items() if value}
    response.headers.update(headers)
    notes = [f"Ignored, because the settings and the profile decide this: {', '.join(ignored)}."] if ignored else []
    notes += [f"Used as the style of the answer: {', '.join(styled)}."] if styled else []
    actions, formatter = QuestionActions(call.services), ChatFormatter(body, call.request_id, tuple(notes))
    if (reply := chat.reply_to_task(question.question)) is not None:
        return formatter.task_stream(reply) if body.stream else formatter.task_reply(reply)  # type: ignore[return-value]
    if not body.stream:
        answering = actions.ask(call.principal, question, call.request_id)
        return formatter.whole(await cancel_on_disconnect(call.request, answering))
    events = actions.stream(call.principal, question, call.request_id, silence=HEARTBEAT)
    stream = ChatStream(formatter, await first_event(call.request, events), events)
    streamed = event_stream(stream.frames())
    streamed.headers.update(headers)
    return streamed  # type: ignore[return-value]  # as described


def parse_chat_request(body: ChatRequest, call: RouteCall) -> tuple[AskRequest, list[str], list[str]]:
    """Return the question of a chat, the roles whose messages set the answer's style, and all other ignored names.

    The roles are "system" and "developer", if the request uses them as the style. Ignored are parameters that have no
    effect, and roles whose messages are not read. May wait for a model server. Raises NotFound, UsageError.
    """
    extra = body.model_extra or {}
    chat.reject_unsupported_parameters(extra)
    model = chat.ModelNameActions(call.services).find(call.principal, body.model)
    text, turns = chat.parse_conversation(body.messages, refuse_system=body.system == "refuse")
    style = chat.style_of(body.messages) if body.system == "style" else ""
    if style and not call.services.writers.is_available(model.profile):
        style = ""
    ignored = chat.ignored_names(extra, body.messages)
    styled = [name for name in ignored if name in chat.STYLE_ROLES] if style else []
    question = AskRequest(
        question=text,
        collections=model.collections,
        profile=model.profile,
        where=body.where,
        strategy=body.strategy,
        history=turns,
        style=style,
    )
    return question, styled, [name for name in ignored if name not in styled]


class ModelEntry(BaseModel):
    """A model: a collection, a profile, or a pair of both."""

    id: str = Field(examples=["handbook", "profile/fast", "handbook@fast"])
    object: Literal["model"] = "model"
    created: int = Field(description="Unix time of publication; 0 for a profile.", examples=[1795341600])
    owned_by: str = Field("elt-llm", examples=["elt-llm"])


class ModelList(BaseModel):
    """The list of all models."""

    object: Literal["list"] = "list"
    data: tuple[ModelEntry, ...]


@router.get("/models")
def list_models(call: Call) -> ModelList:
    """List collections and profiles as models. COLLECTION@PROFILE is a valid model name, too."""
    return ModelList(data=tuple(map(_model_entry, chat.ModelNameActions(call.services).all(call.principal))))


@router.get("/models/{model:path}")
def get_model(
    model: Annotated[str, Path(min_length=1, max_length=200, examples=["handbook@fast"])], call: Call
) -> ModelEntry:
    """Return one model by its name."""
    return _model_entry(chat.ModelNameActions(call.services).find(call.principal, model))


def _model_entry(model: chat.ModelName) -> ModelEntry:
    created = int(datetime.fromisoformat(model.built_at).timestamp()) if model.built_at else 0
    return ModelEntry(id=model.name, created=created)


Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class EmbeddingRequest(BaseModel):
    """Texts to embed. Other parameters have no effect."""

    model: str = Field(
        min_length=1,
        max_length=200,
        description="The configured embedding model, or `embedding`.",
        examples=["embedding"],
    )
    input: (
        Text
        | Annotated[list[Text], Field(min_length=1, max_length=chat.MOST_TEXTS)]
        | Annotated[list[StrictInt], Field(min_length=1, max_length=1_000_000)]
        | Annotated[list[list[StrictInt]], Field(min_length=1, max_length=chat.MOST_TEXTS)]
    ) = Field(
        description="One text or several, or their token numbers (cl100k_base).", examples=[["A loan costs 40 euros."]]
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: StrictInt | None = Field(None, ge=1, le=65_536, description="Unset, or the dimension of the model.")
    input_type: chat.InputType = Field(
        "document", description="Extension: whether texts are from documents or questions."
    )


class EmbeddingEntry(BaseModel):
    """The embedding of one text, a vector of length 1."""

    object: Literal["embedding"] = "embedding"
    index: int = Field(ge=0)
    embedding: list[float] | str = Field(description="Numbers, or float32 in little-endian order as base64.")


class EmbeddingUsage(BaseModel):
    """The number of tokens in all texts."""

    prompt_tokens: int = Field(ge=0)
    total_tokens: int = Field(ge=0)


class EmbeddingList(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: tuple[EmbeddingEntry, ...]
    model: str = Field(examples=["minilm"])
    usage: EmbeddingUsage


@router.post("/embeddings")
async def create_embeddings(body: EmbeddingRequest, call: Call) -> EmbeddingList:
    """Embed texts with the configured embedding model."""
    texts = chat.texts_to_embed(body.input)
    work = chat.EmbeddingActions(call.services).embed(body.model, texts, body.input_type, body.dimensions)
    vectors, tokens = await cancel_on_disconnect(call.request, work)
    as_base64 = body.encoding_format == "base64"
    encoded = (
        base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii") if as_base64 else vector.tolist()
        for vector in vectors
    )
    return EmbeddingList(
        data=tuple(EmbeddingEntry(index=index, embedding=vector) for index, vector in enumerate(encoded)),
        model=call.services.embedding.fingerprint.model,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )
