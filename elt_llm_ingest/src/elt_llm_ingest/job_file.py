"""Ingest jobs as they are written down: `config/ingest/NAME.yaml`, and lists of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.job_files import find_in_folder
from elt_llm_core.settings import ChunkingSettings, Settings
from elt_llm_core.settings_loader import LoadedSettings, shown_path
from elt_llm_core.settings_mistakes import validated
from elt_llm_core.settings_section import Section
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.records import MetadataValue
from elt_llm_core.yaml_document import YamlDocument, read_yaml
from pydantic import Field

from elt_llm_ingest.readers import reader_called

INGEST_FOLDER = "ingest"
_LONGEST_PREFIX = 31


class IngestJob(Section):
    """What to ingest, how, and into which collection."""

    description: str = Field("", description="What the job is for, in a sentence.")
    collection: str | None = Field(None, description="The collection to fill; or give collection_prefix.")
    collection_prefix: str | None = Field(
        None, description="Fill one collection for each group that split_by finds; their names begin so."
    )
    split_by: Literal["section", "type"] | None = Field(
        None, description="section: by top-level section; type: by the type of what a file holds, such as its entries."
    )
    paths: tuple[str, ...] = Field(
        min_length=1,
        description="Files, folders and patterns such as docs/**/*.pdf, seen from the folder that holds config/.",
    )
    exclude: tuple[str, ...] = Field(
        (), description="Patterns to leave out; one without `/` holds for names in any folder, such as *.tmp."
    )
    reader: str = Field(
        "auto",
        pattern=r"^[a-z][a-z0-9_-]{0,40}$",
        description="What reads the files; auto: by the ending of their names.",
    )
    chunking: ChunkingSettings | None = Field(None, description="Overrides of the chunking section.")
    metadata: dict[str, MetadataValue] = Field(
        default_factory=dict, description="Put onto every document, to be shown and filtered by."
    )
    topics: dict[str, tuple[str, ...]] | None = Field(None, description="Used instead of ingest.topics.")
    check_against: str | None = Field(
        None, description="A collection whose entries are compared with these, by id; what lacks is reported."
    )

    def apply_to(self, settings: Settings) -> Settings:
        """The settings with what the job overrides."""
        chunking = self.chunking.model_dump(exclude_unset=True) if self.chunking else {}
        topics = {} if self.topics is None else {"topics": self.topics}
        return settings.model_copy(
            update={
                "chunking": settings.chunking.model_copy(update=chunking),
                "ingest": settings.ingest.model_copy(update=topics),
            }
        )


class JobList(Section):
    """Jobs to run one after the other."""

    description: str = Field("", description="What the list is for, in a sentence.")
    jobs: tuple[str, ...] = Field(min_length=1, description="Names of jobs in the same folder, run in this order.")


@dataclass(frozen=True)
class Job:
    """A job that was read. `name` is what it is called by; `file` where it stands."""

    name: str
    file: Path
    spec: IngestJob


@dataclass(frozen=True)
class Unread:
    """A job of a list that cannot be read, and why."""

    name: str
    error: UsageError


def find_job_file(given: str, loaded: LoadedSettings, working_directory: Path) -> Path:
    """The file of a job: a path, or the bare name of one in `config/ingest`. Raises UsageError, naming the nearest."""
    return find_in_folder(given, loaded.config_dir / INGEST_FOLDER, working_directory)


def load_jobs(file: Path, loaded: LoadedSettings) -> list[Job | Unread]:
    """The job in a file, or those of a list in its order; one of a list that cannot be read is told, and no more.

    Raises SettingsError that names the line of each mistake in `file` itself.
    """
    shown_as = shown_path(file, loaded.project)
    document = read_yaml(file, shown_as)
    if "jobs" not in document.value:
        return [_job(file, document, shown_as, loaded)]
    listed = validated(JobList, document.value, document.origins, shown_as)
    return [_listed_job(name, file.parent, loaded) for name in dict.fromkeys(listed.jobs)]


def _listed_job(name: str, folder: Path, loaded: LoadedSettings) -> Job | Unread:
    file = folder / f"{name}.yaml"
    try:
        if Path(name).name != name or not file.is_file():
            raise UsageError(f"There is no job {name!r} in {folder}.")
        shown_as = shown_path(file, loaded.project)
        document = read_yaml(file, shown_as)
        if "jobs" in document.value:
            raise SettingsError(f"{shown_as}: a list of jobs within a list", hint="Name the jobs themselves.")
        return _job(file, document, shown_as, loaded)
    except UsageError as error:
        return Unread(name, error)


def _job(file: Path, document: YamlDocument, shown_as: str, loaded: LoadedSettings) -> Job:
    spec = validated(IngestJob, document.value, document.origins, shown_as)
    where: Callable[[str], str] = lambda key: document.origins.get((key,), shown_as)  # noqa: E731
    if spec.collection is not None and spec.collection_prefix is not None:
        raise SettingsError(f"{where('collection_prefix')}: collection is given too; a job has one of the two")
    if spec.collection is None and spec.collection_prefix is None:
        raise SettingsError(f"{shown_as}: collection is missing, or collection_prefix with split_by")
    if (spec.collection_prefix is None) != (spec.split_by is None):
        given, lacking = ("split_by", "collection_prefix") if spec.split_by else ("collection_prefix", "split_by")
        raise SettingsError(f"{where(given)}: {given} needs {lacking}")
    _check_names(spec, where, file)
    in_folder = file.parent.resolve() == (loaded.config_dir / INGEST_FOLDER).resolve()
    return Job(file.stem if in_folder else shown_as, file, spec)


def _check_names(spec: IngestJob, where: Callable[[str], str], file: Path) -> None:
    """Collections must have names that a folder can have, and a prefix must leave room for what follows it."""
    for key in ("collection", "collection_prefix", "check_against"):
        name = getattr(spec, key)
        try:
            if name is not None:
                check_collection_name(name)
        except UsageError as error:
            raise SettingsError(f"{where(key)}: {error}", hint=error.hint) from error
    if spec.reader != "auto" and reader_called(spec.reader, file) is None:
        raise SettingsError(
            f"{where('reader')}: there is no reader {spec.reader}", hint="auto goes by the file's name."
        )
    if spec.collection_prefix is not None and len(spec.collection_prefix) > _LONGEST_PREFIX:
        raise SettingsError(f"{where('collection_prefix')}: more than {_LONGEST_PREFIX} characters")
