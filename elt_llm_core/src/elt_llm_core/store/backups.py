"""Copies of the store in the folder `backups`: a daily one, and one before each migration."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, SqliteDatabase, find_damage_in_file
from elt_llm_core.store.disk import replace_durably, require_space, sync_file
from elt_llm_core.utilities import Failpoint, failpoint

BACKUPS_FOLDER = "backups"
_BEFORE_MIGRATION, _DAILY = "store-schema-", "store-copy-"  # beginnings of file names
_MAX_BEFORE_MIGRATIONS = 2
_UNFINISHED = ".tmp"
_TIME = "%Y%m%dT%H%M%SZ"
_LENGTH_OF_TIME = len("20200101T000000Z")
_INTERVAL = timedelta(days=1)  # between two daily copies


def back_up(database: SqliteDatabase, schema: int) -> Path:
    """Before a migration, copy the store durably to `backups/store-schema-N-TIME.sqlite3`, or raise StoreError."""
    target = _copy(database, f"{_BEFORE_MIGRATION}{schema}-")
    _delete_oldest(database.path.parent, _BEFORE_MIGRATION, _MAX_BEFORE_MIGRATIONS)
    return target


def rotate_backups(database: Database, keep: int) -> Path | None:
    """Copy the store durably to `backups/store-copy-TIME.sqlite3` if the last copy is at least a day old.

    The latest `keep` copies are kept. Returns the path of the new copy, or None if no copy was due. The caller must
    have checked that the store is undamaged. A database server is not copied. Raises StoreError if space is too small.
    """
    if not isinstance(database, SqliteDatabase):
        return None
    data_dir = database.path.parent
    age = backup_age(data_dir)
    copied = _copy(database, _DAILY) if keep and (age is None or age >= _INTERVAL) else None
    _delete_oldest(data_dir, _DAILY, keep)
    return copied


def list_backups(data_dir: Path) -> list[Path]:
    """Return the complete backups of a data directory, oldest first."""
    return sorted((data_dir / BACKUPS_FOLDER).glob("store-*.sqlite3"), key=lambda path: path.stem[-_LENGTH_OF_TIME:])


def backup_age(data_dir: Path) -> timedelta | None:
    """Return the age of the latest daily copy of the store, or None if there is none."""
    times = [path.stem[-_LENGTH_OF_TIME:] for path in list_backups(data_dir) if path.name.startswith(_DAILY)]
    try:
        return datetime.now(UTC) - datetime.strptime(times[-1], _TIME).replace(tzinfo=UTC) if times else None
    except ValueError:  # this program did not write the file
        return None


def backup_faults(data_dir: Path) -> list[str]:
    """Return the faults of the backups, each as 'path: fault'."""
    return [f"{path}: {fault}" for path in list_backups(data_dir) for fault in find_damage_in_file(path)]


def _copy(database: SqliteDatabase, prefix: str) -> Path:
    folder = database.path.parent / BACKUPS_FOLDER
    target = folder / f"{prefix}{datetime.now(UTC):{_TIME}}.sqlite3"
    with failpoint(Failpoint.BACKUP):
        require_space(folder, database.size(), "a backup of the store")
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            for left in folder.glob(f"*{_UNFINISHED}*"):  # an interrupted backup left this file
                left.unlink()
            unfinished = target.with_name(target.name + _UNFINISHED)
            database.backup_to(unfinished)
            unfinished.chmod(0o600)
            replace_durably(target, unfinished)
            sync_file(folder.parent)
        except OSError as error:
            raise StoreError(
                f"{target} cannot be written: {error}.",
                hint="Free space on that disk, then run the same command again.",
            ) from error
    return target


def _delete_oldest(data_dir: Path, prefix: str, keep: int) -> None:
    """Delete the backups whose names have this prefix, except the latest `keep`."""
    found = [path for path in list_backups(data_dir) if path.name.startswith(prefix)]
    for superseded in found[: max(0, len(found) - keep)]:
        superseded.unlink()
