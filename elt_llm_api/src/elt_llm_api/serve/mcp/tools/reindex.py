"""`reindex`: a collection looked at again, where whoever runs the server lets agents do so."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.ingesting import Ingesting
from elt_llm_api.serve.mcp.arguments import CollectionName
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.job_words import JobWithResult, tell_job
from elt_llm_api.serve.mcp.permission import require_ingest
from elt_llm_api.serve.mcp.tool_call import ADDS, declared


def tool(given: Given) -> Tool:
    """The tool `reindex`."""

    async def reindex(
        context: AnyContext,
        collection: CollectionName,
        rebuild: Annotated[bool, Field(description="Read and embed all anew, not what has changed alone.")] = False,
    ) -> Annotated[CallToolResult, JobWithResult]:
        """Look again at the files that a collection was filled from, and publish what has changed. Returns at once.

        Off unless whoever runs the server allows it (serve.agents_may_ingest and ingest.roots). Readers keep what is
        published until all is read; follow it with `job_status`.
        """
        principal = given.caller(context)
        require_ingest(given.services.loaded)
        job = await given.work(lambda: Ingesting(given.services).submit(principal, collection, rebuild=rebuild))
        return tell_job(job, principal)

    return declared(reindex, "Read a collection's files again", ADDS)
