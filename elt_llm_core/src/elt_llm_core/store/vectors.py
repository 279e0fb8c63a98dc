"""Vectors by what made them: nothing is embedded twice, and a killed run goes on from here."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, batches, marks
from elt_llm_core.store.records import sha256


def vector_key(fingerprint: bytes, embedded_hash: bytes) -> bytes:
    """Identity of a vector: the embedding model's fingerprint and the hash of the exact text it was given."""
    return sha256(fingerprint, embedded_hash)


class Vectors:
    """float32 vectors as blobs, in the machine's (little-endian) byte order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def missing(self, fingerprint: bytes, embedded_hashes: Iterable[bytes]) -> list[bytes]:
        """Those of `embedded_hashes` that have no vector yet, in their order."""
        hashes = list(embedded_hashes)
        present = self._present([vector_key(fingerprint, digest) for digest in hashes])
        return [digest for digest in hashes if vector_key(fingerprint, digest) not in present]

    def add(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector a hash, all or none; a vector that is there already stays as it is."""
        with self._database.transaction():
            self.add_within(fingerprint, embedded_hashes, vectors)

    def add_within(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """As `add`, within a transaction that the caller began."""
        self._database.execute_many(
            "INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)",
            [
                (vector_key(fingerprint, digest), vector.astype("<f4").tobytes())
                for digest, vector in zip(embedded_hashes, vectors, strict=True)
            ],
        )

    def matrix(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
        """Vectors of `embedded_hashes`, in their order, shape (len, dimension). Raises StoreError if one is missing."""
        keys = [vector_key(fingerprint, digest) for digest in embedded_hashes]
        found: dict[bytes, bytes] = {}
        for batch in batches(sorted(set(keys))):
            rows = self._database.rows(f"SELECT key, vector FROM vectors WHERE key IN ({marks(batch)})", batch)
            found.update((bytes(key), bytes(vector)) for key, vector in rows)
        if len(found) < len(set(keys)):
            raise StoreError(
                f"{len(set(keys)) - len(found)} vectors are not in the store.",
                hint="Run the ingest again: it embeds what is missing.",
            )
        flat = np.frombuffer(b"".join(found[key] for key in keys), dtype="<f4")
        return flat.reshape(len(keys), dimension).astype(np.float32, copy=False)

    def _present(self, keys: Sequence[bytes]) -> set[bytes]:
        present: set[bytes] = set()
        for batch in batches(keys):
            rows = self._database.rows(f"SELECT key FROM vectors WHERE key IN ({marks(batch)})", batch)
            present.update(bytes(key) for (key,) in rows)
        return present
