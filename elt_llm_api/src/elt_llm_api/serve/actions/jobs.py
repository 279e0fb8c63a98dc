"""Queued jobs: submit, list, cancel; queue an ingest of the server's own files."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.results import ResultModel
from elt_llm_core.state.jobs import JobStatus, QueuedJob
from elt_llm_core.store.collections import check_collection_name
from pydantic import Field

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.questions import KeepAlive
from elt_llm_api.serve.errors import NotReady
from elt_llm_api.serve.jobs.kinds import check_server_paths
from elt_llm_api.serve.services import ServiceActions
from elt_llm_api.serve.workers import ServerOverloaded

_HIDDEN_ARGUMENTS = ("collections", "asked_at")  # of no use to callers


class JobSummary(ResultModel):
    """A job as a caller sees it."""

    id: str = Field(description="Id of this run.", examples=["0f8fad5bd9cb469fa16570867728950e"])
    kind: str = Field(description="What the job does.", examples=["ingest"])
    status: JobStatus
    collections: tuple[str, ...] = Field(description="Collections that it reads or writes.", examples=[["demo"]])
    mine: bool = Field(description="Whether this caller submitted it.")
    arguments: dict[str, Any] = Field(description="Arguments of its kind.")
    progress: dict[str, Any] = Field(
        description="`stage`, units `done` of `total` (0: unknown), `detail`, and `notes` in sentences; empty at first."
    )
    error: str = Field(description="Why it failed, in sentences.", examples=[""])
    attempts: int = Field(description="How often it was started.")
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:00+00:00"])
    updated_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:09+00:00"])


def job_summary(job: QueuedJob, principal: Principal) -> JobSummary:
    """Return a job as this caller may see it."""
    fields = {name: getattr(job, name, None) for name in JobSummary.model_fields}
    arguments = {name: value for name, value in job.arguments.items() if name not in _HIDDEN_ARGUMENTS}
    return JobSummary.model_validate({**fields, "arguments": arguments, "mine": job.requested_by == principal.name})


MOST_WAITING = 1000
"""Most jobs in the queue; further ones are rejected."""
MOST_WAITING_PER_CALLER = 250
"""Most of them of one key, since keys that only read may queue jobs, too; the local user may fill the queue."""
_MOST_SCANNED = 5000
_POLL_SECONDS = 0.3


class JobActions(ServiceActions):
    """Submits, lists and cancels jobs for callers."""

    def submit(self, principal: Principal, kind: str, arguments: Mapping[str, Any]) -> QueuedJob:
        """Queue a job that the caller may run; its argument `collections` decides who may see it.

        Raises ServerOverloaded.
        """
        self.raise_if_full(principal)
        return self._services.queue.submit(kind, arguments, principal.name)

    def raise_if_full(self, principal: Principal) -> None:
        """Raise ServerOverloaded if the queue takes no further job of this caller now."""
        queue, hint = self._services.queue, "Try again when some are done."
        if queue.waiting() >= MOST_WAITING:
            raise ServerOverloaded("The queue of jobs is full.", hint=hint)
        if principal == LOCAL:
            return
        waiting = queue.all(("queued",), MOST_WAITING)
        if sum(job.requested_by == principal.name for job in waiting) >= MOST_WAITING_PER_CALLER:
            raise ServerOverloaded("Too many jobs of this caller wait: the queue is shared.", hint=hint)

    def all(
        self,
        principal: Principal,
        statuses: Sequence[JobStatus] = (),
        collection: str | None = None,
        kinds: Sequence[str] = (),
        most: int = 100,
    ) -> list[QueuedJob]:
        """Return the jobs that a caller may see, newest first, `most` at most."""
        queue = self._services.queue
        jobs = queue.all(statuses, _MOST_SCANNED) if statuses else queue.all(most=_MOST_SCANNED)
        return [
            job
            for job in jobs
            if may_see_job(principal, job)
            and (collection is None or collection in job.collections)
            and (not kinds or job.kind in kinds)
        ][:most]

    def get(self, principal: Principal, identity: str) -> QueuedJob:
        """Return a job. Raises Forbidden if there is none that the caller may see."""
        try:
            job = self._services.queue.get(identity)
        except UsageError:
            job = None
        if job is None or not may_see_job(principal, job):
            raise Forbidden(
                f"There is no job '{identity}', or this key may not see it.", hint="List the jobs: GET /v1/jobs"
            )
        return job

    def result(self, principal: Principal, identity: str) -> Mapping[str, Any]:
        """Return the result of a job that is done, or whose parts all failed. Raises Forbidden, and NotReady before."""
        job = self.get(principal, identity)
        if job.status != "done" and not job.result:
            raise NotReady(f"Job '{identity}' has no result: it is {job.status}. {job.error}".strip())
        return job.result

    def cancel(self, principal: Principal, identity: str) -> QueuedJob:
        """Cancel a job; a running one stops within seconds, one that has ended is not changed. Raises Forbidden."""
        job = self.get(principal, identity)
        if not (job.requested_by == principal.name or all(map(principal.may_write, job.collections))):
            raise Forbidden(f"This key may see job '{identity}', and not cancel it.")
        return self._services.queue.cancel(identity)

    async def follow(
        self, principal: Principal, identity: str, silence: float | None = None
    ) -> AsyncGenerator[QueuedJob | KeepAlive, None]:
        """Yield the job now and after each change until it has ended. Raises Forbidden.

        After every `silence` seconds without a change it yields KeepAlive.
        """
        shown, clock = None, asyncio.get_running_loop().time
        sent_at = clock()
        while shown is None or not shown.has_ended:
            job = await asyncio.to_thread(self.get, principal, identity)
            if job != shown:
                shown, sent_at = job, clock()
                yield job
            elif silence is not None and clock() - sent_at >= silence:
                sent_at = clock()
                yield KeepAlive()
            else:
                await asyncio.sleep(_POLL_SECONDS)


def may_see_job(principal: Principal, job: QueuedJob) -> bool:
    """Whether a caller may read all collections of a job, or submitted a job that has none."""
    return all(map(principal.may_read, job.collections)) if job.collections else job.requested_by == principal.name


class IngestActions(ServiceActions):
    """Queues ingests into collections that the caller may write."""

    def submit(
        self, principal: Principal, collection: str, paths: Sequence[str] = (), *, rebuild: bool = False
    ) -> QueuedJob:
        """Queue an ingest of paths below `ingest.roots`; without paths, of the sources of the last ingest.

        Raises Forbidden, ServerOverloaded, and UsageError for a path that may not be read, or an unknown collection
        without paths.
        """
        check_collection_name(collection)
        principal.require_write(collection)
        if not paths and collection not in self._services.collection_names():
            raise UsageError(f"There is no collection '{collection}' to ingest again.", hint="Name paths to read.")
        resolved = [str(path) for path in check_server_paths(self._services.loaded, paths)]
        arguments = {"collection": collection, "collections": [collection], "paths": resolved, "rebuild": rebuild}
        return JobActions(self._services).submit(principal, "ingest", arguments)
