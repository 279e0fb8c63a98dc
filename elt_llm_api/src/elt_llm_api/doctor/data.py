"""Checks of the data directory: permissions, file system, free space, lock, unfinished runs, collections."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from elt_llm_core.index.points import LineageRecord, PointsView
from elt_llm_core.index.qdrant import PointDatabases, database_key
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.store.backups import backup_age
from elt_llm_core.store.database import STORE_NAME
from elt_llm_core.store.disk import refuse_network_file_system
from elt_llm_core.store.lock import lock_holder
from elt_llm_core.store.store import has_store, open_store

from elt_llm_api.display.text import count_noun
from elt_llm_api.doctor.check import CheckVerdict, failure, ok, warning, with_settings

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_MEGABYTE = 10**6
_NEEDED_SPACE = 200 * _MEGABYTE
_COMFORTABLE_SPACE = 2000 * _MEGABYTE
_MAX_UNSAVED = timedelta(days=7)  # between the last copy of the store and the store's last change
_OTHER_DIRECTORY_HINT = "Choose another folder: --data-dir DIR or ELT_LLM_DATA_DIR"


def data_dir_writable(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the data directory is writable or can be created."""
    data_dir, present = loaded.data_dir, _nearest_existing(loaded.data_dir)
    if not present.is_dir():
        return failure(f"{present} is not a folder", _OTHER_DIRECTORY_HINT)
    if not os.access(present, os.W_OK | os.X_OK):
        return failure(f"{present} may not be written to", _OTHER_DIRECTORY_HINT)
    return ok(str(data_dir) if present == data_dir else f"{data_dir} (does not exist yet; the first ingest creates it)")


def permissions(loaded: LoadedSettings) -> CheckVerdict:
    """Check that other users cannot read the collections."""
    if not loaded.data_dir.exists():
        return ok("does not exist yet")
    status = loaded.data_dir.stat()
    if status.st_uid != os.geteuid():
        return warning(f"belongs to user {status.st_uid}, not to you", _OTHER_DIRECTORY_HINT)
    if status.st_mode & 0o077:
        return warning(
            f"other users may open it (mode {status.st_mode & 0o777:04o})", f"Run: chmod 700 {loaded.data_dir}"
        )
    return ok(f"{status.st_mode & 0o777:04o}")


def file_system(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the disk is local, because locks on network file systems are unreliable."""
    refuse_network_file_system(_nearest_existing(loaded.data_dir))
    return ok("local")


def free_space(loaded: LoadedSettings) -> CheckVerdict:
    """Check that there is free disk space for another generation (a new version of a collection's index)."""
    free = shutil.disk_usage(_nearest_existing(loaded.data_dir)).free
    detail = f"{free / 10**9:.1f} GB free"
    if free < _NEEDED_SPACE:
        return failure(detail, f"Free some space. {_OTHER_DIRECTORY_HINT}")
    return warning(detail, "Large collections need more space") if free < _COMFORTABLE_SPACE else ok(detail)


def lock(loaded: LoadedSettings) -> CheckVerdict:
    """Report which process holds the writer lock, if any."""
    present = lock_holder(loaded.workspace)
    return ok(f"held by {present}" if present else "free")


def unfinished_runs(loaded: LoadedSettings) -> CheckVerdict:
    """Check that no ingest was interrupted."""
    if not has_store(loaded.workspace):
        return ok("nothing ingested yet")
    if lock_holder(loaded.workspace):
        return ok("a writing command is running now")
    with open_store(loaded.workspace) as store:
        runs = store.collections.unfinished_runs()
    if not runs:
        return ok("none")
    names = ", ".join(f"{run.collection} (since {run.started_at})" for run in runs)
    return warning(f"interrupted: {names}", f"Continue with: {runs[0].command}")


def collections(loaded: LoadedSettings) -> CheckVerdict:
    """Check that each published generation exists on disk; `elt-llm verify` compares every byte."""
    if not has_store(loaded.workspace):
        return ok("nothing ingested yet")
    with open_store(loaded.workspace) as store:
        records = store.collections.all()
        published = {one.name: store.folder(one.name) / str(one.published) for one in records if one.published}
    names = ", ".join(record.name for record in records) or "none"
    if loaded.workspace.is_shared:  # index files that are missing here are built when a question is asked
        return ok(names)
    lost = [name for name, folder in published.items() if not (folder / "passport.json").is_file()]
    if lost:
        return failure(f"without an index: {', '.join(lost)}", "Run: elt-llm verify, which rebuilds it from the store")
    return ok(names)


def database_server(loaded: LoadedSettings) -> CheckVerdict:
    """Check a PostgreSQL server, if one is used: its version, the rights of its user, and its session locks."""
    if not loaded.workspace.is_shared:
        return ok("none: storage.backend is sqlite")
    from elt_llm_core.store.postgres import describe_server

    return ok(describe_server(loaded.workspace))


def row_level_security(loaded: LoadedSettings) -> CheckVerdict:
    """Check that PostgreSQL, if used, enforces the conditions of keys and groups, such as `tenant_id=acme`."""
    if not loaded.workspace.is_shared:
        return ok("none: storage.backend is sqlite")
    from elt_llm_core.store.postgres import CALLER_ROLE, check_row_security

    if not has_store(loaded.workspace):
        return ok("nothing ingested yet")
    if not (fault := check_row_security(loaded.workspace)):
        return ok(f"in force: for callers with conditions, documents are read with the role {CALLER_ROLE}")
    hint = (
        f"Conditions are checked by this program only. Let a superuser run: CREATE ROLE {CALLER_ROLE} NOLOGIN; GRANT"
        f" {CALLER_ROLE} TO ... (the role of the connection). The next ingest does the rest; restart servers"
    )
    return warning(f"not in force: {fault}", hint)


def backups(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the last copy of the store was made at most a week before the store's last change."""
    if loaded.workspace.is_shared:
        return ok("made by the operator of the PostgreSQL server, see docs/postgres.md")
    store = loaded.data_dir / STORE_NAME
    if not store.exists():
        return ok("nothing ingested yet")
    if not loaded.settings.storage.backups:
        return ok("storage.backups is 0: make copies yourself, see docs/back-up.md")
    age = backup_age(loaded.data_dir)
    if age is None:
        return warning("there is no copy of the store yet", "The next ingest makes one")
    unsaved = datetime.now(UTC) - age < datetime.fromtimestamp(store.stat().st_mtime, UTC) - _MAX_UNSAVED
    detail = f"the last copy of the store is {_shown_age(age)} old"
    return warning(detail, "The store has changed since; the next ingest makes a copy") if unsaved else ok(detail)


def vector_database(loaded: LoadedSettings) -> CheckVerdict:
    """Check that the vector database can be reached, and report whether it still contains unused vectors."""
    index, folder = loaded.settings.index, loaded.data_dir
    if loaded.workspace.is_shared:
        from elt_llm_core.index.pgvector import describe_points

        return ok(describe_points(loaded.workspace, is_chosen=index.backend == "pgvector"))
    lineages = LineageRecord(folder).all()
    if not lineages:
        local, empty = "not checked: index.backend is local", f"index.url is {index.url}; nothing is stored there yet"
        return ok(local if index.backend == "local" else empty)
    with PointDatabases(folder) as databases:
        for lineage in lineages:
            databases.get(lineage.settings, lineage.fingerprint).count(PointsView(lineage.name, 0))
    used = sorted({it.settings.url for it in lineages})
    without_tls = [url for url in used if url.startswith("http://") and urlsplit(url).hostname not in _LOOPBACK]
    if without_tls and database_key(os.environ):
        return warning(f"the key is sent to {without_tls[0]} without encryption", "Set index.url to an https address")
    if any(it.kept is None for it in lineages):
        return ok(f"{', '.join(used)}; the next writing command deletes vectors that are no longer used")
    return ok(", ".join(used))


def _shown_age(age: timedelta) -> str:
    if age.days:
        return count_noun(age.days, "day")
    return count_noun(int(age.total_seconds() // 3600), "hour")


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


_LOOKS = {
    "data directory": data_dir_writable,
    "permissions": permissions,
    "file system": file_system,
    "free space": free_space,
    "database server": database_server,
    "row-level security": row_level_security,
    "vector database": vector_database,
    "writer's lock": lock,
    "unfinished runs": unfinished_runs,
    "collections": collections,
    "backups": backups,
}
CHECKS = {name: with_settings(look) for name, look in _LOOKS.items()}
