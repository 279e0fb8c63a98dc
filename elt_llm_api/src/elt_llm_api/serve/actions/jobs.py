"""Submit, list and cancel queued jobs, and run the job files that the operator has written."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elt_llm_consumer.jobs.job_file import CONSUMER_FOLDER, JobFile, load_job
from elt_llm_consumer.jobs.tasks import JOB_KINDS, JobKind
from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.results import ResultModel
from elt_llm_core.state.jobs import JobStatus, QueuedJob
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.store import uploads_folder
from elt_llm_core.store.uploads import machine_id, uploaded_files
from pydantic import BaseModel, Field, StrictBool, StrictInt

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.evaluation import EvaluationRequest
from elt_llm_api.serve.actions.questions import KeepAlive
from elt_llm_api.serve.errors import NotReady, RolledBack
from elt_llm_api.serve.jobs.kinds import NAME, check_server_paths, kept_uploads
from elt_llm_api.serve.services import RequestModel, ServiceActions
from elt_llm_api.serve.workers import ServerOverloaded

_HIDDEN_ARGUMENTS = ("collections", "asked_at", "alone", "machine")  # arguments that callers do not see


class JobSummary(ResultModel):
    """The description of a job, as callers may see it."""

    id: str = Field(description="Id of this run.", examples=["0f8fad5bd9cb469fa16570867728950e"])
    kind: str = Field(description="What the job does.", examples=["ingest"])
    status: JobStatus
    collections: tuple[str, ...] = Field(description="Collections that it reads or writes.", examples=[["demo"]])
    mine: bool = Field(description="Whether this caller submitted it.")
    arguments: dict[str, Any] = Field(description="Arguments of the job; they depend on its kind.")
    progress: dict[str, Any] = Field(
        description="`stage`, units `done` of `total` (0: unknown), `detail`, and `notes` in sentences; empty at first."
    )
    error: str = Field(description="Why it failed, and which unread uploads are kept, in sentences.", examples=[""])
    attempts: int = Field(description="How often it was started.")
    created_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:00+00:00"])
    updated_at: str = Field(description="UTC, ISO 8601.", examples=["2030-01-01T00:00:09+00:00"])


def job_summary(job: QueuedJob, principal: Principal) -> JobSummary:
    """Return the description of a job, without details that this caller may not see."""
    fields = {name: getattr(job, name, None) for name in JobSummary.model_fields}
    arguments = {name: value for name, value in job.arguments.items() if name not in _HIDDEN_ARGUMENTS}
    return JobSummary.model_validate({**fields, "arguments": arguments, "mine": job.requested_by == principal.owner})


MOST_WAITING = 1000
"""Most jobs in the queue; further jobs are rejected."""
MOST_WAITING_PER_CALLER = 250
"""Most waiting jobs of one key, since even a key that only reads may queue jobs. The local user has no such limit."""
_MOST_SCANNED = 5000  # newest jobs of all callers that are searched for jobs that a caller may see
_POLL_SECONDS = 0.3


class JobActions(ServiceActions):
    """Submits, lists and cancels jobs for callers."""

    def submit(self, principal: Principal, kind: str, arguments: Mapping[str, Any]) -> QueuedJob:
        """Queue a job. Its argument `collections` decides who may see it. Permissions are not checked here.

        Raises ServerOverloaded, RolledBack.
        """
        self.raise_if_refused(principal, kind, arguments)
        return self.queue(principal, kind, arguments)

    def raise_if_refused(self, principal: Principal, kind: str, arguments: Mapping[str, Any]) -> None:
        """Raise ServerOverloaded or RolledBack if a job with these arguments would not be queued now."""
        self._raise_if_full(principal)
        if kind == "ingest" and not (arguments.get("resume") or arguments.get("rebuild")):
            self._raise_if_rolled_back(str(arguments["collection"]))

    def queue(self, principal: Principal, kind: str, arguments: Mapping[str, Any]) -> QueuedJob:
        """Queue a job without the checks of `submit`. A job that reads uploads runs on this machine, which has them."""
        loaded = self._services.loaded
        reads_uploads = "uploads" in arguments
        if kind == "ingest" and not (reads_uploads or arguments.get("paths")):
            reads_uploads = bool(uploaded_files(uploads_folder(loaded.data_dir, str(arguments["collection"]))))
        if reads_uploads and (machine := machine_id(loaded.workspace)):
            arguments = {**arguments, "machine": machine}
        return self._services.queue.submit(kind, arguments, principal.owner)

    def submit_ingest(
        self, principal: Principal, collection: str, paths: Sequence[str] = (), **flags: bool
    ) -> QueuedJob:
        """Queue an ingest of paths below `ingest.roots`. Without paths, ingest earlier sources and all uploads.

        The flags are `rebuild` and `resume`. Raises Forbidden, ServerOverloaded, RolledBack, and UsageError for a path
        that may not be read, or for an unknown collection without paths and uploads.
        """
        check_collection_name(collection)
        principal.require_whole(collection)
        folder = uploads_folder(self._services.loaded.data_dir, collection)
        if not (paths or collection in self._services.collection_names() or uploaded_files(folder)):
            raise UsageError(f"There is no collection '{collection}' to ingest again.", hint="Name the paths to read.")
        resolved = [str(path) for path in check_server_paths(self._services.loaded, paths)]
        arguments = {"collection": collection, "collections": [collection], "paths": resolved, **flags}
        return self.submit(principal, "ingest", arguments)

    def submit_evaluation(self, principal: Principal, request: EvaluationRequest) -> QueuedJob:
        """Queue an evaluation. Raises Forbidden, and UsageError for an unknown profile."""
        self._services.collections(principal, [request.collection])
        principal.require_whole(request.collection, to_write=False)
        for name in request.profiles:
            self._services.active.profile(name)
        return self.submit(principal, "evaluate", request.model_dump(mode="json"))

    def _raise_if_rolled_back(self, collection: str) -> None:
        """Raise RolledBack if an ingest into this collection must set `resume` or `rebuild`."""
        record = self._services.store.collections.find(collection)
        if record is not None and record.rolled_back:
            raise RolledBack(
                f"Collection '{collection}' was rolled back to generation {record.published}.",
                hint="To continue from there, ingest with resume=true: POST /v1/ingest, or the command"
                f" elt-llm ingest -c {collection} --resume",
            )

    def _raise_if_full(self, principal: Principal) -> None:
        """Raise ServerOverloaded if the queue cannot accept another job of this caller now."""
        queue, hint = self._services.queue, "Try again when some jobs are done."
        if queue.waiting() >= MOST_WAITING:
            raise ServerOverloaded("The queue of jobs is full.", hint=hint)
        if principal == LOCAL:
            return
        waiting = queue.all(("queued",), MOST_WAITING)
        if sum(job.requested_by == principal.owner for job in waiting) >= MOST_WAITING_PER_CALLER:
            raise ServerOverloaded("Too many jobs of this caller wait in the shared queue.", hint=hint)

    def all(
        self,
        principal: Principal,
        statuses: Sequence[JobStatus] = (),
        collection: str | None = None,
        kinds: Sequence[str] = (),
        most: int = 100,
    ) -> list[QueuedJob]:
        """Return at most `most` jobs that a caller may see, newest first."""
        queue = self._services.queue
        jobs = queue.all(statuses, _MOST_SCANNED) if statuses else queue.all(most=_MOST_SCANNED)
        return [
            _shown(principal, job)
            for job in jobs
            if may_see_job(principal, job)
            and (collection is None or collection in job.collections)
            and (not kinds or job.kind in kinds)
        ][:most]

    def get(self, principal: Principal, identity: str) -> QueuedJob:
        """Return a job. Raises Forbidden if the job does not exist or the caller may not see it."""
        try:
            job = self._services.queue.get(identity)
        except UsageError:
            job = None
        if job is None or not may_see_job(principal, job):
            raise Forbidden(
                f"There is no job '{identity}', or this key may not see it.", hint="List the jobs: GET /v1/jobs"
            )
        return _shown(principal, job)

    def result(self, principal: Principal, identity: str) -> Mapping[str, Any]:
        """Return the result of a finished job, or of an ingest whose files all failed. Raises Forbidden, NotReady."""
        job = self.get(principal, identity)
        if job.status != "done" and not job.result:
            raise NotReady(f"Job '{identity}' has no result: it is {job.status}. {job.error}".strip())
        return job.result

    def cancel(self, principal: Principal, identity: str) -> QueuedJob:
        """Cancel a job unless it has ended. Its `error` then names its uploads, which are kept. Raises Forbidden."""
        job = self.get(principal, identity)
        if not (job.requested_by == principal.owner or all(map(principal.changes_whole, job.collections))):
            raise Forbidden(f"This key may see job '{identity}', but not cancel it.")
        kept = kept_uploads(self._services.loaded.data_dir, job.arguments)
        return _shown(principal, self._services.queue.cancel(identity, kept))

    async def follow(
        self, principal: Principal, identity: str, silence: float | None = None
    ) -> AsyncGenerator[QueuedJob | KeepAlive, None]:
        """Yield the job now and after each change until the job has ended. Raises Forbidden.

        After every `silence` seconds without a change, yield KeepAlive.
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


_OWN_RESULT = ("collection", "generation", "published", "seconds", "uploads")


def _shown(principal: Principal, job: QueuedJob) -> QueuedJob:
    """Return the job as the caller may see it. Conditions hide the counts and files of the whole collection."""
    if not principal.has_conditions:
        return job
    progress = {name: value for name, value in job.progress.items() if name == "stage"}
    result = {name: job.result[name] for name in _OWN_RESULT if name in job.result}
    uploads = {str(name).rpartition("/")[2] for name in job.arguments.get("uploads", ())}
    files = [file for file in job.result.get("files", ()) if str(file["path"]).rpartition("/")[2] in uploads]
    return replace(job, progress=progress, result={**result, "files": files} if files else result)


def may_see_job(principal: Principal, job: QueuedJob) -> bool:
    """Return whether a caller may read all collections of a job, or has submitted a job without collections.

    A caller with conditions on a collection sees only its own jobs there, because a job names documents.
    """
    own = job.requested_by == principal.owner
    if not job.collections:
        return own
    return all(map(principal.may_read if own else principal.sees_whole, job.collections))


MOST_ROWS = 1_000_000


class BatchJob(BaseModel):
    """A job file in `config/consumer`, without details that only the operator needs."""

    name: str = Field(description="Name of the job, which is the name of its file.", examples=["glossary"])
    kinds: tuple[JobKind, ...] = Field(description="Kinds of output that its sources allow, the job's own kind first.")
    description: str = Field(examples=["Every term that the documents define."])
    collections: tuple[str, ...] = Field(description="Every collection that it reads.", examples=[["demo"]])
    missing: tuple[str, ...] = Field(description="Those of its collections that do not exist yet.", examples=[[]])
    may_change: bool = Field(description="Whether the key may run it and review its rows.")


class BatchJobRequest(RequestModel):
    """The job to run, and the rows to make. The options are those of the command line."""

    job: str = Field(pattern=NAME, description="Name of a file in config/consumer, no path.", examples=["glossary"])
    only: tuple[str, ...] = Field(
        (), max_length=1000, description="Make the rows with these names or keys. If empty: all.", examples=[[]]
    )
    domain: str | None = Field(None, max_length=1000, description="Make the rows of this domain.")
    limit: StrictInt | None = Field(None, ge=1, le=MOST_ROWS, description="Make at most this many rows.")
    anew: StrictBool = Field(False, description="Make existing rows again.")
    topics: tuple[str, ...] = Field(
        (), max_length=100, description="For a handbook: cover these topics only.", examples=[[]]
    )
    dry_run: StrictBool = Field(False, description="Report what would be made and what it costs; make nothing.")


class BatchJobActions(ServiceActions):
    """Lists and runs the job files of the operator. A caller names a job file, and cannot write or upload one."""

    def all(self, principal: Principal) -> list[BatchJob]:
        """Return the valid job files whose collections the caller may read without conditions, by name."""
        existing = set(self._services.collection_names())
        files = (file for file in map(self._load, self._paths().values()) if isinstance(file, JobFile))
        return [
            BatchJob(
                name=file.name,
                kinds=kinds_of_job(file),
                description=file.spec.description,
                collections=file.spec.sources.collections,
                missing=tuple(name for name in file.spec.sources.collections if name not in existing),
                may_change=_may_write(principal, file),
            )
            for file in files
            if _may_read(principal, file)
        ]

    def problems(self, principal: Principal) -> list[str]:
        """Return one sentence for each invalid job file. Callers who are not administrators get none."""
        if not principal.administers:
            return []
        return [str(error) for error in map(self._load, self._paths().values()) if isinstance(error, SettingsError)]

    def get(self, principal: Principal, name: str) -> JobFile:
        """Return a job file by name.

        Raises Forbidden if the file does not exist, or names a collection that the caller may not read.
        """
        path = self._paths().get(name)
        file = self._load(path) if path else None
        if not isinstance(file, JobFile) or not _may_read(principal, file):
            raise Forbidden(
                f"There is no job '{name}', or this key may not read all its collections.",
                hint="List the jobs: GET /v1/batch-jobs",
            )
        return file

    def get_writable(self, principal: Principal, name: str) -> JobFile:
        """Return a job file whose collections the caller may write. Raises Forbidden."""
        file = self.get(principal, name)
        if not _may_write(principal, file):
            raise Forbidden(
                f"This key may read job '{name}', but neither run it nor review its rows.",
                hint="Make a key that may write the collections of the job: elt-llm keys add --help",
            )
        return file

    def submit(self, principal: Principal, kind: JobKind, request: BatchJobRequest) -> QueuedJob:
        """Queue a run of a job file. Raises Forbidden, and UsageError for a kind or topics that it does not allow."""
        if request.topics and kind != "handbook":
            raise UsageError(f"A {kind} job has no topics.", hint="Leave topics out, or run a handbook job.")
        file = self.get_writable(principal, request.job)
        kinds = kinds_of_job(file)
        if kind not in kinds:
            hint = f"It can run as: {', '.join(kinds)}." if kinds else "Add sources to the job file."
            raise UsageError(f"Job '{file.name}' does not name the sources that a {kind} job needs.", hint=hint)
        # The collections decide which callers may see the queued job.
        named = {"job": file.name, "collections": list(file.spec.sources.collections)}
        return JobActions(self._services).submit(principal, kind, {**request.model_dump(mode="json"), **named})

    def _paths(self) -> dict[str, Path]:
        """Return the paths of the job files by name.

        A name that a caller sends is only looked up here and never becomes part of a path.
        """
        folder = self._services.loaded.config_dir / CONSUMER_FOLDER
        files = (path for path in sorted(folder.glob("*.yaml")) if path.is_file())
        return {path.stem: path for path in files if re.fullmatch(NAME, path.stem)}

    def _load(self, path: Path) -> JobFile | SettingsError:
        try:
            return load_job(path, self._services.loaded)
        except SettingsError as error:
            return error


def kinds_of_job(file: JobFile) -> tuple[JobKind, ...]:
    """Return the kinds of output that a job's sources allow. A job with the name `glossary` has that kind first."""
    sources = file.spec.sources
    possible = {
        "glossary": sources.handbook,
        "handbook": sources.handbook,
        "catalog": sources.model,
        "coverage": sources.handbook and sources.model,
    }
    kinds = [kind for kind in JOB_KINDS if possible[kind]]
    return tuple(sorted(kinds, key=lambda kind: kind != file.name))


def _may_read(principal: Principal, file: JobFile) -> bool:
    return all(map(principal.sees_whole, file.spec.sources.collections))


def _may_write(principal: Principal, file: JobFile) -> bool:
    return all(map(principal.changes_whole, file.spec.sources.collections))
