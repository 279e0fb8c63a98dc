"""Measures over time: ever, by the hour and by the day, kept in the state database and pruned there."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Lock

from elt_llm_core.state.metrics import MetricRows, Period, Place

from elt_llm_api.serve.monitoring.measures import Measures, measures_from
from elt_llm_api.serve.monitoring.observation import Observation

TOTAL: Place = ("total", "")


class Series:
    """What was counted since ever, of which what is not saved yet is held apart: other servers add to the same rows.

    `keep_hours` and `keep_days` are the days that hourly and daily measures are kept. Safe to use from many threads.
    """

    def __init__(self, rows: MetricRows, keep_hours: int, keep_days: int) -> None:
        self._rows, self._keep_hours, self._keep_days = rows, keep_hours, keep_days
        self._unsaved: dict[Place, Measures] = {}
        self._adding, self._saving = Lock(), Lock()

    def add(self, seen: Observation) -> None:
        """Count one question where it belongs."""
        with self._adding:
            for place in (TOTAL, ("hour", _hour(seen.at)), ("day", _day(seen.at))):
                self._unsaved.setdefault(place, Measures()).add(seen)

    def save(self, now: datetime | None = None) -> None:
        """Add what is new to the database, and drop what is too old. Raises StoreError, keeping what is new."""
        moment = now or datetime.now(UTC)
        with self._saving:
            with self._taken() as further:
                self._rows.add({place: json.dumps(one.to_json()) for place, one in further.items()}, _merged)
            self._rows.prune("hour", _hour(moment - timedelta(days=self._keep_hours)))
            self._rows.prune("day", _day(moment - timedelta(days=self._keep_days)))

    def total(self) -> Measures:
        """Everything ever counted."""
        return self._of("total", "", 1).get("", Measures())

    def hours(self, most: int = 48) -> dict[str, Measures]:
        """The last hours in which something was asked, the oldest first, by their beginning."""
        return self._of("hour", "", most)

    def days(self, most: int = 60) -> dict[str, Measures]:
        """The last days on which something was asked, the oldest first, by their beginning."""
        return self._of("day", "", most)

    def _of(self, period: Period, since: str, most: int) -> dict[str, Measures]:
        with self._saving:
            found = {start: _read(kept) for start, kept in self._rows.of(period, since, most).items()}
            with self._adding:
                for (of, start), measures in self._unsaved.items():
                    if of == period:
                        found.setdefault(start, Measures()).merge(measures)
        return dict(sorted(found.items())[-most:])

    @contextmanager
    def _taken(self) -> Iterator[dict[Place, Measures]]:
        """What is not saved; it is put back where saving fails."""
        with self._adding:
            taken, self._unsaved = self._unsaved, {}
        saved = False
        try:
            yield taken
            saved = True
        finally:
            if not saved:
                self._put_back(taken)

    def _put_back(self, taken: dict[Place, Measures]) -> None:
        with self._adding:
            for place, later in self._unsaved.items():
                taken.setdefault(place, Measures()).merge(later)
            self._unsaved = taken


def _merged(kept: str, further: str) -> str:
    measures = _read(kept)
    measures.merge(_read(further))
    return json.dumps(measures.to_json())


def _read(content: str) -> Measures:
    return measures_from(json.loads(content))


def _hour(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:00Z")


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")
