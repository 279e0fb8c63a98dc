"""Tables of nodes (the stored chunks of document versions), of their vectors, and of texts that a model added."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, DatabaseTable, Row
from elt_llm_core.store.records import OWNER_FIELDS, StoredNode, canonical_json, sha256

# CROSS JOIN fixes the join order. Otherwise SQLite reads every document of the generation for a few nodes.
_OF_GENERATION = (
    " FROM nodes n CROSS JOIN document_versions v ON v.id = n.version"
    " CROSS JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
)


@dataclass(frozen=True)
class NodeRecord:
    """The fields of a node that an index needs. The text is not among them, because it is read only to be shown."""

    node_id: str
    version: int
    embedded_hash: bytes
    page: int | None


class NodeTable(DatabaseTable):
    """The nodes of generations. A node id is unique within a generation."""

    def count(self, versions: Sequence[int]) -> int:
        """Return the number of nodes of these document versions."""
        rows = self._database.rows_in("SELECT count(*) FROM nodes WHERE version IN ({})", versions)
        return sum(int(count) for (count,) in rows)

    def of_versions(self, versions: Sequence[int]) -> list[NodeRecord]:
        """Return all nodes of these document versions, sorted by node id."""
        statement = "SELECT node_id, version, embedded_hash, page FROM nodes WHERE version IN ({})"
        rows = self._database.rows_in(statement, versions)
        return sorted((NodeRecord(*row) for row in rows), key=lambda node: node.node_id)

    def stems_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """Return (fingerprint of the tokeniser, stems that it produced, embedded text) of each node, by node id."""
        rows = self._database.rows_in(
            "SELECT n.node_id, v.tokeniser, n.stems, n.context, n.text FROM nodes n"
            " JOIN document_versions v ON v.id = n.version WHERE n.version IN ({})",
            versions,
        )
        return {
            node_id: (tokeniser, stems, f"{context}\n{text}" if context else text)
            for node_id, tokeniser, stems, context, text in rows
        }

    def stems_in_generation(
        self, collection: int, generation: int, node_ids: Sequence[str], tokeniser: str
    ) -> dict[str, tuple[str | None, str | None]]:
        """Return each node's (stems, None) by id, or (None, embedded text) if another tokeniser stored the stems."""
        statement = (
            "SELECT n.node_id, CASE WHEN v.tokeniser = ? THEN n.stems END,"
            f" CASE WHEN v.tokeniser <> ? THEN n.context || '\n' || n.text END"
            f"{_OF_GENERATION} WHERE n.node_id IN ({{}})"
            f" AND {self._whole('nodes', 'n')}"
        )
        rows = self._database.rows_in(statement, node_ids, tokeniser, tokeniser, collection, generation)
        return {node_id: (stems, text) for node_id, stems, text in rows}

    def contents_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """Return the inputs of the collection hash by node id: (context, text, metadata with page, section, span)."""
        found: dict[str, tuple[str, str, str]] = {}
        for node_id, context, text, metadata, page, section, start, end in self._database.rows_in(
            'SELECT node_id, context, text, metadata, page, section, start, "end" FROM nodes WHERE version IN ({})',
            versions,
        ):
            place = canonical_json({"page": page, "section": section, "span": [start, end]})
            found[node_id] = (context, text, metadata + place)
        return found

    def spans(self, version: int) -> list[tuple[int, int, str]]:
        """Return the start offset, end offset and text of each node of a document version, in order."""
        statement = 'SELECT start, "end", text FROM nodes WHERE version = ? ORDER BY ordinal'
        return [(int(start), int(end), str(text)) for start, end, text in self._database.rows(statement, (version,))]

    def count_texts(self, versions: Sequence[int]) -> int:
        """Return the number of distinct embedded texts of these document versions."""
        statement = f"SELECT count(DISTINCT embedded_hash) FROM nodes WHERE version IN {self._database.EACH_NUMBER}"
        return int(self._database.rows(statement, (json.dumps(list(versions)),))[0][0])

    def embedded_hashes(self, versions: Sequence[int]) -> dict[bytes, int]:
        """Return the hash of each distinct embedded text, with the first of these versions that contains the text."""
        statement = "SELECT embedded_hash, version FROM nodes WHERE version IN ({}) ORDER BY version, ordinal"
        found: dict[bytes, int] = {}
        for digest, version in self._database.rows_in(statement, versions):
            found.setdefault(bytes(digest), int(version))
        return found

    def to_embed(self, versions: Sequence[int]) -> dict[bytes, str]:
        """Return each distinct text to embed, by its hash, in the order in which the texts first occur."""
        found: dict[bytes, str] = {}
        for digest, context, text in self._database.rows_in(
            "SELECT embedded_hash, context, text FROM nodes WHERE version IN ({}) ORDER BY version, ordinal", versions
        ):
            found.setdefault(bytes(digest), f"{context}\n{text}" if context else text)
        return found

    def in_generation(self, collection: int, generation: int, node_ids: Sequence[str]) -> dict[str, StoredNode]:
        """Return the given nodes of a generation by node id. Unknown ids are skipped."""
        statement = (
            "SELECT n.node_id, v.document_id, v.path, v.title, v.content_hash, n.text, n.context, n.start, n.end,"
            " n.page, n.section, n.ordinal, n.metadata, v.metadata, v.created_at, v.modified_at,"
            f" (SELECT max(ordinal) + 1 FROM nodes WHERE version = n.version), v.id{_OF_GENERATION}"
            f" WHERE n.node_id IN ({{}}) AND {self._whole('nodes', 'n')}"
        )
        rows = list(self._database.rows_in(statement, node_ids, collection, generation))
        versions = sorted({int(row[-1]) for row in rows})
        whole = f"SELECT 1 FROM document_versions v WHERE v.id IN ({{}}) AND {self._whole('document_versions', 'v')}"
        list(self._database.rows_in(whole, versions))  # raises StoreError if a version is damaged
        others = self._other_places(collection, generation, versions)
        return {row[0]: _node_from_row(row[:-1], others.get(int(row[-1]), [])) for row in rows}

    def _other_places(self, collection: int, generation: int, versions: Sequence[int]) -> dict[int, list[str]]:
        """Return, by document version, the paths of other documents in the generation with equal bytes and owner."""
        owner = (
            f"json_extract(o.metadata, '$.{name}') IS NOT DISTINCT FROM json_extract(v.metadata, '$.{name}')"
            for name in OWNER_FIELDS
        )
        found: dict[int, list[str]] = defaultdict(list)
        for version, path in self._database.rows_in(
            "SELECT v.id, o.path FROM document_versions v CROSS JOIN document_versions o"
            f" ON o.content_hash = v.content_hash AND o.part = v.part AND o.id <> v.id AND {' AND '.join(owner)}"
            " CROSS JOIN generation_documents g ON g.version = o.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.id IN ({{}}) AND {self._whole('document_versions', 'o')} ORDER BY o.root, o.path",
            versions,
            collection,
            generation,
        ):
            found[int(version)].append(str(path))
        return found


def _node_from_row(row: Row, other_places: list[str]) -> StoredNode:
    node_id, document_id, path, title, digest, text, *place, ordinal = row[:12]
    metadata, of_document, extracted_at, modified_at, total = row[12:]
    shown = {
        **json.loads(of_document),
        **json.loads(metadata),
        "content_hash": hashlib.sha256(text.encode()).hexdigest(),
        "chunk_index": ordinal,
        "chunk_total": total,
        "extracted_at": extracted_at,
        "modified_at": modified_at,
        **({"also_in": other_places} if other_places else {}),
    }
    return StoredNode(*(node_id, document_id, path, title, digest.hex(), text, *place, ordinal, shown))


def node_rows(database: Database, versions: Sequence[int]) -> dict[str, tuple[str | None, dict[str, Any]]]:
    """Return the section headings and the metadata of the nodes of these document versions, by node id."""
    rows = list(database.rows_in("SELECT node_id, section, metadata FROM nodes WHERE version IN ({})", versions))
    # Parsing one list takes a third of the time of parsing each value.
    metadata = json.loads(f"[{','.join(row[2] for row in rows)}]")
    return {node_id: (section, its) for (node_id, section, _), its in zip(rows, metadata, strict=True)}


def vector_key(fingerprint: bytes, embedded_hash: bytes) -> bytes:
    """Return the key under which a vector is stored: one SHA-256 of two values, which are hashes themselves.

    `fingerprint` is the hash of the model's fingerprint, and `embedded_hash` that of the embedded text.
    """
    return sha256(fingerprint, embedded_hash)


class VectorTable(DatabaseTable):
    """The vectors of embedded texts, stored as blobs of little-endian float32."""

    def missing(self, fingerprint: bytes, embedded_hashes: Iterable[bytes]) -> list[bytes]:
        """Return those of the hashes of texts for which the model has no stored vector, each once, in order."""
        keys = {vector_key(fingerprint, digest): digest for digest in embedded_hashes}
        rows = self._database.rows_in("SELECT key FROM vectors WHERE key IN ({})", list(keys))
        present = {bytes(key) for (key,) in rows}
        return [digest for key, digest in keys.items() if key not in present]

    def add(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector per text, given by its hash, in one transaction. Vectors that already exist are kept."""
        with self._database.transaction():
            self.add_within(fingerprint, embedded_hashes, vectors)

    def add_within(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector per text, given by its hash, within the caller's transaction. Existing vectors are kept."""
        self._database.execute_many(
            "INSERT INTO vectors (key, vector) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [
                (vector_key(fingerprint, digest), vector.astype("<f4").tobytes())
                for digest, vector in zip(embedded_hashes, vectors, strict=True)
            ],
        )

    def matrix(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
        """Return one vector per hash, in order, as shape (hashes, dimension). Raises StoreError if one is missing."""
        places: dict[bytes, list[int]] = defaultdict(list)
        for place, digest in enumerate(embedded_hashes):
            places[vector_key(fingerprint, digest)].append(place)
        matrix, found = np.empty((len(embedded_hashes), dimension), dtype=np.float32), 0
        rows = self._database.rows_in("SELECT key, vector FROM vectors WHERE key IN ({})", sorted(places))
        for key, vector in rows:
            found += 1
            matrix[places[bytes(key)]] = np.frombuffer(vector, dtype="<f4")
        if found < len(places):
            raise StoreError(
                f"{len(places) - found} vectors are not in the store.",
                hint="Run the ingest again. It embeds the missing texts.",
            )
        return matrix


class EnrichmentTable(DatabaseTable):
    """Context sentences that a language model wrote for chunks, by a hash of its inputs. "" means an unusable reply."""

    def known(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the stored texts by key. Unknown keys are skipped."""
        rows = self._database.rows_in("SELECT key, text FROM enrichments WHERE key IN ({})", sorted(set(keys)))
        return {bytes(key): str(text) for key, text in rows}

    def add(self, key: bytes, text: str) -> None:
        """Store a text durably. If the key already has a text, that text is kept."""
        with self._database.transaction():
            self._database.execute(
                "INSERT INTO enrichments (key, text) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, text)
            )
