"""Stored calibrations of answer confidence, by collection, and the server's metrics, by period."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from elt_llm_core.store.database import DatabaseTable
from elt_llm_core.store.records import utc_now


@dataclass(frozen=True)
class StoredCalibration:
    """How scores become answer confidences, for one generation and profile. `fitted` has the parameters as JSON."""

    generation: str
    profile: str
    fitted: str
    created_at: str


class CalibrationTable(DatabaseTable):
    """The calibrations in a state database, one JSON text for each generation and profile."""

    def put(self, collection: str, generation: str, profile: str, fitted: str) -> None:
        """Store a calibration (JSON text), replacing the previous one for the same generation and profile."""
        self._database.execute(
            "INSERT INTO calibrations VALUES (?, ?, ?, ?, ?) ON CONFLICT (collection, generation, profile)"
            " DO UPDATE SET fitted = excluded.fitted, created_at = excluded.created_at",
            (collection, generation, profile, fitted, utc_now()),
        )

    def find(self, collection: str, generation: str, profile: str) -> str | None:
        """Return the calibration (JSON text) for exactly this generation and profile, or None."""
        row: tuple[Any, ...] | None = self._database.row(
            "SELECT fitted FROM calibrations WHERE collection = ? AND generation = ? AND profile = ?",
            (collection, generation, profile),
        )
        return None if row is None else str(row[0])

    def has_others(self, collection: str, generation: str, profile: str) -> bool:
        """Return whether another generation of the collection has a calibration for this profile."""
        statement = "SELECT 1 FROM calibrations WHERE collection = ? AND generation <> ? AND profile = ? LIMIT 1"
        return self._database.row(statement, (collection, generation, profile)) is not None

    def of_collection(self, collection: str) -> list[StoredCalibration]:
        """Return all calibrations of a collection, latest first."""
        rows = self._database.rows(
            "SELECT generation, profile, fitted, created_at FROM calibrations WHERE collection = ?"
            " ORDER BY created_at DESC, generation, profile",
            (collection,),
        )
        return [StoredCalibration(*map(str, row)) for row in rows]

    def forget(self, collection: str) -> None:
        """Delete all calibrations of a collection."""
        self._database.execute("DELETE FROM calibrations WHERE collection = ?", (collection,))


Period = Literal["total", "hour", "day"]
PeriodStart = tuple[Period, str]
"""A kind of period and its start in UTC: ("hour", "2026-05-01T14:00Z"), ("day", "2026-05-01") or ("total", "")."""


class MetricTable(DatabaseTable):
    """The metrics in a state database, one row per period with data."""

    def add(self, further: Mapping[PeriodStart, str], merged: Callable[[str, str], str]) -> None:
        """Add metrics, given by period, to the stored ones atomically. `merged` combines a stored and a new value."""
        with self._database.transaction():
            for (period, start), content in further.items():
                row = self._database.row("SELECT content FROM measures WHERE period = ? AND start = ?", (period, start))
                whole = merged(str(row[0]), content) if row else content
                self._database.execute(
                    "INSERT INTO measures VALUES (?, ?, ?) ON CONFLICT (period, start)"
                    " DO UPDATE SET content = excluded.content",
                    (period, start, whole),
                )

    def of(self, period: Period, since: str = "", most: int = 10_000) -> dict[str, str]:
        """Return the metrics of all hours, all days or the total, as JSON texts by the period's start, oldest first.

        At most the latest `most` rows that start at `since` or later are returned.
        """
        rows = self._database.rows(
            "SELECT start, content FROM measures WHERE period = ? AND start >= ? ORDER BY start DESC LIMIT ?",
            (period, since, most),
        )
        return {str(start): str(content) for start, content in reversed(rows)}

    def prune(self, period: Period, before: str) -> None:
        """Delete the metrics of all hours or days that start before `before` (ISO 8601)."""
        self._database.execute("DELETE FROM measures WHERE period = ? AND start < ?", (period, before))
