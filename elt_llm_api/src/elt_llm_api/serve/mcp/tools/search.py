"""`search`: passages for a question."""

from typing import Annotated

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.asking import Asking, SearchRequest
from elt_llm_api.serve.mcp.arguments import Collections, Conditions, Prefixes, ProfileName, QuestionText, Strategy
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import Passage, numbered, passage_of, with_notes
from elt_llm_api.serve.mcp.tool_call import READS, declared, told


class Passages(Result):
    """The passages for a question, best first."""

    searched_for: str = Field(description="The question with mistyped words put right.")
    passages: tuple[Passage, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")


def tool(given: Given) -> Tool:
    """The tool `search`."""

    async def search(  # noqa: PLR0913, PLR0917 - the arguments of the tool
        context: AnyContext,
        question: QuestionText,
        collections: Collections = (),
        prefixes: Prefixes = (),
        profile: ProfileName = "default",
        where: Conditions = (),
        strategy: Strategy = None,
        top_k: Annotated[int | None, Field(ge=1, le=200, description="Most passages; unset: as the profile.")] = None,
    ) -> Annotated[CallToolResult, Passages]:
        """Find the passages of the documents that say most about a question, best first, with their exact places.

        Reads vectors and keywords and ranks both together. Use it to read for yourself; `answer` says less and cites.
        """
        request = SearchRequest(
            question=question,
            collections=collections,
            prefixes=prefixes,
            profile=profile,
            where=where,
            strategy=strategy,
            top_k=top_k,
        )
        found = await Asking(given.services).search(given.caller(context), request)
        passages = tuple(map(passage_of, found.chunks))
        text = fenced(numbered(passages)) or "No passage was found."
        searched_for = found.searched_for or question
        return told(
            with_notes(text, found.notes), Passages(searched_for=searched_for, passages=passages, notes=found.notes)
        )

    return declared(search, "Find passages", READS)
