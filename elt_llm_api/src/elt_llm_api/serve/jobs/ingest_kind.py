"""Bringing a collection up to date: with uploads, or with files and folders of the server that may be read."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.uploads import uploads_folder

from elt_llm_api.serve.jobs.nothing_done import NothingDone
from elt_llm_api.serve.jobs.server_paths import checked_paths

_GONE = "and the uploads were not kept. Bring files that can be read."


def run_ingest(arguments: Mapping[str, Any], loaded: LoadedSettings, progress: Progress) -> dict[str, Any]:
    """Ingest into `collection` the files `uploads` names, and `paths`; neither: what it was filled from before.

    An upload is read even if a document like it was forgotten: somebody has just asked for it. The result is the
    report of the run; of uploads into a new collection none is kept if none could be read. Raises what
    `IngestSession.run` raises, UsageError for paths that may not be read, and NothingDone if every file failed.
    """
    from elt_llm_ingest.session import ByHand, IngestSession

    collection = str(arguments["collection"])
    uploaded = _uploaded(loaded.data_dir, collection, arguments.get("uploads", ()))
    paths = checked_paths(loaded, arguments.get("paths", ()))
    flags = {"rebuild": bool(arguments.get("rebuild", False)), "remember": bool(uploaded)}
    task = ByHand(collection, (*uploaded, *paths))
    with IngestSession(task, loaded, flags, f"ingest into {collection}") as session:  # type: ignore[arg-type]  # Flags
        [report] = session.run(lambda: nullcontext(progress))
    told = report.to_json()
    if uploaded and told["generation"] is None:
        for path in uploaded:  # there is no collection that they could be listed in
            path.unlink(missing_ok=True)
        told["notes"] = [*told["notes"], f"Nothing could be read: there is no collection '{collection}', {_GONE}"]
    _refuse_if_all_failed(told)
    return told


def _refuse_if_all_failed(told: Mapping[str, Any]) -> None:
    """Raises NothingDone, with the report, if files were read and none of them could be; skipped ones were not."""
    tried = [file for file in told["files"] if file["status"] != "skipped"]
    if tried and all(file["status"] == "failed" for file in tried):
        first, files = tried[0], f"{len(tried)} files" if len(tried) > 1 else "one file"
        message = f"Nothing could be read of {files}. The first is {first['path']}: {first['reason'].rstrip('.')}."
        raise NothingDone(message, told, hint="Mend what the reasons name, and have the files read again.")


def _uploaded(data_dir: Path, collection: str, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The uploads that are still there. Raises UsageError if there were some and all are gone."""
    folder = uploads_folder(data_dir, collection)
    there = tuple(folder / name for name in names if (folder / name).is_file())
    if names and not there:
        raise UsageError("The uploads were deleted before they were read.", hint="Upload them again.")
    return there
