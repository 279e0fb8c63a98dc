"""An open data directory: its database, folders and tables, and the status of a collection."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import OutdatedStore, StoreError
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.collections import CollectionTable, FileTable, is_collection_name
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.database import STORE_NAME, STORE_VERSION, UPLOADS_FOLDER, Database, SqliteDatabase
from elt_llm_core.store.disk import refuse_network_file_system, tree_size, write_once
from elt_llm_core.store.documents import DocumentTable, ForgottenTable
from elt_llm_core.store.generations import (
    GenerationPin,
    GenerationTable,
    discard_generation,
    is_unpinned,
    pin_published,
    pin_shared,
)
from elt_llm_core.store.migrations import check_not_newer, migrate, migrate_server, schema_steps
from elt_llm_core.store.nodes import NodeTable, VectorTable
from elt_llm_core.store.postgres import (
    STORE_SCHEMA,
    CallerDatabase,
    PostgresDatabase,
    admit_callers,
    as_server,
    has_database,
)
from elt_llm_core.store.records import CollectionRecord, FileRecord
from elt_llm_core.utilities import FAILPOINT_VARIABLE, Closeable, leaves_out_conditions


class Store(Closeable):
    """An open workspace. While it is open for writing, the caller must hold `writer_lock`."""

    def __init__(self, place: Path | Workspace, database: Database) -> None:
        self.workspace = as_workspace(place)
        self.data_dir = self.workspace.folder
        self.database = database
        self.collections = CollectionTable(database)
        self.documents = DocumentTable(database)
        self.files = FileTable(database)
        self.forgotten = ForgottenTable(database)
        self.nodes = NodeTable(database)
        self.vectors = VectorTable(database)
        self.generations = GenerationTable(database)

    def seen_by(self, conditions: DocumentConditions) -> "Store":
        """With row-level security, return a store that reads only what these conditions allow. Else return this store.

        Raises StoreError if a test has switched off the program's filters and there is no row-level security.
        """
        if conditions and self.workspace.is_shared:
            server = as_server(self.database)
            if server.restricts_callers:
                return Store(self.workspace, CallerDatabase(server, conditions))
        if conditions and leaves_out_conditions():
            raise StoreError(
                f"{FAILPOINT_VARIABLE} switches off the conditions of callers, and there is no row-level security.",
                hint=f"Unset {FAILPOINT_VARIABLE}; it is for tests.",
            )
        return self

    def folder(self, collection: str) -> Path:
        """Return the folder of a collection's generations."""
        return self.data_dir / "collections" / collection

    def pin_published(
        self, record: CollectionRecord, provide: Callable[[int], None] | None = None
    ) -> GenerationPin | None:
        """Pin a collection's published generation, so that it is not deleted. Return None if nothing is published.

        With a database server, `provide` builds a generation's files on this machine if they are missing. If it is
        None, only the rows are pinned. With SQLite, raises StoreError if the files are missing.
        """
        folder = self.folder(record.name)
        if not self.workspace.is_shared:
            return pin_published(folder, lambda: self.generations.pointer(record.id))
        return pin_shared(self.database, record.id, lambda: self.generations.pointer(record.id), folder, provide)

    def discard_files(self, record: CollectionRecord, number: int) -> bool:
        """Delete a generation's files unless a reader on any machine pins it. Return whether they are gone."""
        if not is_unpinned(self.database, record.id, number):
            return False
        return discard_generation(self.folder(record.name) / str(number), self.trash)

    def generation_names(self) -> dict[str, set[str]]:
        """Return the names of all generations' directories, such as {"handbook": {"1", "2"}}."""
        return {
            record.name: {str(generation.number) for generation in self.generations.of_collection(record.id)}
            for record in self.collections.all()
        }

    def is_half_dropped(self, collection: str) -> bool:
        """Return whether an interrupted drop deleted a collection's rows but left its files."""
        known = is_collection_name(collection) and self.folder(collection).is_dir()
        return known and self.collections.find(collection) is None

    @property
    def trash(self) -> Path:
        """The trash folder. Its contents may be deleted at any time."""
        return self.data_dir / "trash"

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def uploads_folder(data_dir: Path, collection: str) -> Path:
    """Return the upload folder of a collection. The folder may not exist."""
    return data_dir / UPLOADS_FOLDER / collection


def has_store(place: Path | Workspace) -> bool:
    """Return whether the workspace has a store, which may be empty. Raises StoreError if its server does not answer."""
    return has_database(as_workspace(place), STORE_NAME, STORE_SCHEMA)


def open_store(place: Path | Workspace, *, for_writing: bool = False, claims: bool = True) -> Store:
    """Open a workspace. If `for_writing`, the caller must hold the lock, and the store is created or migrated.

    If `claims`, a folder that belongs to another database is refused. A writer checks every row. Raises StoreError
    if there is nothing to read, if a newer program wrote it, or, for a writer, if the store is damaged.
    """
    workspace = as_workspace(place)
    data_dir = workspace.folder
    if claims:
        _refuse_other_backend(workspace)
    if workspace.is_shared:
        return _open_shared_store(workspace, for_writing=for_writing, claims=claims)
    path = data_dir / STORE_NAME
    if for_writing:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_network_file_system(data_dir)
        if not path.exists():
            _refuse_lost_record(data_dir)
        database = SqliteDatabase(path, for_writing=True)
        if not database.schema_version():
            _refuse_lost_record(data_dir)
        try:
            migrate(database)
        except StoreError:
            database.close()
            raise
        return Store(data_dir, database)
    if not path.exists():
        raise _no_data_error(data_dir)
    store = Store(data_dir, SqliteDatabase(path, for_writing=False))
    check_not_newer(store.database)
    if not store.database.schema_version():
        raise _no_data_error(data_dir)
    if store.database.schema_version() < STORE_VERSION:
        store.close()
        raise OutdatedStore(
            f"{path} was written by an older version of elt-llm.",
            hint="Run: elt-llm verify   (this command makes a backup and migrates the store)",
        )
    return store


CACHE_OF = "cache-of"
"""A file in a workspace's folder. It contains the identity of the PostgreSQL database to which the folder belongs."""


def _open_shared_store(workspace: Workspace, *, for_writing: bool, claims: bool) -> Store:
    workspace.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_network_file_system(workspace.folder)
    database = PostgresDatabase(workspace, STORE_SCHEMA, is_writer=for_writing)
    try:
        if for_writing:
            database.prepare()
            migrate_server(database, "elt_llm_core.store")
            admit_callers(database)
        check_not_newer(database)
        present = database.schema_version()
        if not present:
            raise StoreError(
                f"There is no data in {database.name} yet.",
                hint="Run: elt-llm ingest PATH -c NAME   (or: elt-llm demo)",
            )
        if present < schema_steps(database, "elt_llm_core.store"):
            raise OutdatedStore(
                f"{database.name} was written by an older version of elt-llm.",
                hint="Back up the database, then run: elt-llm verify   (this command migrates it)",
            )
        if claims or (workspace.folder / CACHE_OF).exists():
            claim_folder(workspace.folder, database.identity())
    except StoreError:
        database.close()
        raise
    return Store(workspace, database)


def claim_folder(folder: Path, identity: str) -> None:
    """Record that a workspace's folder belongs to this database. Raises StoreError if it belongs to another one."""
    if write_once(folder / CACHE_OF, identity) != identity:
        raise StoreError(
            f"{folder} contains files of another PostgreSQL database.",
            hint="Choose another folder for this database: --data-dir DIR or ELT_LLM_DATA_DIR.",
        )


def _refuse_other_backend(workspace: Workspace) -> None:
    """Raise StoreError if the folder belongs to another kind of database, whose files would be deleted as unknown."""
    folder, is_claimed = workspace.folder, (workspace.folder / CACHE_OF).exists()
    if workspace.is_shared and (folder / STORE_NAME).exists() and not is_claimed:
        raise StoreError(
            f"{folder} contains an SQLite store.",
            hint="Run: elt-llm migrate --to postgres   (or choose another folder: --data-dir DIR)",
        )
    if is_claimed and not workspace.is_shared:
        raise StoreError(
            f"{folder} cannot be used with SQLite, because it belongs to a PostgreSQL database.",
            hint="Set storage.backend: postgres. To use SQLite instead, choose another folder: --data-dir DIR.",
        )


def _no_data_error(data_dir: Path) -> StoreError:
    _refuse_lost_record(data_dir)
    return StoreError(
        f"There is no data in {data_dir} yet.", hint="Run: elt-llm ingest PATH -c NAME   (or: elt-llm demo)"
    )


def _refuse_lost_record(data_dir: Path) -> None:
    """Raise StoreError if there are generations but no store, because a new, empty store would delete them."""
    if any(path.name.isdecimal() for path in data_dir.glob("collections/*/*")):
        raise StoreError(
            f"{data_dir / STORE_NAME} is missing or empty although there are collections.",
            hint=f"Restore it from a backup, or move {data_dir} away and ingest again.",
        )


@dataclass(frozen=True)
class CollectionStatus:
    """The status of a collection. Sizes are in bytes.

    `artefacts` are the names of JSON values that readers extracted from the documents in addition to text, such as
    `enterprise_model`. `duplicates` counts the documents that are not indexed because an identical document is.
    `forgotten` counts the documents that ingest skips, and `skipped` the files that the last ingest did not read. For
    a caller with conditions both are None, because nothing records whose they are. `skipped_files` are the first 100 of
    these files, each with its `path` below the source folder and the `reason`.
    """

    collection: str
    generation: int | None
    published_at: str | None
    rolled_back: bool
    documents: int
    nodes: int
    collection_hash: str
    kept_generations: tuple[int, ...]
    embedding: str
    dimension: int
    language: str
    chunker: str
    size: int
    roots: tuple[str, ...]
    last_run: str | None
    unfinished_run: bool
    artefacts: tuple[str, ...]
    duplicates: int
    forgotten: int | None
    skipped: int | None
    skipped_files: tuple[dict[str, str], ...]
    files_in_trouble: tuple[dict[str, str], ...]


def collection_status(store: Store, record: CollectionRecord) -> CollectionStatus:
    """Compute the status of a collection from its rows and the size of its folder."""
    rows = store.generations.of_collection(record.id)
    seen = next((row for row in rows if row.number == record.published), None)
    passport: dict[str, Any] = json.loads(seen.passport) if seen else {}
    embedding = passport.get("fingerprint", {})
    last, report = store.collections.last_run(record.id), store.collections.last_report(record.id)
    versions = store.generations.versions(record.id, seen.number) if seen else []
    return CollectionStatus(
        collection=record.name,
        generation=record.published,
        published_at=seen.created_at if seen else None,
        rolled_back=record.rolled_back,
        documents=seen.documents if seen else 0,
        nodes=seen.nodes if seen else 0,
        collection_hash=seen.collection_hash.hex() if seen else "",
        kept_generations=tuple(row.number for row in rows),
        embedding=f"{embedding.get('provider')} {embedding.get('model')}" if embedding else "-",
        dimension=int(embedding.get("dimension", 0)),
        language=passport.get("language", "-"),
        chunker=passport.get("chunker", "-"),
        size=tree_size(store.folder(record.name)),
        roots=tuple(f"{name} = {path}" for name, (path, _) in store.collections.roots(record.id).items()),
        last_run=(last.finished_at or last.started_at) if last else None,
        unfinished_run=bool(last and not last.finished_at),
        artefacts=tuple(sorted({name for name, _, _ in store.documents.artefacts(versions)})),
        duplicates=len(versions) - len(store.documents.indexed(versions)),
        forgotten=len(store.forgotten.all(record.id).document_ids),
        skipped=report.get("skipped", 0),
        skipped_files=tuple(report.get("skipped_files", ())),
        files_in_trouble=files_in_trouble(store.files.of_collection(record.id).values()),
    )


def files_in_trouble(files: Iterable[FileRecord]) -> tuple[dict[str, str], ...]:
    """Return the path, outcome and reason of each file that could not be read or contained no text."""
    return tuple(
        {"path": file.path, "outcome": file.outcome, "reason": file.reason}
        for file in files
        if file.outcome in ("failed", "empty")
    )
