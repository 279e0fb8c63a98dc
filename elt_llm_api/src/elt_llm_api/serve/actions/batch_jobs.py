"""Batch jobs of the operator: which there are for a caller, and putting one into the queue."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_consumer.job_file import CONSUMER_FOLDER, JobFile, load_job
from elt_llm_consumer.kinds import KINDS, Kind
from elt_llm_core.errors import SettingsError, UsageError
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_core.state.job_queue import QueuedJob

MOST_ROWS = 1_000_000
NAME = r"^[\w-]{1,100}$"
"""Of a job: no path, and nothing that could become one."""


class BatchJob(BaseModel):
    """A job file in `config/consumer`, as far as its callers need to know it."""

    name: str = Field(description="What the job is called by: the name of its file.", examples=["glossary"])
    kinds: tuple[Kind, ...] = Field(description="What can be made of its sources, the one it is called after first.")
    description: str = Field(examples=["Every term that the documents define."])
    collections: tuple[str, ...] = Field(description="Every collection that it reads.", examples=[["demo"]])
    missing: tuple[str, ...] = Field(description="Those of them that there are not, or not yet.", examples=[[]])
    may_change: bool = Field(description="Whether the key may run it and review its rows.")


class BatchRequest(BaseModel):
    """Which job to run, and which of its rows: the options that the command has, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str = Field(pattern=NAME, description="Name of a file in config/consumer, no path.", examples=["glossary"])
    only: tuple[str, ...] = Field(
        (), max_length=1000, description="Make the rows of these names or keys; none: all.", examples=[[]]
    )
    domain: str | None = Field(None, max_length=1000, description="Make the rows of this domain.")
    limit: StrictInt | None = Field(None, ge=1, le=MOST_ROWS, description="Make at most so many rows.")
    anew: StrictBool = Field(False, description="Make rows anew that are at hand.")
    topics: tuple[str, ...] = Field(
        (), max_length=100, description="Of a handbook: what the texts say about these words alone.", examples=[[]]
    )
    dry_run: StrictBool = Field(False, description="Say what would be made and what it costs; make nothing.")


class BatchJobs:
    """Job files are the operator's: callers name them, and can neither write one nor lead to one elsewhere."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self, principal: Principal) -> list[BatchJob]:
        """Every job whose collections the caller may read, by name; a file with a mistake in it is not among them."""
        found = (self._loaded(path) for path in self._paths().values())
        return [self._told(principal, file) for file in found if file is not None and _may_read(principal, file)]

    def broken(self, principal: Principal) -> list[str]:
        """What is wrong with files that cannot be read, a sentence each; for administrators alone."""
        if not principal.administers:
            return []
        return [told for path in self._paths().values() if (told := self._mistake(path))]

    def get(self, principal: Principal, name: str) -> JobFile:
        """The job of a name. Raises Forbidden where there is none, and where the caller may not read all it reads."""
        path = self._paths().get(name)
        file = self._loaded(path) if path else None
        if file is None or not _may_read(principal, file):
            raise Forbidden(
                f"There is no job '{name}', or this key may not read all that it reads.",
                hint="List the jobs: GET /v1/batch-jobs",
            )
        return file

    def to_change(self, principal: Principal, name: str) -> JobFile:
        """The job of a name for one who changes something of it: may write all it reads. Raises Forbidden."""
        file = self.get(principal, name)
        if not _may_write(principal, file):
            raise Forbidden(
                f"This key may read job '{name}', and neither run it nor review its rows.",
                hint="Make a key that may write the collections of the job: elt-llm keys add --help",
            )
        return file

    def submit(self, principal: Principal, kind: Kind, asked: BatchRequest) -> "QueuedJob":
        """Put a run of a job into the queue. Raises Forbidden, and UsageError for a kind it cannot be."""
        file = self.to_change(principal, asked.job)
        kinds = kinds_of(file)
        if kind not in kinds:
            can = f"It can be: {', '.join(kinds)}." if kinds else "Give it sources."
            raise UsageError(f"Job '{file.name}' has not the sources that a {kind} is made of.", hint=can)
        return Jobs(self._services).submit(principal, kind, _arguments(file, asked))

    def _paths(self) -> dict[str, Path]:
        """Files by name, of the folder itself alone: what a caller says is looked up here, and never made a path of."""
        folder = self._services.loaded.config_dir / CONSUMER_FOLDER
        files = (path for path in sorted(folder.glob("*.yaml")) if path.is_file())
        return {path.stem: path for path in files if re.fullmatch(NAME, path.stem)}

    def _loaded(self, path: Path) -> JobFile | None:
        try:
            return load_job(path, self._services.loaded)
        except SettingsError:
            return None

    def _mistake(self, path: Path) -> str:
        try:
            load_job(path, self._services.loaded)
        except SettingsError as error:
            return str(error)
        return ""

    def _told(self, principal: Principal, file: JobFile) -> BatchJob:
        named, known = file.spec.sources.collections, set(self._services.known())
        return BatchJob(
            name=file.name,
            kinds=kinds_of(file),
            description=file.spec.description,
            collections=named,
            missing=tuple(name for name in named if name not in known),
            may_change=_may_write(principal, file),
        )


def kinds_of(file: JobFile) -> tuple[Kind, ...]:
    """What can be made of a job's sources; the kind that it is called after first."""
    return tuple(sorted(_kinds(file), key=lambda kind: (kind != file.name, KINDS.index(kind))))


def _kinds(file: JobFile) -> Iterator[Kind]:
    sources = file.spec.sources
    if sources.handbook:
        yield "glossary"
        yield "handbook"
    if sources.model:
        yield "catalog"
    if sources.handbook and sources.model:
        yield "coverage"


def _may_read(principal: Principal, file: JobFile) -> bool:
    return all(map(principal.may_read, file.spec.sources.collections))


def _may_write(principal: Principal, file: JobFile) -> bool:
    return all(map(principal.may_write, file.spec.sources.collections))


def _arguments(file: JobFile, asked: BatchRequest) -> dict[str, Any]:
    """Those of the queue; the collections are there so that who may see the job can be told later."""
    return {**asked.model_dump(mode="json"), "job": file.name, "collections": list(file.spec.sources.collections)}
