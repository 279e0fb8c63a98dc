"""Generations: what each contains, and the one pointer that says which of them readers see."""

from collections.abc import Sequence

from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database
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
        self, collection: int, record: GenerationRecord, versions: Sequence[int], *, built_upon: int | None
    ) -> None:
        """Add a generation and point at it, in one transaction.

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
                "UPDATE collections SET previous = published, published = ?, rolled_back = 0 WHERE id = ?",
                (record.number, collection),
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

    def roll_back(self, collection: int) -> tuple[int, int]:
        """Point at the previous generation; returns (the number left, the number now seen)."""
        with self._database.transaction():
            row = self._database.row("SELECT published, previous FROM collections WHERE id = ?", (collection,))
            if row is None or row[0] is None or row[1] is None:
                raise UsageError("There is no earlier generation to go back to.", hint="Run: elt-llm status")
            self._database.execute(
                "UPDATE collections SET published = previous, previous = published, rolled_back = 1 WHERE id = ?",
                (collection,),
            )
        return int(row[0]), int(row[1])

    def delete(self, collection: int, number: int) -> None:
        """Forget a generation; its document versions stay until they are swept."""
        with self._database.transaction():
            self._database.execute("DELETE FROM generations WHERE collection = ? AND number = ?", (collection, number))
            self._database.execute(
                "UPDATE collections SET previous = NULL WHERE id = ? AND previous = ?", (collection, number)
            )

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
