"""Collections by name, the folders they were filled from, and the runs that filled them."""

import difflib
import re
from pathlib import Path

from elt_llm_core.errors import UnknownCollection, UsageError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row
from elt_llm_core.store.filling import Filling
from elt_llm_core.store.records import CollectionRecord, RunRecord

COLLECTION_NAME = "^[a-z0-9][a-z0-9_-]{0,62}$"
_NAME = re.compile(COLLECTION_NAME)
_COLUMNS = "id, name, created_at, published, previous, last_number, rolled_back"


def check_collection_name(name: str) -> str:
    """The name itself. Raises UsageError if it could not name a folder safely."""
    if not is_collection_name(name):
        raise UsageError(
            f"'{name}' cannot name a collection.",
            hint="Use 1 to 63 lower-case letters, digits, '-' and '_', beginning with a letter or digit.",
        )
    return name


def is_collection_name(name: str) -> bool:
    """Whether it can name a collection, and so a folder."""
    return _NAME.fullmatch(name) is not None


class Collections:
    """The collections of one data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[CollectionRecord]:
        """Every collection, by name."""
        return [_record(row) for row in self._database.rows(f"SELECT {_COLUMNS} FROM collections ORDER BY name")]

    def find(self, name: str) -> CollectionRecord | None:
        """The collection of this name, if there is one."""
        row = self._database.row(f"SELECT {_COLUMNS} FROM collections WHERE name = ?", (name,))
        return _record(row) if row else None

    def get(self, name: str) -> CollectionRecord:
        """The collection of this name. Raises UnknownCollection with the nearest names."""
        found = self.find(name)
        if found is None:
            raise _unknown(name, [record.name for record in self.all()])
        return found

    def create(self, name: str) -> CollectionRecord:
        """The collection of this name, made empty if there is none."""
        self._database.execute(
            "INSERT OR IGNORE INTO collections (name, created_at) VALUES (?, ?)", (check_collection_name(name), now())
        )
        return self.get(name)

    def delete(self, collection: int) -> None:
        """Remove every row of the collection, in one transaction."""
        with self._database.transaction():
            self._database.execute("DELETE FROM generations WHERE collection = ?", (collection,))
            self._database.execute("DELETE FROM collections WHERE id = ?", (collection,))

    def filled_by(self, collection: int) -> Filling | None:
        """The job that filled the collection last; None if it was filled by hand."""
        row = self._database.row("SELECT job FROM collections WHERE id = ?", (collection,))
        return Filling.from_json(row[0]) if row and row[0] else None

    def set_filled_by(self, collection: int, filling: Filling) -> None:
        """Remember the job that filled the collection."""
        self._database.execute("UPDATE collections SET job = ? WHERE id = ?", (filling.to_json(), collection))

    def take_number(self, collection: int) -> int:
        """A generation number never used before."""
        with self._database.transaction():
            self._database.execute("UPDATE collections SET last_number = last_number + 1 WHERE id = ?", (collection,))
            row = self._database.row("SELECT last_number FROM collections WHERE id = ?", (collection,))
        return int(row[0]) if row else 1

    def roots(self, collection: int) -> dict[str, tuple[Path, bool]]:
        """By name: the folder documents came from, and whether it was ever given as a whole."""
        rows = self._database.rows("SELECT name, path, whole FROM roots WHERE collection = ?", (collection,))
        return {name: (Path(path), bool(whole)) for name, path, whole in rows}

    def record_root(self, collection: int, name: str, path: Path, *, whole: bool) -> None:
        """Remember a folder; once whole, it stays whole."""
        self._database.execute(
            "INSERT INTO roots (collection, name, path, whole) VALUES (?, ?, ?, ?) ON CONFLICT (collection, name)"
            " DO UPDATE SET path = excluded.path, whole = max(whole, excluded.whole)",
            (collection, name, str(path), int(whole)),
        )

    def begin_run(self, collection: int, command: str) -> int:
        """Note that an ingest began; until it is finished nothing is swept."""
        return self._database.execute(
            "INSERT INTO runs (collection, command, started_at) VALUES (?, ?, ?)", (collection, command, now())
        )

    def finish_run(self, collection: int, report: str) -> None:
        """Note that an ingest of this collection ended well; it took over what earlier, cut off ones left."""
        self._database.execute(
            "UPDATE runs SET finished_at = ?, report = ? WHERE collection = ? AND finished_at IS NULL",
            (now(), report, collection),
        )

    def unfinished_runs(self) -> list[RunRecord]:
        """Runs that were cut off, or are going on."""
        return self._runs("WHERE r.finished_at IS NULL")

    def with_unfinished_runs(self) -> set[int]:
        """Numbers of the collections that a cut off run is to go on with."""
        return {int(row[0]) for row in self._database.rows("SELECT collection FROM runs WHERE finished_at IS NULL")}

    def last_run(self, collection: int) -> RunRecord | None:
        """The latest run of a collection."""
        found = self._runs(f"WHERE r.collection = {int(collection)}")
        return found[-1] if found else None

    def _runs(self, condition: str) -> list[RunRecord]:
        rows = self._database.rows(
            "SELECT r.id, c.name, r.command, r.started_at, r.finished_at FROM runs r"
            f" JOIN collections c ON c.id = r.collection {condition} ORDER BY r.id"
        )
        return [RunRecord(*row) for row in rows]


def _record(row: Row) -> CollectionRecord:
    number, name, created_at, published, previous, last_number, rolled_back = row
    return CollectionRecord(number, name, created_at, published, previous, last_number, bool(rolled_back))


def _unknown(name: str, known: list[str]) -> UnknownCollection:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or known[:5]
    hint = f"Nearest: {', '.join(near)}." if near else f"There is none yet. Run: elt-llm ingest PATH -c {name}"
    return UnknownCollection(f"There is no collection '{name}'.", hint=hint)
