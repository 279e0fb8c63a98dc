"""Recover from a damaged store: build a new store from all undamaged rows, and list what is lost."""

import shutil
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from elt_llm_core.collection.lifecycle import RECOVERY_FOLDER, generation_recipe, passport_recipe, publish
from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.index.contents import ARRAY_PARTS, collection_hash, read_arrays, read_contents
from elt_llm_core.index.passport import PASSPORT_NAME, Passport, damaged_files_in
from elt_llm_core.progress import ProgressListener
from elt_llm_core.store.backups import BACKUPS_FOLDER
from elt_llm_core.store.database import STORE_NAME, Database, SqliteDatabase, find_damage_in_file
from elt_llm_core.store.disk import link_or_copy, replace_durably, require_space, sync_file
from elt_llm_core.store.documents import file_versions_of
from elt_llm_core.store.migrations import migrate
from elt_llm_core.store.records import CollectionRecord, GenerationRecord, document_id, utc_now
from elt_llm_core.store.salvage import SalvagedRows, empty_log, salvage_rows
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class LostDocument:
    """A document that is lost: it was published or read by the last ingest, but is no longer published."""

    collection: str
    path: str


@dataclass(frozen=True)
class RecoveryReport:
    """What a recovery saved and lost.

    `source` is the file from which rows were saved, and `kept` is where the damaged file is now. `rows` and `lost_rows`
    count rows by table. `incomplete` are the collections that an ingest must complete, because they lost documents,
    vectors or the published generation.
    """

    source: str
    kept: str
    rows: dict[str, int]
    lost_rows: dict[str, int]
    documents: tuple[LostDocument, ...]
    incomplete: tuple[str, ...]


def recover(data_dir: Path, progress: ProgressListener) -> RecoveryReport | None:
    """Replace a damaged store by a new one with every undamaged row, or return None if the store is undamaged.

    The damaged file is kept in the backups folder. Lost vectors are restored from the generations' arrays. If the
    published generation lost rows, a new one is published without them. Nothing is embedded. The caller must hold the
    writer's lock. The damaged store stays in place until the last step, so that an interrupted recovery can be
    repeated. Raises StoreError if nothing can be read.
    """
    path, workspace = data_dir / STORE_NAME, data_dir / RECOVERY_FOLDER
    if path.is_file():
        empty_log(path)
        if not find_damage_in_file(path):
            return None
        require_space(data_dir, 3 * path.stat().st_size, "a recovered store")
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(mode=0o700)
    recovered = SqliteDatabase(workspace / STORE_NAME, for_writing=True)
    with Store(data_dir, recovered) as store:
        migrate(recovered)
        recovered.execute("PRAGMA foreign_keys = OFF")
        recovered.execute("PRAGMA synchronous = OFF")  # the whole file is flushed to the disk when it is finished
        rows = salvage_rows(data_dir, recovered, workspace)
        known = _known_documents(store)
        _restore_names(store)
        _delete_incomplete(store)
        recovered.execute("PRAGMA foreign_keys = ON")
        _restore_vectors(store)
        incomplete = [record.name for record in store.collections.all() if _republish(store, record, progress)]
        recovered.execute(
            "DELETE FROM generation_documents"
            " WHERE (collection, generation) NOT IN (SELECT collection, number FROM generations)"
        )
        documents = _lost_documents(store, known)
        recovered.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = _replace_store(path, workspace)
    names = sorted({*incomplete, *(lost.collection for lost in documents)})
    return RecoveryReport(_shown(rows, path), str(kept or ""), rows.copied, rows.lost, documents, tuple(names))


def _shown(rows: SalvagedRows, path: Path) -> str:
    return str(path if rows.source.parent.name == RECOVERY_FOLDER else rows.source)


def _known_documents(store: Store) -> set[tuple[int, str, str]]:
    """Return the collection, id and path of each document known to be published or read by the last ingest."""
    rows = store.database.rows(
        "SELECT collection, document_id, path FROM files WHERE outcome IN ('ok', 'unchanged')"
        " UNION SELECT v.collection, v.document_id, v.path FROM document_versions v"
        " JOIN generation_documents g ON g.version = v.id"
        " JOIN collections c ON c.id = g.collection AND c.published = g.generation WHERE v.part_of IS NULL"
    )
    return {(int(collection), str(identity), str(path)) for collection, identity, path in rows}


def _restore_names(store: Store) -> None:
    """Add a row for each collection whose row is lost, but of which documents are left.

    The collection's name is found by trying the folders that contain generations: a document's id is a hash of the
    collection's name, the source folder and the path. The latest generation in that folder becomes the published one.
    """
    database = store.database
    rows = database.rows(
        "SELECT collection, document_id, root, path FROM document_versions"
        " WHERE collection NOT IN (SELECT id FROM collections) GROUP BY collection"
    )
    folders = [folder.name for folder in (store.data_dir / "collections").glob("*")]
    for number, identity, root, path in rows:
        name = next((name for name in folders if document_id(name, root, path) == identity), None)
        if name is not None:
            numbers = [int(it.name) for it in store.folder(name).iterdir() if it.name.isdecimal()]
            database.execute(
                "INSERT INTO collections (id, name, created_at, published, last_number) VALUES (?, ?, ?, ?, ?)",
                (number, name, utc_now(), max(numbers, default=None), max(numbers, default=0)),
            )


_ORPHANS = (
    "DELETE FROM document_versions WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM document_versions WHERE text NOT IN (SELECT id FROM texts)",
    "DELETE FROM document_versions WHERE part_of NOT IN (SELECT id FROM document_versions)",
    "DELETE FROM nodes WHERE version NOT IN (SELECT id FROM document_versions)",
    "DELETE FROM artefacts WHERE version NOT IN (SELECT id FROM document_versions)",
    "DELETE FROM roots WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM files WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM runs WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM forgotten WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM generations WHERE collection NOT IN (SELECT id FROM collections)",
    "DELETE FROM generation_documents WHERE version NOT IN (SELECT id FROM document_versions)",
)


def _delete_incomplete(store: Store) -> None:
    """Delete rows that refer to lost rows (a chunk of a lost document), and file versions that lost a part or chunk."""
    _delete_orphans(store.database)
    names = {record.id: record.name for record in store.collections.all()}
    rows = store.database.rows("SELECT id, collection FROM document_versions ORDER BY id")
    damaged = [int(version) for version, number in rows if not _is_whole(store, int(version), names[number])]
    files = file_versions_of(store.database, damaged)
    with store.database.transaction():
        for version in files:
            store.database.execute("DELETE FROM document_versions WHERE id = ?1 OR part_of = ?1", (version,))
    _delete_orphans(store.database)


def _delete_orphans(database: Database) -> None:
    with database.transaction():
        for statement in _ORPHANS:
            database.execute(statement)


def _is_whole(store: Store, version: int, collection: str) -> bool:
    if not store.documents.is_consistent(version, collection):
        return False
    text = store.documents.text(version)
    return all(text[start:end] == chunk for start, end, chunk in store.nodes.spans(version))


def _restore_vectors(store: Store) -> None:
    """Copy the vectors that the store lost back from the generations' undamaged array files."""
    for record in store.collections.all():
        for generation in store.generations.of_collection(record.id):
            directory = store.folder(record.name) / str(generation.number)
            nodes = store.nodes.of_versions(store.generations.versions(record.id, generation.number))
            hashes = {node.node_id: node.embedded_hash for node in nodes}
            with suppress(CorruptIndex, OSError):
                passport = Passport.from_json(generation.passport)
                missing = set(store.vectors.missing(passport.fingerprint.key, hashes.values()))
                damaged = any(damaged_files_in(directory, it, passport, every_byte=True) for it in ARRAY_PARTS)
                if missing and not damaged:
                    arrays = read_arrays(directory)
                    wanted = [hashes.get(bytes(name).decode()) for name in arrays.ids]
                    places = [place for place, digest in enumerate(wanted) if digest in missing]
                    found = [digest for digest in wanted if digest is not None and digest in missing]
                    store.vectors.add(passport.fingerprint.key, found, arrays.vectors[places])


def _republish(store: Store, record: CollectionRecord, progress: ProgressListener) -> bool:
    """Delete generations that lost rows. If the published one is among them, publish a new one from what is left.

    Returns whether an ingest must complete the collection.
    """
    generations = store.generations.of_collection(record.id)
    whole = {row.number for row in generations if _is_complete(store, record, row)}
    published = next((row for row in generations if row.number == record.published), None)
    left = _versions_left(store, record)
    for number in {row.number for row in generations} - whole:
        store.generations.delete(record.id, number)
    if record.published is None or record.published in whole:
        return False
    store.database.execute(
        "UPDATE collections SET published = NULL, previous = ? WHERE id = ?",
        (record.previous if record.previous in whole else None, record.id),
    )
    recipe = _recipe_of(store, record, published)
    if recipe is not None:
        kept = _with_vectors(store, left, recipe)
        if kept:
            publish(store, record.name, kept, recipe, progress, rolled_back=record.rolled_back)
    return True


def _is_complete(store: Store, record: CollectionRecord, generation: GenerationRecord) -> bool:
    versions = store.generations.versions(record.id, generation.number)
    try:
        passport = Passport.from_json(generation.passport)
        contents = read_contents(store, versions, passport.fingerprint, passport.duplicates)
    except StoreError:
        return False
    found = collection_hash(store, contents, passport.hashing)
    return len(versions) == generation.documents and found == generation.collection_hash


def _versions_left(store: Store, record: CollectionRecord) -> list[int]:
    """Return the published generation's remaining versions or, if there are none, each document's latest version."""
    if listed := store.generations.versions(record.id, record.published or 0):
        return listed
    forgotten = store.forgotten.all(record.id)
    latest: dict[str, int] = {}
    for version, identity, digest in store.database.rows(
        "SELECT id, document_id, content_hash FROM document_versions WHERE collection = ? AND part_of IS NULL"
        " ORDER BY id",
        (record.id,),
    ):
        if not forgotten.covers(identity, bytes(digest)):
            latest[str(identity)] = int(version)
    return store.documents.with_parts(sorted(latest.values()))


def _recipe_of(store: Store, record: CollectionRecord, published: GenerationRecord | None) -> GenerationRecipe | None:
    """Return the models and parameters of the published generation, or None if its row and its file are damaged."""
    with suppress(CorruptIndex, OSError, ValueError):
        if published is not None:
            return generation_recipe(published)
        text = (store.folder(record.name) / str(record.published) / PASSPORT_NAME).read_text(encoding="utf-8")
        return passport_recipe(Passport.from_json(text))
    return None


def _with_vectors(store: Store, versions: Sequence[int], recipe: GenerationRecipe) -> list[int]:
    """Return `versions` without those of files in which a chunk has no vector."""
    hashes: dict[int, list[bytes]] = defaultdict(list)
    for node in store.nodes.of_versions(store.documents.indexed(versions)):
        hashes[node.version].append(node.embedded_hash)
    missing = set(store.vectors.missing(recipe.fingerprint.key, [it for found in hashes.values() for it in found]))
    lacking = [version for version, found in hashes.items() if missing.intersection(found)]
    refused = set(store.documents.with_parts(file_versions_of(store.database, lacking)))
    return [version for version in versions if version not in refused]


def _lost_documents(store: Store, known: set[tuple[int, str, str]]) -> tuple[LostDocument, ...]:
    """Return those of the documents `known` before the recovery that are neither published nor forgotten now."""
    names, there = {}, set()
    for record in store.collections.all():
        names[record.id] = record.name
        there |= {(record.id, identity) for identity in store.forgotten.all(record.id).document_ids}
        documents = store.documents.in_generation(record.id, record.published or 0)
        there |= {(record.id, document.document_id) for document in documents}
    return tuple(
        LostDocument(names[collection], path)
        for collection, identity, path in sorted(known, key=lambda document: (document[0], document[2]))
        if collection in names and (collection, identity) not in there
    )


def _replace_store(path: Path, workspace: Path) -> Path | None:
    """Replace the damaged store by the recovered one, and return the damaged file's new path, or None without one."""
    kept = None
    if path.exists():
        folder = path.parent / BACKUPS_FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        kept = folder / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sqlite3"
        kept.unlink(missing_ok=True)
        link_or_copy(path, kept)
        sync_file(folder)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    replace_durably(path, workspace / STORE_NAME)
    shutil.rmtree(workspace)
    return kept
