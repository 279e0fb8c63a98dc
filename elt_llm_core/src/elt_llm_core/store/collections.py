"""Tables of collections: their source folders, ingest jobs, ingest runs, and the files found by the last scan."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import StoreError, UnknownCollection, UsageError
from elt_llm_core.store.database import STORE_NAME, UPLOADS_FOLDER, DatabaseTable, replacing
from elt_llm_core.store.records import CollectionRecord, FileRecord, RunRecord, utc_now
from elt_llm_core.utilities import nearest_names


@dataclass(frozen=True)
class CollectionJob:
    """The ingest job that filled a collection.

    A job may split its files into groups, with one collection for each. Then `group` is this collection's group, and
    `files` are the keys of its files. A key identifies a file's path, bytes and reader, so the group of a file with a
    known key is found without reading the file.
    """

    job: str
    group: str = ""
    files: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the ingest job as JSON text."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "CollectionJob":
        """Parse a job from its stored JSON. Raises StoreError if the JSON is invalid."""
        try:
            values = json.loads(text)
            return CollectionJob(str(values["job"]), str(values["group"]), tuple(map(str, values["files"])))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError("The stored job of a collection cannot be read.", hint="Run: elt-llm verify") from error


COLLECTION_NAME = "^[a-z0-9][a-z0-9_-]{0,62}$"
_NAME = re.compile(COLLECTION_NAME)
_COLLECTION_COLUMNS = "id, name, created_at, published, previous, last_number, rolled_back"


def check_collection_name(name: str) -> str:
    """Return the name. Raises UsageError if the name is not a valid collection name."""
    if not is_collection_name(name):
        raise UsageError(
            f"'{name}' is not a valid collection name.",
            hint="Use 1 to 63 lower-case letters, digits, '-' and '_', starting with a letter or digit.",
        )
    return name


def is_collection_name(name: str) -> bool:
    """Return whether `name` is a valid collection name."""
    return _NAME.fullmatch(name) is not None


class CollectionTable(DatabaseTable):
    """The collections of one data directory."""

    def all(self) -> list[CollectionRecord]:
        """Return every collection, sorted by name."""
        rows = self._database.rows(
            f"SELECT {_COLLECTION_COLUMNS} FROM collections c WHERE {self._whole('collections', 'c')} ORDER BY name"
        )
        return [CollectionRecord(*(*row[:-1], bool(row[-1]))) for row in rows]

    def find(self, name: str) -> CollectionRecord | None:
        """Return the collection with this name, or None."""
        return next((record for record in self.all() if record.name == name), None)

    def get(self, name: str) -> CollectionRecord:
        """Return the collection with this name. If there is none, raises UnknownCollection with similar names."""
        found = self.find(name)
        if found is None:
            near = nearest_names(name, [record.name for record in self.all()])
            raise UnknownCollection(
                f"There is no collection '{name}'.",
                hint=near or f"There is no collection yet. Run: elt-llm ingest PATH -c {name}",
            )
        return found

    def create(self, name: str) -> CollectionRecord:
        """Return the collection with this name, creating it if needed."""
        self._database.execute(
            "INSERT INTO collections (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (check_collection_name(name), utc_now()),
        )
        return self.get(name)

    def delete(self, collection: int) -> None:
        """Delete the collection and all its rows, in one transaction."""
        with self._database.transaction():
            self._database.execute("DELETE FROM generations WHERE collection = ?", (collection,))
            self._database.execute("DELETE FROM collections WHERE id = ?", (collection,))

    def filled_by(self, collection: int) -> CollectionJob | None:
        """Return the job that last filled the collection, or None if no job filled it."""
        row = self._database.row("SELECT job FROM collections WHERE id = ?", (collection,))
        return CollectionJob.from_json(row[0]) if row and row[0] else None

    def set_filled_by(self, collection: int, filling: CollectionJob) -> None:
        """Store the job that filled the collection."""
        self._database.execute("UPDATE collections SET job = ? WHERE id = ?", (filling.to_json(), collection))

    def take_number(self, collection: int) -> int:
        """Reserve and return a generation number that was never used before."""
        statement = "UPDATE collections SET last_number = last_number + 1 WHERE id = ? RETURNING last_number"
        row = self._database.row(statement, (collection,))
        return int(row[0]) if row else 1

    def roots(self, collection: int) -> dict[str, tuple[Path, bool]]:
        """Return the source folders by name: the path, and whether all files below it were ever ingested at once.

        Uploads are in the data directory that is in use, also after it was copied or moved.
        """
        rows = self._database.rows(
            "SELECT r.name, r.path, r.whole, c.name FROM roots r JOIN collections c ON c.id = r.collection"
            " WHERE r.collection = ?",
            (collection,),
        )
        taken = {self._stored_path(Path(path)) for _, path, _, _ in rows}
        return {name: (self._present_path(Path(path), of, taken), bool(whole)) for name, path, whole, of in rows}

    def record_root(self, collection: int, name: str, path: Path, *, whole: bool) -> None:
        """Store a source folder. `whole`: all its files were ingested at once. Once stored as true, it stays true."""
        self._database.execute(
            "INSERT INTO roots (collection, name, path, whole) VALUES (?, ?, ?, ?) ON CONFLICT (collection, name)"
            " DO UPDATE SET path = excluded.path, whole = roots.whole OR excluded.whole",
            (collection, name, self._stored_path(path), whole),
        )

    def delete_roots(self, collection: int, names: Iterable[str]) -> None:
        """Delete source folders with the records of their files. Documents and folders on the disk are kept."""
        with self._database.transaction():
            for name in names:
                self._database.execute("DELETE FROM files WHERE collection = ? AND root = ?", (collection, name))
                self._database.execute("DELETE FROM roots WHERE collection = ? AND name = ?", (collection, name))

    def _stored_path(self, path: Path) -> str:
        """Return the path of a folder; for uploads, below the data directory, which may be copied or moved."""
        uploads = (self._database.folder / UPLOADS_FOLDER).resolve()
        return str(UPLOADS_FOLDER / path.relative_to(uploads) if path.is_relative_to(uploads) else path)

    def _present_path(self, path: Path, collection: str, taken: Collection[str]) -> Path:
        """Return where a stored folder is now. `taken` are the stored paths of the collection.

        Earlier versions stored absolute paths of uploads. Such a path means the uploads of the present data directory
        if it leads into another data directory, or nowhere because the data directory was moved.
        """
        uploads, parts = (self._database.folder / UPLOADS_FOLDER).resolve(), path.parts
        if parts[:1] == (UPLOADS_FOLDER,):
            return uploads.joinpath(*parts[1:])
        marker = (UPLOADS_FOLDER, collection)
        start = next((at for at in range(len(parts))[::-1] if parts[at : at + 2] == marker), None)
        if start is None:
            return path
        here = uploads.joinpath(*parts[start + 1 :])
        is_foreign = self._stored_path(here) in taken or not here.is_dir()
        was_copied = (Path(*parts[:start]) / STORE_NAME).is_file()
        return path if is_foreign or (path.exists() and not was_copied) else here

    def begin_run(self, collection: int, command: str) -> int:
        """Record the start of an ingest. No unused rows of the collection are deleted until the ingest finishes."""
        return self._database.insert(
            "INSERT INTO runs (collection, command, started_at) VALUES (?, ?, ?)", (collection, command, utc_now())
        )

    def finish_run(self, collection: int, report: str) -> None:
        """Record the success of an ingest, and its report (JSON). Earlier reports, which name files, are deleted.

        Earlier interrupted runs of the collection count as finished too.
        """
        self._database.execute("UPDATE runs SET report = NULL WHERE collection = ?", (collection,))
        self._database.execute(
            "UPDATE runs SET finished_at = ?, report = ? WHERE collection = ? AND finished_at IS NULL",
            (utc_now(), report, collection),
        )

    def unfinished_runs(self) -> list[RunRecord]:
        """Return the ingest runs that were interrupted or are still active."""
        return self._runs("WHERE r.finished_at IS NULL")

    def with_unfinished_runs(self) -> set[int]:
        """Return the ids of the collections with an unfinished run."""
        return {int(row[0]) for row in self._database.rows("SELECT collection FROM runs WHERE finished_at IS NULL")}

    def last_report(self, collection: int) -> dict[str, Any]:
        """Return how many files had each outcome in the last finished ingest, and its `skipped_files` with reasons."""
        row = self._database.row(
            "SELECT report FROM runs WHERE collection = ? AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1",
            (collection,),
        )
        return dict(json.loads(row[0] or "{}")) if row else {}

    def last_run(self, collection: int) -> RunRecord | None:
        """Return the latest run of a collection, or None."""
        found = self._runs(f"WHERE r.collection = {int(collection)}")
        return found[-1] if found else None

    def _runs(self, condition: str) -> list[RunRecord]:
        rows = self._database.rows(
            "SELECT r.id, c.name, r.command, r.started_at, r.finished_at FROM runs r"
            f" JOIN collections c ON c.id = r.collection {condition} ORDER BY r.id"
        )
        return [RunRecord(*row) for row in rows]


_FILE_COLUMNS = "document_id, root, path, size, modified_ns, checked_ns, content_hash, outcome, reason"


class FileTable(DatabaseTable):
    """The files that the last scan found. The next scan compares their sizes and times to recognise unchanged files."""

    def of_collection(self, collection: int) -> dict[str, FileRecord]:
        """Return the files of the last scan by document id."""
        rows = self._database.rows(f"SELECT {_FILE_COLUMNS} FROM files WHERE collection = ?", (collection,))
        return {str(row[0]): FileRecord(*row) for row in rows}

    def record(self, collection: int, seen: Sequence[FileRecord], gone: Sequence[str]) -> None:
        """Store the files seen by a scan, and delete the rows of the documents in `gone`."""
        with self._database.transaction():
            self._database.execute_many(
                f"INSERT INTO files (collection, {_FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                f" ON CONFLICT (collection, document_id) DO UPDATE SET {replacing(_FILE_COLUMNS)}",
                [(collection, *astuple(record)) for record in seen],
            )
            self._database.execute_many(
                "DELETE FROM files WHERE collection = ? AND document_id = ?",
                [(collection, gone_id) for gone_id in gone],
            )
