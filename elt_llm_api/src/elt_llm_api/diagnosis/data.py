"""Checks of the data directory: where it is, who may read and write it, and what state its collections are in."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from elt_llm_core.store.database import STORE_NAME
from elt_llm_core.store.lock import holder
from elt_llm_core.store.mounts import refuse_network_file_system
from elt_llm_core.store.store import Store, open_store

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning

_MEGABYTE = 10**6
_NEEDED_SPACE = 200 * _MEGABYTE
_COMFORTABLE_SPACE = 2000 * _MEGABYTE
_ELSEWHERE = "Choose another place: --data-dir DIR or ELT_LLM_DATA_DIR"


def _of_data_dir(look: Callable[[Path], Verdict]) -> Callable[[Facts], Verdict]:
    """A check of the data directory, left out where the settings do not tell which it is."""

    def look_if_known(facts: Facts) -> Verdict:
        if facts.loaded is None:
            return warning("not checked: the settings cannot be read", "Correct the settings first")
        return look(facts.loaded.data_dir)

    return look_if_known


def place(data_dir: Path) -> Verdict:
    """The data directory is a folder one may write to, or can be made."""
    present = _nearest_existing(data_dir)
    if not present.is_dir():
        return failure(f"{present} is not a folder", _ELSEWHERE)
    if not os.access(present, os.W_OK | os.X_OK):
        return failure(f"{present} may not be written to", _ELSEWHERE)
    return ok(str(data_dir) if present == data_dir else f"{data_dir} (not there yet; the first ingest makes it)")


def permissions(data_dir: Path) -> Verdict:
    """Nobody else may read what the collections hold."""
    if not data_dir.exists():
        return ok("not there yet")
    status = data_dir.stat()
    if status.st_uid != os.geteuid():
        return warning(f"belongs to user {status.st_uid}, not to you", _ELSEWHERE)
    if status.st_mode & 0o077:
        return warning(f"others may look into it ({status.st_mode & 0o777:04o})", f"Run: chmod 700 {data_dir}")
    return ok(f"{status.st_mode & 0o777:04o}")


def file_system(data_dir: Path) -> Verdict:
    """The disk is local: locks on network file systems cannot be trusted."""
    refuse_network_file_system(_nearest_existing(data_dir))
    return ok("local")


def free_space(data_dir: Path) -> Verdict:
    """There is room for a generation beside the present one."""
    free = shutil.disk_usage(_nearest_existing(data_dir)).free
    detail = f"{free / 10**9:.1f} GB free"
    if free < _NEEDED_SPACE:
        return failure(detail, f"Free some space. {_ELSEWHERE}")
    return warning(detail, "Large collections need more") if free < _COMFORTABLE_SPACE else ok(detail)


def lock(data_dir: Path) -> Verdict:
    """Nobody is writing, or it is said who is."""
    present = holder(data_dir)
    return ok(f"held by {present}" if present else "free")


def unfinished_runs(data_dir: Path) -> Verdict:
    """No ingest was cut short."""
    if not (data_dir / STORE_NAME).exists():
        return ok("nothing ingested yet")
    if holder(data_dir):
        return ok("one is under way")
    with open_store(data_dir) as store:
        runs = store.collections.unfinished_runs()
    if not runs:
        return ok("none")
    names = ", ".join(f"{run.collection} (since {run.started_at})" for run in runs)
    return warning(f"cut short: {names}", f"Go on with: {runs[0].command}")


def collections(data_dir: Path) -> Verdict:
    """Each published generation is on the disk; `elt-llm verify` compares every byte."""
    if not (data_dir / STORE_NAME).exists():
        return ok("nothing ingested yet")
    with open_store(data_dir) as store:
        records = store.collections.all()
        lost = [record.name for record in records if record.published and not _is_there(store, record.name)]
    if lost:
        return failure(f"index missing: {', '.join(lost)}", "Run: elt-llm verify, which rebuilds it from the record")
    return ok(", ".join(record.name for record in records) or "none")


def _is_there(store: Store, name: str) -> bool:
    return (store.folder(name) / str(store.collections.get(name).published) / "passport.json").is_file()


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


CHECKS = (
    Check("data directory", _of_data_dir(place)),
    Check("permissions", _of_data_dir(permissions)),
    Check("file system", _of_data_dir(file_system)),
    Check("free space", _of_data_dir(free_space)),
    Check("writer's lock", _of_data_dir(lock)),
    Check("unfinished runs", _of_data_dir(unfinished_runs)),
    Check("collections", _of_data_dir(collections)),
)
