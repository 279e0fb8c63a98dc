"""Taking rows that are no longer published out of the database, and their bytes out of its file."""

import os
from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.space import require_space
from elt_llm_core.store.store import Store
from elt_llm_core.store.sweep import delete_vectors, delete_versions, embedded_hashes, known_fingerprints, sweep

_ATTEMPTS = 3


def unpublished_versions(store: Store, record: CollectionRecord) -> list[int]:
    """Document versions of a collection that readers do not see, ascending: earlier ones, and a cut off run's."""
    seen = set(store.generations.versions(record.id, record.published)) if record.published is not None else set()
    rows = store.database.rows("SELECT id FROM document_versions WHERE collection = ? ORDER BY id", (record.id,))
    return [int(version) for (version,) in rows if version not in seen]


def erase_rows(store: Store, record: CollectionRecord, versions: Sequence[int]) -> None:
    """Delete all generations but the published one, these versions, and what tells of files that are gone.

    One transaction. A cut off run is over with it: the same command then begins anew.
    """
    database = store.database
    with database.transaction():
        models = known_fingerprints(database)
        suspects = embedded_hashes(database, versions)
        for generation in store.generations.of_collection(record.id):
            if generation.number != record.published:
                store.generations.delete_within(record.id, generation.number)
        delete_versions(database, versions)
        delete_vectors(database, suspects, models)
        _forget_gone_files(store, record)
        database.execute(
            "UPDATE runs SET command = ?, finished_at = coalesce(finished_at, ?) WHERE collection = ?",
            (f"elt-llm ingest -c {record.name}", now(), record.id),
        )
        if versions:
            database.execute("DELETE FROM enrichments")
    sweep(database, store.collections.with_unfinished_runs())


def compact(database: Database) -> None:
    """Write the database anew without what was deleted, in its place, and empty its log.

    Raises StoreError if there is no room for it, or if a reader would not let go of the log.
    """
    [(pages,)], [(size,)] = database.rows("PRAGMA page_count"), database.rows("PRAGMA page_size")
    for folder in (database.path.parent, _temporary_folder()):
        require_space(folder, int(pages) * int(size), "writing the store anew")
    database.execute("PRAGMA secure_delete = ON")
    database.execute("VACUUM")
    for _ in range(_ATTEMPTS):
        [(busy, *_)] = database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if not busy:
            return
    raise StoreError(f"A reader keeps the log of {database.path}.", hint="Run the same command again when it is done.")


def _forget_gone_files(store: Store, record: CollectionRecord) -> None:
    """Rows of files, and of folders, that are neither published nor there."""
    roots = store.collections.roots(record.id)
    versions = store.generations.versions(record.id, record.published) if record.published is not None else []
    seen = {document.document_id for document in store.documents.in_generation(record.id, record.published or 0)}
    known = store.files.of_collection(record.id)
    for identity, file in known.items():
        there = file.root in roots and (roots[file.root][0] / file.path).exists()
        if identity not in seen and not there:
            store.database.execute("DELETE FROM files WHERE collection = ? AND document_id = ?", (record.id, identity))
    used = {row[0] for row in store.database.rows("SELECT root FROM files WHERE collection = ?", (record.id,))}
    if versions:
        used |= {document.root for document in store.documents.in_generation(record.id, record.published or 0)}
    for name, (path, _) in roots.items():
        if name not in used and not path.exists():
            store.database.execute("DELETE FROM roots WHERE collection = ? AND name = ?", (record.id, name))


def _temporary_folder() -> Path:
    """Where SQLite puts the new file at first; it has no name there, so a crash leaves nothing of it."""
    named = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR")
    choices = (*([named] if named else []), "/var/tmp", "/usr/tmp", "/tmp")  # noqa: S108 - SQLite's own list
    return next((Path(it) for it in choices if Path(it).is_dir()), Path())
