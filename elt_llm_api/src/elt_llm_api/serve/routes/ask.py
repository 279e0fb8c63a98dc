"""`/v1/ask` and `/v1/search`: answers, whole or streamed, and retrieved chunks."""

import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict

from elt_llm_core.results import QueryResult, RetrievedChunk, TraceStage
from elt_llm_query.synthesis.events import AnswerDelta, AnswerStarted, QuestionRewritten, SourcesFound
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from elt_llm_api.serve.actions.questions import (
    AskRequest,
    FinalAnswer,
    KeepAlive,
    QuestionActions,
    SearchRequest,
    StreamEvent,
)
from elt_llm_api.serve.routes.dependencies import (
    EVENT_STREAM,
    HEARTBEAT,
    HEARTBEAT_COMMENT,
    STREAMED,
    Call,
    cancel_on_disconnect,
    event_frames,
    event_stream,
    json_event,
)

router = APIRouter(prefix="/v1", tags=["asking"])
_NO_TOKEN = re.compile(r"[^A-Za-z0-9_-]")


class SearchResponse(BaseModel):
    """The chunks for a question, best first."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    searched_for: str = Field(description="The question with corrected spelling.")


@router.post("/search")
async def search(body: SearchRequest, response: Response, call: Call) -> SearchResponse:
    """Find chunks by hybrid retrieval and reranking as in the profile, without an answer.

    The header Server-Timing reports the duration of each stage in milliseconds.
    """
    found = await cancel_on_disconnect(call.request, QuestionActions(call.services).search(call.principal, body))
    response.headers["server-timing"] = server_timing(found.stages)
    return SearchResponse(
        chunks=found.chunks, stages=found.stages, notes=found.notes, searched_for=found.searched_for or body.question
    )


@router.post("/query", name="query", deprecated=True, description="Alias of POST /v1/ask.", responses=STREAMED)
@router.post("/ask", responses=STREAMED)
async def ask(body: AskRequest, response: Response, call: Call) -> QueryResult:
    """Answer a question with citations.

    With `Accept: text/event-stream` the response is a stream of Server-Sent Events.

    The events are `understood`, `sources`, `started`, `piece`, and last `result` with the complete answer. An `error`
    event has the shape of all errors. Comments keep the connection open between events. Closing the connection stops
    the answer. The id in the header X-Request-ID names the answer in /v1/feedback.
    """
    actions = QuestionActions(call.services)
    if EVENT_STREAM not in call.request.headers.get("accept", ""):
        result = await cancel_on_disconnect(call.request, actions.ask(call.principal, body, call.request_id))
        response.headers["server-timing"] = server_timing(result.trace.stages)
        return result
    events = actions.stream(call.principal, body, call.request_id, silence=HEARTBEAT)
    first = await first_event(call.request, events)
    return event_stream(event_frames(first, events, answer_frame, call.request_id))  # type: ignore[return-value]  # as described


async def first_event(request: Request, events: AsyncGenerator[StreamEvent, None]) -> StreamEvent:
    """Return the first event, so that a request that fails before the first event gets an error status."""

    async def wait() -> StreamEvent:
        return await anext(events)

    try:
        return await cancel_on_disconnect(request, wait())
    except HTTPException:
        await events.aclose()
        raise


def server_timing(stages: Iterable[TraceStage]) -> str:
    """Return the durations of the stages as a Server-Timing header (https://www.w3.org/TR/server-timing/)."""
    return ", ".join(f"{_NO_TOKEN.sub('-', stage.name)};dur={stage.took_ms:.1f}" for stage in stages)


def answer_frame(event: StreamEvent) -> bytes:
    """Return an event of the answer as a Server-Sent Event, such as `sources` with the chunks as JSON."""
    match event:
        case KeepAlive():
            return HEARTBEAT_COMMENT
        case QuestionRewritten():
            return json_event("understood", asdict(event))
        case SourcesFound(chunks):
            return json_event("sources", {"chunks": [chunk.model_dump(mode="json") for chunk in chunks]})
        case AnswerStarted():
            return json_event("started", asdict(event))
        case AnswerDelta():
            return json_event("piece", asdict(event))
        case FinalAnswer(result):
            return json_event("result", result.model_dump(mode="json"))
