"""The tools `list_collections`, `collection_status`, `model_neighbours`, `ingest_path` and `reindex`."""

from typing import Annotated, Any

from elt_llm_core.results import ResultModel
from elt_llm_core.store.store import CollectionStatus
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.collections import (
    LARGEST_RADIUS,
    CollectionActions,
    CollectionHealth,
    EntityNeighbourhood,
    NeighbourActions,
)
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.mcp.output import JobWithResult, fence_texts, job_with_result, single_line
from elt_llm_api.serve.mcp.tool_call import (
    QUEUES_WORK,
    CollectionName,
    JobName,
    ToolCall,
    mcp_tool,
    require_ingest_permission,
    tool_result,
)

_MOST_FILES = 200
_Resume = Annotated[bool, Field(description="Continue after a rollback, from the published generation.")]


class CollectionEntry(ResultModel):
    """A collection that the caller may read."""

    collection: str = Field(description="Name of the collection.")
    health: CollectionHealth = Field(description="Whether the whole collection can be searched, and otherwise why not.")
    documents: int = Field(description="Number of documents.")
    chunks: int = Field(description="Number of chunks.")
    generation: int | None = Field(description="Number of the published generation; null if there is none.")
    published_at: str | None = Field(description="When it was published, ISO 8601, UTC.")
    language: str = Field(description="Language of the texts, as two letters.")


class CollectionListing(ResultModel):
    """Every collection that the caller may read."""

    collections: tuple[CollectionEntry, ...]


@mcp_tool("List the collections")
async def list_collections(call: ToolCall) -> Annotated[CallToolResult, CollectionListing]:
    """List the collections of documents that you may search, with their size and whether they are up to date."""
    described = await call.run(lambda: CollectionActions(call.services).all(call.principal))
    entries = tuple(
        CollectionEntry(**_fields_of(CollectionEntry, status), health=health, chunks=status.nodes)
        for status, health in described
    )
    lines = [
        f"{one.collection}: {_size_text(one)}, generation {one.generation or '-'}, {one.health}" for one in entries
    ]
    text = "\n".join(lines) or "There is no collection that you may read."
    return tool_result(text, CollectionListing(collections=entries))


def _fields_of(model: type[CollectionEntry], status: CollectionStatus) -> dict[str, Any]:
    fields = {name: getattr(status, name) for name in model.model_fields if hasattr(status, name)}
    return {**fields, "files_in_trouble": status.files_in_trouble[:_MOST_FILES]} if "size" in fields else fields


def _size_text(entry: CollectionEntry) -> str:
    return f"{entry.documents} documents, {entry.chunks} chunks, language {entry.language}"


class ProblemFile(ResultModel):
    """A file that could not be read, or held no text."""

    path: str
    outcome: str = Field(description="`failed` if it could not be read, `empty` if it holds no text.")
    reason: str


class CollectionStatusResult(CollectionEntry):
    """The contents of a collection, how it was built, and its problems."""

    collection_hash: str = Field(description="Hash of the contents in hex: equal contents have equal hashes.")
    kept_generations: tuple[int, ...] = Field(description="Numbers of the generations available for a rollback.")
    rolled_back: bool = Field(description="Whether an earlier generation than the latest is published.")
    embedding: str = Field(description="Provider and model of the vectors.")
    chunker: str = Field(description="The chunker that made its chunks.")
    size: int = Field(description="Bytes of its indexes.")
    artefacts: tuple[str, ...] = Field(description="Other data read from the files, such as enterprise_model.")
    duplicates: int = Field(description="Documents with the same bytes as another one, indexed once.")
    forgotten: int | None = Field(description="Documents that were forgotten; null for a key with conditions.")
    skipped: int | None = Field(description="Files that the last ingest did not read; null for such a key.")
    last_run: str | None = Field(description="When it was last ingested, ISO 8601, UTC.")
    being_written: bool = Field(description="Whether an ingest is running.")
    calibrations: dict[str, str] = Field(description="State of the confidence calibration by profile.")
    files_in_trouble: tuple[ProblemFile, ...] = Field(description="Failed and empty files; the first 200.")


@mcp_tool("Status of a collection")
async def collection_status(
    call: ToolCall, collection: CollectionName
) -> Annotated[CallToolResult, CollectionStatusResult]:
    """Describe a collection: its contents, what it was built with and when, and which files failed."""
    description = await call.run(lambda: CollectionActions(call.services).get(call.principal, collection))
    status = CollectionStatusResult(
        **_fields_of(CollectionStatusResult, description.status),
        health=description.health,
        chunks=description.status.nodes,
        being_written=description.being_written,
        calibrations={one.profile: one.state for one in description.calibrations},
    )
    return tool_result(_status_text(status, len(description.status.files_in_trouble)), status)


def _status_text(status: CollectionStatusResult, troubled: int) -> str:
    lines = [
        f"{status.collection}: {status.health}{', being written' if status.being_written else ''}",
        _size_text(status),
        f"generation {status.generation or '-'} of {status.published_at or '-'}, last run {status.last_run or '-'}",
        f"embedding {status.embedding}, chunker {status.chunker}",
    ]
    lines += [f"files skipped by the last ingest: {status.skipped}"] if status.skipped else []
    problems = [f"{file.outcome} {file.path}: {file.reason}" for file in status.files_in_trouble[:20]]
    head = f"Files in trouble, {len(problems)} of {troubled}:"
    return "\n".join([*lines, fence_texts([(head, "\n".join(problems))])] if problems else lines)


@mcp_tool("Neighbours in an enterprise model")
async def model_neighbours(
    call: ToolCall,
    entity: Annotated[str, Field(min_length=1, max_length=1000, description="Id or name of the entity.")],
    collection: Annotated[CollectionName | None, Field(description="The collection that holds the model.")] = None,
    job: Annotated[JobName | None, Field(description="Instead of a collection: a job that names it.")] = None,
    radius: Annotated[int, Field(ge=1, le=LARGEST_RADIUS, description="How many relationships away.")] = 1,
    directed: Annotated[bool, Field(description="Follow relationships from source to target only.")] = False,
) -> Annotated[CallToolResult, EntityNeighbourhood]:
    """List the neighbours of an entity in an enterprise model, and how they are related.

    Name the collection that holds the model, or a job that has one among its sources.
    """
    around = await call.run(
        lambda: NeighbourActions(call.services).around(
            call.principal, entity, collection, job, radius=radius, directed=directed
        )
    )
    more = f", and {around.left_out} more" if around.left_out else ""
    head = f"{len(around.neighbours)} neighbours{more} in {around.collection}."
    lines = [single_line(one.sentence, 500) for one in around.relationships]
    lines += [f"{one.name} ({one.type or 'entity'}, id {one.id})" for one in around.neighbours]
    fenced = fence_texts([(f"Around {single_line(around.entity.name)}:", "\n".join(lines))] if lines else [])
    return tool_result(f"{head}\n\n{fenced}".strip(), around)


@mcp_tool("Ingest a file or folder", QUEUES_WORK)
async def ingest_path(
    call: ToolCall,
    collection: CollectionName,
    path: Annotated[
        str, Field(min_length=1, max_length=4000, description="File or folder of the server, below ingest.roots.")
    ],
    resume: _Resume = False,
) -> Annotated[CallToolResult, JobWithResult]:
    """Ingest a file or folder of the server into a collection, which is created if necessary. Returns at once.

    Off unless the operator of the server allows it (serve.agents_may_ingest and ingest.roots). Searches use the
    published generation until the new one is complete; follow the job with `job_status`.
    """
    require_ingest_permission(call.services.loaded)
    actions = JobActions(call.services)
    job = await call.run(lambda: actions.submit_ingest(call.principal, collection, [path], resume=resume))
    return job_with_result(job, call.principal)


@mcp_tool("Read a collection's files again", QUEUES_WORK)
async def reindex(
    call: ToolCall,
    collection: CollectionName,
    rebuild: Annotated[bool, Field(description="Read and embed everything again, not only what has changed.")] = False,
    resume: _Resume = False,
) -> Annotated[CallToolResult, JobWithResult]:
    """Look again at the files of a collection, and publish what has changed. Returns at once.

    Off unless the operator of the server allows it (serve.agents_may_ingest and ingest.roots). Searches use the
    published generation until the new one is complete; follow the job with `job_status`.
    """
    require_ingest_permission(call.services.loaded)
    actions = JobActions(call.services)
    job = await call.run(lambda: actions.submit_ingest(call.principal, collection, rebuild=rebuild, resume=resume))
    return job_with_result(job, call.principal)
