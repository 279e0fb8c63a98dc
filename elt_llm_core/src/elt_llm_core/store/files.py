"""What the last scan saw of the files of a collection."""

from collections.abc import Sequence
from typing import Any

from elt_llm_core.store.database import Database
from elt_llm_core.store.records import FileRecord

_COLUMNS = "document_id, root, path, size, modified_ns, checked_ns, content_hash, outcome, reason"


class Files:
    """Rows that let the next scan tell an unchanged file by a look at it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_collection(self, collection: int) -> dict[str, FileRecord]:
        """What the last scan saw, by document id."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM files WHERE collection = ?", (collection,))
        return {str(row[0]): FileRecord(*row) for row in rows}

    def record(self, collection: int, seen: Sequence[FileRecord], gone: Sequence[str]) -> None:
        """Remember what a scan saw, and forget the documents that are gone."""
        with self._database.transaction():
            self._database.execute_many(
                f"INSERT OR REPLACE INTO files (collection, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(collection, *_file_values(record)) for record in seen],
            )
            self._database.execute_many(
                "DELETE FROM files WHERE collection = ? AND document_id = ?",
                [(collection, gone_id) for gone_id in gone],
            )


def _file_values(record: FileRecord) -> tuple[Any, ...]:
    return (
        record.document_id,
        record.root,
        record.path,
        record.size,
        record.modified_ns,
        record.checked_ns,
        record.content_hash,
        record.outcome,
        record.reason,
    )
