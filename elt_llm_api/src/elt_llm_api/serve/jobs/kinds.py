"""The kinds of jobs that the server runs: ingest, forget, evaluate and the row jobs."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_consumer.jobs.tasks import JOB_KINDS
from elt_llm_core.errors import UsageError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.profiles import load_profile
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import uploads_folder

from elt_llm_api.serve.jobs.handover import AllPartsFailed

if TYPE_CHECKING:
    from elt_llm_consumer.jobs.job_file import JobFile
    from elt_llm_consumer.runner.costs import RunCost


def check_server_paths(loaded: LoadedSettings, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the resolved paths of files and folders below ingest.roots.

    Raises UsageError for a path that may not be read, such as one in the data directory, which contains all uploads.
    """
    if not names:
        return ()
    if not loaded.settings.ingest.roots:
        raise UsageError(
            "Only uploads can be ingested here: the setting ingest.roots names no folder.",
            hint="The operator of the server can add folders to ingest.roots.",
        )
    from elt_llm_ingest.sources.allowed_paths import AllowedPaths

    allowed = AllowedPaths.of(loaded)
    paths = tuple(allowed.check(name) for name in names)
    data_dir = loaded.data_dir.resolve()
    for name, path in zip(names, paths, strict=True):
        below = data_dir.relative_to(path).parts if data_dir.is_relative_to(path) else None
        # Reading a folder above the data directory reaches the data directory unless a hidden folder is between them.
        reaches = below is not None and not any(part.startswith(".") for part in below)
        if path.is_relative_to(data_dir) or reaches:
            raise UsageError(
                f"{name!r} may not be read: the server keeps its own data there.", hint="Name another path."
            )
    return paths


NAME = r"^[\w-]{1,100}$"
"""Pattern of a job's name. It does not match a path."""


def run_batch(
    kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings, progress: ProgressListener
) -> dict[str, Any]:
    """Run the job file in `config/consumer` that the argument `job` names, and return its report.

    The arguments `only`, `domain` and `limit` select rows. `anew` makes existing rows again, and `topics` replaces the
    topics of a handbook job. With `dry_run`, return only a `plan` of the work and its cost. The report names files
    without their folders. Raises the errors of `run_job`, and LockHeld if the same job is running.
    """
    from elt_llm_consumer.runner.plan import RowSelection
    from elt_llm_consumer.runner.run import JobRequest, run_job

    selection = RowSelection(
        tuple(arguments.get("only", ())),
        arguments.get("domain"),
        arguments.get("limit"),
        bool(arguments.get("anew", False)),
    )
    file = _load_job_file(kind, arguments, loaded)
    costs: list[RunCost] = []
    request = JobRequest(
        kind,
        file,
        selection,
        dry_run=bool(arguments.get("dry_run", False)),
        on_cost=costs.append,
        progress=lambda: nullcontext(progress),
    )
    report = run_job(request, loaded)
    if report is None:
        return {"job": file.name, "kind": kind, "plan": costs[0].to_json()}
    return {**report.to_json(), "files": [Path(path).name for path in report.files]}


def _load_job_file(kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings) -> "JobFile":
    from elt_llm_consumer.jobs.job_file import find_job_file, load_job

    name = str(arguments.get("job", ""))
    if not re.fullmatch(NAME, name):
        raise UsageError(
            "The argument `job` is not the plain name of a job file.",
            hint="Name a file in config/consumer, without its folder.",
        )
    file = load_job(find_job_file(name, loaded, loaded.config_dir), loaded)
    return file.with_topics(tuple(arguments.get("topics", ()))) if kind == "handbook" else file


def run_evaluation(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: ProgressListener) -> dict[str, Any]:
    """Measure profiles on a collection with generated questions, as the arguments of the job specify.

    `questions` is the number of questions, and another `seed` generates other ones. Without `profiles`, the profiles of
    the standard comparison are measured. Returns `{"reports": [...]}`, one for each
    profile. Raises UnknownCollection, SettingsError, and the errors of asking a question.
    """
    from elt_llm_core.collection.lifecycle import open_generation
    from elt_llm_core.models.factory import create_embedding
    from elt_llm_core.store.store import open_store
    from elt_llm_query.evaluate.generated_questions import DEFAULT_NUMBER, evaluation_questions, generate_questions
    from elt_llm_query.evaluate.runner import comparison_profiles, measure_profiles

    collection = str(arguments["collection"])
    names = arguments.get("profiles", ())
    profiles = {name: load_profile(name, loaded).apply_to(loaded.settings) for name in names}
    embedding = create_embedding(loaded.settings)
    with open_store(loaded.workspace) as store, open_generation(store, collection, embedding.fingerprint) as generation:
        number, seed = int(arguments.get("questions") or DEFAULT_NUMBER), int(arguments.get("seed", 1))
        questions = evaluation_questions(generate_questions(generation, number, seed))
        profiles = profiles or comparison_profiles(loaded.settings)
        reports = measure_profiles(collection, questions, generation, embedding, profiles, progress)
    return {"reports": [report.to_json() for report in reports]}


def run_forget(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: ProgressListener) -> dict[str, Any]:
    """Forget the document with the id `document`. Delete its uploaded file, too.

    The file is kept if it is newer than `asked_at`, the time of the request in Unix seconds.

    Returns the report without document names and without other collections.
    Raises LockHeld, UnknownCollection, UsageError, StoreError.
    """
    collection = str(arguments["collection"])
    with writer_lock(loaded.workspace, f"forget in {collection}"):
        from elt_llm_core.collection.forgetting import forget
        from elt_llm_core.store.store import open_store

        with open_store(loaded.workspace, for_writing=True) as store:
            asked_at = float(arguments["asked_at"])
            identity, alone = str(arguments["document"]), bool(arguments.get("alone", False))
            report = forget(store, collection, identity, progress, asked_at=asked_at, alone=alone)
    return {**asdict(replace(report, elsewhere=())), "documents": len(report.documents)}


def run_ingest(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: ProgressListener) -> dict[str, Any]:
    """Ingest the files in `uploads` and `paths` into `collection`, or if both are empty its known sources and uploads.

    Files in `uploads` are read even if the same document was forgotten before. Returns the report of the run. Uploads
    into a new collection are deleted if none could be read. Raises the errors of `IngestSession.run`, UsageError for
    paths that may not be read, and AllPartsFailed if every file failed.
    """
    from elt_llm_ingest.session import CollectionTask, IngestSession

    collection = str(arguments["collection"])
    uploads = _existing_uploads(loaded.data_dir, collection, arguments.get("uploads", ()))
    paths = check_server_paths(loaded, arguments.get("paths", ()))
    flags = {name: bool(arguments.get(name, False)) for name in ("rebuild", "resume")} | {"remember": bool(uploads)}
    task = CollectionTask(collection, (*uploads, *paths))
    with IngestSession(task, loaded, flags, f"ingest into {collection}") as session:  # type: ignore[arg-type]  # Flags
        [report] = session.run(lambda: nullcontext(progress))
    result = report.to_json()
    if uploads and result["generation"] is None:
        for path in uploads:  # without a collection the uploads could not be listed
            path.unlink(missing_ok=True)
        note = f"Nothing could be read: the collection '{collection}' was not created, and the uploads were deleted."
        result["notes"] = [*result["notes"], f"{note} Upload files that can be read."]
    if replaced := arguments.get("replaced"):
        result["notes"] = [*result["notes"], f"Uploads replaced files with other content: {', '.join(replaced)}."]
    _raise_if_all_failed(result)
    return result


def _raise_if_all_failed(result: Mapping[str, Any]) -> None:
    """Raise AllPartsFailed, with the report, if all files failed. Skipped files do not count."""
    files = [file for file in result["files"] if file["status"] != "skipped"]
    if files and all(file["status"] == "failed" for file in files):
        first, number = files[0], f"{len(files)} files" if len(files) > 1 else "one file"
        message = f"Nothing could be read from {number}. The first is {first['path']}: {first['reason'].rstrip('.')}."
        raise AllPartsFailed(message, result, hint="Fix the causes given for the files, and ingest the files again.")


def kept_uploads(data_dir: Path, arguments: Mapping[str, Any]) -> str:
    """Return a message with the uploads that a cancelled or failed job leaves to a later ingest; "" if none."""
    folder = uploads_folder(data_dir, str(arguments.get("collection", "")))
    names = ", ".join(name for name in arguments.get("uploads", ()) if (folder / name).is_file())
    if not names:
        return ""
    ways = f"To read them, ingest '{folder.name}' without paths, or upload them again if a job file fills it."
    return f"The uploads are kept: {names}. {ways}"


def _existing_uploads(data_dir: Path, collection: str, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the paths of the named uploads that still exist. Raises UsageError if none of them exists."""
    folder = uploads_folder(data_dir, collection)
    existing = tuple(folder / name for name in names if (folder / name).is_file())
    if names and not existing:
        raise UsageError("The uploads were deleted before they were read.", hint="Upload them again.")
    return existing


JobFunction = Callable[[Mapping[str, Any], LoadedSettings, ProgressListener], dict[str, Any]]
"""A function that runs a job with its arguments and returns its result as JSON values."""

WRITING_KINDS: Mapping[str, JobFunction] = {"ingest": run_ingest, "forget": run_forget}
"""Jobs that hold the writer lock. One of them runs at a time."""
READING_KINDS: Mapping[str, JobFunction] = {
    **{kind: partial(run_batch, kind) for kind in JOB_KINDS},
    "evaluate": run_evaluation,
}
"""Jobs that read published collections. One of them runs at a time, in parallel with a writing job."""


def run_kind(
    kind: str, arguments: Mapping[str, Any], loaded: LoadedSettings, progress: ProgressListener
) -> dict[str, Any]:
    """Run a job and return its result. Raises UsageError for an unknown kind, and the errors of the job."""
    kinds = {**WRITING_KINDS, **READING_KINDS}
    if kind not in kinds:
        raise UsageError(f"'{kind}' is not a kind of job.", hint=f"The kinds are: {', '.join(kinds)}.")
    return kinds[kind](arguments, loaded, progress)
