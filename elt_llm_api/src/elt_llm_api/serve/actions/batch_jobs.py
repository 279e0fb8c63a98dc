"""The operator's batch jobs: list those a caller may run, and queue one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_consumer.jobs.job_file import CONSUMER_FOLDER, JobFile, load_job
from elt_llm_consumer.jobs.tasks import JOB_KINDS, JobKind
from elt_llm_core.errors import SettingsError, UsageError
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.services import ServiceActions

if TYPE_CHECKING:
    from elt_llm_core.state.jobs import QueuedJob

MOST_ROWS = 1_000_000
NAME = r"^[\w-]{1,100}$"
"""Pattern of a job's name; it matches no path."""


class BatchJob(BaseModel):
    """A job file in `config/consumer`, without what only the operator needs to know."""

    name: str = Field(description="Name of the job: that of its file.", examples=["glossary"])
    kinds: tuple[JobKind, ...] = Field(description="What its sources allow to make, the kind of its name first.")
    description: str = Field(examples=["Every term that the documents define."])
    collections: tuple[str, ...] = Field(description="Every collection that it reads.", examples=[["demo"]])
    missing: tuple[str, ...] = Field(description="Those that do not exist, or not yet.", examples=[[]])
    may_change: bool = Field(description="Whether the key may run it and review its rows.")


class BatchJobRequest(BaseModel):
    """Which job to run, and which of its rows to make; the same options as those of the command."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str = Field(pattern=NAME, description="Name of a file in config/consumer, no path.", examples=["glossary"])
    only: tuple[str, ...] = Field(
        (), max_length=1000, description="Make the rows of these names or keys; none: all.", examples=[[]]
    )
    domain: str | None = Field(None, max_length=1000, description="Make the rows of this domain.")
    limit: StrictInt | None = Field(None, ge=1, le=MOST_ROWS, description="Make at most this many rows.")
    anew: StrictBool = Field(False, description="Make existing rows again.")
    topics: tuple[str, ...] = Field(
        (), max_length=100, description="For a handbook: cover these topics only.", examples=[[]]
    )
    dry_run: StrictBool = Field(False, description="Report what would be made and what it costs; make nothing.")


class BatchJobActions(ServiceActions):
    """Job files belong to the operator: callers name them, and can neither write one nor refer to one elsewhere."""

    def all(self, principal: Principal) -> list[BatchJob]:
        """Return every job whose collections the caller may read, by name; without files that contain a mistake."""
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
        """Return the mistakes in job files that cannot be read, a sentence each; for administrators only."""
        if not principal.administers:
            return []
        return [str(error) for error in map(self._load, self._paths().values()) if isinstance(error, SettingsError)]

    def get(self, principal: Principal, name: str) -> JobFile:
        """Return a job by name. Raises Forbidden if it does not exist or reads what the caller may not read."""
        path = self._paths().get(name)
        file = self._load(path) if path else None
        if not isinstance(file, JobFile) or not _may_read(principal, file):
            raise Forbidden(
                f"There is no job '{name}', or this key may not read all that it reads.",
                hint="List the jobs: GET /v1/batch-jobs",
            )
        return file

    def get_writable(self, principal: Principal, name: str) -> JobFile:
        """Return a job whose collections the caller may write. Raises Forbidden."""
        file = self.get(principal, name)
        if not _may_write(principal, file):
            raise Forbidden(
                f"This key may read job '{name}', and neither run it nor review its rows.",
                hint="Make a key that may write the collections of the job: elt-llm keys add --help",
            )
        return file

    def submit(self, principal: Principal, kind: JobKind, request: BatchJobRequest) -> "QueuedJob":
        """Queue a run of a job. Raises Forbidden, and UsageError for a kind that its sources do not allow."""
        file = self.get_writable(principal, request.job)
        kinds = kinds_of_job(file)
        if kind not in kinds:
            hint = f"It can be: {', '.join(kinds)}." if kinds else "Give it sources."
            raise UsageError(f"Job '{file.name}' lacks the sources that a {kind} is made of.", hint=hint)
        arguments = {
            **request.model_dump(mode="json"),
            "job": file.name,
            "collections": list(file.spec.sources.collections),  # they decide who may see the queued job
        }
        return JobActions(self._services).submit(principal, kind, arguments)

    def _paths(self) -> dict[str, Path]:
        """Return the job files by name; a caller's name is looked up here and never becomes part of a path."""
        folder = self._services.loaded.config_dir / CONSUMER_FOLDER
        files = (path for path in sorted(folder.glob("*.yaml")) if path.is_file())
        return {path.stem: path for path in files if re.fullmatch(NAME, path.stem)}

    def _load(self, path: Path) -> JobFile | SettingsError:
        try:
            return load_job(path, self._services.loaded)
        except SettingsError as error:
            return error


def kinds_of_job(file: JobFile) -> tuple[JobKind, ...]:
    """Return what can be made of a job's sources; the kind that the job is named after first."""
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
    return all(map(principal.may_read, file.spec.sources.collections))


def _may_write(principal: Principal, file: JobFile) -> bool:
    return all(map(principal.may_write, file.spec.sources.collections))
