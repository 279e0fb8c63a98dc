"""Select the documents of a forget request, and delete their rows.

This module imports no heavy library, since documents are selected before the writer's lock is acquired.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.store.documents import ForgottenDocument, name_digest
from elt_llm_core.store.erasure import delete_contents
from elt_llm_core.store.records import CollectionRecord, document_id
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import nearest_names

# The files of a collection, from the last scan and from every stored version.
_KNOWN_FILES = """SELECT document_id, root, path, '' AS title, content_hash, size, 1 = 1 AS present
    FROM files WHERE collection = ?1
    UNION ALL SELECT document_id, root, path, title, content_hash, size,
        id IN (SELECT version FROM generation_documents JOIN collections c ON c.id = collection
            AND c.published = generation) FROM document_versions WHERE collection = ?1 AND part = ''"""


@dataclass(frozen=True)
class KnownFile:
    """A file of a collection, from the last scan or a stored version. An unpublished version is not `present`."""

    document_id: str
    root: str
    path: str
    title: str
    content_hash: bytes
    size: int
    present: bool

    @property
    def name(self) -> str:
        """The file name without its folder."""
        return self.path.rsplit("/", 1)[-1]

    def forgotten(self) -> ForgottenDocument:
        """Return the file as a forgotten document. It has no content hash if the file is empty or not `present`."""
        digest = self.content_hash if self.size and self.present else b""
        return ForgottenDocument(self.document_id, digest, name_digest(self.name))


def known_files(store: Store, collection: int, document_ids: Collection[str] | None = None) -> list[KnownFile]:
    """Return the files of the last scan and of every stored version of a collection, sorted by root and path.

    If `document_ids` is given, only the files of these documents are returned.
    """
    rows = [
        KnownFile(identity, root, path, title, bytes(digest), int(size), bool(present))
        for identity, root, path, title, digest, size, present in store.database.rows(_KNOWN_FILES, (collection,))
    ]
    chosen = [row for row in rows if document_ids is None or row.document_id in document_ids]
    return sorted(chosen, key=lambda file: (file.root, file.path, file.title))


def versions_to_forget(
    store: Store, collection: int, document_ids: Collection[str], hashes: Collection[bytes]
) -> list[int]:
    """Return the versions of these documents and of documents with these hashes, with their parts, ascending."""
    found: set[int] = set()
    for column, values in (("document_id", list(document_ids)), ("content_hash", list(hashes))):
        statement = f"SELECT id FROM document_versions WHERE collection = ? AND {column} IN ({{}})"
        found.update(int(version) for (version,) in store.database.rows_in(statement, values, collection))
    return store.documents.with_parts(sorted(found))


def copies_elsewhere(store: Store, collection: int, versions: Sequence[int]) -> list[str]:
    """Return the documents of other collections with the same text as one of these versions: ["hr: secret.md"]."""
    rows = store.database.rows_in(
        "SELECT c.name, o.path FROM document_versions v JOIN texts t ON t.id = v.text AND t.text <> ''"
        " JOIN document_versions o ON o.text = v.text AND o.collection <> ? JOIN collections c ON c.id = o.collection"
        " WHERE v.id IN ({})",
        versions,
        collection,
    )
    return sorted({f"{name}: {path}" for name, path in rows})


def delete_forgotten_versions(
    store: Store, collection: int, document_ids: Collection[str], versions: Collection[int]
) -> list[int]:
    """Delete these document versions, the generations that contain one of them, and the data that only they used.

    What the last scan recorded about the files of `document_ids` (path, size, hash) is deleted, too. Everything happens
    in one transaction. Returns the numbers of the deleted generations. Raises StoreError if the published generation
    contains one of the versions.
    """
    numbers = store.generations.naming(collection, list(versions))
    if store.generations.pointer(collection) in numbers:
        raise StoreError(
            "The published generation still contains a document to forget; nothing was deleted.",
            hint="Run the same command again.",
        )
    with store.database.transaction():
        delete_contents(store, collection, numbers, versions)
        store.database.execute_many(
            "DELETE FROM files WHERE collection = ? AND document_id = ?",
            [(collection, identity) for identity in document_ids],
        )
    return numbers


def select_to_forget(store: Store, name: str, reference: str, *, alone: bool = False) -> list[KnownFile]:
    """Return the rows of the document with this id, path, file name or title, and of its duplicates in the collection.

    With `alone`, the duplicates are not selected, and the content is not registered as forgotten. The list is empty if
    the document was already forgotten. Raises UsageError if the reference is ambiguous, unknown, or names a part of a
    file.
    """
    record = store.collections.get(name)
    known = known_files(store, record.id)
    chosen = _find_named(known, reference, name)
    if not chosen:
        _refuse_unknown(store, record, reference, known)
        return []
    if alone:
        return [replace(file, present=False) for file in chosen]
    hashes = {file.content_hash for file in chosen if file.present and file.size}
    identities = {file.document_id for file in chosen} | {
        file.document_id for file in known if file.present and file.content_hash in hashes
    }
    return [file for file in known if file.document_id in identities]


def _find_named(known: Sequence[KnownFile], reference: str, name: str) -> list[KnownFile]:
    """Return the rows of the document that `reference` names: by its id, else by path, by file name, or by title."""
    ways = (
        [file for file in known if file.document_id == reference],
        [file for file in known if file.path == reference],
        [file for file in known if reference == file.name],
        [file for file in known if reference == file.title and file.present],
    )
    found = next(filter(None, ways), [])
    by_identity = {file.document_id: file.path for file in found}
    if len(by_identity) > 1:
        raise UsageError(
            f"'{reference}' names {len(by_identity)} documents of '{name}'.",
            hint="Use an id: " + ", ".join(f"{it} ({path})" for it, path in sorted(by_identity.items())[:5]),
        )
    return [file for file in known if file.document_id in by_identity]


def _refuse_unknown(store: Store, record: CollectionRecord, reference: str, known: Sequence[KnownFile]) -> None:
    for part, file in store.database.rows(
        "SELECT p.path, f.path FROM document_versions p JOIN document_versions f ON f.id = p.part_of"
        " WHERE p.collection = ?1 AND ?2 IN (p.document_id, p.path, p.title, p.part)",
        (record.id, reference),
    ):
        raise UsageError(
            f"'{part}' is a part of a file; only the whole file can be forgotten.",
            hint=f"Run: elt-llm forget '{file}' -c {record.name}",
        )
    remembered = store.forgotten.all(record.id)
    roots = store.collections.roots(record.id)
    identities = {reference, *(document_id(record.name, root, reference) for root in roots)}
    if not identities & remembered.document_ids and name_digest(reference) not in remembered.names:
        raise UsageError(
            f"There is no document '{reference}' in '{record.name}'.",
            hint=nearest_names(reference, sorted({file.path for file in known})),
        )
