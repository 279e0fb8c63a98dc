"""`/v1/query` and `/v1/search`: answers whole or as they are made, and passages."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.results import QueryResult, RetrievedChunk, TraceStage
from elt_llm_query.events import AnswerBegins, Event, Piece, SourcesFound, Understood
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.asking import Answered, Asking, AskRequest, SearchRequest
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.errors import error_of
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["asking"])
_STREAM = "text/event-stream"


class SearchResult(BaseModel):
    """The passages for a question, best first."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")
    searched_for: str = Field(description="The question with mistyped words put right.")


@router.post("/search")
async def search(asked: SearchRequest, services: GivenServices, caller: Caller) -> SearchResult:
    """Find passages: hybrid retrieval and reranking as the profile says, no answer."""
    found = await Asking(services).search(caller, asked)
    return SearchResult(
        chunks=found.chunks, stages=found.stages, notes=found.notes, searched_for=found.searched_for or asked.question
    )


@router.post("/query", responses={200: {"content": {_STREAM: {"schema": {"type": "string"}}}}})
async def query(asked: AskRequest, request: Request, services: GivenServices, caller: Caller) -> QueryResult:
    """Answer a question with citations; as Server-Sent Events where `Accept: text/event-stream` asks for them.

    Events: `understood`, `sources`, `begins`, `piece`, at last `result` with the whole, or `error` in the one shape.
    """
    asking = Asking(services)
    if _STREAM not in request.headers.get("accept", ""):
        return await asking.ask(caller, asked)
    events = asking.stream(caller, asked)
    first = await anext(events)  # what is refused before anything was said is refused with its status
    told = _told(first, events, request.scope.get(REQUEST_ID, ""))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(told, media_type=_STREAM, headers=headers)  # type: ignore[return-value]  # as described


async def _told(
    first: Event | Answered, events: AsyncGenerator[Event | Answered, None], request_id: str
) -> AsyncIterator[bytes]:
    try:
        yield sent(first)
        async for event in events:
            yield sent(event)
    except EltError as error:
        yield _framed("error", error_of(error, request_id))
    finally:
        await events.aclose()


def sent(event: Event | Answered) -> bytes:
    """One event as a frame of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    match event:
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
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
