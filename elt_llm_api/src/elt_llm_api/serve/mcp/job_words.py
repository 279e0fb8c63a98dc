"""What tools tell of a job in the queue."""

from typing import Any

from elt_llm_core.state.job_queue import QueuedJob
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.mcp.fencing import on_one_line
from elt_llm_api.serve.mcp.tool_call import told


class JobWithResult(JobTold):
    """A job, and what came of it; `job_status` takes its id."""

    result: dict[str, Any] = Field(description="What came of it, once it has ended.")


def tell_job(job: QueuedJob, principal: Principal) -> CallToolResult:
    """A job as the agents of this caller are told of it."""
    return told(job_in_words(job), JobWithResult(**dict(job_told(job, principal)), result=dict(job.result)))


def job_in_words(job: QueuedJob) -> str:
    """Such as `ingest of demo: running, reading 3 of 12 (id ...)`."""
    done, total = job.progress.get("done", 0), job.progress.get("total", 0)
    stage = on_one_line(str(job.progress.get("stage", "")))
    how_far = f", {stage} {done}{f' of {total}' if total else ''}" if stage and job.status == "running" else ""
    about = on_one_line(", ".join(job.collections))
    error = f" {on_one_line(job.error, 500)}" if job.error else ""
    return f"{job.kind}{f' of {about}' if about else ''}: {job.status}{how_far} (id {job.id}).{error}"
