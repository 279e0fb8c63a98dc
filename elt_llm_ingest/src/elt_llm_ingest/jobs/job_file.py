"""Read ingest jobs (`config/ingest/NAME.yaml`) and lists of jobs, build their requests, and write example jobs."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings.loader import (
    LoadedSettings,
    YamlDocument,
    find_yaml_file,
    read_yaml,
    shown_path,
    validate_model,
)
from elt_llm_core.settings.template import model_as_yaml
from elt_llm_core.settings.tree import ChunkingSettings, Settings, SettingsSection
from elt_llm_core.store.collections import check_collection_name
from elt_llm_core.store.records import OWNER_FIELDS, MetadataValue
from pydantic import Field

from elt_llm_ingest.readers import create_named_reader
from elt_llm_ingest.sources.allowed_paths import AllowedPaths
from elt_llm_ingest.sources.path_fields import FolderPattern
from elt_llm_ingest.sources.patterns import fixed_folder, is_pattern, literal_pattern
from elt_llm_ingest.sources.reader_source import ReaderSource, find_reader_class
from elt_llm_ingest.sources.remote import RemoteUrl, is_url
from elt_llm_ingest.sources.request import IngestFlags, IngestRequest

INGEST_FOLDER = "ingest"
_MAX_PREFIX_LENGTH = 31
COLUMN_ROLES = ("entity", "definition", "domain", "subgroup", "type", "id")


class IngestJob(SettingsSection):
    """The content of a job file: what to ingest, how, and into which collection."""

    description: str = Field("", description="What the job is for, in a sentence.")
    collection: str | None = Field(None, description="The collection to fill. Give either this or collection_prefix.")
    collection_prefix: str | None = Field(
        None, description="Prefix of the collection names, if split_by fills one collection for each group."
    )
    split_by: Literal["section", "type"] | None = Field(
        None, description="section: split by top-level section; type: split by the type of the documents within a file."
    )
    paths: tuple[str, ...] = Field(
        (),
        description="Files, folders and patterns such as docs/**/*.pdf, relative to the folder that contains config/,"
        " and URLs of hosts in ingest.remote.allowed_hosts.",
    )
    exclude: tuple[str, ...] = Field(
        (),
        description="Patterns of files to exclude. A pattern without `/`, such as *.tmp, matches names in any folder.",
    )
    reader: str = Field(
        "auto",
        pattern=r"^([a-z][a-z0-9_-]{0,40}|[A-Za-z_][A-Za-z0-9_.]{0,200}:[A-Za-z_][A-Za-z0-9_]{0,100})$",
        description="The reader of the files; auto: chosen by file name extension; package:Class: a reader of"
        " LlamaIndex that provides the documents itself, without paths.",
    )
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,
        description="Arguments of a reader package:Class; those of its load_data are below the key load_data.",
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="Column headers of a data dictionary (workbook or CSV), by what each column holds: entity and "
        "definition are needed; domain, subgroup, type and id are optional. Each row becomes an entity.",
    )
    chunking: ChunkingSettings | None = Field(None, description="Overrides of the chunking section.")
    metadata: dict[str, MetadataValue] = Field(
        default_factory=dict, description="Metadata of every document, for display and filters."
    )
    path_fields: str | None = Field(
        None,
        description="Fields that folders below the paths name: a pattern such as {tenant_id}/{knowledge_base_id}/**;"
        " the fields are tenant_id, knowledge_base_id and doc_type.",
    )
    topics: dict[str, tuple[str, ...]] | None = Field(None, description="Used instead of ingest.topics.")
    check_against: str | None = Field(
        None, description="A collection whose entries are compared with those of this job by id, to report gaps."
    )

    @property
    def chosen_reader(self) -> str:
        """The name of the reader that reads the files. It is `dictionary` if the job gives columns but no reader."""
        if find_reader_class(self.reader):
            return "auto"
        return "dictionary" if self.columns and self.reader == "auto" else self.reader

    def apply_to(self, settings: Settings) -> Settings:
        """Return the settings with this job's overrides applied. Raises UsageError if an overlap exceeds the chunks."""
        changes = self.chunking.model_dump(exclude_unset=True) if self.chunking else {}
        chunking = settings.chunking.model_copy(update=changes)
        if (overlap := changes.get("chunk_overlap", 0)) >= (size := chunking.chunk_size):
            raise UsageError(f"The job's chunk_overlap ({overlap}) must be less than chunk_size ({size}).")
        topics = {} if self.topics is None else {"topics": self.topics}
        return settings.model_copy(
            update={
                "chunking": chunking,
                "ingest": settings.ingest.model_copy(update=topics),
            }
        )


class JobList(SettingsSection):
    """Jobs to run one after the other."""

    description: str = Field("", description="What the list is for, in a sentence.")
    jobs: tuple[str, ...] = Field(min_length=1, description="Names of jobs in the same folder, run in this order.")


@dataclass(frozen=True)
class LoadedJob:
    """A job with its name and file."""

    name: str
    file: Path
    spec: IngestJob


@dataclass(frozen=True)
class UnreadableJob:
    """A job that is in a list of jobs but cannot be loaded, with the error."""

    name: str
    error: UsageError


def find_job_file(given: str, loaded: LoadedSettings, working_directory: Path) -> Path:
    """Find a job file by path or by its name in `config/ingest`. Raises UsageError that suggests a similar name."""
    return find_yaml_file(given, loaded.config_dir / INGEST_FOLDER, working_directory)


def load_jobs(file: Path, loaded: LoadedSettings) -> list[LoadedJob | UnreadableJob]:
    """Return the job in a file or, if the file is a list of jobs, each listed job in order.

    A listed job that is invalid is returned as an UnreadableJob. Raises SettingsError if `file` itself is invalid. The
    error names the line of each mistake.
    """
    shown_as = shown_path(file, loaded.project)
    document = read_yaml(file, shown_as)
    if "jobs" not in document.value:
        return [_load_job(file, document, shown_as, loaded)]
    listed = validate_model(JobList, document.value, document.origins, shown_as)
    return [_load_listed_job(name, file.parent, loaded) for name in dict.fromkeys(listed.jobs)]


def _load_listed_job(name: str, folder: Path, loaded: LoadedSettings) -> LoadedJob | UnreadableJob:
    file = folder / f"{name}.yaml"
    try:
        if Path(name).name != name or not file.is_file():
            raise UsageError(f"There is no job {name!r} in {folder}.", hint="Correct the name in the list of jobs.")
        shown_as = shown_path(file, loaded.project)
        document = read_yaml(file, shown_as)
        if "jobs" in document.value:
            raise SettingsError(
                f"{shown_as}: a list of jobs contains another list of jobs", hint="List the jobs of that list instead."
            )
        return _load_job(file, document, shown_as, loaded)
    except UsageError as error:
        return UnreadableJob(name, error)


def _load_job(file: Path, document: YamlDocument, shown_as: str, loaded: LoadedSettings) -> LoadedJob:
    spec = validate_model(IngestJob, document.value, document.origins, shown_as)
    where: Callable[[str], str] = lambda key: document.origins.get((key,), shown_as)  # noqa: E731
    if spec.collection is not None and spec.collection_prefix is not None:
        raise SettingsError(f"{where('collection_prefix')}: a job has either collection or collection_prefix, not both")
    if spec.collection is None and spec.collection_prefix is None:
        raise SettingsError(f"{shown_as}: a job needs either collection, or collection_prefix and split_by; add them")
    if (spec.collection_prefix is None) != (spec.split_by is None):
        given, lacking = ("split_by", "collection_prefix") if spec.split_by else ("collection_prefix", "split_by")
        raise SettingsError(f"{where(given)}: {given} is set, but {lacking} is missing; a job has both or neither")
    _check_names(spec, where, file)
    _check_sources(spec, where)
    in_folder = file.parent.resolve() == (loaded.config_dir / INGEST_FOLDER).resolve()
    return LoadedJob(file.stem if in_folder else shown_as, file, spec)


def _check_sources(spec: IngestJob, where: Callable[[str], str]) -> None:
    provides = bool(find_reader_class(spec.reader))
    if provides and (spec.paths or spec.split_by or spec.columns):
        given = next(key for key in ("paths", "split_by", "columns") if getattr(spec, key))
        raise SettingsError(f"{where(given)}: the reader {spec.reader} provides the documents itself; remove {given}")
    if not provides and not spec.paths:
        raise SettingsError(f"{where('paths')}: paths is missing or empty", hint="Name at least one file or folder.")
    if not provides and spec.arguments:
        raise SettingsError(f"{where('arguments')}: only a reader package:Class has arguments; remove them")


def _check_names(spec: IngestJob, where: Callable[[str], str], file: Path) -> None:
    for key in ("collection", "collection_prefix", "check_against"):
        name = getattr(spec, key)
        try:
            if name is not None:
                check_collection_name(name)
        except UsageError as error:
            raise SettingsError(f"{where(key)}: {key} is not valid: {error}", hint=error.hint) from error
    _check_owner_fields(spec, where)
    unknown = sorted(spec.columns.keys() - COLUMN_ROLES)
    if unknown:
        raise SettingsError(
            f"{where('columns')}: unknown key {unknown[0]!r}", hint=f"Known keys are {', '.join(COLUMN_ROLES)}."
        )
    if (spec.columns or spec.reader == "dictionary") and "entity" not in spec.columns:
        raise SettingsError(f"{where('columns')}: for a data dictionary, name the column that contains the entity")
    if spec.reader != "auto" and not find_reader_class(spec.reader) and create_named_reader(spec.reader, file) is None:
        raise SettingsError(
            f"{where('reader')}: there is no reader named {spec.reader}",
            hint="Use auto to choose the reader by file name extension.",
        )
    if spec.collection_prefix is not None and len(spec.collection_prefix) > _MAX_PREFIX_LENGTH:
        raise SettingsError(f"{where('collection_prefix')}: a prefix has at most {_MAX_PREFIX_LENGTH} characters")


def _check_owner_fields(spec: IngestJob, where: Callable[[str], str]) -> None:
    for name in OWNER_FIELDS:
        if isinstance(spec.metadata.get(name, ""), list):
            raise SettingsError(f"{where('metadata')}: {name} is a list, but must be a single value")
    if spec.path_fields is None:
        return
    try:
        pattern = FolderPattern.parse(spec.path_fields)
    except UsageError as error:
        raise SettingsError(f"{where('path_fields')}: {error}", hint=error.hint) from error
    if both := sorted(pattern.fields & spec.metadata.keys()):
        raise SettingsError(f"{where('path_fields')}: {both[0]} is set in metadata too; remove one of the two")


def example_jobs() -> dict[str, str]:
    """Return the YAML text of each example job by its path in the configuration folder."""
    examples = tomllib.loads(files(__package__).joinpath("examples.toml").read_text(encoding="utf-8"))
    return {
        f"{INGEST_FOLDER}/{name}.yaml": model_as_yaml(JobList if "jobs" in given else IngestJob, given)
        for name, given in examples.items()
    }


def create_request(job: LoadedJob, loaded: LoadedSettings, flags: IngestFlags) -> IngestRequest:
    """Build a job's ingest request. If the job has `split_by`, the runner sets the request's collection and group.

    Raises UsageError for paths that do not exist or may not be read.
    """
    allowed = AllowedPaths.of(loaded)
    reader = find_reader_class(job.spec.reader)
    urls = tuple(RemoteUrl.parse(given) for given in job.spec.paths if is_url(given))
    if urls and job.spec.split_by:
        raise UsageError(f"The job {job.name} has both split_by and URLs.", hint="Give URLs to a job without split_by.")
    resolved = [_resolve_path(given, allowed) for given in job.spec.paths if not is_url(given)]
    return IngestRequest(
        collection=job.spec.collection or "",
        paths=tuple(dict.fromkeys(path for path, _ in resolved)),
        urls=urls,
        source_reader=ReaderSource(reader, job.spec.arguments) if reader else None,
        include=tuple(pattern for _, pattern in resolved),
        exclude=tuple(_exclude_pattern(given, allowed.start) for given in job.spec.exclude),
        reader=job.spec.chosen_reader,
        columns=job.spec.columns,
        metadata=job.spec.metadata,
        path_fields=job.spec.path_fields or "",
        split_by=job.spec.split_by or "",
        job=job.name,
        check_against=job.spec.check_against or "",
        command=f"elt-llm ingest --job {job.name}",
        **flags,
    )


def _resolve_path(given: str, allowed: AllowedPaths) -> tuple[Path, str]:
    """Return the folder or file to scan for one of a job's paths, and the pattern that included files match."""
    if not is_pattern(given) or _exists(allowed.start, given):
        path = allowed.check(given)
        return path, f"{literal_pattern(path)}/**" if path.is_dir() else literal_pattern(path)
    fixed, rest = _split_pattern(given)
    if ".." in rest.split("/"):
        raise UsageError(
            f"{given!r} may not be read: it has `..` after a wildcard.",
            hint="Give the path of the folder without `..`.",
        )
    folder = allowed.check(fixed)
    return folder, f"{literal_pattern(folder)}/{rest}"


def _split_pattern(pattern: str) -> tuple[str, str]:
    fixed = fixed_folder(pattern)
    return fixed, pattern if fixed == "." else pattern.removeprefix(fixed).lstrip("/")


def _exists(start: Path, given: str) -> bool:
    try:
        return (start / given).exists()
    except (OSError, ValueError):
        return False


def _exclude_pattern(given: str, start: Path) -> str:
    """Make an exclude pattern absolute: `docs/*.tmp` -> `START/docs/*.tmp`. A pattern without `/` stays unchanged."""
    if "/" not in given.strip("/"):
        return given.strip("/")
    if given.startswith("/"):
        return given
    fixed, rest = _split_pattern(given)
    return "/".join(filter(None, (literal_pattern((start / fixed).resolve()), rest)))
