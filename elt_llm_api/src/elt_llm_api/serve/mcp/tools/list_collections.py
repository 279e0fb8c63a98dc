"""`list_collections`: what there is to ask."""

from typing import Annotated

from elt_llm_core.results import Result
from elt_llm_core.store.status import CollectionStatus
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.collections import Collections, Health
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told


class CollectionTold(Result):
    """A collection that can be asked, or could."""

    collection: str = Field(description="Name of the collection.")
    health: Health = Field(description="Whether questions are answered from all of it, and else why not.")
    documents: int = Field(description="How many documents it has.")
    passages: int = Field(description="How many passages they were cut into.")
    generation: int | None = Field(description="Number of what is published; none if nothing is.")
    published_at: str | None = Field(description="When that was, ISO 8601, UTC.")
    language: str = Field(description="Language of the texts, as two letters.")


class CollectionsTold(Result):
    """Every collection that the caller may read."""

    collections: tuple[CollectionTold, ...]


def tool(given: Given) -> Tool:
    """The tool `list_collections`."""

    async def list_collections(context: AnyContext) -> Annotated[CallToolResult, CollectionsTold]:
        """List the collections of documents that you may ask, with their size and whether they are up to date."""
        principal = given.caller(context)
        found = await given.work(lambda: Collections(given.services).all(principal))
        listed = tuple(collection_told(status, health) for status, health in found)
        text = "\n".join(map(_line, listed)) or "There is no collection that you may read."
        return told(text, CollectionsTold(collections=listed))

    return declared(list_collections, "List the collections", READS)


def collection_told(status: CollectionStatus, health: Health) -> CollectionTold:
    """A collection as agents are told of it."""
    return CollectionTold(
        collection=status.collection,
        health=health,
        documents=status.documents,
        passages=status.nodes,
        generation=status.generation,
        published_at=status.published_at,
        language=status.language,
    )


def _line(one: CollectionTold) -> str:
    size = f"{one.documents} documents, {one.passages} passages, language {one.language}"
    return f"{one.collection}: {size}, generation {one.generation or '-'}, {one.health}"
