"""Select the documents of a forget request, and delete their rows.

It needs no heavy library, since selection runs before the writer's lock is acquired.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.store.database import batches, placeholders
from elt_llm_core.store.documents import ForgottenDocument, name_digest
from elt_llm_core.store.erasure import delete_vectors, delete_versions, embedded_hashes, known_fingerprints
from elt_llm_core.store.records import CollectionRecord, document_id
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import nearest_names

# A collection's files according to the current scan and every stored version.
_KNOWN_FILES = """SELECT document_id, root, path, '' AS title, content_hash, size, 1 AS present
    FROM files WHERE collection = ?1
    UNION ALL SELECT document_id, root, path, title, content_hash, size,
        id IN (SELECT version FROM generation_documents JOIN collections c ON c.id = collection
            AND c.published = generation) FROM document_versions WHERE collection = ?1 AND part = ''"""


@dataclass(frozen=True)
class KnownFile:
    """A file according to one row: `present` means last scanned or published, not an older version."""

    document_id: str
    root: str
    path: str
    title: str
    content_hash: bytes
    size: int
    present: bool

    @property
    def name(self) -> str:
        """The file name."""
        return self.path.rsplit("/", 1)[-1]

    def forgotten(self) -> ForgottenDocument:
        """The register entry of the file, without the hash of an empty or older version."""
        digest = self.content_hash if self.size and self.present else b""
        return ForgottenDocument(self.document_id, digest, name_digest(self.name))


def known_files(store: Store, collection: int) -> list[KnownFile]:
    """All files in any row of a collection, by root and path, once per version."""
    rows = [
        KnownFile(identity, root, path, title, bytes(digest), int(size), bool(present))
        for identity, root, path, title, digest, size, present in store.database.rows(_KNOWN_FILES, (collection,))
    ]
    return sorted(rows, key=lambda file: (file.root, file.path, file.title))


def find_part(store: Store, collection: int, reference: str) -> tuple[str, str] | None:
    """(path of the part, path of its file) if `reference` is the id, path or title of a part."""
    row = store.database.row(
        "SELECT p.path, f.path FROM document_versions p JOIN document_versions f ON f.id = p.part_of"
        " WHERE p.collection = ?1 AND ?2 IN (p.document_id, p.path, p.title, p.part)",
        (collection, reference),
    )
    return (str(row[0]), str(row[1])) if row else None


def versions_to_forget(
    store: Store, collection: int, document_ids: Collection[str], hashes: Collection[bytes]
) -> list[int]:
    """All versions of these documents, of documents with the same bytes, and of their parts, ascending."""
    found: set[int] = set()
    for column, values in (("document_id", list(document_ids)), ("content_hash", list(hashes))):
        for batch in batches(values):
            rows = store.database.rows(
                f"SELECT id FROM document_versions WHERE collection = ? AND {column} IN ({placeholders(batch)})",
                (collection, *batch),
            )
            found.update(int(version) for (version,) in rows)
    return store.documents.with_parts(sorted(found))


def delete_forgotten_versions(
    store: Store, collection: int, document_ids: Collection[str], versions: Collection[int]
) -> list[int]:
    """Delete versions, the generations that contain one, their unshared data, and the files' rows, in one transaction.

    Returns the numbers of the deleted generations. Raises StoreError if the published one is among them.
    """
    database = store.database
    numbers = store.generations.naming(collection, list(versions))
    if store.generations.pointer(collection) in numbers:
        raise StoreError("The published generation is not deleted.", hint="Run the same command again.")
    with database.transaction():
        models = known_fingerprints(database)
        suspects = embedded_hashes(database, versions)
        for number in numbers:
            store.generations.delete_within(collection, number)
        delete_versions(database, versions)
        delete_vectors(database, suspects, models)
        if versions:
            database.execute("DELETE FROM enrichments")  # model output without a reference to its text
        database.execute_many(
            "DELETE FROM files WHERE collection = ? AND document_id = ?",
            [(collection, identity) for identity in document_ids],
        )
    return numbers


@dataclass(frozen=True)
class ForgetSelection:
    """The selection of one request: the distinct file rows; empty if they were forgotten before."""

    files: tuple[KnownFile, ...]

    @property
    def paths(self) -> list[str]:
        """The paths of the documents, each once."""
        return list(dict.fromkeys(file.path for file in self.files))


def select_to_forget(store: Store, name: str, reference: str) -> ForgetSelection:
    """Select the document with this id, path, file name or title, and all its duplicates in the collection.

    Raises UsageError if the reference is ambiguous, names a part of a file, or never existed.
    """
    record = store.collections.get(name)
    known = known_files(store, record.id)
    chosen = _find_named(known, reference, name)
    if not chosen:
        _refuse_unless_forgotten(store, record, reference, known)
        return ForgetSelection(())
    hashes = {file.content_hash for file in chosen if file.present and file.size}
    identities = {file.document_id for file in chosen} | {
        file.document_id for file in known if file.present and file.content_hash in hashes
    }
    return ForgetSelection(tuple(file for file in known if file.document_id in identities))


def _find_named(known: Sequence[KnownFile], reference: str, name: str) -> list[KnownFile]:
    """The rows of the document that `reference` names; exact matches come first."""
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


def _refuse_unless_forgotten(
    store: Store, record: CollectionRecord, reference: str, known: Sequence[KnownFile]
) -> None:
    if part := find_part(store, record.id, reference):
        raise UsageError(
            f"'{part[0]}' is a part of a file; only the whole file can be forgotten.",
            hint=f"Run: elt-llm forget '{part[1]}' -c {record.name}",
        )
    remembered = store.forgotten.all(record.id)
    roots = store.collections.roots(record.id)
    identities = {reference, *(document_id(record.name, root, reference) for root in roots)}
    if not identities & remembered.document_ids and name_digest(reference) not in remembered.names:
        raise UsageError(
            f"There is no document '{reference}' in '{record.name}'.",
            hint=nearest_names(reference, sorted({file.path for file in known})),
        )
