"""Removing rows that no kept generation can reach: mark and sweep, under the writer's lock."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from elt_llm_core.store.database import Database, batches, marks
from elt_llm_core.store.vectors import vector_key

_KEPT = """SELECT version FROM generation_documents UNION SELECT part_of FROM document_versions
    WHERE part_of IS NOT NULL AND id IN (SELECT version FROM generation_documents)"""


@dataclass(frozen=True)
class Swept:
    """How much was removed."""

    versions: int
    vectors: int


def sweep(database: Database, unfinished: Collection[int] = ()) -> Swept:
    """Delete document versions, texts and vectors that no generation of any collection contains.

    Of collections with an `unfinished` run nothing goes: its repetition goes on from there. Nor does then a vector
    that may be theirs: only those of the removed versions, by a model that some generation was built with.
    """
    with database.transaction():
        rows = database.rows(f"SELECT id, collection FROM document_versions WHERE id NOT IN ({_KEPT})")
        doomed = [int(version) for version, collection in rows if collection not in unfinished]
        suspects = embedded_hashes(database, doomed) if unfinished else set()
        delete_versions(database, doomed)
        if unfinished:
            vectors = delete_vectors(database, suspects, known_fingerprints(database))
        else:
            vectors = _delete_dead_vectors(database)
    return Swept(versions=len(doomed), vectors=vectors)


def embedded_hashes(database: Database, versions: Collection[int]) -> set[bytes]:
    """Hashes of the texts that these versions had embedded."""
    found: set[bytes] = set()
    for batch in batches(list(versions)):
        rows = database.rows(f"SELECT DISTINCT embedded_hash FROM nodes WHERE version IN ({marks(batch)})", batch)
        found.update(bytes(digest) for (digest,) in rows)
    return found


def delete_versions(database: Database, versions: Collection[int]) -> None:
    """Delete these versions, what is in them, and texts that no other version has; within a transaction."""
    database.execute_many("DELETE FROM document_versions WHERE id = ?", [(version,) for version in versions])
    database.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM document_versions)")


def delete_vectors(database: Database, suspects: Collection[bytes], fingerprints: Collection[bytes]) -> int:
    """Delete the vectors of these texts, by hash, by these models unless a node still wants them; returns how many."""
    wanted = {bytes(digest) for (digest,) in database.rows("SELECT DISTINCT embedded_hash FROM nodes")}
    keys = [vector_key(model, digest) for model in fingerprints for digest in suspects if digest not in wanted]
    before = _count(database, "vectors")
    database.execute_many("DELETE FROM vectors WHERE key = ?", [(key,) for key in keys])
    return before - _count(database, "vectors")


def known_fingerprints(database: Database) -> set[bytes]:
    """Keys of the embedding models that the generations of all collections were built with."""
    rows = database.rows("SELECT passport FROM generations")
    return {bytes.fromhex(json.loads(passport)["fingerprint_key"]) for (passport,) in rows}


def _delete_dead_vectors(database: Database) -> int:
    live = _live_keys(database)
    dead = [(number,) for number, key in database.rows("SELECT id, key FROM vectors") if bytes(key) not in live]
    database.execute_many("DELETE FROM vectors WHERE id = ?", dead)
    return len(dead)


def _live_keys(database: Database) -> set[bytes]:
    live: set[bytes] = set()
    for collection, number, passport in database.rows("SELECT collection, number, passport FROM generations"):
        fingerprint = bytes.fromhex(json.loads(passport)["fingerprint_key"])
        rows = database.rows(
            "SELECT DISTINCT n.embedded_hash FROM nodes n JOIN generation_documents g ON g.version = n.version"
            " WHERE g.collection = ? AND g.generation = ?",
            (collection, number),
        )
        live.update(vector_key(fingerprint, bytes(digest)) for (digest,) in rows)
    return live


def _count(database: Database, table: str) -> int:
    row = database.row(f"SELECT count(*) FROM {table}")
    return int(row[0]) if row else 0
