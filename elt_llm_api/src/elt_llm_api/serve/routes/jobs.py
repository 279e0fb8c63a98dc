"""`/v1/jobs`: what is being done, how far it is, what came of it."""

import hashlib
from typing import Annotated, Any

from elt_llm_core.state.job_queue import JobStatus, QueuedJob
from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Silence
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.routes.event_streams import HEARTBEAT, STILL_AT_WORK, STREAMED, event_stream, frame, frames
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
JobId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Id of the job, as it was given when it was queued.")]


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: tuple[JobTold, ...]


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
    return JobList(jobs=tuple(job_told(job, caller) for job in found))


@router.get("/{identity}")
def job(identity: JobId, services: GivenServices, caller: Caller) -> JobTold:
    """One job, and how far it is."""
    return job_told(Jobs(services).get(caller, identity), caller)


@router.get("/{identity}/result")
def result(identity: JobId, services: GivenServices, caller: Caller) -> dict[str, Any]:
    """What came of a job that is done, or of which everything failed; 409 while there is nothing."""
    return dict(Jobs(services).result(caller, identity))


@router.post("/{identity}/cancel")
def cancel(identity: JobId, services: GivenServices, caller: Caller) -> JobTold:
    """Have a job not done; what is being done is stopped within seconds. One that has ended stays as it is."""
    return job_told(Jobs(services).cancel(caller, identity), caller)


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
    told = frames(first, follow, lambda job: sent(job, caller, last_event_id), request.scope.get(REQUEST_ID, ""))
    return event_stream(told)


def sent(job: QueuedJob | Silence, caller: Principal, seen: str | None) -> bytes | None:
    """One event; none for what was seen, unless it is the end. Its id is a digest of what it tells."""
    if isinstance(job, Silence):
        return STILL_AT_WORK
    data = job_told(job, caller).model_dump_json()
    identity = hashlib.sha256(data.encode()).hexdigest()[:16]
    if identity == seen and not job.has_ended:
        return None
    return frame("end" if job.has_ended else "progress", data, identity)
