"""`/v1/chat/completions`: answers with citations for OpenAI clients, whole or streamed."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted
from fastapi import APIRouter
from fastapi.sse import format_sse_event

from elt_llm_api.serve.actions.openai import (
    FIRST_ANSWER_TEXT,
    RESTART_TEXT,
    ModelNameActions,
    ignored_parameters_note,
    parse_conversation,
    reject_unsupported_parameters,
    remaining_text,
    usage_counts,
)
from elt_llm_api.serve.actions.questions import AskRequest, FinalAnswer, KeepAlive, QuestionActions, StreamEvent
from elt_llm_api.serve.routes.ask import first_event
from elt_llm_api.serve.routes.dependencies import Call, RouteCall, cancel_on_disconnect
from elt_llm_api.serve.routes.event_streams import HEARTBEAT, HEARTBEAT_COMMENT, STREAMED, event_stream
from elt_llm_api.serve.routes.openai_schema import (
    OPENAI_ERRORS,
    ChatAnswer,
    ChatFormatter,
    ChatRequest,
    OpenAiRoute,
    openai_error,
)
from elt_llm_api.serve.safe_text import SafeMarkdown

_RESTART_TEXTS = {"": "", "once more": RESTART_TEXT, "back": FIRST_ANSWER_TEXT}


class ChatStream:
    """The frames of one stream. Sent text cannot be withdrawn: corrections follow it."""

    def __init__(self, formatter: ChatFormatter, first: StreamEvent, events: AsyncGenerator[StreamEvent, None]) -> None:
        self._formatter, self._first, self._events = formatter, first, events
        self._safe = SafeMarkdown()
        self._sent = ""  # all text
        self._answer = ""  # the text of the answer that counts

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield chunks, then `[DONE]`; an error in OpenAI's shape in place of the end. Closing stops the answer."""
        try:
            yield self._delta(role="assistant", content="")
            for frame in self._frames_of(self._first):
                yield frame
            async for event in self._events:
                for frame in self._frames_of(event):
                    yield frame
            yield format_sse_event(data_str="[DONE]")
        except EltError as error:
            yield _data_frame(openai_error(error, self._formatter.request_id))
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
            yield self._delta(content=text)

    def _end(self, result: QueryResult) -> Iterator[bytes]:
        yield from self._text(self._safe.end())
        yield from self._text(remaining_text(self._answer, result))
        text = self._sent
        yield from self._text(self._formatter.footnotes(result))
        if annotations := self._formatter.annotations(text, result):
            yield self._delta(annotations=annotations)
        finish = "stop" if result.complete else "length"
        citations = [citation.model_dump(mode="json") for citation in result.citations]
        details = self._formatter.details(result).model_dump(mode="json")
        yield self._chunk({"delta": {}, "finish_reason": finish}, citations=citations, elt_llm=details)
        options = self._formatter.request.stream_options
        if options and options.include_usage:
            yield _data_frame(self._formatter.chunk(choices=[], usage=usage_counts(result).model_dump()))

    def _delta(self, **content: Any) -> bytes:
        return self._chunk({"delta": content, "finish_reason": None})

    def _chunk(self, choice: dict[str, Any], **fields: Any) -> bytes:
        return _data_frame(self._formatter.chunk(choices=[{"index": 0, "logprobs": None, **choice}], **fields))


def _data_frame(content: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=json.dumps(content, ensure_ascii=False))


router = APIRouter(prefix="/v1/chat", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)


@router.post("/completions", responses=STREAMED)
async def create_chat_completion(body: ChatRequest, call: Call) -> ChatAnswer:
    """Answer the last message from the documents; earlier ones give the context of a follow-up, and nothing is stored.

    Citations are annotations of the message, a list beside it, and footnotes in its text, as `citations` selects.
    System messages are refused unless `system` is `ignore`; so are tools, several choices and logprobs.
    """
    question, notes = parse_chat_request(body, call)
    actions, formatter = QuestionActions(call.services), ChatFormatter(body, call.request_id, tuple(notes))
    if not body.stream:
        answering = actions.ask(call.principal, question, call.request_id)
        return formatter.whole(await cancel_on_disconnect(call.request, answering))
    events = actions.stream(call.principal, question, call.request_id, silence=HEARTBEAT)
    stream = ChatStream(formatter, await first_event(call.request, events), events)
    return event_stream(stream.frames())  # type: ignore[return-value]  # as described


def parse_chat_request(body: ChatRequest, call: RouteCall) -> tuple[AskRequest, list[str]]:
    """Return the question of a chat, and notes on its parameters. Raises NotFound, UsageError."""
    extra = body.model_extra or {}
    reject_unsupported_parameters(extra)
    model = ModelNameActions(call.services).find(call.principal, body.model)
    text, turns = parse_conversation(body.messages, ignore_system=body.system == "ignore")
    question = AskRequest(
        question=text,
        collections=model.collections,
        profile=model.profile,
        where=body.where,
        strategy=body.strategy,
        history=turns,
    )
    return question, ignored_parameters_note(extra)
