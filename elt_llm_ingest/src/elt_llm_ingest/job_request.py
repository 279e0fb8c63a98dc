"""What a job asks the pipeline for: its paths, checked, and its patterns, made absolute."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from elt_llm_core.errors import UsageError
from elt_llm_core.settings_loader import LoadedSettings

from elt_llm_ingest.allowed_paths import AllowedPaths
from elt_llm_ingest.ingest_request import IngestRequest
from elt_llm_ingest.job_file import Job
from elt_llm_ingest.patterns import fixed_folder, is_pattern, literally


class Flags(TypedDict, total=False):
    """What holds for every collection of a run: see IngestRequest."""

    rebuild: bool
    resume: bool
    allow_delete: bool
    remember: bool


@dataclass(frozen=True)
class Wanted:
    """What a job's paths and patterns come to: what is looked through, and what of it is taken."""

    paths: tuple[Path, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]


def wanted_of(job: Job, allowed: AllowedPaths) -> Wanted:
    """The resolved paths and absolute patterns of a job. Raises UsageError for what may not be read or is not there."""
    paths, include = [], []
    for given in job.spec.paths:
        path, pattern = _resolved(given, allowed)
        paths.append(path)
        include.append(pattern)
    exclude = [_exclusion(given, allowed.start) for given in job.spec.exclude]
    return Wanted(tuple(dict.fromkeys(paths)), tuple(include), tuple(exclude))


def _resolved(given: str, allowed: AllowedPaths) -> tuple[Path, str]:
    """What to look through for a path of a job, and the pattern of what to take."""
    if not is_pattern(given) or _is_there(allowed.start, given):
        path = allowed.check(given)
        return path, f"{literally(path)}/**" if path.is_dir() else literally(path)
    fixed = fixed_folder(given)
    rest = given if fixed == "." else given.removeprefix(fixed).lstrip("/")
    if ".." in rest.split("/"):
        raise UsageError(f"{given!r} may not be read: `..` after a wildcard.", hint="Name the folder itself.")
    folder = allowed.check(fixed)
    return folder, f"{literally(folder)}/{rest}"


def _is_there(start: Path, given: str) -> bool:
    """Whether a name with a wildcard in it is simply a name."""
    try:
        return (start / given).exists()
    except (OSError, ValueError):
        return False


def _exclusion(given: str, start: Path) -> str:
    """A pattern of one name stays so; another is seen from the project's folder."""
    if "/" not in given.strip("/"):
        return given.strip("/")
    if given.startswith("/"):
        return given
    fixed = fixed_folder(given)
    rest = given if fixed == "." else given.removeprefix(fixed).lstrip("/")
    return "/".join(filter(None, (literally((start / fixed).resolve()), rest)))


def request_of(job: Job, loaded: LoadedSettings, flags: Flags) -> IngestRequest:
    """What a job asks for; collection and group are still to be filled in where it splits its files."""
    wanted = wanted_of(job, AllowedPaths.of(loaded))
    return IngestRequest(
        collection=job.spec.collection or "",
        paths=wanted.paths,
        include=wanted.include,
        exclude=wanted.exclude,
        reader=job.spec.reader,
        metadata=job.spec.metadata,
        split_by=job.spec.split_by or "",
        job=job.name,
        check_against=job.spec.check_against or "",
        command=f"elt-llm ingest --job {job.name}",
        **flags,
    )
