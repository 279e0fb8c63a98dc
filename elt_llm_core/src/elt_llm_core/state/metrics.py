"""Measures by period, as JSON: several servers may add to the same ones."""

from collections.abc import Callable, Mapping
from typing import Literal

from elt_llm_core.store.database import Database

Period = Literal["total", "hour", "day"]
Place = tuple[Period, str]
"""A period, and when it began: ISO 8601 in UTC, to the hour or the day; empty for the total."""


class MetricRows:
    """The rows of measures in a state database, one for each period that something was counted in."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, further: Mapping[Place, str], merged: Callable[[str, str], str]) -> None:
        """Add to each row; `merged` makes one of what was kept and what is added. All happens, or nothing."""
        with self._database.transaction():
            for (period, start), content in further.items():
                row = self._database.row("SELECT content FROM measures WHERE period = ? AND start = ?", (period, start))
                whole = merged(str(row[0]), content) if row else content
                self._database.execute("INSERT OR REPLACE INTO measures VALUES (?, ?, ?)", (period, start, whole))

    def of(self, period: Period, since: str = "", most: int = 10_000) -> dict[str, str]:
        """The rows of a period by their beginning, from `since` on, the oldest first; the last `most` of them."""
        rows = self._database.rows(
            "SELECT start, content FROM measures WHERE period = ? AND start >= ? ORDER BY start DESC LIMIT ?",
            (period, since, most),
        )
        return {str(start): str(content) for start, content in reversed(rows)}

    def prune(self, period: Period, before: str) -> None:
        """Drop the rows of a period that began before a moment."""
        self._database.execute("DELETE FROM measures WHERE period = ? AND start < ?", (period, before))
