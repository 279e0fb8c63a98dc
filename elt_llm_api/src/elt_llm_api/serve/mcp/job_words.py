"""What tools tell of a job in the queue."""

from typing import Any

from elt_llm_core.results import Result
from elt_llm_core.state.job_queue import JobStatus, QueuedJob
from pydantic import Field

from elt_llm_api.serve.mcp.fencing import on_one_line


class JobTold(Result):
    """A job in the queue."""

    id: str = Field(description="Id of this run; `job_status` takes it.")
    kind: str = Field(description="What is done.")
    status: JobStatus
    collections: tuple[str, ...] = Field(description="What it is about.")
    progress: dict[str, Any] = Field(description="`stage`, units `done` of `total` (0: unknown); at first empty.")
    result: dict[str, Any] = Field(description="What came of it, once it has ended.")
    error: str = Field(description="Why it failed, in sentences.")
    created_at: str = Field(description="ISO 8601, UTC.")
    updated_at: str = Field(description="ISO 8601, UTC.")


def job_told(job: QueuedJob) -> JobTold:
    """A job as agents are told of it."""
    return JobTold(
        id=job.id,
        kind=job.kind,
        status=job.status,
        collections=job.collections,
        progress=dict(job.progress),
        result=dict(job.result),
        error=job.error,
        created_at=job.created_at,
        updated_at=job.updated_at,
    )


def job_in_words(job: QueuedJob) -> str:
    """Such as `ingest into demo: running, reading 3 of 12 (id ...)`."""
    done, total = job.progress.get("done", 0), job.progress.get("total", 0)
    stage = on_one_line(str(job.progress.get("stage", "")))
    how_far = f", {stage} {done}{f' of {total}' if total else ''}" if stage and job.status == "running" else ""
    about = on_one_line(", ".join(job.collections))
    error = f" {on_one_line(job.error, 500)}" if job.error else ""
    return f"{job.kind}{f' of {about}' if about else ''}: {job.status}{how_far} (id {job.id}).{error}"
