"""`list_jobs`: which jobs of the operator there are to run, and to read rows of."""

from typing import Annotated

from elt_llm_consumer.kinds import Kind
from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.batch_jobs import BatchJob, BatchJobs
from elt_llm_api.serve.mcp.fencing import on_one_line
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told


class JobFileTold(Result):
    """A job that can be run by its name."""

    job: str = Field(description="Name of the job.")
    kinds: tuple[Kind, ...] = Field(description="What can be made of its sources, the one it is called after first.")
    description: str = Field(description="What it is for.")
    collections: tuple[str, ...] = Field(description="Every collection that it reads.")
    missing: tuple[str, ...] = Field(description="Those of them that there are not, or not yet.")
    may_run: bool = Field(description="Whether you may run it, and not only read its rows.")


class JobFilesTold(Result):
    """The jobs whose collections the caller may read."""

    jobs: tuple[JobFileTold, ...]


def tool(given: Given) -> Tool:
    """The tool `list_jobs`."""

    async def list_jobs(context: AnyContext) -> Annotated[CallToolResult, JobFilesTold]:
        """List the jobs of the server: `run_job` runs one, `job_rows` reads the rows that it made."""
        principal = given.caller(context)
        found = await given.work(lambda: BatchJobs(given.services).all(principal))
        listed = tuple(map(_told, found))
        return told("\n".join(map(_line, listed)) or "There is no job that you may read.", JobFilesTold(jobs=listed))

    return declared(list_jobs, "List the jobs", READS)


def _told(job: BatchJob) -> JobFileTold:
    return JobFileTold(
        job=job.name,
        kinds=job.kinds,
        description=job.description,
        collections=job.collections,
        missing=job.missing,
        may_run=job.may_change,
    )


def _line(job: JobFileTold) -> str:
    missing = f"; missing: {', '.join(job.missing)}" if job.missing else ""
    kinds = ", ".join(job.kinds) or "nothing yet"
    return f"{job.job} ({kinds}) of {', '.join(job.collections)}: {on_one_line(job.description)}{missing}"
