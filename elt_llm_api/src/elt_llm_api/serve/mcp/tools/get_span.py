"""`get_span`: the exact text of a place in a document."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.spans import LONGEST_SPAN, Span, Spans
from elt_llm_api.serve.mcp.arguments import CollectionName, DocumentName
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import place_of
from elt_llm_api.serve.mcp.tool_call import READS, declared, told

_LONGEST_DOCUMENT = 1_000_000_000


def tool(given: Given) -> Tool:
    """The tool `get_span`."""

    async def get_span(
        context: AnyContext,
        collection: CollectionName,
        document: DocumentName,
        start: Annotated[int, Field(ge=0, le=_LONGEST_DOCUMENT, description="Offset of the first character.")],
        end: Annotated[
            int,
            Field(ge=1, le=_LONGEST_DOCUMENT, description=f"Offset behind the last; at most {LONGEST_SPAN} further."),
        ],
    ) -> Annotated[CallToolResult, Span]:
        """Read a document's text from one offset to another, exactly as citations see it, with page and headings.

        Passages and citations give such offsets; wider ones show what stands around them.
        """
        principal = given.caller(context)
        span = await given.work(lambda: Spans(given.services).get(principal, collection, document, start, end))
        return told(fenced([(place_of(span), span.text)]), span)

    return declared(get_span, "Read a place in a document", READS)
