"""Copies of the store from before a migration: the latest two are kept, until `purge`."""

from datetime import UTC, datetime
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.store.database import Database
from elt_llm_core.store.fsync import sync_file
from elt_llm_core.store.space import require_space

BACKUPS_FOLDER = "backups"
_KEPT = 2
_UNFINISHED = ".tmp"


def back_up(database: Database, schema: int) -> Path:
    """Copy the whole store to `backups/store-schema-N-TIME.sqlite3`, on the disk for good; returns that path.

    Raises StoreError, changing nothing, if there is no room.
    """
    folder = database.path.parent / BACKUPS_FOLDER
    target = folder / f"store-schema-{schema}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sqlite3"
    with stage(Stage.BACKUP):
        require_space(folder, _store_size(database), "a backup of the store")
        try:
            _copy(database, target)
        except OSError as error:
            raise StoreError(
                f"{target} cannot be written: {error}.", hint="Make room on that disk, then run the same command again."
            ) from error
    for superseded in backups(database.path.parent)[:-_KEPT]:
        superseded.unlink()
    return target


def backups(data_dir: Path) -> list[Path]:
    """The finished backups of a data directory, oldest first."""
    return sorted((data_dir / BACKUPS_FOLDER).glob("store-schema-*.sqlite3"), key=lambda path: path.name[-24:])


def backup_faults(data_dir: Path) -> list[str]:
    """Backups that cannot be read, each as 'path: why'."""
    found = []
    for path in backups(data_dir):
        try:
            database = Database(path, for_writing=False)
            try:
                told = [str(row[0]) for row in database.rows("PRAGMA quick_check")]
            finally:
                database.close()
        except StoreError as error:
            told = [str(error)]
        found += [f"{path}: {fault}" for fault in told if fault != "ok"]
    return found


def _copy(database: Database, target: Path) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    for left in target.parent.glob(f"*{_UNFINISHED}*"):  # by a run that was cut off
        left.unlink()
    unfinished = target.with_name(target.name + _UNFINISHED)
    database.backup_to(unfinished)
    unfinished.chmod(0o600)
    sync_file(unfinished)
    unfinished.rename(target)
    sync_file(target.parent)
    sync_file(target.parent.parent)


def _store_size(database: Database) -> int:
    [(pages,)], [(size,)] = database.rows("PRAGMA page_count"), database.rows("PRAGMA page_size")
    return int(pages) * int(size)
