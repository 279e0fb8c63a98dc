"""What was forgotten on purpose: identities and content hashes, never a name, so that ingest can leave it out."""

from collections.abc import Iterable
from dataclasses import dataclass

from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database
from elt_llm_core.store.records import sha256


@dataclass(frozen=True)
class ForgottenDocument:
    """One document to leave out. `content_hash` is of its file; `name` a digest of its file name, see `name_digest`."""

    document_id: str
    content_hash: bytes
    name: bytes


@dataclass(frozen=True)
class Remembered:
    """Everything that a collection is to leave out: by place, by bytes and, to recognise a request, by file name."""

    document_ids: frozenset[str]
    content_hashes: frozenset[bytes]
    names: frozenset[bytes] = frozenset()

    def covers(self, document_id: str, content_hash: bytes) -> bool:
        """Whether a file is to be left out: it lies where a forgotten one lay, or has the same bytes."""
        return document_id in self.document_ids or content_hash in self.content_hashes


def name_digest(name: str) -> bytes:
    """A digest of a file name."""
    return sha256("file name", name)


class Forgotten:
    """The forgotten documents of collections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, collection: int) -> Remembered:
        """What this collection is to leave out."""
        rows = self._database.rows(
            "SELECT document_id, content_hash, name FROM forgotten WHERE collection = ?", (collection,)
        )
        return Remembered(
            document_ids=frozenset(str(row[0]) for row in rows),
            content_hashes=frozenset(bytes(row[1]) for row in rows if row[1]),
            names=frozenset(bytes(row[2]) for row in rows),
        )

    def listed(self, collection: int) -> list[ForgottenDocument]:
        """Every row of it, sorted."""
        rows = self._database.rows(
            "SELECT document_id, content_hash, name FROM forgotten WHERE collection = ? ORDER BY 1, 2, 3", (collection,)
        )
        return [ForgottenDocument(str(identity), bytes(digest), bytes(name)) for identity, digest, name in rows]

    def count(self, collection: int) -> int:
        """How many documents of this collection are left out."""
        return len(self.all(collection).document_ids)

    def add(self, collection: int, documents: Iterable[ForgottenDocument]) -> None:
        """Remember these, all or none; a document may have several content hashes, an empty one stands for no bytes."""
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR IGNORE INTO forgotten (collection, document_id, content_hash, name, forgotten_at)"
                " VALUES (?, ?, ?, ?, ?)",
                [(collection, it.document_id, it.content_hash, it.name, now()) for it in documents],
            )

    def lift(self, collection: int, document_ids: Iterable[str] | None = None) -> int:
        """Let ingest read these again, or all of the collection; returns how many documents that are."""
        before = self.count(collection)
        if document_ids is None:
            self._database.execute("DELETE FROM forgotten WHERE collection = ?", (collection,))
        else:
            with self._database.transaction():
                self._lift(collection, frozenset(document_ids))
        return before - self.count(collection)

    def lift_file(self, collection: int, document_id: str, content_hash: bytes) -> None:
        """Let ingest read a file again: neither its place nor its bytes keep it out any more."""
        self._database.execute(
            "DELETE FROM forgotten WHERE collection = ? AND (document_id = ? OR content_hash = ?)",
            (collection, document_id, content_hash),
        )

    def _lift(self, collection: int, document_ids: frozenset[str]) -> None:
        """Also those with the same bytes, else their bytes would keep them out."""
        for identity in document_ids:
            self._database.execute(
                "DELETE FROM forgotten WHERE collection = ? AND (document_id = ? OR (length(content_hash) AND"
                " content_hash IN (SELECT content_hash FROM forgotten WHERE collection = ? AND document_id = ?)))",
                (collection, identity, collection, identity),
            )
