"""`/v1/query` and `/v1/search`: answers whole or as they are made, and passages."""

import json
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict
from typing import Any

from elt_llm_core.results import QueryResult, RetrievedChunk, TraceStage
from elt_llm_query.events import AnswerBegins, Event, Piece, SourcesFound, Understood
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from elt_llm_api.serve.actions.asking import Answered, Asking, AskRequest, SearchRequest, Silence
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.routes.event_streams import (
    EVENT_STREAM,
    HEARTBEAT,
    STILL_AT_WORK,
    STREAMED,
    event_stream,
    frame,
    frames,
)
from elt_llm_api.serve.routes.given import Caller, GivenServices
from elt_llm_api.serve.routes.leaving import while_waited_for

router = APIRouter(prefix="/v1", tags=["asking"])
_NO_TOKEN = re.compile(r"[^A-Za-z0-9_-]")
Told = Event | Silence | Answered


class SearchResult(BaseModel):
    """The passages for a question, best first."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    searched_for: str = Field(description="The question with mistyped words put right.")


@router.post("/search")
async def search(
    asked: SearchRequest, request: Request, response: Response, services: GivenServices, caller: Caller
) -> SearchResult:
    """Find passages: hybrid retrieval and reranking as the profile says, no answer.

    The header Server-Timing tells how long each stage took, in milliseconds.
    """
    found = await while_waited_for(request, Asking(services).search(caller, asked))
    response.headers["server-timing"] = timing(found.stages)
    return SearchResult(
        chunks=found.chunks, stages=found.stages, notes=found.notes, searched_for=found.searched_for or asked.question
    )


@router.post("/query", responses=STREAMED)
async def query(
    asked: AskRequest, request: Request, response: Response, services: GivenServices, caller: Caller
) -> QueryResult:
    """Answer a question with citations; as Server-Sent Events where `Accept: text/event-stream` asks for them.

    Events: `understood`, `sources`, `begins`, `piece`, at last `result` with the whole, or `error` in the one shape;
    comments in between where nothing is to be told for long. Closing the connection stops the answer.
    The id in the header X-Request-ID names the answer to /v1/feedback.
    """
    asking, request_id = Asking(services), request.scope.get(REQUEST_ID, "")
    if EVENT_STREAM not in request.headers.get("accept", ""):
        result = await while_waited_for(request, asking.ask(caller, asked, request_id))
        response.headers["server-timing"] = timing(result.trace.stages)
        return result
    events = asking.stream(caller, asked, request_id, silence=HEARTBEAT)
    first = await first_of(request, events)
    return event_stream(frames(first, events, sent, request_id))  # type: ignore[return-value]  # as described


async def first_of(request: Request, events: AsyncGenerator[Told, None]) -> Told:
    """The first event: what is refused before anything was said is refused with its status."""
    try:
        return await while_waited_for(request, _first(events))
    except HTTPException:
        await events.aclose()
        raise


def timing(stages: Iterable[TraceStage]) -> str:
    """The stages as the header Server-Timing has them (https://www.w3.org/TR/server-timing/)."""
    return ", ".join(f"{_NO_TOKEN.sub('-', stage.name)};dur={stage.took_ms:.1f}" for stage in stages)


async def _first(events: AsyncGenerator[Told, None]) -> Told:
    return await anext(events)


def sent(event: Told) -> bytes:
    """One event of an answer as a frame of a stream."""
    match event:
        case Silence():
            return STILL_AT_WORK
        case Understood():
            return _framed("understood", asdict(event))
        case SourcesFound(chunks):
            return _framed("sources", {"chunks": [chunk.model_dump(mode="json") for chunk in chunks]})
        case AnswerBegins():
            return _framed("begins", asdict(event))
        case Piece():
            return _framed("piece", asdict(event))
        case Answered(result):
            return _framed("result", result.model_dump(mode="json"))


def _framed(name: str, content: Any) -> bytes:
    return frame(name, json.dumps(content, ensure_ascii=False))
