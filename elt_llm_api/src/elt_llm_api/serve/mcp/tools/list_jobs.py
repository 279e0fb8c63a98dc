"""`list_jobs`: which jobs of the operator there are to run, and to read rows of."""

from typing import Annotated

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult

from elt_llm_api.serve.actions.batch_jobs import BatchJob, BatchJobs
from elt_llm_api.serve.mcp.fencing import on_one_line
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told


class JobFiles(Result):
    """The jobs whose collections the caller may read."""

    jobs: tuple[BatchJob, ...]


def tool(given: Given) -> Tool:
    """The tool `list_jobs`."""

    async def list_jobs(context: AnyContext) -> Annotated[CallToolResult, JobFiles]:
        """List the jobs of the server: `run_job` runs one, `job_rows` reads the rows that it made."""
        principal = given.caller(context)
        found = await given.work(lambda: BatchJobs(given.services).all(principal))
        text = "\n".join(map(_line, found)) or "There is no job that you may read."
        return told(text, JobFiles(jobs=tuple(found)))

    return declared(list_jobs, "List the jobs", READS)


def _line(job: BatchJob) -> str:
    missing = f"; missing: {', '.join(job.missing)}" if job.missing else ""
    kinds = ", ".join(job.kinds) or "nothing yet"
    return f"{job.name} ({kinds}) of {', '.join(job.collections)}: {on_one_line(job.description)}{missing}"
