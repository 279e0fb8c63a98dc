"""Which rows a forgotten document has, and taking them out in one transaction."""

from collections.abc import Collection
from dataclasses import dataclass

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import batches, marks
from elt_llm_core.store.forgotten import ForgottenDocument, name_digest
from elt_llm_core.store.store import Store
from elt_llm_core.store.sweep import delete_vectors, delete_versions, embedded_hashes, known_fingerprints

# What the present scan and every stored version know of a collection's files.
_KNOWN = """SELECT document_id, root, path, '' AS title, content_hash, size, 1 AS present
    FROM files WHERE collection = ?1
    UNION ALL SELECT document_id, root, path, title, content_hash, size,
        id IN (SELECT version FROM generation_documents JOIN collections c ON c.id = collection
            AND c.published = generation) FROM document_versions WHERE collection = ?1 AND part = ''"""


@dataclass(frozen=True)
class KnownFile:
    """A file as one row knows it: `present` means as it was last scanned or is published, not an older version."""

    document_id: str
    root: str
    path: str
    title: str
    content_hash: bytes
    size: int
    present: bool

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.rsplit("/", 1)[-1]

    def forgotten(self) -> ForgottenDocument:
        """What is remembered of it: not the bytes of an empty file, or of long ago, which others may have rightly."""
        digest = self.content_hash if self.size and self.present else b""
        return ForgottenDocument(self.document_id, digest, name_digest(self.name))


def known_files(store: Store, collection: int) -> list[KnownFile]:
    """Every file that any row of a collection tells of, by root and path; one with several versions several times."""
    rows = [
        KnownFile(identity, root, path, title, bytes(digest), int(size), bool(present))
        for identity, root, path, title, digest, size, present in store.database.rows(_KNOWN, (collection,))
    ]
    return sorted(rows, key=lambda file: (file.root, file.path, file.title))


def part_named(store: Store, collection: int, reference: str) -> tuple[str, str] | None:
    """(path of the part, path of its file) if `reference` is the id, path or title of a document within a file."""
    row = store.database.row(
        "SELECT p.path, f.path FROM document_versions p JOIN document_versions f ON f.id = p.part_of"
        " WHERE p.collection = ?1 AND ?2 IN (p.document_id, p.path, p.title, p.part)",
        (collection, reference),
    )
    return (str(row[0]), str(row[1])) if row else None


def doomed_versions(
    store: Store, collection: int, document_ids: Collection[str], hashes: Collection[bytes]
) -> list[int]:
    """All versions of these documents, of others with these bytes, and of what is within them, ascending."""
    found: set[int] = set()
    for column, values in (("document_id", list(document_ids)), ("content_hash", list(hashes))):
        for batch in batches(values):
            rows = store.database.rows(
                f"SELECT id FROM document_versions WHERE collection = ? AND {column} IN ({marks(batch)})",
                (collection, *batch),
            )
            found.update(int(version) for (version,) in rows)
    return store.documents.with_parts(sorted(found))


def delete_doomed(store: Store, collection: int, document_ids: Collection[str], versions: Collection[int]) -> list[int]:
    """Take out versions, the generations that name one, what only they had, and the files' rows, in one transaction.

    Returns the numbers of the generations that are gone. Raises StoreError if the published one is among them.
    """
    database = store.database
    numbers = store.generations.naming(collection, list(versions))
    if store.generations.pointer(collection) in numbers:
        raise StoreError("What readers see is not deleted.", hint="Run the same command again.")
    with database.transaction():
        models = known_fingerprints(database)
        suspects = embedded_hashes(database, versions)
        for number in numbers:
            store.generations.delete_within(collection, number)
        delete_versions(database, versions)
        delete_vectors(database, suspects, models)
        if versions:
            database.execute("DELETE FROM enrichments")  # what a model wrote about a text; nothing tells about which
        database.execute_many(
            "DELETE FROM files WHERE collection = ? AND document_id = ?",
            [(collection, identity) for identity in document_ids],
        )
    return numbers
