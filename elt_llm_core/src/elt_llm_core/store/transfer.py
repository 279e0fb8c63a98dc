"""Read whole document versions in the order and format of an export."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from elt_llm_core.store.store import Store

_DOCUMENT = (
    "document_id", "root", "path", "content_hash", "size", "reader", "chunker", "tokeniser", "outcome", "title",
    "pages", "sections", "metadata", "notes", "part", "extraction", "modified_at", "created_at", "part_of",
)  # fmt: skip
_NODE = ("node_id", "start", "end", "page", "section", "context", "metadata", "stems")
_JSON = ("pages", "sections", "metadata", "notes")


def export_order(store: Store, versions: Sequence[int]) -> list[int]:
    """Versions in storage order with each file before its parts, so that an import stores them alike."""
    wanted = set(versions)
    rows = store.database.rows("SELECT id, part_of FROM document_versions ORDER BY id")
    chosen = [(int(version), part_of) for version, part_of in rows if version in wanted]
    return [version for version, _ in sorted(chosen, key=lambda row: (row[1] in wanted, row[0]))]


def document_values(store: Store, version: int, lines: dict[int, int]) -> dict[str, Any]:
    """One version as plain values; `lines` maps each earlier version to its line."""
    [row] = store.database.rows(f"SELECT {', '.join(_DOCUMENT)} FROM document_versions WHERE id = ?", (version,))
    values = dict(zip(_DOCUMENT, row, strict=True))
    values |= {name: json.loads(values[name]) for name in _JSON}
    artefacts = store.database.rows("SELECT name, content FROM artefacts WHERE version = ? ORDER BY name", (version,))
    return {
        **values,
        "content_hash": bytes(values["content_hash"]).hex(),
        "part_of": lines.get(values["part_of"]),
        "text": store.documents.text(version),
        "artefacts": {name: json.loads(content) for name, content in artefacts},
        "nodes": list(_nodes(store, version)),
    }


def content_size(store: Store, versions: Sequence[int]) -> int:
    """Estimated size of these versions as text, in bytes."""
    wanted = set(versions)
    rows = store.database.rows("SELECT v.id, length(t.text) FROM document_versions v JOIN texts t ON t.id = v.text")
    return sum(int(length) for version, length in rows if version in wanted)


def _nodes(store: Store, version: int) -> Iterator[dict[str, Any]]:
    for row in store.database.rows(
        f"SELECT {', '.join(_NODE)} FROM nodes WHERE version = ? ORDER BY ordinal", (version,)
    ):
        values = dict(zip(_NODE, row, strict=True))
        yield {**values, "metadata": json.loads(values["metadata"])}
