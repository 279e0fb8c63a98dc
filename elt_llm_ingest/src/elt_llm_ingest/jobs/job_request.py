"""Turn a job into an ingest request: check its paths and resolve its patterns."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings

from elt_llm_ingest.jobs.job_file import LoadedJob
from elt_llm_ingest.run.request import IngestRequest
from elt_llm_ingest.sources.allowed_paths import AllowedPaths
from elt_llm_ingest.sources.patterns import fixed_folder, is_pattern, literal_pattern


class IngestFlags(TypedDict, total=False):
    """Options for every collection of a run; see IngestRequest."""

    rebuild: bool
    resume: bool
    allow_delete: bool
    remember: bool


@dataclass(frozen=True)
class JobPaths:
    """The resolved paths of a job, and the patterns of the files in them to include and exclude."""

    paths: tuple[Path, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]


def job_paths(job: LoadedJob, allowed: AllowedPaths) -> JobPaths:
    """Resolve the paths and patterns of a job. Raises UsageError for paths that do not exist or may not be read."""
    paths, include = [], []
    for given in job.spec.paths:
        path, pattern = _resolve_path(given, allowed)
        paths.append(path)
        include.append(pattern)
    exclude = [_exclude_pattern(given, allowed.start) for given in job.spec.exclude]
    return JobPaths(tuple(dict.fromkeys(paths)), tuple(include), tuple(exclude))


def _resolve_path(given: str, allowed: AllowedPaths) -> tuple[Path, str]:
    """The folder or file to scan for a path of a job, and the pattern of the files to include."""
    if not is_pattern(given) or _exists(allowed.start, given):
        path = allowed.check(given)
        return path, f"{literal_pattern(path)}/**" if path.is_dir() else literal_pattern(path)
    fixed, rest = _split_pattern(given)
    if ".." in rest.split("/"):
        raise UsageError(f"{given!r} may not be read: `..` after a wildcard.", hint="Name the folder itself.")
    folder = allowed.check(fixed)
    return folder, f"{literal_pattern(folder)}/{rest}"


def _split_pattern(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest of the pattern."""
    fixed = fixed_folder(pattern)
    return fixed, pattern if fixed == "." else pattern.removeprefix(fixed).lstrip("/")


def _exists(start: Path, given: str) -> bool:
    """Whether a name with wildcards is the name of an existing file or folder."""
    try:
        return (start / given).exists()
    except (OSError, ValueError):
        return False


def _exclude_pattern(given: str, start: Path) -> str:
    """Resolve a pattern against the project folder; a pattern of one name stays as it is."""
    if "/" not in given.strip("/"):
        return given.strip("/")
    if given.startswith("/"):
        return given
    fixed, rest = _split_pattern(given)
    return "/".join(filter(None, (literal_pattern((start / fixed).resolve()), rest)))


def create_request(job: LoadedJob, loaded: LoadedSettings, flags: IngestFlags) -> IngestRequest:
    """Build the request of a job; a job that splits its files fills in collection and group later."""
    resolved = job_paths(job, AllowedPaths.of(loaded))
    return IngestRequest(
        collection=job.spec.collection or "",
        paths=resolved.paths,
        include=resolved.include,
        exclude=resolved.exclude,
        reader=job.spec.reader,
        metadata=job.spec.metadata,
        split_by=job.spec.split_by or "",
        job=job.name,
        check_against=job.spec.check_against or "",
        command=f"elt-llm ingest --job {job.name}",
        **flags,
    )
