"""`search`: passages for a question."""

from dataclasses import dataclass
from typing import Annotated

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.asking import Asking, SearchRequest
from elt_llm_api.serve.mcp.arguments import Asked
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import Passage, numbered, passage_of, with_notes
from elt_llm_api.serve.mcp.tool_call import READS, declared, taking, told


@dataclass(frozen=True)
class Searched(Asked):
    """A question, and how many passages for it are wanted."""

    top_k: Annotated[int | None, Field(ge=1, le=200, description="Most passages; unset: as the profile.")] = None


class Passages(Result):
    """The passages for a question, best first."""

    searched_for: str = Field(description="The question with mistyped words put right.")
    passages: tuple[Passage, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")


def tool(given: Given) -> Tool:
    """The tool `search`."""

    async def search(context: AnyContext, asked: Searched) -> Annotated[CallToolResult, Passages]:
        """Find the passages of the documents that say most about a question, best first, with their exact places.

        Reads vectors and keywords and ranks both together. Use it to read for yourself; `answer` says less and cites.
        """
        found = await Asking(given.services).search(given.caller(context), SearchRequest(**vars(asked)))
        passages = tuple(map(passage_of, found.chunks))
        text = fenced(numbered(passages)) or "No passage was found."
        searched_for = found.searched_for or asked.question
        return told(
            with_notes(text, found.notes), Passages(searched_for=searched_for, passages=passages, notes=found.notes)
        )

    return declared(taking(Searched, search), "Find passages", READS)
