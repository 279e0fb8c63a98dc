"""`/v1/jobs`: what is being done, how far it is, what came of it."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from elt_llm_core.errors import EltError
from elt_llm_core.state.job_queue import JobStatus, QueuedJob
from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Silence
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.routes.event_streams import (
    EVENT_STREAM,
    HEARTBEAT,
    STILL_AT_WORK,
    STREAM_HEADERS,
    STREAMED,
    error_frame,
    frame,
)
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
JobId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Id of the job, as it was given when it was queued.")]


_NOT_TOLD = ("collections", "asked_at")  # among the arguments: told apart, and of no use to callers


class JobTold(BaseModel):
    """A job as its callers see it."""

    id: str = Field(examples=["0f8fad5bd9cb469fa16570867728950e"])
    kind: str = Field(description="What is done.", examples=["ingest"])
    status: JobStatus
    collections: tuple[str, ...] = Field(description="What it is about.", examples=[["demo"]])
    mine: bool = Field(description="Whether this caller asked for it.")
    arguments: dict[str, Any] = Field(description="What was asked for, by kind.")
    progress: dict[str, Any] = Field(
        description="`stage`, units `done` of `total` (0: unknown), `detail`, and `notes` in sentences; at first empty."
    )
    error: str = Field(description="Why it failed, in sentences.", examples=[""])
    attempts: int = Field(description="How often it was begun.")
    created_at: str = Field(examples=["2030-01-01T00:00:00+00:00"])
    updated_at: str = Field(examples=["2030-01-01T00:00:09+00:00"])


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: tuple[JobTold, ...]


def told(job: QueuedJob, principal: Principal) -> JobTold:
    """A job as this caller is told of it."""
    return JobTold(
        id=job.id,
        kind=job.kind,
        status=job.status,
        collections=job.collections,
        mine=job.requested_by == principal.name,
        arguments={name: value for name, value in job.arguments.items() if name not in _NOT_TOLD},
        progress=dict(job.progress),
        error=job.error,
        attempts=job.attempts,
        created_at=job.created_at,
        updated_at=job.updated_at,
    )


@router.get("")
def jobs(
    services: GivenServices,
    caller: Caller,
    status: Annotated[list[JobStatus], Query(max_length=5, description="Only those; none: all.")] = [],  # noqa: B006
    collection: Annotated[str | None, Query(max_length=63, description="Only those about it.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> JobList:
    """The jobs that are queued, run or have ended, as far as the key may read what they are about."""
    found = Jobs(services).all(caller, status, collection, most=limit)
    return JobList(jobs=tuple(told(job, caller) for job in found))


@router.get("/{identity}")
def job(identity: JobId, services: GivenServices, caller: Caller) -> JobTold:
    """One job, and how far it is."""
    return told(Jobs(services).get(caller, identity), caller)


@router.get("/{identity}/result")
def result(identity: JobId, services: GivenServices, caller: Caller) -> dict[str, Any]:
    """What came of a job that is done, or of which everything failed; 409 while there is nothing."""
    return dict(Jobs(services).result(caller, identity))


@router.post("/{identity}/cancel")
def cancel(identity: JobId, services: GivenServices, caller: Caller) -> JobTold:
    """Have a job not done; what is being done is stopped within seconds. One that has ended stays as it is."""
    return told(Jobs(services).cancel(caller, identity), caller)


@router.get("/{identity}/events", responses=STREAMED)
async def events(
    identity: JobId,
    request: Request,
    services: GivenServices,
    caller: Caller,
    last_event_id: Annotated[
        str | None, Header(max_length=64, description="What was seen last is not sent again.")
    ] = None,
) -> StreamingResponse:
    """Server-Sent Events: `progress` with the job whenever something changes, at last `end`, or `error`.

    Comments come in between where nothing changes for long.
    """
    follow = Jobs(services).follow(caller, identity, silence=HEARTBEAT)
    first = await anext(follow)  # what is refused is refused with its status
    frames = _frames(first, follow, caller, last_event_id, request.scope.get(REQUEST_ID, ""))
    return StreamingResponse(frames, media_type=EVENT_STREAM, headers=STREAM_HEADERS)


async def _frames(
    first: QueuedJob | Silence,
    follow: AsyncGenerator[QueuedJob | Silence, None],
    caller: Principal,
    seen: str | None,
    request_id: str,
) -> AsyncIterator[bytes]:
    try:
        if (event := sent(first, caller, seen)) is not None:
            yield event
        async for job in follow:
            if (event := sent(job, caller, None)) is not None:
                yield event
    except EltError as error:
        yield error_frame(error, request_id)
    finally:
        await follow.aclose()


def sent(job: QueuedJob | Silence, caller: Principal, seen: str | None) -> bytes | None:
    """One event; none for what was seen, unless it is the end. Its id is a digest of what it tells."""
    if isinstance(job, Silence):
        return STILL_AT_WORK
    data = told(job, caller).model_dump_json()
    identity = hashlib.sha256(data.encode()).hexdigest()[:16]
    if identity == seen and not job.has_ended:
        return None
    return frame("end" if job.has_ended else "progress", data, identity)
