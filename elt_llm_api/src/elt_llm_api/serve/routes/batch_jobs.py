"""`/v1/batch-jobs` and `/v1/jobs/{kind}`: the operator's job files, and running them."""

from typing import Literal

from elt_llm_consumer.kinds import Kind
from fastapi import APIRouter
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.batch_jobs import BatchJob, BatchJobs, BatchRequest
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["batch jobs"])


class BatchJobList(BaseModel):
    """The job files that a key may use."""

    jobs: list[BatchJob]
    problems: list[str] = Field(description="Files that cannot be read, and why; told to administrators alone.")


class Queued(BaseModel):
    """Work that was put into the queue."""

    id: str = Field(description="Ask for it: GET /v1/jobs/{id}")
    kind: str
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    created_at: str = Field(description="ISO 8601, UTC.")


@router.get("/batch-jobs")
def batch_jobs(services: GivenServices, caller: Caller) -> BatchJobList:
    """The jobs in config/consumer that read only what the key may read."""
    jobs = BatchJobs(services)
    return BatchJobList(jobs=jobs.all(caller), problems=jobs.broken(caller))


@router.post("/jobs/{kind}", status_code=202)
def run(kind: Kind, asked: BatchRequest, services: GivenServices, caller: Caller) -> Queued:
    """Run a job file as this kind of job: it waits in the queue, and its rows are kept as they are made."""
    job = BatchJobs(services).submit(caller, kind, asked)
    return Queued(id=job.id, kind=job.kind, status=job.status, created_at=job.created_at)
