"""`model_neighbours`: what an enterprise model draws around an entity."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.neighbours import LARGEST_RADIUS, Around, Neighbours
from elt_llm_api.serve.mcp.arguments import CollectionName, JobName
from elt_llm_api.serve.mcp.fencing import fenced, on_one_line
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told


def tool(given: Given) -> Tool:
    """The tool `model_neighbours`."""

    async def model_neighbours(
        context: AnyContext,
        entity: Annotated[str, Field(min_length=1, max_length=1000, description="Id or name of the entity.")],
        collection: Annotated[CollectionName | None, Field(description="The collection that holds the model.")] = None,
        job: Annotated[JobName | None, Field(description="Or a job whose sources name that collection.")] = None,
        radius: Annotated[int, Field(ge=1, le=LARGEST_RADIUS, description="How many relationships away.")] = 1,
        directed: Annotated[bool, Field(description="Follow relationships from source to target only.")] = False,
    ) -> Annotated[CallToolResult, Around]:
        """List what an enterprise model draws around an entity: its neighbours and how they are related.

        Name the collection that holds the model, or a job that has one among its sources.
        """
        principal = given.caller(context)
        found = await given.work(
            lambda: Neighbours(given.services).around(
                principal, entity, collection, job, radius=radius, directed=directed
            )
        )
        return told(_in_words(found), found)

    return declared(model_neighbours, "Neighbours in an enterprise model", READS)


def _in_words(found: Around) -> str:
    lines = [on_one_line(one.sentence, 500) for one in found.relationships]
    lines += [f"{one.name} ({one.type or 'entity'}, id {one.id})" for one in found.neighbours]
    further = f", and {found.left_out} more" if found.left_out else ""
    head = f"{len(found.neighbours)} neighbours{further} in {found.collection}."
    return (
        f"{head}\n\n{fenced([(f'Around {on_one_line(found.entity.name)}:', chr(10).join(lines))])}" if lines else head
    )
