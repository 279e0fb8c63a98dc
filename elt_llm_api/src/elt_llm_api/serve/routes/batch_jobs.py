"""`/v1/batch-jobs`: the operator's job files, and running them."""

from elt_llm_consumer.kinds import Kind
from fastapi import APIRouter
from pydantic import BaseModel, Field

from elt_llm_api.serve.actions.batch_jobs import BatchJob, BatchJobs, BatchRequest
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1", tags=["batch jobs"])


class BatchJobList(BaseModel):
    """The job files that a key may use."""

    jobs: list[BatchJob]
    problems: list[str] = Field(description="Files that cannot be read, and why; told to administrators alone.")


@router.get("/batch-jobs")
def list_batch_jobs(services: GivenServices, caller: Caller) -> BatchJobList:
    """The jobs in config/consumer that read only what the key may read."""
    jobs = BatchJobs(services)
    return BatchJobList(jobs=jobs.all(caller), problems=jobs.broken(caller))


@router.post("/batch-jobs/{kind}", status_code=202)
def run_batch_job(kind: Kind, asked: BatchRequest, services: GivenServices, caller: Caller) -> JobTold:
    """Run a job file as this kind of job: it waits in the queue, and its rows are kept as they are made."""
    return job_told(BatchJobs(services).submit(caller, kind, asked), caller)
