"""Where the file of a job is: named in a command by a path, or by its bare name in the folder of its kind."""

from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.settings_mistakes import nearest


def find_in_folder(given: str, folder: Path, working_directory: Path) -> Path:
    """`folder`/NAME.yaml for a bare name, else what is at the path. Raises UsageError that names near ones, or all."""
    if "\0" in given:
        raise UsageError(f"{given!r} is not a path: it holds a zero byte.")
    named = folder / f"{given}.yaml"
    if Path(given).name == given and named.is_file():
        return named
    path = working_directory / given
    if path.exists():
        return path
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    meant = nearest(given, known)
    known_jobs = f"Jobs in {folder}: {', '.join(known)}." if known else f"There are no jobs in {folder}."
    raise UsageError(f"There is no job {given!r}.", hint=f"Did you mean {meant}?" if meant else known_jobs)
