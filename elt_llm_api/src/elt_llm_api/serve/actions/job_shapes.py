"""What callers are told of a job in the queue."""

from typing import Any

from elt_llm_core.results import Result
from elt_llm_core.state.job_queue import JobStatus, QueuedJob
from pydantic import Field

from elt_llm_api.serve.access.principal import Principal

_NOT_TOLD = ("collections", "asked_at")  # among the arguments: told apart, and of no use to callers


class JobTold(Result):
    """A job as its callers see it."""

    id: str = Field(
        description="Id of this run; its status is asked by it.", examples=["0f8fad5bd9cb469fa16570867728950e"]
    )
    kind: str = Field(description="What is done.", examples=["ingest"])
    status: JobStatus
    collections: tuple[str, ...] = Field(description="What it is about.", examples=[["demo"]])
    mine: bool = Field(description="Whether this caller asked for it.")
    arguments: dict[str, Any] = Field(description="What was asked for, by kind.")
    progress: dict[str, Any] = Field(
        description="`stage`, units `done` of `total` (0: unknown), `detail`, and `notes` in sentences; at first empty."
    )
    error: str = Field(description="Why it failed, in sentences.", examples=[""])
    attempts: int = Field(description="How often it was begun.")
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:00+00:00"])
    updated_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:09+00:00"])


def job_told(job: QueuedJob, principal: Principal) -> JobTold:
    """A job as this caller is told of it."""
    return JobTold(
        id=job.id,
        kind=job.kind,
        status=job.status,
        collections=job.collections,
        mine=job.requested_by == principal.name,
        arguments={name: value for name, value in job.arguments.items() if name not in _NOT_TOLD},
        progress=dict(job.progress),
        error=job.error,
        attempts=job.attempts,
        created_at=job.created_at,
        updated_at=job.updated_at,
    )
