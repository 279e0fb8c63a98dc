"""`ingest_path`: files of the server read into a collection, where whoever runs it lets agents do so."""

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
    """The tool `ingest_path`."""

    async def ingest_path(
        context: AnyContext,
        collection: CollectionName,
        path: Annotated[
            str, Field(min_length=1, max_length=4000, description="File or folder of the server, below ingest.roots.")
        ],
    ) -> Annotated[CallToolResult, JobWithResult]:
        """Read a file or folder of the server into a collection, which is made if need be. Returns at once.

        Off unless whoever runs the server allows it (serve.agents_may_ingest and ingest.roots). Readers keep what is
        published until all is read; follow it with `job_status`.
        """
        principal = given.caller(context)
        require_ingest(given.services.loaded)
        job = await given.work(lambda: Ingesting(given.services).submit(principal, collection, [path]))
        return tell_job(job, principal)

    return declared(ingest_path, "Ingest a file or folder", ADDS)
