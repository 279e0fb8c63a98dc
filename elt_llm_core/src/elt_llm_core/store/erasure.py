"""Remove unneeded rows, erase the bytes of removed rows, and search files for words of erased text."""

import json
import mmap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.store.database import Database
from elt_llm_core.store.nodes import vector_key
from elt_llm_core.store.records import CollectionRecord, utc_now
from elt_llm_core.store.store import Store

_KEPT_VERSIONS = """SELECT version FROM generation_documents UNION SELECT part_of FROM document_versions
    WHERE part_of IS NOT NULL AND id IN (SELECT version FROM generation_documents)"""


@dataclass(frozen=True)
class SweepCounts:
    """The numbers of removed document versions and vectors."""

    versions: int
    vectors: int


def sweep(database: Database, unfinished: Collection[int] = (), *, every: bool = False) -> SweepCounts:
    """Delete document versions, texts and vectors that no generation of any collection contains.

    `unfinished` are the collections with an unfinished run. Their document versions are kept for the next run. Usually,
    only vectors of the deleted versions are deleted. If no run is unfinished, and there are several models or more
    vectors than nodes, all unused vectors are deleted. `every` also deletes the vectors of models that no generation
    uses; an unfinished run must then compute its vectors again.
    """
    with database.transaction():
        rows = database.rows(f"SELECT id, collection FROM document_versions WHERE id NOT IN ({_KEPT_VERSIONS})")
        doomed = [int(version) for version, collection in rows if collection not in unfinished]
        hashes = database.rows_in("SELECT DISTINCT embedded_hash FROM nodes WHERE version IN ({})", doomed)
        suspects, models = {bytes(digest) for (digest,) in hashes}, _known_fingerprints(database)
        _delete_versions(database, doomed)
        vectors = _delete_vectors(database, suspects, models)
        if every:
            vectors += _delete_other_vectors(database, models)
        elif not unfinished and (len(models) != 1 or _count(database, "vectors") > _count(database, "nodes")):
            vectors += _delete_dead_vectors(database)
    return SweepCounts(versions=len(doomed), vectors=vectors)


def _count(database: Database, table: str) -> int:
    [(count,)] = database.rows(f"SELECT count(*) FROM {table}")
    return int(count)


def delete_contents(store: Store, collection: int, generations: Sequence[int], versions: Collection[int]) -> None:
    """Delete these generations and document versions, and the vectors that only they used.

    The caller opens the transaction. If there are versions, all vectors of models that no generation uses are deleted,
    since an interrupted run may have left some. All context sentences written by a language model are deleted too,
    because it is not recorded from which document they were written.
    """
    database = store.database
    models = _known_fingerprints(database)
    for number in generations:
        store.generations.delete_within(collection, number)
    _delete_versions(database, versions)
    if versions:
        _delete_other_vectors(database, models)
        database.execute("DELETE FROM enrichments")


def _delete_versions(database: Database, versions: Collection[int]) -> None:
    database.execute_many("DELETE FROM document_versions WHERE id = ?", [(version,) for version in versions])
    database.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM document_versions)")


def _delete_vectors(database: Database, suspects: Collection[bytes], fingerprints: Collection[bytes]) -> int:
    """Delete the vectors that these models computed for the texts with these hashes, unless a node still uses them."""
    if not suspects:
        return 0
    if len(suspects) <= _FEW:
        rows = database.rows_in("SELECT DISTINCT embedded_hash FROM nodes WHERE embedded_hash IN ({})", list(suspects))
    else:
        rows = iter(database.rows("SELECT DISTINCT embedded_hash FROM nodes"))
    wanted = {bytes(digest) for (digest,) in rows}
    keys = [vector_key(model, digest) for model in fingerprints for digest in suspects if digest not in wanted]
    before = _count(database, "vectors")
    database.execute_many("DELETE FROM vectors WHERE key = ?", [(key,) for key in keys])
    return before - _count(database, "vectors")


def _known_fingerprints(database: Database) -> set[bytes]:
    rows = database.rows("SELECT passport FROM generations")
    return {bytes.fromhex(json.loads(passport)["fingerprint_key"]) for (passport,) in rows}


def _delete_dead_vectors(database: Database) -> int:
    live: set[bytes] = set()
    for collection, number, passport in database.rows("SELECT collection, number, passport FROM generations"):
        fingerprint = bytes.fromhex(json.loads(passport)["fingerprint_key"])
        rows = database.rows(
            "SELECT DISTINCT n.embedded_hash FROM nodes n JOIN generation_documents g ON g.version = n.version"
            " WHERE g.collection = ? AND g.generation = ?",
            (collection, number),
        )
        live.update(vector_key(fingerprint, bytes(digest)) for (digest,) in rows)
    return _delete_vectors_besides(database, live)


def _delete_other_vectors(database: Database, models: Collection[bytes]) -> int:
    """Delete all vectors except those that one of `models` computed for the text of a node."""
    rows = database.rows("SELECT DISTINCT embedded_hash FROM nodes")
    return _delete_vectors_besides(database, {vector_key(it, bytes(digest)) for (digest,) in rows for it in models})


def _delete_vectors_besides(database: Database, live: Collection[bytes]) -> int:
    dead = [(number,) for number, key in database.rows("SELECT id, key FROM vectors") if bytes(key) not in live]
    database.execute_many("DELETE FROM vectors WHERE id = ?", dead)
    return len(dead)


_FEW = 1000  # hashes; for more, reading the hashes of all nodes is faster than looking up each


def unpublished_versions(store: Store, record: CollectionRecord) -> list[int]:
    """Return the unpublished document versions of a collection, ascending, including those of an interrupted run."""
    seen = set(store.generations.versions(record.id, record.published)) if record.published is not None else set()
    rows = store.database.rows("SELECT id FROM document_versions WHERE collection = ? ORDER BY id", (record.id,))
    return [int(version) for (version,) in rows if version not in seen]


def erase_unpublished_rows(store: Store, record: CollectionRecord, versions: Sequence[int]) -> None:
    """Delete these versions, the rows of missing files, and all generations except the published one.

    Everything is deleted in one transaction. Afterwards, an interrupted run cannot be continued and must start over.
    """
    database = store.database
    with database.transaction():
        numbers = [generation.number for generation in store.generations.of_collection(record.id)]
        delete_contents(store, record.id, [number for number in numbers if number != record.published], versions)
        _delete_missing_files(store, record)
        database.execute(
            "UPDATE runs SET command = ?, finished_at = coalesce(finished_at, ?) WHERE collection = ?",
            (f"elt-llm ingest -c {record.name}", utc_now(), record.id),
        )
    sweep(database, store.collections.with_unfinished_runs(), every=True)


def _delete_missing_files(store: Store, record: CollectionRecord) -> None:
    """Delete the rows of files and folders that are neither published nor on the disk."""
    roots = store.collections.roots(record.id)
    published = store.documents.in_generation(record.id, record.published or 0)
    seen = {document.document_id for document in published}
    for identity, file in store.files.of_collection(record.id).items():
        there = file.root in roots and (roots[file.root][0] / file.path).exists()
        if identity not in seen and not there:
            store.database.execute("DELETE FROM files WHERE collection = ? AND document_id = ?", (record.id, identity))
    used = {row[0] for row in store.database.rows("SELECT root FROM files WHERE collection = ?", (record.id,))}
    used |= {document.root for document in published}
    for name, (path, _) in roots.items():
        if name not in used and not path.exists():
            store.database.execute("DELETE FROM roots WHERE collection = ? AND name = ?", (record.id, name))


_MAX_SAMPLES = 60
_VERSIONS_SAMPLED = 20
_MAX_SAMPLE_LENGTH = 80  # characters
_SHORTEST_TEXT, _SHORTEST_STEM = 12, 10  # characters; shorter samples occur in other files by chance


@dataclass(frozen=True)
class SampleSearch:
    """The result of searching the data directory for samples: words and lines of erased text.

    `samples` and `files` are the numbers of samples and of searched files, and `bytes` is the size of these files.
    `found_in` are the paths of files that contain a sample of which the database has no copy left. It is empty if the
    erasure succeeded. `kept` is the number of samples that stored documents contain, in the collections `kept_in`.
    """

    samples: int
    files: int
    bytes: int
    found_in: tuple[str, ...]
    kept: int
    kept_in: tuple[str, ...]


def take_samples(store: Store, versions: Sequence[int]) -> list[str]:
    """Return samples (texts to search for later) of some document versions: paths, titles, metadata, first lines."""
    step = max(1, len(versions) // _VERSIONS_SAMPLED)
    found: list[str] = []
    for version in versions[::step]:
        found += _version_samples(store, version)
    return list(dict.fromkeys(found))[:_MAX_SAMPLES]


def search_samples(store: Store, samples: Sequence[str]) -> SampleSearch:
    """Search every file of the data directory for samples of erased text. Samples that are still stored do not count.

    A sample is still stored if the database contains it, for example in a document that was not erased.
    """
    files = [path for path in sorted(store.data_dir.rglob("*")) if path.is_file() and not path.is_symlink()]
    forms = {it: {it.encode("utf-8", "surrogatepass"), json.dumps(it)[1:-1].encode()} for it in samples}  # text, JSON
    found: dict[str, set[Path]] = {sample: set() for sample in samples}
    for path in files if samples else ():
        if path.stat().st_size:
            with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                for sample in samples:
                    if any(content.find(form) >= 0 for form in forms[sample]):
                        found[sample].add(path)
    left = {path for sample, paths in found.items() if paths and not is_still_stored(store, sample) for path in paths}
    total = sum(path.stat().st_size for path in files if path.exists())
    names = tuple(sorted(path.relative_to(store.data_dir).as_posix() for path in left))
    kept = list(filter(None, (_collections_with(store, sample) for sample in samples)))
    return SampleSearch(len(samples), len(files), total, names, len(kept), tuple(sorted(set().union(*kept))))


def _version_samples(store: Store, version: int) -> Iterable[str]:
    [(path, title, sections, metadata)] = store.database.rows(
        "SELECT path, title, sections, metadata FROM document_versions WHERE id = ?", (version,)
    )
    values = json.loads(metadata).values()
    texts = [path, title, *(section[2] for section in json.loads(sections)[:2])]
    texts += [value for value in values if isinstance(value, str)]
    nodes = store.database.rows("SELECT text, stems FROM nodes WHERE version = ? ORDER BY ordinal LIMIT 2", (version,))
    texts += [line[:_MAX_SAMPLE_LENGTH] for text, _ in nodes for line in str(text).splitlines()[:1]]
    stems = sorted({stem for _, stems in nodes for stem in str(stems).split()}, key=lambda stem: (-len(stem), stem))
    return [it for it in texts if len(it) >= _SHORTEST_TEXT] + [it for it in stems[:1] if len(it) >= _SHORTEST_STEM]


_DOCUMENT_COLUMNS = ("t.text", "v.path", "v.title", "v.sections", "v.metadata")


def is_still_stored(store: Store, sample: str) -> bool:
    """Return whether the database still contains the sample, for example in a document that was not erased.

    If it does, a file with the sample does not prove that erased text is left. The rows of documents, chunks, files and
    folders are searched, and the schema.
    """
    row = store.database.row(
        f"SELECT 1 FROM document_versions v JOIN texts t ON t.id = v.text WHERE {_any_contains(_DOCUMENT_COLUMNS)}"
        f" UNION ALL SELECT 1 FROM nodes WHERE {_any_contains(['stems', 'context', 'metadata'])}"
        f" UNION ALL SELECT 1 FROM files WHERE {_any_contains(['path'])}"
        f" UNION ALL SELECT 1 FROM roots WHERE {_any_contains(['path'])} LIMIT 1",
        (sample,),
    )
    return row is not None or store.database.schema_contains(sample)


def _collections_with(store: Store, sample: str) -> set[str]:
    """Return the names of the collections with a stored document that contains the sample."""
    rows = store.database.rows(
        "SELECT DISTINCT c.name FROM document_versions v JOIN texts t ON t.id = v.text"
        f" JOIN collections c ON c.id = v.collection WHERE {_any_contains(_DOCUMENT_COLUMNS)}"
        f" OR v.id IN (SELECT version FROM nodes WHERE {_any_contains(['stems'])})",
        (sample,),
    )
    return {str(name) for (name,) in rows}


def _any_contains(columns: Sequence[str]) -> str:
    return " OR ".join(f"replace({column}, ?1, '') <> {column}" for column in columns)


SAMPLES_NAME = "forgotten-samples.json"
_MAX_STORED = 600  # samples


def store_samples(store: Store, samples: Sequence[str]) -> None:
    """Append samples of erased text to a file that only its owner can read. The next purge searches for them."""
    kept = list(dict.fromkeys([*stored_samples(store), *samples]))[:_MAX_STORED]
    if not kept:
        return
    path = _samples_path(store)
    path.touch(mode=0o600)
    path.write_text(json.dumps(kept), encoding="utf-8")


def stored_samples(store: Store) -> list[str]:
    """Return the stored samples of erased text, or an empty list if the file is missing or truncated."""
    try:
        kept = json.loads(_samples_path(store).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [it for it in kept if isinstance(it, str)] if isinstance(kept, list) else []


def erase_samples(store: Store) -> None:
    """Overwrite the file of stored samples of erased text with zeros and delete it."""
    path = _samples_path(store)
    if path.exists():
        with path.open("r+b") as stream:
            stream.write(b"\0" * path.stat().st_size)
        path.unlink()


def _samples_path(store: Store) -> Path:
    return store.data_dir / SAMPLES_NAME
