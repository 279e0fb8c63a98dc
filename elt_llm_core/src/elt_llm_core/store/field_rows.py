"""What the store knows of documents and nodes that passages can be filtered by."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.store.database import Database, batches, marks


@dataclass(frozen=True)
class DocumentRow:
    """One version of a document; `bytes_key` is equal for versions with the same bytes, of which one is indexed."""

    document_id: str
    source: str
    title: str
    metadata: dict[str, Any]
    modified_at: str | None
    bytes_key: tuple[bytes, str]


@dataclass(frozen=True)
class NodeRow:
    """What a node has besides its document's: the headings above it and metadata."""

    section: str | None
    metadata: dict[str, Any]


def document_rows(database: Database, versions: Sequence[int]) -> list[DocumentRow]:
    """One row per version, in the order given."""
    found: dict[int, DocumentRow] = {}
    for batch in batches(versions):
        for version, identity, path, title, metadata, modified_at, digest, part in database.rows(
            "SELECT id, document_id, path, title, metadata, modified_at, content_hash, part FROM document_versions"
            f" WHERE id IN ({marks(batch)})",
            batch,
        ):
            key = (bytes(digest), str(part))
            found[int(version)] = DocumentRow(identity, path, title, json.loads(metadata), modified_at, key)
    return [found[version] for version in versions]


def node_rows(database: Database, versions: Sequence[int]) -> dict[str, NodeRow]:
    """The nodes of these versions by id; within one generation a node id occurs once."""
    found: dict[str, NodeRow] = {}
    for batch in batches(versions):
        rows = database.rows(f"SELECT node_id, section, metadata FROM nodes WHERE version IN ({marks(batch)})", batch)
        # Read as one list, in a third of the time.
        metadata = json.loads(f"[{','.join(row[2] for row in rows)}]")
        for (node_id, section, _), its in zip(rows, metadata, strict=True):
            found[node_id] = NodeRow(section, its)
    return found
