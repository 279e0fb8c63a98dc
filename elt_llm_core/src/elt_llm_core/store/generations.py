"""Generations: what each contains, and the one pointer that says which of them readers see."""

from collections.abc import Sequence

from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, batches, marks
from elt_llm_core.store.records import GenerationRecord

_COLUMNS = "number, created_at, fresh_base, changed_since_fresh, documents, nodes, collection_hash, passport"


class Generations:
    """Rows of generations and their membership; their directories are somebody else's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, collection: int, number: int) -> GenerationRecord:
        """One generation. Raises StoreError if there is none of that number."""
        found = [record for record in self.of_collection(collection) if record.number == number]
        if not found:
            raise StoreError(f"Generation {number} is not in the store.")
        return found[0]

    def of_collection(self, collection: int) -> list[GenerationRecord]:
        """All generations of a collection, oldest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM generations WHERE collection = ? ORDER BY number", (collection,)
        )
        return [GenerationRecord(*row) for row in rows]

    def versions(self, collection: int, number: int) -> list[int]:
        """The document versions that a generation contains, ascending."""
        rows = self._database.rows(
            "SELECT version FROM generation_documents WHERE collection = ? AND generation = ? ORDER BY version",
            (collection, number),
        )
        return [int(version) for (version,) in rows]

    def pointer(self, collection: int) -> int | None:
        """The number of the generation readers see, read anew."""
        row = self._database.row("SELECT published FROM collections WHERE id = ?", (collection,))
        return None if row is None or row[0] is None else int(row[0])

    def publish(
        self,
        collection: int,
        record: GenerationRecord,
        versions: Sequence[int],
        *,
        built_upon: int | None,
        rolled_back: bool = False,
    ) -> None:
        """Add a generation and point at it, in one transaction; `rolled_back` says whether that still is a rollback.

        Raises StoreError, changing nothing, if the pointer is no longer `built_upon`.
        """
        with self._database.transaction():
            if self.pointer(collection) != built_upon:
                raise StoreError(
                    "Another generation was published meanwhile; nothing was changed.",
                    hint="Run the same command again.",
                )
            self._insert(collection, record, versions)
            self._database.execute(
                "UPDATE collections SET previous = published, published = ?, rolled_back = ? WHERE id = ?",
                (record.number, int(rolled_back), collection),
            )

    def replace(self, collection: int, old: int, record: GenerationRecord, versions: Sequence[int]) -> None:
        """Point where an old generation was at a rebuilt one, in one transaction; the old one stays until collected."""
        with self._database.transaction():
            self._insert(collection, record, versions)
            for pointer in ("published", "previous"):
                self._database.execute(
                    f"UPDATE collections SET {pointer} = ? WHERE id = ? AND {pointer} = ?",
                    (record.number, collection, old),
                )

    def point_at(self, collection: int, number: int) -> None:
        """Point at another kept generation, in one transaction.

        The one left becomes the previous one; a second step back keeps as previous what was there before the first.
        Going to the previous one ends a rollback. Raises UsageError if there is no generation of that number.
        """
        with self._database.transaction():
            if number not in {record.number for record in self.of_collection(collection)}:
                raise UsageError(f"There is no generation {number}.", hint="Run: elt-llm status")
            self._database.execute(
                "UPDATE collections SET published = ?1, rolled_back = NOT (rolled_back AND previous IS ?1),"
                " previous = CASE WHEN rolled_back AND previous IS NOT ?1 THEN previous ELSE published END"
                " WHERE id = ?2 AND published IS NOT ?1",
                (number, collection),
            )

    def delete(self, collection: int, number: int) -> None:
        """Forget a generation; its document versions stay until they are swept."""
        with self._database.transaction():
            self.delete_within(collection, number)

    def delete_within(self, collection: int, number: int) -> None:
        """As `delete`, within a transaction that the caller began."""
        self._database.execute("DELETE FROM generations WHERE collection = ? AND number = ?", (collection, number))
        self._database.execute(
            "UPDATE collections SET previous = NULL WHERE id = ? AND previous = ?", (collection, number)
        )

    def naming(self, collection: int, versions: Sequence[int]) -> list[int]:
        """Numbers of the generations that contain one of these versions, ascending."""
        found: set[int] = set()
        for batch in batches(versions):
            rows = self._database.rows(
                "SELECT DISTINCT generation FROM generation_documents"
                f" WHERE collection = ? AND version IN ({marks(batch)})",
                (collection, *batch),
            )
            found.update(int(number) for (number,) in rows)
        return sorted(found)

    def _insert(self, collection: int, record: GenerationRecord, versions: Sequence[int]) -> None:
        self._database.execute(
            f"INSERT INTO generations (collection, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                collection,
                record.number,
                now(),
                record.fresh_base,
                record.changed_since_fresh,
                record.documents,
                record.nodes,
                record.collection_hash,
                record.passport,
            ),
        )
        self._database.execute_many(
            "INSERT INTO generation_documents (collection, generation, version) VALUES (?, ?, ?)",
            [(collection, record.number, version) for version in versions],
        )
