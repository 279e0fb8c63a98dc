"""Document versions: immutable rows, each with its parsed text and its nodes, written in one transaction."""

import json
from collections.abc import Sequence
from typing import Any

from elt_llm_core.errors import StoreError
from elt_llm_core.outline import Outline, Section
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row, marks
from elt_llm_core.store.records import (
    FileRecord,
    NewDocument,
    StoredDocument,
    canonical_json,
    document_id,
    sha256,
    version_key,
)

_COLUMNS = """v.id, v.document_id, v.path, v.root, v.title, v.content_hash, v.outcome, v.pages, v.size,
    (SELECT count(*) FROM nodes n WHERE n.version = v.id), v.metadata, v.notes"""
_CHECKED = (
    "key",
    "root",
    "path",
    "reader",
    "chunker",
    "tokeniser",
    "outcome",
    "title",
    "pages",
    "sections",
    "metadata",
    "notes",
)
_FILE_COLUMNS = "document_id, root, path, size, modified_ns, checked_ns, content_hash, outcome, reason"


class Documents:
    """Versions of documents, and what the last scan saw of their files."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, key: bytes) -> int | None:
        """The version with this key, if it was ever stored."""
        row = self._database.row("SELECT id FROM document_versions WHERE key = ?", (key,))
        return int(row[0]) if row else None

    def add(self, collection: int, document: NewDocument) -> int:
        """Store a version with its nodes, wholly or not at all; returns its number.

        Raises StoreError if a node is not the span it claims to be.
        """
        for node in document.nodes:
            if document.text[node.start : node.end] != node.text or not node.text:
                raise StoreError(f"A chunk of {document.path} is not the text at {node.start}:{node.end}.")
        with self._database.transaction():
            version = self._insert_version(collection, document)
            self._database.execute_many(
                "INSERT INTO nodes (version, ordinal, node_id, start, end, page, section, text, context, metadata,"
                " embedded_hash, stems) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_node_values(version, ordinal, document) for ordinal in range(len(document.nodes))],
            )
        return version

    def summary(self, version: int) -> tuple[str, tuple[str, ...], int]:
        """Outcome, notes and number of nodes of a version."""
        row = self._database.row(
            "SELECT outcome, notes, (SELECT count(*) FROM nodes WHERE version = v.id) FROM document_versions v"
            " WHERE id = ?",
            (version,),
        )
        if row is None:
            raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
        return str(row[0]), tuple(json.loads(row[1])), int(row[2])

    def in_generation(self, collection: int, generation: int) -> list[StoredDocument]:
        """The documents of a generation by path, without their text."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM document_versions v JOIN generation_documents g ON g.version = v.id"
            " WHERE g.collection = ? AND g.generation = ? ORDER BY v.root, v.path",
            (collection, generation),
        )
        return [_stored(row, "") for row in rows]

    def text(self, version: int) -> str:
        """The parsed text of a version."""
        row = self._database.row(
            "SELECT t.text FROM texts t JOIN document_versions v ON v.text = t.id WHERE v.id = ?", (version,)
        )
        if row is None:
            raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
        return str(row[0])

    def is_consistent(self, version: int, collection: str) -> bool:
        """Whether a version is, in every part, what was stored, and where its identity says."""
        [row] = self._database.rows(
            f"SELECT v.document_id, v.content_hash, v.checksum, t.text, {', '.join(_CHECKED)}"
            " FROM document_versions v JOIN texts t ON v.text = t.id WHERE v.id = ?",
            (version,),
        )
        identity, content_hash, checksum, text, *checked = row
        values = dict(zip(_CHECKED, checked, strict=True))
        stems = self._database.rows("SELECT stems FROM nodes WHERE version = ? ORDER BY ordinal", (version,))
        return bool(
            identity == document_id(collection, values["root"], values["path"])
            and values["key"] == version_key(identity, content_hash, values["reader"], values["chunker"])
            and checksum == _checksum(checked, text, [stem for (stem,) in stems])
        )

    def outlines(self, collection: int, generation: int, document_ids: Sequence[str]) -> dict[str, Outline]:
        """Pages and sections of these documents as a generation has them, by document id."""
        rows = self._database.rows(
            "SELECT v.document_id, v.pages, v.sections FROM document_versions v"
            " JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.collection = ? AND v.document_id IN ({marks(document_ids)})",
            (collection, generation, collection, *document_ids),
        )
        return {
            str(identity): Outline(json.loads(pages), [Section(*section) for section in json.loads(sections)])
            for identity, pages, sections in rows
        }

    def files(self, collection: int) -> dict[str, FileRecord]:
        """What the last scan saw, by document id."""
        rows = self._database.rows(f"SELECT {_FILE_COLUMNS} FROM files WHERE collection = ?", (collection,))
        return {str(row[0]): FileRecord(*row) for row in rows}

    def record_files(self, collection: int, seen: Sequence[FileRecord], gone: Sequence[str]) -> None:
        """Remember what a scan saw, and forget the documents that are gone."""
        with self._database.transaction():
            self._database.execute_many(
                f"INSERT OR REPLACE INTO files (collection, {_FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(collection, *_file_values(record)) for record in seen],
            )
            self._database.execute_many(
                "DELETE FROM files WHERE collection = ? AND document_id = ?",
                [(collection, gone_id) for gone_id in gone],
            )

    def _insert_version(self, collection: int, document: NewDocument) -> int:
        checked = _checked_values(document)
        stems = [node.stems for node in document.nodes]
        values = {
            **dict(zip(_CHECKED, checked, strict=True)),
            "collection": collection,
            "document_id": document.document_id,
            "content_hash": document.content_hash,
            "size": document.size,
            "text": self._text_id(document.text),
            "checksum": _checksum(checked, document.text, stems),
            "created_at": now(),
        }
        return self._database.execute(
            f"INSERT INTO document_versions ({', '.join(values)}) VALUES ({marks(list(values))})", list(values.values())
        )

    def _text_id(self, text: str) -> int:
        digest = sha256(text)
        row = self._database.row("SELECT id FROM texts WHERE hash = ?", (digest,))
        if row is not None:
            return int(row[0])
        return self._database.execute("INSERT INTO texts (hash, text) VALUES (?, ?)", (digest, text))


def _checked_values(document: NewDocument) -> list[bytes | str]:
    """What `_CHECKED` names, in its order."""
    return [
        document.key,
        document.root,
        document.path,
        document.reader,
        document.chunker,
        document.tokeniser,
        document.outcome,
        document.title,
        canonical_json(document.pages),
        canonical_json([(section.start, section.level, section.title) for section in document.sections]),
        canonical_json(dict(document.metadata)),
        canonical_json(document.notes),
    ]


def _checksum(checked: Sequence[bytes | str], text: str, stems: Sequence[str]) -> bytes:
    return sha256(*checked, text, *stems)


def _node_values(version: int, ordinal: int, document: NewDocument) -> tuple[Any, ...]:
    node = document.nodes[ordinal]
    return (
        version,
        ordinal,
        node.node_id,
        node.start,
        node.end,
        node.page,
        node.section,
        node.text,
        node.context,
        canonical_json(dict(node.metadata)),
        sha256(node.embedded_text),
        node.stems,
    )


def _file_values(record: FileRecord) -> tuple[Any, ...]:
    return (
        record.document_id,
        record.root,
        record.path,
        record.size,
        record.modified_ns,
        record.checked_ns,
        record.content_hash,
        record.outcome,
        record.reason,
    )


def _stored(row: Row, text: str) -> StoredDocument:
    version, identity, path, root, title, content_hash, outcome, pages, size, nodes, metadata, notes = row
    return StoredDocument(
        version=int(version),
        document_id=identity,
        source=path,
        root=root,
        title=title,
        document_hash=content_hash.hex(),
        outcome=outcome,
        text=text,
        pages=tuple(json.loads(pages)),
        size=int(size),
        nodes=int(nodes),
        metadata=json.loads(metadata),
        notes=tuple(json.loads(notes)),
    )
