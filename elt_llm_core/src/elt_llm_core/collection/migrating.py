"""Copy a workspace from SQLite into an empty PostgreSQL database, without embedding anything."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from elt_llm_core.collection.lifecycle import databases_of
from elt_llm_core.errors import StoreError
from elt_llm_core.index.contents import collection_hash, read_contents
from elt_llm_core.index.passport import Passport
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import STATE_NAME, STATE_VERSION, open_state
from elt_llm_core.store.database import STORE_NAME, STORE_VERSION, Database, SqliteDatabase, check_truth
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.postgres import PostgresDatabase, as_server
from elt_llm_core.store.store import CACHE_OF, Store, claim_folder, open_store

# In this order, every row is copied after the rows to which it refers.
_STORE_TABLES = (
    "collections", "roots", "files", "texts", "document_versions", "nodes", "vectors", "generations",
    "generation_documents", "runs", "artefacts", "forgotten", "enrichments",
)  # fmt: skip
_STATE_TABLES = (
    "sessions", "turns", "calibrations", "job_rows", "job_shown", "job_reviews", "job_review_history", "api_keys",
    "queued_jobs", "measures", "feedback",
)  # fmt: skip
_BLOCK = 2000  # rows that are read at once


@dataclass(frozen=True)
class MigrationReport:
    """The number of copied rows by table, and the verified hash (hex) of each published collection."""

    database: str
    rows: dict[str, int]
    hashes: dict[str, str]
    was_done: bool


def migrate_to_server(target: Workspace, progress: ProgressListener) -> MigrationReport:
    """Copy documents, vectors and state from the SQLite files in the workspace's folder to its empty database.

    Everything is stored in one transaction, after the copy of each published collection was compared with the original
    by its hash. From then on, the folder can be used only with this database. The generations' files remain in use. If
    the workspace was already migrated, nothing changes.

    Raises StoreError, and leaves the database unchanged, if it already contains other data, if the source is
    damaged or has another schema version, or if a hash differs.
    """
    with (
        writer_lock(target.folder, "elt-llm migrate"),
        writer_lock(target, "elt-llm migrate"),
        _source(target.folder / STORE_NAME, STORE_VERSION) as source,
        open_store(target, for_writing=True, claims=False) as store,
    ):
        check_truth(source)
        _refuse_points(Store(target.folder, source))
        published = _published_hashes(Store(target.folder, source))
        server, rows = as_server(store.database), dict[str, int]()
        with server.transaction():
            if store.collections.all():
                _refuse_others(store, published)
            else:
                rows = _copied(source, server, _STORE_TABLES, progress)
                _verify(store, published, progress)
            rows |= _migrate_state(target, progress)
        claim_folder(target.folder, server.identity())
        return MigrationReport(server.name, rows, published, was_done=not any(rows.values()))


def _migrate_state(target: Workspace, progress: ProgressListener) -> dict[str, int]:
    """Copy conversations, keys and jobs, unless copied already. Raises StoreError if `target` has other ones."""
    path = target.folder / STATE_NAME
    if not path.exists():
        return {}
    open_state(target.folder).close()  # opening migrates an older state
    with _source(path, STATE_VERSION) as source, closing(open_state(target)) as state, state.transaction():
        present, original = _counts(state), _counts(source)
        if not any(present.values()):
            return _copied(source, as_server(state), _STATE_TABLES, progress)
        if present != original and not (target.folder / CACHE_OF).exists():
            raise StoreError(
                f"{state.name} already contains other conversations, keys or jobs; nothing was changed.",
                hint="Create an empty database with createdb, and name it in the connection string.",
            )
        return {}


def _counts(state: Database) -> dict[str, int]:
    return {table: state.rows(f"SELECT count(*) FROM {table}")[0][0] for table in _STATE_TABLES}  # noqa: S608


@contextmanager
def _source(path: Path, version: int) -> Iterator[SqliteDatabase]:
    if not path.exists():
        raise StoreError(f"There is no {path}.", hint="Name the folder of the workspace to move: --data-dir DIR")
    with closing(SqliteDatabase(path, for_writing=False)) as database:
        if database.schema_version() != version:
            raise StoreError(
                f"{path} was written by another version of elt-llm.",
                hint="With storage.backend: sqlite, run: elt-llm verify   (it migrates the store). Then retry.",
            )
        yield database


def _refuse_points(store: Store) -> None:
    if addresses := databases_of(store):
        raise StoreError(
            f"Vectors of this workspace are searched in {addresses[0]}, which storage.backend: postgres cannot use.",
            hint="Set index.backend: local, and run: elt-llm ingest --rebuild for each collection",
        )


def _published_hashes(store: Store) -> dict[str, str]:
    return {
        record.name: store.generations.get(record.id, record.published).collection_hash.hex()
        for record in store.collections.all()
        if record.published is not None
    }


def _refuse_others(store: Store, published: dict[str, str]) -> None:
    if _published_hashes(store) != published:
        raise StoreError(
            f"{store.database.name} already contains other collections; nothing was changed.",
            hint="Create an empty database with createdb, and name it in the connection string. To add to a"
            " database that is not empty, use elt-llm export and elt-llm import.",
        )


def _copied(
    source: SqliteDatabase, target: PostgresDatabase, tables: Sequence[str], progress: ProgressListener
) -> dict[str, int]:
    counts = {}
    for table in tables:
        [(total,)] = source.rows(f"SELECT count(*) FROM {table}")  # noqa: S608 - a name of ours
        progress.stage(f"copy {table}", int(total))
        counts[table] = target.copy_rows(table, partial(_rows_of, source, table))
        if counts[table] != total:
            raise StoreError(f"{counts[table]} of {total} rows of {table} could be copied; the target is unchanged.")
        progress.advance(int(total))
    return counts


def _rows_of(source: SqliteDatabase, table: str, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield the rows of a table. Tables with numeric ids are read in blocks, others all at once in a fixed order."""
    names = ", ".join(f'"{column}"' for column in columns)
    if columns[0] not in {"id", "number"} or table in {"sessions", "queued_jobs", "feedback", "api_keys"}:
        order = "rowid" if table == "queued_jobs" else "1, 2"
        yield from source.rows(f"SELECT {names} FROM {table} ORDER BY {order}")  # noqa: S608 - names of the schema
        return
    last = 0
    while True:
        statement = f"SELECT {names} FROM {table} WHERE {columns[0]} > ? ORDER BY {columns[0]} LIMIT ?"  # noqa: S608
        block = source.rows(statement, (last, _BLOCK))
        yield from block
        if len(block) < _BLOCK:
            return
        last = int(block[-1][0])


def _verify(store: Store, published: dict[str, str], progress: ProgressListener) -> None:
    """Compute the hash of each published collection from the copied rows. Raises StoreError if one differs."""
    progress.stage("verify", len(published))
    for record in store.collections.all():
        if record.published is None:
            continue
        row = store.generations.get(record.id, record.published)
        passport = Passport.from_json(row.passport)
        versions = store.generations.versions(record.id, record.published)
        contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
        if collection_hash(store, contents, passport.hashing).hex() != published[record.name]:
            raise StoreError(
                f"The copy of '{record.name}' differs from its original; nothing was stored.",
                hint="Run: elt-llm verify",
            )
        progress.advance(1)
