"""What was fitted to a collection as it stood, by generation and profile."""

from dataclasses import dataclass
from typing import Any

from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database


@dataclass(frozen=True)
class Kept:
    """What was fitted to a generation, by its identity, and a profile, by the key of its settings; ISO 8601 time."""

    generation: str
    profile: str
    fitted: str
    created_at: str


class Calibrations:
    """Fitted values as JSON text; those of another generation or profile are never taken for these."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, collection: str, generation: str, profile: str, fitted: str) -> None:
        """Keep what was fitted, in place of what was."""
        self._database.execute(
            "INSERT OR REPLACE INTO calibrations VALUES (?, ?, ?, ?, ?)",
            (collection, generation, profile, fitted, now()),
        )

    def find(self, collection: str, generation: str, profile: str) -> str | None:
        """What was fitted to just this, or None."""
        row: tuple[Any, ...] | None = self._database.row(
            "SELECT fitted FROM calibrations WHERE collection = ? AND generation = ? AND profile = ?",
            (collection, generation, profile),
        )
        return None if row is None else str(row[0])

    def has_others(self, collection: str, generation: str, profile: str) -> bool:
        """Whether anything was fitted to other generations of a collection, with this profile."""
        statement = "SELECT 1 FROM calibrations WHERE collection = ? AND generation <> ? AND profile = ? LIMIT 1"
        return self._database.row(statement, (collection, generation, profile)) is not None

    def of_collection(self, collection: str) -> list[Kept]:
        """Everything fitted to a collection, the latest first."""
        rows = self._database.rows(
            "SELECT generation, profile, fitted, created_at FROM calibrations WHERE collection = ?"
            " ORDER BY created_at DESC, generation, profile",
            (collection,),
        )
        return [Kept(*map(str, row)) for row in rows]

    def forget(self, collection: str) -> None:
        """Drop everything fitted to a collection."""
        self._database.execute("DELETE FROM calibrations WHERE collection = ?", (collection,))
