"""Document versions: immutable rows with parsed text and nodes; and the register of forgotten documents."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, Row, batches, placeholders
from elt_llm_core.store.records import (
    NewDocument,
    NewNode,
    StoredDocument,
    canonical_json,
    document_id,
    sha256,
    utc_now,
    version_key,
)
from elt_llm_core.text.outline import Outline, Section

_COLUMNS = """v.id, v.document_id, v.path, v.root, v.title, v.content_hash, v.outcome, v.pages, v.size,
    (SELECT count(*) FROM nodes n WHERE n.version = v.id), v.metadata, v.notes, v.part"""
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
# Later columns count only if they have a value, so that checksums of older stores stay valid.
_CHECKED_LATER = ("part", "extraction")


class DocumentTable:
    """The document versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, key: bytes) -> int | None:
        """The version with this key, or None."""
        row = self._database.row("SELECT id FROM document_versions WHERE key = ?", (key,))
        return int(row[0]) if row else None

    def add(self, collection: int, document: NewDocument, parts: Sequence[NewDocument] = ()) -> int:
        """Store a version of a file with its nodes and parts in one transaction.

        Returns the number of the file's own version. Raises StoreError if a node's text is not that of its span.
        """
        for one in (document, *parts):
            _check_spans(one)
        with self._database.transaction():
            version = self.add_within(collection, document)
            for part in parts:
                self.add_within(collection, part, version)
        return version

    def touch(self, version: int, modified_at: str) -> None:
        """Store the modification time of a file with unchanged bytes; the version stays the same."""
        self._database.execute(
            "UPDATE document_versions SET modified_at = ?1 WHERE (id = ?2 OR part_of = ?2) AND modified_at IS NOT ?1",
            (modified_at, version),
        )

    def with_parts(self, versions: Sequence[int]) -> list[int]:
        """These file versions and those of their parts, ascending."""
        found = list(versions)
        for batch in batches(versions):
            statement = f"SELECT id FROM document_versions WHERE part_of IN ({placeholders(batch)})"
            found += [int(version) for (version,) in self._database.rows(statement, batch)]
        return sorted(found)

    def indexed(self, versions: Sequence[int]) -> list[int]:
        """The indexed ones of `versions`, ascending: of identical documents, the first by root and path.

        Identical content is thus found once, independent of the order of the files.
        """
        return sorted(min(same)[2] for same in self._same_bytes(versions))

    def duplicates(self, versions: Sequence[int]) -> dict[str, str]:
        """By document id: the path of the identical document that is indexed instead."""
        found: dict[str, str] = {}
        for same in self._same_bytes(versions):
            first, *others = sorted(same)
            found.update((identity, first[1]) for _, _, _, identity in others)
        return found

    def artefacts(self, versions: Sequence[int]) -> list[tuple[str, str, str]]:
        """(name, document id, JSON text) of the artefacts of these versions, sorted."""
        found: list[tuple[str, str, str]] = []
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT a.name, v.document_id, a.content FROM artefacts a JOIN document_versions v ON v.id = a.version"
                f" WHERE a.version IN ({placeholders(batch)})",
                batch,
            )
            found += [(str(name), str(identity), str(content)) for name, identity, content in rows]
        return sorted(found)

    def summary(self, version: int) -> tuple[str, tuple[str, ...], int]:
        """Outcome, notes and number of nodes of a file's version, including its parts."""
        row = self._database.row(
            "SELECT outcome, notes, (SELECT count(*) FROM nodes WHERE version IN"
            " (SELECT id FROM document_versions WHERE id = v.id OR part_of = v.id)) FROM document_versions v"
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
        return [_document_from_row(row, "") for row in rows]

    def made_at(self, collection: int) -> dict[int, str]:
        """When each version of a collection was stored (ISO 8601)."""
        rows = self._database.rows("SELECT id, created_at FROM document_versions WHERE collection = ?", (collection,))
        return {int(version): str(moment) for version, moment in rows}

    def text(self, version: int) -> str:
        """The parsed text of a version."""
        row = self._database.row(
            "SELECT t.text FROM texts t JOIN document_versions v ON v.text = t.id WHERE v.id = ?", (version,)
        )
        if row is None:
            raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
        return str(row[0])

    def is_consistent(self, version: int, collection: str) -> bool:
        """Whether a version still matches its checksum and its identity."""
        [row] = self._database.rows(
            f"SELECT v.document_id, v.content_hash, v.checksum, t.text, {', '.join(_CHECKED + _CHECKED_LATER)}"
            " FROM document_versions v JOIN texts t ON v.text = t.id WHERE v.id = ?",
            (version,),
        )
        identity, content_hash, checksum, text, *checked = row
        values = dict(zip(_CHECKED + _CHECKED_LATER, checked, strict=True))
        kept = [content for _, _, content in self.artefacts([version])]
        stems = self._database.rows("SELECT stems FROM nodes WHERE version = ? ORDER BY ordinal", (version,))
        return bool(
            identity == document_id(collection, values["root"], values["path"])
            and values["key"]
            == version_key(identity, content_hash, values["reader"], values["chunker"], values["extraction"])
            and checksum == _checksum(checked, text, [stem for (stem,) in stems], kept)
        )

    def outlines(self, collection: int, generation: int, document_ids: Sequence[str]) -> dict[str, Outline]:
        """Pages and sections of these documents as a generation has them, by document id."""
        rows = self._database.rows(
            "SELECT v.document_id, v.pages, v.sections FROM document_versions v"
            " CROSS JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.collection = ? AND v.document_id IN ({placeholders(document_ids)})",
            (collection, generation, collection, *document_ids),
        )
        return {
            str(identity): Outline(json.loads(pages), [Section(*section) for section in json.loads(sections)])
            for identity, pages, sections in rows
        }

    def _same_bytes(self, versions: Sequence[int]) -> Iterable[list[tuple[str, str, int, str]]]:
        """(root, path, version, document id) of `versions`, identical documents together."""
        groups: dict[tuple[bytes, str], list[tuple[str, str, int, str]]] = defaultdict(list)
        for batch in batches(versions):
            for digest, part, *place in self._database.rows(
                "SELECT content_hash, part, root, path, id, document_id FROM document_versions"
                f" WHERE id IN ({placeholders(batch)})",
                batch,
            ):
                root, path, version, identity = place
                groups[bytes(digest), part].append((root, path, int(version), identity))
        return groups.values()

    def add_within(
        self, collection: int, document: NewDocument, part_of: int | None = None, created_at: str | None = None
    ) -> int:
        """Add one document within the caller's transaction; an import passes its creation time."""
        version = self._insert_version(collection, document, part_of, created_at or utc_now())
        self._database.execute_many(
            "INSERT INTO nodes (version, ordinal, node_id, start, end, page, section, text, context, metadata,"
            " embedded_hash, stems) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_node_values(version, ordinal, document) for ordinal in range(len(document.nodes))],
        )
        self._database.execute_many(
            "INSERT INTO artefacts (version, name, content) VALUES (?, ?, ?)",
            [(version, name, canonical_json(value)) for name, value in document.artefacts.items()],
        )
        return version

    def _insert_version(self, collection: int, document: NewDocument, part_of: int | None, created_at: str) -> int:
        checked = _checked_values(document)
        stems = [node.stems for node in document.nodes]
        artefacts = [canonical_json(document.artefacts[name]) for name in sorted(document.artefacts)]
        values = {
            **dict(zip(_CHECKED + _CHECKED_LATER, checked, strict=True)),
            "part_of": part_of,
            "modified_at": document.modified_at,
            "collection": collection,
            "document_id": document.document_id,
            "content_hash": document.content_hash,
            "size": document.size,
            "text": self._text_id(document.text),
            "checksum": _checksum(checked, document.text, stems, artefacts),
            "created_at": created_at,
        }
        return self._database.execute(
            f"INSERT INTO document_versions ({', '.join(values)}) VALUES ({placeholders(list(values))})",
            list(values.values()),
        )

    def _text_id(self, text: str) -> int:
        digest = sha256(text)
        row = self._database.row("SELECT id FROM texts WHERE hash = ?", (digest,))
        if row is not None:
            return int(row[0])
        return self._database.execute("INSERT INTO texts (hash, text) VALUES (?, ?)", (digest, text))


def _checked_values(document: NewDocument) -> list[bytes | str]:
    """The values of `_CHECKED` and `_CHECKED_LATER`, in order."""
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
        document.part,
        document.extraction,
    ]


def _check_spans(document: NewDocument) -> None:
    for node in document.nodes:
        if document.text[node.start : node.end] != node.text or not node.text:
            raise StoreError(f"A chunk of {document.path} is not the text at {node.start}:{node.end}.")


def _checksum(checked: Sequence[bytes | str], text: str, stems: Sequence[str], artefacts: Sequence[str]) -> bytes:
    """The checksum of a version; later columns and artefacts count only if present."""
    earlier, later = checked[: len(_CHECKED)], [value for value in checked[len(_CHECKED) :] if value]
    return sha256(*earlier, text, *stems, *later, *artefacts)


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


def _document_from_row(row: Row, text: str) -> StoredDocument:
    version, identity, path, root, title, content_hash, outcome, pages, size, nodes, metadata, notes, part = row
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
        part=part,
    )


_VERSION_COLUMNS = (
    "v.document_id, v.root, v.path, v.content_hash, v.size, v.reader, v.chunker, v.tokeniser, v.outcome, v.title,"
    " t.text, v.pages, v.metadata, v.notes, v.sections, v.part, v.extraction, v.modified_at"
)


@dataclass(frozen=True)
class StoredFile:
    """A file's version with its parts. `numbers` are those of `document` and of each of `parts`."""

    collection: int
    document: NewDocument
    parts: tuple[NewDocument, ...]
    numbers: tuple[int, ...]


def file_versions_of(database: Database, versions: Sequence[int]) -> list[int]:
    """The file versions that these versions are, or are parts of, ascending."""
    found: set[int] = set()
    for batch in batches(versions):
        statement = f"SELECT coalesce(part_of, id) FROM document_versions WHERE id IN ({placeholders(batch)})"
        found.update(int(number) for (number,) in database.rows(statement, batch))
    return sorted(found)


def read_file_version(database: Database, version: int) -> StoredFile:
    """Return a file's version as passed to `DocumentTable.add`. Raises StoreError if it is not in the store."""
    row = database.row("SELECT collection FROM document_versions WHERE id = ?", (version,))
    if row is None:
        raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
    parts = [
        int(part)
        for (part,) in database.rows("SELECT id FROM document_versions WHERE part_of = ? ORDER BY id", (version,))
    ]
    return StoredFile(
        collection=int(row[0]),
        document=_document(database, version),
        parts=tuple(_document(database, part) for part in parts),
        numbers=(version, *parts),
    )


def _document(database: Database, version: int) -> NewDocument:
    [row] = database.rows(
        f"SELECT {_VERSION_COLUMNS} FROM document_versions v JOIN texts t ON t.id = v.text WHERE v.id = ?", (version,)
    )
    identity, root, path, digest, size, reader, chunker, tokeniser, outcome, title, text, *described = row
    pages, metadata, notes, sections, part, extraction, modified_at = described
    nodes = database.rows(
        "SELECT node_id, start, end, text, context, page, section, metadata, stems FROM nodes"
        " WHERE version = ? ORDER BY ordinal",
        (version,),
    )
    artefacts = database.rows("SELECT name, content FROM artefacts WHERE version = ?", (version,))
    return NewDocument(
        document_id=identity,
        root=root,
        path=path,
        content_hash=bytes(digest),
        size=int(size),
        reader=reader,
        chunker=chunker,
        tokeniser=tokeniser,
        outcome=outcome,
        title=title,
        text=text,
        pages=tuple(json.loads(pages)),
        metadata=json.loads(metadata),
        notes=tuple(json.loads(notes)),
        nodes=tuple(_node(node) for node in nodes),
        sections=tuple(Section(*section) for section in json.loads(sections)),
        part=part,
        extraction=extraction,
        modified_at=modified_at,
        artefacts={str(name): json.loads(content) for name, content in artefacts},
    )


def _node(row: Row) -> NewNode:
    node_id, start, end, text, context, page, section, metadata, stems = row
    return NewNode(node_id, int(start), int(end), text, context, page, section, json.loads(metadata), stems)


@dataclass(frozen=True)
class ForgottenDocument:
    """A document to skip. `content_hash` is that of its file; `name` is its file name's `name_digest`."""

    document_id: str
    content_hash: bytes
    name: bytes


@dataclass(frozen=True)
class ForgottenIdentities:
    """What a collection skips: by path, by bytes and, to recognize a request, by file name."""

    document_ids: frozenset[str]
    content_hashes: frozenset[bytes]
    names: frozenset[bytes] = frozenset()

    def covers(self, document_id: str, content_hash: bytes) -> bool:
        """Whether to skip a file: it has the path or the bytes of a forgotten one."""
        return document_id in self.document_ids or content_hash in self.content_hashes


def name_digest(name: str) -> bytes:
    """A digest of a file name."""
    return sha256("file name", name)


class ForgottenTable:
    """The forgotten documents of collections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, collection: int) -> ForgottenIdentities:
        """What this collection skips."""
        rows = self._database.rows(
            "SELECT document_id, content_hash, name FROM forgotten WHERE collection = ?", (collection,)
        )
        return ForgottenIdentities(
            document_ids=frozenset(str(row[0]) for row in rows),
            content_hashes=frozenset(bytes(row[1]) for row in rows if row[1]),
            names=frozenset(bytes(row[2]) for row in rows),
        )

    def listed(self, collection: int) -> list[ForgottenDocument]:
        """All rows of a collection, sorted."""
        rows = self._database.rows(
            "SELECT document_id, content_hash, name FROM forgotten WHERE collection = ? ORDER BY 1, 2, 3", (collection,)
        )
        return [ForgottenDocument(str(identity), bytes(digest), bytes(name)) for identity, digest, name in rows]

    def count(self, collection: int) -> int:
        """The number of forgotten documents of this collection."""
        return len(self.all(collection).document_ids)

    def add(self, collection: int, documents: Iterable[ForgottenDocument]) -> None:
        """Store these in one transaction; a document may have several content hashes, an empty one matches no bytes."""
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR IGNORE INTO forgotten (collection, document_id, content_hash, name, forgotten_at)"
                " VALUES (?, ?, ?, ?, ?)",
                [(collection, it.document_id, it.content_hash, it.name, utc_now()) for it in documents],
            )

    def lift(self, collection: int, document_ids: Iterable[str] | None = None) -> int:
        """Let ingest read these documents, or all of the collection, again; return how many."""
        before = self.count(collection)
        if document_ids is None:
            self._database.execute("DELETE FROM forgotten WHERE collection = ?", (collection,))
        else:
            with self._database.transaction():
                self._lift(collection, frozenset(document_ids))
        return before - self.count(collection)

    def lift_file(self, collection: int, document_id: str, content_hash: bytes) -> None:
        """Let ingest read a file again: neither its path nor its bytes are skipped any longer."""
        self._database.execute(
            "DELETE FROM forgotten WHERE collection = ? AND (document_id = ? OR content_hash = ?)",
            (collection, document_id, content_hash),
        )

    def _lift(self, collection: int, document_ids: frozenset[str]) -> None:
        """Also lift documents with the same bytes, which would otherwise still be skipped."""
        for identity in document_ids:
            self._database.execute(
                "DELETE FROM forgotten WHERE collection = ? AND (document_id = ? OR (length(content_hash) AND"
                " content_hash IN (SELECT content_hash FROM forgotten WHERE collection = ? AND document_id = ?)))",
                (collection, identity, collection, identity),
            )
