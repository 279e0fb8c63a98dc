"""`collection_status`: how a collection is."""

from typing import Annotated

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.collections import Collections, Described
from elt_llm_api.serve.mcp.arguments import CollectionName
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told
from elt_llm_api.serve.mcp.tools.list_collections import CollectionTold, collection_told

_MOST_FILES = 200


class FileInTrouble(Result):
    """A file that could not be read, or held no text."""

    path: str
    outcome: str = Field(description="failed or empty.")
    reason: str


class StatusTold(CollectionTold):
    """A collection in full."""

    collection_hash: str = Field(description="Equal for equal contents, in hex.")
    kept_generations: tuple[int, ...] = Field(description="Numbers that can be gone back to.")
    rolled_back: bool = Field(description="Whether an earlier generation is shown than the last.")
    embedding: str = Field(description="Provider and model of the vectors.")
    chunker: str = Field(description="What cut the texts into passages.")
    size: int = Field(description="Bytes of its indexes.")
    artefacts: tuple[str, ...] = Field(description="What else was read, such as enterprise_model.")
    duplicates: int = Field(description="Documents with the bytes of another one, indexed once.")
    forgotten: int = Field(description="Documents that are left out on purpose.")
    last_run: str | None = Field(description="When it was last ingested, ISO 8601, UTC.")
    being_written: bool = Field(description="Whether something is being ingested now.")
    calibrations: dict[str, str] = Field(description="By profile: which weights decide whether it answers.")
    files_in_trouble: tuple[FileInTrouble, ...] = Field(description="Files that are missing in it; the first 200.")


def tool(given: Given) -> Tool:
    """The tool `collection_status`."""

    async def collection_status(
        context: AnyContext, collection: CollectionName
    ) -> Annotated[CallToolResult, StatusTold]:
        """Tell how a collection is: what it holds, what it was built with, when, and which files failed."""
        principal = given.caller(context)
        found = await given.work(lambda: Collections(given.services).one(principal, collection))
        status = _told(found)
        return told(_in_words(status), status)

    return declared(collection_status, "Status of a collection", READS)


def _told(found: Described) -> StatusTold:
    status = found.status
    return StatusTold(
        **collection_told(status, found.health).model_dump(),
        collection_hash=status.collection_hash,
        kept_generations=status.kept_generations,
        rolled_back=status.rolled_back,
        embedding=status.embedding,
        chunker=status.chunker,
        size=status.size,
        artefacts=status.artefacts,
        duplicates=status.duplicates,
        forgotten=status.forgotten,
        last_run=status.last_run,
        being_written=found.being_written,
        calibrations={one.profile: one.state for one in found.calibrations},
        files_in_trouble=tuple(FileInTrouble(**file) for file in status.files_in_trouble[:_MOST_FILES]),
    )


def _in_words(status: StatusTold) -> str:
    lines = [
        f"{status.collection}: {status.health}{', being written' if status.being_written else ''}",
        f"{status.documents} documents, {status.passages} passages, language {status.language}",
        f"generation {status.generation or '-'} of {status.published_at or '-'}, last run {status.last_run or '-'}",
        f"embedding {status.embedding}, chunker {status.chunker}",
    ]
    trouble = [f"{file.outcome} {file.path}: {file.reason}" for file in status.files_in_trouble[:20]]
    parts = [("Files in trouble:", "\n".join(trouble))] if trouble else []
    return "\n".join((*lines, *([fenced(parts)] if parts else [])))
