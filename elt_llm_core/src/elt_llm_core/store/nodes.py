"""Nodes: the stored chunks of document versions, their vectors, enrichments and metadata."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, Row, batches, placeholders
from elt_llm_core.store.records import StoredNode, canonical_json, sha256

# CROSS JOIN fixes the join order: otherwise SQLite reads every document of the generation for a few nodes.
_OF_GENERATION = (
    " FROM nodes n CROSS JOIN document_versions v ON v.id = n.version"
    " CROSS JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
)


@dataclass(frozen=True)
class NodeRecord:
    """The fields of a node that an index needs; texts are fetched only for the chunks that are shown."""

    node_id: str
    version: int
    embedded_hash: bytes
    page: int | None


class NodeTable:
    """The nodes of generations. A node id is unique within a generation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, versions: Sequence[int]) -> int:
        """The number of nodes of these versions."""
        return sum(
            int(
                self._database.rows(f"SELECT count(*) FROM nodes WHERE version IN ({placeholders(batch)})", batch)[0][0]
            )
            for batch in batches(versions)
        )

    def of_versions(self, versions: Sequence[int]) -> list[NodeRecord]:
        """All nodes of these versions, sorted by node id."""
        found: list[Row] = []
        for batch in batches(versions):
            found += self._database.rows(
                f"SELECT node_id, version, embedded_hash, page FROM nodes WHERE version IN ({placeholders(batch)})",
                batch,
            )
        return sorted((NodeRecord(*row) for row in found), key=lambda node: node.node_id)

    def stems_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """By node id: (tokeniser of the stems, stems, embedded text)."""
        found: dict[str, tuple[str, str, str]] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT n.node_id, v.tokeniser, n.stems, n.context, n.text FROM nodes n"
                f" JOIN document_versions v ON v.id = n.version WHERE n.version IN ({placeholders(batch)})",
                batch,
            )
            for node_id, tokeniser, stems, context, text in rows:
                found[node_id] = (tokeniser, stems, f"{context}\n{text}" if context else text)
        return found

    def stems_in_generation(
        self, collection: int, generation: int, node_ids: Sequence[str], tokeniser: str
    ) -> dict[str, tuple[str | None, str | None]]:
        """By node id: (stems, None), or (None, embedded text) if another tokeniser made the stems."""
        found: dict[str, tuple[str | None, str | None]] = {}
        for batch in batches(node_ids):
            rows = self._database.rows(
                "SELECT n.node_id, iif(v.tokeniser = ?, n.stems, NULL),"
                f" iif(v.tokeniser = ?, NULL, n.context || char(10) || n.text){_OF_GENERATION}"
                f" WHERE n.node_id IN ({placeholders(batch)})",
                (tokeniser, tokeniser, collection, generation, *batch),
            )
            found.update((node_id, (stems, text)) for node_id, stems, text in rows)
        return found

    def contents_of_versions(self, versions: Sequence[int]) -> dict[str, tuple[str, str, str]]:
        """By node id: (context, text, canonical metadata with page, section and span), for the collection hash."""
        found: dict[str, tuple[str, str, str]] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT node_id, context, text, metadata, page, section, start, end FROM nodes"
                f" WHERE version IN ({placeholders(batch)})",
                batch,
            )
            for node_id, context, text, metadata, page, section, start, end in rows:
                place = canonical_json({"page": page, "section": section, "span": [start, end]})
                found[node_id] = (context, text, metadata + place)
        return found

    def spans(self, version: int) -> list[tuple[int, int, str]]:
        """(start, end, text) of each node of a version, in order."""
        return [
            (int(start), int(end), str(text))
            for start, end, text in self._database.rows(
                "SELECT start, end, text FROM nodes WHERE version = ? ORDER BY ordinal", (version,)
            )
        ]

    def to_embed(self, versions: Sequence[int]) -> dict[bytes, str]:
        """The distinct texts to embed of these versions, by hash, ordered by version and position."""
        found: dict[bytes, str] = {}
        for batch in batches(versions):
            rows = self._database.rows(
                f"SELECT embedded_hash, context, text FROM nodes WHERE version IN ({placeholders(batch)})"
                " ORDER BY version, ordinal",
                batch,
            )
            for digest, context, text in rows:
                found.setdefault(bytes(digest), f"{context}\n{text}" if context else text)
        return found

    def in_generation(self, collection: int, generation: int, node_ids: Sequence[str]) -> dict[str, StoredNode]:
        """These nodes in this generation, by node id."""
        found: dict[str, StoredNode] = {}
        for batch in batches(node_ids):
            rows = self._database.rows(
                "SELECT n.node_id, v.document_id, v.path, v.title, v.content_hash, n.text, n.context, n.start, n.end,"
                " n.page, n.section, n.ordinal, n.metadata, v.metadata, v.created_at, v.modified_at,"
                f" (SELECT max(ordinal) + 1 FROM nodes WHERE version = n.version), v.id{_OF_GENERATION}"
                f" WHERE n.node_id IN ({placeholders(batch)})",
                (collection, generation, *batch),
            )
            others = self._other_places(collection, generation, sorted({int(row[-1]) for row in rows}))
            for row in rows:
                found[row[0]] = _node_from_row(row[:-1], others.get(int(row[-1]), []))
        return found

    def _other_places(self, collection: int, generation: int, versions: Sequence[int]) -> dict[int, list[str]]:
        """By version: the paths of identical documents of the generation."""
        found: dict[int, list[str]] = defaultdict(list)
        for version, path in self._database.rows(
            "SELECT v.id, o.path FROM document_versions v CROSS JOIN document_versions o"
            " ON o.content_hash = v.content_hash AND o.part = v.part AND o.id <> v.id"
            " CROSS JOIN generation_documents g ON g.version = o.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.id IN ({placeholders(versions)}) ORDER BY o.root, o.path",
            (collection, generation, *versions),
        ):
            found[int(version)].append(str(path))
        return found


def _node_from_row(row: Row, other_places: list[str]) -> StoredNode:
    node_id, document_id, path, title, digest, text, context, start, end, page, section, ordinal = row[:12]
    metadata, of_document, extracted_at, modified_at, total = row[12:]
    return StoredNode(
        node_id=node_id,
        document_id=document_id,
        source=path,
        title=title,
        document_hash=digest.hex(),
        text=text,
        context=context,
        start=start,
        end=end,
        page=page,
        section=section,
        ordinal=ordinal,
        metadata={
            **json.loads(of_document),
            **json.loads(metadata),
            "content_hash": hashlib.sha256(text.encode()).hexdigest(),
            "chunk_index": ordinal,
            "chunk_total": total,
            "extracted_at": extracted_at,
            "modified_at": modified_at,
            **({"also_in": other_places} if other_places else {}),
        },
    )


@dataclass(frozen=True)
class DocumentRow:
    """One version of a document; `bytes_key` is equal for identical versions, of which one is indexed."""

    document_id: str
    source: str
    title: str
    metadata: dict[str, Any]
    modified_at: str | None
    bytes_key: tuple[bytes, str]


@dataclass(frozen=True)
class NodeRow:
    """A node's headings and metadata."""

    section: str | None
    metadata: dict[str, Any]


def document_rows(database: Database, versions: Sequence[int]) -> list[DocumentRow]:
    """One row per version, in the given order."""
    found: dict[int, DocumentRow] = {}
    for batch in batches(versions):
        for version, identity, path, title, metadata, modified_at, digest, part in database.rows(
            "SELECT id, document_id, path, title, metadata, modified_at, content_hash, part FROM document_versions"
            f" WHERE id IN ({placeholders(batch)})",
            batch,
        ):
            key = (bytes(digest), str(part))
            found[int(version)] = DocumentRow(identity, path, title, json.loads(metadata), modified_at, key)
    return [found[version] for version in versions]


def node_rows(database: Database, versions: Sequence[int]) -> dict[str, NodeRow]:
    """The nodes of these versions by id."""
    found: dict[str, NodeRow] = {}
    for batch in batches(versions):
        rows = database.rows(
            f"SELECT node_id, section, metadata FROM nodes WHERE version IN ({placeholders(batch)})", batch
        )
        # Parsing one list takes a third of the time.
        metadata = json.loads(f"[{','.join(row[2] for row in rows)}]")
        for (node_id, section, _), its in zip(rows, metadata, strict=True):
            found[node_id] = NodeRow(section, its)
    return found


def vector_key(fingerprint: bytes, embedded_hash: bytes) -> bytes:
    """The key of a vector: the embedding model's fingerprint and the hash of the exact embedded text."""
    return sha256(fingerprint, embedded_hash)


class VectorTable:
    """float32 vectors as blobs, in the machine's (little-endian) byte order."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def missing(self, fingerprint: bytes, embedded_hashes: Iterable[bytes]) -> list[bytes]:
        """The hashes among `embedded_hashes` without a vector, in order."""
        hashes = list(embedded_hashes)
        present = self._present([vector_key(fingerprint, digest) for digest in hashes])
        return [digest for digest in hashes if vector_key(fingerprint, digest) not in present]

    def add(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store one vector per hash in one transaction; existing vectors are kept."""
        with self._database.transaction():
            self.add_within(fingerprint, embedded_hashes, vectors)

    def add_within(self, fingerprint: bytes, embedded_hashes: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Like `add`, within the caller's transaction."""
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
            rows = self._database.rows(f"SELECT key, vector FROM vectors WHERE key IN ({placeholders(batch)})", batch)
            found.update((bytes(key), bytes(vector)) for key, vector in rows)
        if len(found) < len(set(keys)):
            raise StoreError(
                f"{len(set(keys)) - len(found)} vectors are not in the store.",
                hint="Run the ingest again: it embeds the missing texts.",
            )
        flat = np.frombuffer(b"".join(found[key] for key in keys), dtype="<f4")
        return flat.reshape(len(keys), dimension).astype(np.float32, copy=False)

    def _present(self, keys: Sequence[bytes]) -> set[bytes]:
        present: set[bytes] = set()
        for batch in batches(keys):
            rows = self._database.rows(f"SELECT key FROM vectors WHERE key IN ({placeholders(batch)})", batch)
            present.update(bytes(key) for (key,) in rows)
        return present


class EnrichmentTable:
    """Model output by the hash of its inputs. An empty text is an unusable reply."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """The stored texts, by key."""
        found: dict[bytes, str] = {}
        for batch in batches(sorted(set(keys))):
            rows = self._database.rows(f"SELECT key, text FROM enrichments WHERE key IN ({placeholders(batch)})", batch)
            found.update((bytes(key), str(text)) for key, text in rows)
        return found

    def add(self, key: bytes, text: str) -> None:
        """Store a text durably; an existing one is kept."""
        with self._database.transaction():
            self._database.execute("INSERT OR IGNORE INTO enrichments (key, text) VALUES (?, ?)", (key, text))
