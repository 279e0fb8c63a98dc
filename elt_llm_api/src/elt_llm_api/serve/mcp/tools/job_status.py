"""`job_status`: how far a job in the queue is, and what came of it."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.job_words import JobWithResult, tell_job
from elt_llm_api.serve.mcp.tool_call import READS, declared


def tool(given: Given) -> Tool:
    """The tool `job_status`."""

    async def job_status(
        context: AnyContext,
        id: Annotated[str, Field(pattern="^[0-9a-f]{32}$", description="Id of the run, as `run_job` gave it.")],  # noqa: A002
    ) -> Annotated[CallToolResult, JobWithResult]:
        """Tell how far a job is that was put into the queue, and what came of it."""
        principal = given.caller(context)
        job = await given.work(lambda: Jobs(given.services).get(principal, id))
        return tell_job(job, principal)

    return declared(job_status, "Status of a job", READS)
