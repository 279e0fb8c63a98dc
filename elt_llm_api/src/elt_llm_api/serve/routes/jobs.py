"""`/v1/jobs`, `/v1/batch-jobs`, `/v1/ingest` and `/v1/evaluate`: queue jobs, follow and cancel them."""

import hashlib
from typing import Annotated, Any

from elt_llm_consumer.jobs.tasks import JobKind
from elt_llm_core.state.jobs import JobStatus, QueuedJob
from elt_llm_core.store.collections import COLLECTION_NAME
from fastapi import APIRouter, Header, Path, Query
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import BaseModel, Field, StrictBool

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.evaluation import EvaluationRequest
from elt_llm_api.serve.actions.jobs import (
    BatchJob,
    BatchJobActions,
    BatchJobRequest,
    JobActions,
    JobSummary,
    job_summary,
)
from elt_llm_api.serve.actions.questions import KeepAlive
from elt_llm_api.serve.routes.dependencies import (
    HEARTBEAT,
    HEARTBEAT_COMMENT,
    STREAMED,
    Call,
    event_frames,
    event_stream,
)
from elt_llm_api.serve.services import RequestModel

router = APIRouter(prefix="/v1")
JobId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Id of the job, as returned when it was queued.")]


class JobList(BaseModel):
    """A list of jobs, newest first."""

    jobs: tuple[JobSummary, ...]


@router.get("/jobs", tags=["jobs"])
def list_jobs(
    call: Call,
    status: Annotated[list[JobStatus], Query(max_length=5, description="Jobs of these statuses. If empty: all.")] = [],  # noqa: B006
    collection: Annotated[str | None, Query(max_length=63, description="Jobs that use this collection.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Largest number of jobs to return.")] = 100,
) -> JobList:
    """List the queued, running and ended jobs whose collections the key may read."""
    jobs = JobActions(call.services).all(call.principal, status, collection, most=limit)
    return JobList(jobs=tuple(job_summary(job, call.principal) for job in jobs))


@router.get("/jobs/{identity}", tags=["jobs"])
def get_job(identity: JobId, call: Call) -> JobSummary:
    """Return a job and its progress."""
    return job_summary(JobActions(call.services).get(call.principal, identity), call.principal)


@router.get("/jobs/{identity}/result", tags=["jobs"])
def get_job_result(identity: JobId, call: Call) -> dict[str, Any]:
    """Return the result of a finished job, also of an ingest whose files all failed. Until then, the status is 409."""
    return dict(JobActions(call.services).result(call.principal, identity))


@router.post("/jobs/{identity}/cancel", tags=["jobs"])
def cancel_job(identity: JobId, call: Call) -> JobSummary:
    """Cancel a job. A running job stops within seconds; an ended job does not change. Uploads are kept."""
    return job_summary(JobActions(call.services).cancel(call.principal, identity), call.principal)


@router.get("/jobs/{identity}/events", responses=STREAMED, tags=["jobs"])
async def stream_job_events(
    identity: JobId,
    call: Call,
    last_event_id: Annotated[
        str | None, Header(max_length=64, description="Id of the last event received; it is not sent again.")
    ] = None,
) -> EventSourceResponse:
    """Send Server-Sent Events: `progress` with the job after each change, and last `end` or `error`.

    Comments keep the connection open while nothing changes.
    """
    events = JobActions(call.services).follow(call.principal, identity, silence=HEARTBEAT)
    first = await anext(events)  # before the response starts, so that a refused request gets an error status
    return event_stream(
        event_frames(first, events, lambda job: job_frame(job, call.principal, last_event_id), call.request_id)
    )


def job_frame(job: QueuedJob | KeepAlive, caller: Principal, last_id: str | None) -> bytes | None:
    """Return a job as an event whose id is a digest of its data, or None if the client has this event already."""
    if isinstance(job, KeepAlive):
        return HEARTBEAT_COMMENT
    data = job_summary(job, caller).model_dump_json()
    identity = hashlib.sha256(data.encode()).hexdigest()[:16]
    if identity == last_id and not job.has_ended:
        return None
    return format_sse_event(data_str=data, event="end" if job.has_ended else "progress", id=identity)


class BatchJobList(BaseModel):
    """The job files that a key may use."""

    jobs: list[BatchJob]
    problems: list[str] = Field(description="Why job files are invalid; for administrators only.")


@router.get("/batch-jobs", tags=["batch jobs"])
def list_batch_jobs(call: Call) -> BatchJobList:
    """List the jobs in config/consumer whose collections the key may read."""
    actions = BatchJobActions(call.services)
    return BatchJobList(jobs=actions.all(call.principal), problems=actions.problems(call.principal))


@router.post("/batch-jobs/{kind}", status_code=202, tags=["batch jobs"])
def run_batch_job(kind: JobKind, body: BatchJobRequest, call: Call) -> JobSummary:
    """Queue a run of a job file for one kind of output, such as `glossary`. Each row is stored when it is complete."""
    return job_summary(BatchJobActions(call.services).submit(call.principal, kind, body), call.principal)


class IngestRequest(RequestModel):
    """The files to ingest, and the collection that they belong to."""

    collection: str = Field(pattern=COLLECTION_NAME, description="Created if it is new.", examples=["samples"])
    paths: tuple[str, ...] = Field(
        (),
        max_length=1000,
        description="Files and folders of the server, below ingest.roots. If empty: earlier sources and all uploads.",
        examples=[[]],
    )
    rebuild: StrictBool = Field(False, description="Index everything again; needed after a change of embedding model.")
    resume: StrictBool = Field(False, description="Continue after a rollback, from the published generation.")


@router.post("/ingest", status_code=202, tags=["documents"])
def ingest_paths(body: IngestRequest, call: Call) -> JobSummary:
    """Queue an ingest, whose progress is at /v1/jobs/ID/events."""
    job = JobActions(call.services).submit_ingest(call.principal, **body.model_dump())
    return job_summary(job, call.principal)


@router.post("/evaluate", status_code=202, tags=["evaluation"])
def evaluate_collection(body: EvaluationRequest, call: Call) -> JobSummary:
    """Queue an evaluation by questions generated from the collection's documents. Its result is the report."""
    return job_summary(JobActions(call.services).submit_evaluation(call.principal, body), call.principal)
