"""`run_job`: one of the operator's jobs put into the queue."""

from typing import Annotated

from elt_llm_consumer.kinds import Kind
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.batch_jobs import MOST_ROWS, BatchJobs, BatchRequest
from elt_llm_api.serve.mcp.arguments import JobName
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.job_words import JobWithResult, tell_job
from elt_llm_api.serve.mcp.tool_call import ADDS, declared

_Name = Annotated[str, Field(min_length=1, max_length=2000)]


def tool(given: Given) -> Tool:
    """The tool `run_job`."""

    async def run_job(
        context: AnyContext,
        job: JobName,
        kind: Annotated[Kind, Field(description="What is made: terms, entities, their coverage, or a model.")],
        only: Annotated[
            tuple[_Name, ...], Field(max_length=1000, description="Rows of these names or keys; none: all.")
        ] = (),
        limit: Annotated[int | None, Field(ge=1, le=MOST_ROWS, description="At most so many rows.")] = None,
        anew: Annotated[bool, Field(description="Make rows anew that are at hand.")] = False,
        dry_run: Annotated[bool, Field(description="Say what would be made and what it costs; make nothing.")] = False,
    ) -> Annotated[CallToolResult, JobWithResult]:
        """Run a job of the server that reads collections and makes tables of rows with evidence. Returns at once.

        It is done one after the other, in a process of its own: follow it with `job_status`, read it with `job_rows`.
        """
        principal = given.caller(context)
        asked = BatchRequest(job=job, only=only, limit=limit, anew=anew, dry_run=dry_run)
        queued = await given.work(lambda: BatchJobs(given.services).submit(principal, kind, asked))
        return tell_job(queued, principal)

    return declared(run_job, "Run a job", ADDS)
