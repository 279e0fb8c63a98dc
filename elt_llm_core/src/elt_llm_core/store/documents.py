"""Document versions: immutable rows, each with its parsed text and its nodes, written in one transaction."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from elt_llm_core.errors import StoreError
from elt_llm_core.outline import Outline, Section
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row, batches, marks
from elt_llm_core.store.records import (
    NewDocument,
    StoredDocument,
    canonical_json,
    document_id,
    sha256,
    version_key,
)

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
# Later columns count only where they say something, so that checksums of older stores still hold.
_CHECKED_LATER = ("part", "extraction")


class Documents:
    """Versions of documents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, key: bytes) -> int | None:
        """The version with this key, if it was ever stored."""
        row = self._database.row("SELECT id FROM document_versions WHERE key = ?", (key,))
        return int(row[0]) if row else None

    def add(self, collection: int, document: NewDocument, parts: Sequence[NewDocument] = ()) -> int:
        """Store a version of a file with its nodes and the documents within it, wholly or not at all.

        Returns the number of the file's own version. Raises StoreError if a node is not the span it claims to be.
        """
        for one in (document, *parts):
            _check_spans(one)
        with self._database.transaction():
            version = self.add_within(collection, document)
            for part in parts:
                self.add_within(collection, part, version)
        return version

    def touch(self, version: int, modified_at: str) -> None:
        """Note when a file was last written, though its bytes are the same: that is no change of the version."""
        self._database.execute(
            "UPDATE document_versions SET modified_at = ?1 WHERE (id = ?2 OR part_of = ?2) AND modified_at IS NOT ?1",
            (modified_at, version),
        )

    def with_parts(self, versions: Sequence[int]) -> list[int]:
        """These versions of files, and those of the documents within them, ascending."""
        found = list(versions)
        for batch in batches(versions):
            statement = f"SELECT id FROM document_versions WHERE part_of IN ({marks(batch)})"
            found += [int(version) for (version,) in self._database.rows(statement, batch)]
        return sorted(found)

    def indexed(self, versions: Sequence[int]) -> list[int]:
        """Those of `versions` that are indexed, ascending: of several with the same bytes, the first by root and path.

        What they index is then found once, whatever the order the files came in.
        """
        return sorted(min(same)[2] for same in self._same_bytes(versions))

    def duplicates(self, versions: Sequence[int]) -> dict[str, str]:
        """By document id: the path of the document with the same bytes that is indexed in its place."""
        found: dict[str, str] = {}
        for same in self._same_bytes(versions):
            first, *others = sorted(same)
            found.update((identity, first[1]) for _, _, _, identity in others)
        return found

    def artefacts(self, versions: Sequence[int]) -> list[tuple[str, str, str]]:
        """(name, document id, JSON text) of what these versions keep with their generation, sorted."""
        found: list[tuple[str, str, str]] = []
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT a.name, v.document_id, a.content FROM artefacts a JOIN document_versions v ON v.id = a.version"
                f" WHERE a.version IN ({marks(batch)})",
                batch,
            )
            found += [(str(name), str(identity), str(content)) for name, identity, content in rows]
        return sorted(found)

    def summary(self, version: int) -> tuple[str, tuple[str, ...], int]:
        """Outcome, notes and number of nodes of a file's version, those of the documents within it included."""
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
        return [_stored(row, "") for row in rows]

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
        """Whether a version is, in every part, what was stored, and where its identity says."""
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
            f" WHERE v.collection = ? AND v.document_id IN ({marks(document_ids)})",
            (collection, generation, collection, *document_ids),
        )
        return {
            str(identity): Outline(json.loads(pages), [Section(*section) for section in json.loads(sections)])
            for identity, pages, sections in rows
        }

    def _same_bytes(self, versions: Sequence[int]) -> Iterable[list[tuple[str, str, int, str]]]:
        """(root, path, version, document id) of `versions`, those with the same bytes together."""
        groups: dict[tuple[bytes, str], list[tuple[str, str, int, str]]] = defaultdict(list)
        for batch in batches(versions):
            for digest, part, *place in self._database.rows(
                "SELECT content_hash, part, root, path, id, document_id FROM document_versions"
                f" WHERE id IN ({marks(batch)})",
                batch,
            ):
                root, path, version, identity = place
                groups[bytes(digest), part].append((root, path, int(version), identity))
        return groups.values()

    def add_within(
        self, collection: int, document: NewDocument, part_of: int | None = None, created_at: str | None = None
    ) -> int:
        """As `add` of one document, within a transaction that the caller began; an import tells when it was made."""
        version = self._insert_version(collection, document, part_of, created_at or now())
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
            f"INSERT INTO document_versions ({', '.join(values)}) VALUES ({marks(list(values))})", list(values.values())
        )

    def _text_id(self, text: str) -> int:
        digest = sha256(text)
        row = self._database.row("SELECT id FROM texts WHERE hash = ?", (digest,))
        if row is not None:
            return int(row[0])
        return self._database.execute("INSERT INTO texts (hash, text) VALUES (?, ?)", (digest, text))


def _checked_values(document: NewDocument) -> list[bytes | str]:
    """What `_CHECKED` and `_CHECKED_LATER` name, in their order."""
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
    """Of everything in a version; a later column and an artefact only where there is one."""
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


def _stored(row: Row, text: str) -> StoredDocument:
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
