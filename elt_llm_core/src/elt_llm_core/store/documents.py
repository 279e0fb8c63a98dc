"""Document versions, which are immutable rows with text and nodes, and the register of forgotten documents."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, DatabaseTable, Row, placeholders
from elt_llm_core.store.records import (
    OWNER_FIELDS,
    NewDocument,
    NewNode,
    StoredDocument,
    canonical_json,
    content_key,
    document_id,
    sha256,
    utc_now,
    version_key,
)
from elt_llm_core.text.outline import Outline, Section

# The fields of StoredDocument, in their order.
_COLUMNS = """v.id, v.document_id, v.path, v.root, v.title, v.content_hash, v.outcome, '', v.pages, v.size,
    (SELECT count(*) FROM nodes n WHERE n.version = v.id), v.metadata, v.notes, v.part, v.modified_at"""
_NOT_COLUMNS = {"text", "nodes", "artefacts"}
_DOCUMENT_COLUMNS = tuple(one.name for one in fields(NewDocument) if one.name not in _NOT_COLUMNS)
_NODE_COLUMNS = tuple('"end"' if one.name == "end" else one.name for one in fields(NewNode))  # reserved in SQL
_CHECKED = (
    "key", "root", "path", "reader", "chunker", "tokeniser", "outcome", "title",
    "pages", "sections", "metadata", "notes",
)  # fmt: skip
# Columns that were added later. Their empty values are left out of the checksum, so that older checksums stay valid.
_CHECKED_LATER = ("part", "extraction")


class DocumentTable(DatabaseTable):
    """The document versions of all collections."""

    def find(self, key: bytes) -> int | None:
        """Return the number of the document version with this key (a hash of file and parsers), or None."""
        row = self._database.row("SELECT id FROM document_versions WHERE key = ?", (key,))
        return int(row[0]) if row else None

    def add(self, collection: int, document: NewDocument, parts: Sequence[NewDocument] = ()) -> int:
        """Store a version of a file in one transaction, with its nodes and parts.

        Parts are documents inside the file, such as the sheets of a workbook, and become document versions of their
        own. Returns the version number of `document`, the file itself. Raises StoreError if a node's text is empty or
        not the text of its span.
        """
        for one in (document, *parts):
            for node in one.nodes:
                if one.text[node.start : node.end] != node.text or not node.text:
                    place = f"{node.start}:{node.end}"
                    raise StoreError(f"A chunk of {one.path} differs from the text of the document at {place}.")
        with self._database.transaction():
            version = self.add_within(collection, document)
            for part in parts:
                self.add_within(collection, part, version)
        return version

    def touch(self, version: int, modified_at: str) -> None:
        """Update the modification time of a file version and of its parts, such as the sheets of a workbook.

        The file's bytes must be unchanged.
        """
        self._database.execute(
            "UPDATE document_versions SET modified_at = ?1 WHERE (id = ?2 OR part_of = ?2)"
            " AND modified_at IS DISTINCT FROM ?1",
            (modified_at, version),
        )

    def with_parts(self, versions: Sequence[int]) -> list[int]:
        """Return the versions of these files and of their parts, such as the sheets of a workbook, ascending."""
        rows = self._database.rows_in("SELECT id FROM document_versions WHERE part_of IN ({})", versions)
        return sorted([*versions, *(int(version) for (version,) in rows)])

    def indexed(self, versions: Sequence[int]) -> list[int]:
        """Return the versions to index, ascending. Of identical documents, only the first by path is indexed."""
        return sorted(min(same)[2] for same in self._same_bytes(versions))

    def duplicates(self, versions: Sequence[int]) -> dict[str, str]:
        """Return {id of a document that is not indexed: path of the identical document that is indexed instead}."""
        found: dict[str, str] = {}
        for same in self._same_bytes(versions):
            first, *others = sorted(same)
            found.update((identity, first[1]) for _, _, _, identity in others)
        return found

    def artefacts(self, versions: Sequence[int]) -> list[tuple[str, str, str]]:
        """Return (name, document id, JSON text) of each artefact of these document versions, sorted.

        An artefact is a JSON value that a reader extracted in addition to the text, such as `enterprise_model`.
        """
        rows = self._database.rows_in(
            "SELECT a.name, v.document_id, a.content FROM artefacts a JOIN document_versions v ON v.id = a.version"
            " WHERE a.version IN ({})",
            versions,
        )
        return sorted((str(name), str(identity), str(content)) for name, identity, content in rows)

    def summary(self, version: int) -> tuple[str, tuple[str, ...], int]:
        """Return a file version's outcome ("ok" or "empty"), its notes, and the number of nodes in it and its parts."""
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
        """Return the documents of a generation, sorted by root and path, without their texts."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM document_versions v JOIN generation_documents g ON g.version = v.id"
            f" WHERE g.collection = ? AND g.generation = ? AND {self._whole('document_versions', 'v')}"
            f" AND {self._whole('generation_documents', 'g')} ORDER BY v.root, v.path",
            (collection, generation),
        )
        return [_document_from_row(row) for row in rows]

    def of_versions(self, versions: Sequence[int]) -> list[StoredDocument]:
        """Return these document versions in the given order, without their texts."""
        statement = f"SELECT {_COLUMNS} FROM document_versions v WHERE v.id IN ({{}})"
        found = {row[0]: _document_from_row(row) for row in self._database.rows_in(statement, versions)}
        return [found[version] for version in versions]

    def made_at(self, collection: int) -> dict[int, str]:
        """Return the time (ISO 8601) at which each document version of a collection was stored."""
        rows = self._database.rows("SELECT id, created_at FROM document_versions WHERE collection = ?", (collection,))
        return {int(version): str(moment) for version, moment in rows}

    def text(self, version: int) -> str:
        """Return the parsed text of a document version. Raises StoreError if the version is not in the store."""
        row = self._database.row(
            "SELECT t.text FROM texts t JOIN document_versions v ON v.text = t.id"
            f" WHERE v.id = ? AND {self._whole('texts', 't')}",
            (version,),
        )
        if row is None:
            raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
        return str(row[0])

    def text_numbers(self, documents: Sequence[str]) -> dict[tuple[str, str], int]:
        """Return the numbers of the stored texts of these document ids, by id and hash of the file (64 hex digits).

        Equal texts have one number.
        """
        statement = "SELECT document_id, content_hash, text FROM document_versions WHERE document_id IN ({})"
        rows = self._database.rows_in(statement, documents)
        return {(str(document), bytes(digest).hex()): int(text) for document, digest, text in rows}

    def is_consistent(self, version: int, collection: str) -> bool:
        """Return whether a document version still matches its checksum, its key and its document id."""
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

    def texts(self, collection: int, generation: int, document_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of these documents in a generation, by document id. Unknown ids are skipped."""
        text = f"(SELECT text FROM texts t WHERE id = v.text AND {self._whole('texts', 't')})"
        rows = self._rows_of(text, collection, generation, document_ids)
        return {str(identity): str(text) for identity, text in rows}

    def outlines(self, collection: int, generation: int, document_ids: Sequence[str]) -> dict[str, Outline]:
        """Return the pages and sections of these documents in a generation, by document id."""
        return {
            str(identity): Outline(json.loads(pages), [Section(*section) for section in json.loads(sections)])
            for identity, pages, sections in self._rows_of("v.pages, v.sections", collection, generation, document_ids)
        }

    def outdated(self, collection: int, generation: int, document_ids: Sequence[str]) -> dict[str, str]:
        """Return why the file of a document, changed after this version, could not be read, by document id."""
        reason = (
            "(SELECT f.reason FROM files f JOIN document_versions w ON w.document_id = f.document_id"
            " WHERE w.id = coalesce(v.part_of, v.id) AND f.collection = v.collection AND f.outcome = 'failed'"
            " AND f.content_hash <> w.content_hash)"
        )
        rows = self._rows_of(reason, collection, generation, document_ids)
        return {str(identity): str(reason) for identity, reason in rows if reason is not None}

    def _rows_of(self, columns: str, collection: int, generation: int, document_ids: Sequence[str]) -> list[Row]:
        if not document_ids:
            return []
        return self._database.rows(
            f"SELECT v.document_id, {columns} FROM document_versions v"
            " CROSS JOIN generation_documents g ON g.version = v.id AND g.collection = ? AND g.generation = ?"
            f" WHERE v.collection = ? AND v.document_id IN ({placeholders(document_ids)})"
            f" AND {self._whole('document_versions', 'v')}",
            (collection, generation, collection, *document_ids),
        )

    def _same_bytes(self, versions: Sequence[int]) -> Iterable[list[tuple[str, str, int, str]]]:
        """Group these versions by identical content, each as its root, path, version and document id.

        Documents of different owners (`OWNER_FIELDS`, such as the tenant) are never in one group, because each owner
        must find their own.
        """
        groups: dict[tuple[str | None, ...], list[tuple[str, str, int, str]]] = defaultdict(list)
        owner = ", ".join(f"json_extract(metadata, '$.{name}')" for name in OWNER_FIELDS)
        for digest, part, root, path, version, identity, *owners in self._database.rows_in(
            f"SELECT content_hash, part, root, path, id, document_id, {owner} FROM document_versions"
            " WHERE id IN ({})",
            versions,
        ):
            groups[content_key(bytes(digest).hex(), part, owners)].append((root, path, int(version), identity))
        return groups.values()

    def add_within(
        self, collection: int, document: NewDocument, part_of: int | None = None, created_at: str | None = None
    ) -> int:
        """Add one document within the caller's transaction. `created_at` is the current time unless it is given."""
        version = self._insert_version(collection, document, part_of, created_at or utc_now())
        self._database.execute_many(
            f"INSERT INTO nodes (version, ordinal, embedded_hash, {', '.join(_NODE_COLUMNS)})"
            f" VALUES (?, ?, ?, {placeholders(_NODE_COLUMNS)})",
            [
                (version, ordinal, sha256(node.embedded_text), *(vars(node) | {"metadata": _metadata(node)}).values())
                for ordinal, node in enumerate(document.nodes)
            ],
        )
        self._database.execute_many(
            "INSERT INTO artefacts (version, name, content) VALUES (?, ?, ?)",
            [(version, name, canonical_json(value)) for name, value in document.artefacts.items()],
        )
        return version

    def _insert_version(self, collection: int, document: NewDocument, part_of: int | None, created_at: str) -> int:
        described = {
            "key": document.key,
            **{name: getattr(document, name) for name in _DOCUMENT_COLUMNS},
            "pages": canonical_json(document.pages),
            "sections": canonical_json([astuple(section) for section in document.sections]),
            "metadata": _metadata(document),
            "notes": canonical_json(document.notes),
        }
        stems = [node.stems for node in document.nodes]
        artefacts = [canonical_json(document.artefacts[name]) for name in sorted(document.artefacts)]
        values = {
            **described,
            "part_of": part_of,
            "collection": collection,
            "text": self._text_id(document.text),
            "checksum": _checksum(
                [described[name] for name in _CHECKED + _CHECKED_LATER], document.text, stems, artefacts
            ),
            "created_at": created_at,
        }
        return self._database.insert(
            f"INSERT INTO document_versions ({', '.join(values)}) VALUES ({placeholders(list(values))})",
            list(values.values()),
        )

    def _text_id(self, text: str) -> int:
        digest = sha256(text)
        row = self._database.row("SELECT id FROM texts WHERE hash = ?", (digest,))
        if row is not None:
            return int(row[0])
        return self._database.insert("INSERT INTO texts (hash, text) VALUES (?, ?)", (digest, text))


def _metadata(described: NewDocument | NewNode) -> str:
    return canonical_json(dict(described.metadata))


def _checksum(checked: Sequence[bytes | str], text: str, stems: Sequence[str], artefacts: Sequence[str]) -> bytes:
    """Return the checksum of a document version. Empty values of the columns in `_CHECKED_LATER` are left out."""
    earlier, later = checked[: len(_CHECKED)], [value for value in checked[len(_CHECKED) :] if value]
    return sha256(*earlier, text, *stems, *later, *artefacts)


def _document_from_row(row: Row) -> StoredDocument:
    *described, digest, outcome, text, pages, size, nodes, metadata, notes, part, modified_at = row
    parsed = (tuple(json.loads(pages)), size, nodes, json.loads(metadata), tuple(json.loads(notes)), part, modified_at)
    return StoredDocument(*(*described, bytes(digest).hex(), outcome, text, *parsed))


@dataclass(frozen=True)
class StoredFile:
    """A stored version of a file, with its parts: documents inside the file, such as the sheets of a workbook.

    `document` is the file itself. Each part is a document version of its own. `numbers` are the version numbers, first
    of `document`, then of each part in `parts`.
    """

    collection: int
    document: NewDocument
    parts: tuple[NewDocument, ...]
    numbers: tuple[int, ...]


def file_versions_of(database: Database, versions: Sequence[int]) -> list[int]:
    """Return the numbers of the file versions to which these versions belong, sorted, each once.

    `versions` may be files or parts of files, such as the sheets of a workbook. A part is replaced by its file: if 8
    and 9 are parts of file 7, [5, 7, 8, 9] -> [5, 7].
    """
    rows = database.rows_in("SELECT coalesce(part_of, id) FROM document_versions WHERE id IN ({})", versions)
    return sorted({int(number) for (number,) in rows})


def read_file_version(database: Database, version: int) -> StoredFile:
    """Return a file version with its parts, such as the sheets of a workbook.

    Raises StoreError if the version is not in the store.
    """
    row = database.row("SELECT collection FROM document_versions WHERE id = ?", (version,))
    if row is None:
        raise StoreError(f"Document version {version} is not in the store.", hint="Run: elt-llm verify")
    parts = [
        int(part)
        for (part,) in database.rows("SELECT id FROM document_versions WHERE part_of = ? ORDER BY id", (version,))
    ]
    return StoredFile(
        collection=int(row[0]),
        document=read_version(database, version),
        parts=tuple(read_version(database, part) for part in parts),
        numbers=(version, *parts),
    )


def read_version(database: Database, version: int) -> NewDocument:
    """Return a document version as it was stored. The version must exist."""
    columns = (*_DOCUMENT_COLUMNS, "text")
    [row] = database.rows(
        f"SELECT {', '.join(f'v.{name}' for name in _DOCUMENT_COLUMNS)}, t.text FROM document_versions v"
        " JOIN texts t ON t.id = v.text WHERE v.id = ?",
        (version,),
    )
    values = dict(zip(columns, row, strict=True))
    nodes = database.rows(
        f"SELECT {', '.join(_NODE_COLUMNS)} FROM nodes WHERE version = ? ORDER BY ordinal", (version,)
    )
    artefacts = database.rows("SELECT name, content FROM artefacts WHERE version = ?", (version,))
    values |= {
        "content_hash": bytes(values["content_hash"]),
        "pages": tuple(json.loads(values["pages"])),
        "sections": tuple(Section(*section) for section in json.loads(values["sections"])),
        "metadata": json.loads(values["metadata"]),
        "notes": tuple(json.loads(values["notes"])),
        "nodes": tuple(NewNode(*(*node[:-2], json.loads(node[-2]), node[-1])) for node in nodes),
        "artefacts": {str(name): json.loads(content) for name, content in artefacts},
    }
    return NewDocument(**values)


@dataclass(frozen=True)
class ForgottenDocument:
    """A document to skip at ingest. `content_hash` is the hash of its file, and `name` a hash of its file name."""

    document_id: str
    content_hash: bytes
    name: bytes


@dataclass(frozen=True)
class ForgottenIdentities:
    """The documents that ingest skips, by id and content hash.

    `names` are digests of file names, by which a repeated request to forget a document is recognised.
    """

    document_ids: frozenset[str]
    content_hashes: frozenset[bytes]
    names: frozenset[bytes] = frozenset()

    def covers(self, document_id: str, content_hash: bytes) -> bool:
        """Return whether ingest skips a file because a forgotten document has the same path or bytes."""
        return document_id in self.document_ids or content_hash in self.content_hashes


def name_digest(name: str) -> bytes:
    """Return the hash that is stored instead of a forgotten document's file name."""
    return sha256("file name", name)


class ForgottenTable(DatabaseTable):
    """The forgotten documents of collections."""

    def all(self, collection: int) -> ForgottenIdentities:
        """Return the documents that ingest skips in this collection."""
        listed = self.listed(collection)
        return ForgottenIdentities(
            document_ids=frozenset(it.document_id for it in listed),
            content_hashes=frozenset(it.content_hash for it in listed if it.content_hash),
            names=frozenset(it.name for it in listed),
        )

    def listed(self, collection: int) -> list[ForgottenDocument]:
        """Return all forgotten documents of a collection, sorted."""
        rows = self._database.rows(
            "SELECT document_id, content_hash, name FROM forgotten WHERE collection = ? ORDER BY 1, 2, 3", (collection,)
        )
        return [ForgottenDocument(str(identity), bytes(digest), bytes(name)) for identity, digest, name in rows]

    def add(self, collection: int, documents: Iterable[ForgottenDocument]) -> None:
        """Add documents in one transaction. A document may have several hashes; an empty hash matches no file."""
        with self._database.transaction():
            self._database.execute_many(
                "INSERT INTO forgotten (collection, document_id, content_hash, name, forgotten_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(collection, it.document_id, it.content_hash, it.name, utc_now()) for it in documents],
            )

    def last_time(self, collection: int, document_id: str, content_hash: bytes) -> str:
        """Return when a document with this path or these bytes was last forgotten (UTC, ISO 8601); "" if never."""
        row = self._database.row(
            "SELECT max(forgotten_at) FROM forgotten WHERE collection = ? AND (document_id = ? OR content_hash = ?)",
            (collection, document_id, content_hash),
        )
        return str(row[0] or "") if row else ""

    def lift_file(self, collection: int, document_id: str, content_hash: bytes) -> None:
        """Let ingest read a forgotten file again.

        Ingest skips a file because of its path or because of its bytes. After the call, this path and these bytes are
        no longer reasons. Other forgotten documents with the same bytes are still skipped at their own paths.
        """
        same = [it for it in self.listed(collection) if it.content_hash == content_hash]
        self.add(collection, [replace(it, content_hash=b"") for it in same if it.document_id != document_id])
        self._database.execute(
            "DELETE FROM forgotten WHERE collection = ? AND (document_id = ? OR content_hash = ?)",
            (collection, document_id, content_hash),
        )
