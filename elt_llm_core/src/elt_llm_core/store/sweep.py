"""Removing rows that no kept generation can reach: mark and sweep, under the writer's lock."""

import json
from dataclasses import dataclass

from elt_llm_core.store.database import Database
from elt_llm_core.store.vectors import vector_key


@dataclass(frozen=True)
class Swept:
    """How much was removed."""

    versions: int
    vectors: int


def sweep(database: Database) -> Swept:
    """Delete document versions, texts and vectors that no generation of any collection contains."""
    with database.transaction():
        versions = _count(database, "document_versions")
        database.execute("DELETE FROM document_versions WHERE id NOT IN (SELECT version FROM generation_documents)")
        database.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM document_versions)")
        removed = versions - _count(database, "document_versions")
        dead = _dead_vectors(database)
        database.execute_many("DELETE FROM vectors WHERE id = ?", [(vector,) for vector in dead])
    return Swept(versions=removed, vectors=len(dead))


def _dead_vectors(database: Database) -> list[int]:
    live = _live_keys(database)
    return [int(number) for number, key in database.rows("SELECT id, key FROM vectors") if bytes(key) not in live]


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
