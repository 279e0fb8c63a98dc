"""A data directory: its database, its folders, and the rows in it by concern."""

from pathlib import Path

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import OutdatedStore, StoreError
from elt_llm_core.store.collections import Collections, is_collection_name
from elt_llm_core.store.database import STORE_NAME, Database
from elt_llm_core.store.documents import Documents
from elt_llm_core.store.files import Files
from elt_llm_core.store.forgotten import Forgotten
from elt_llm_core.store.generations import Generations
from elt_llm_core.store.migrations import STEPS, check_not_newer, migrate, schema_version
from elt_llm_core.store.mounts import refuse_network_file_system
from elt_llm_core.store.nodes import Nodes
from elt_llm_core.store.vectors import Vectors


class Store(Closeable):
    """An open data directory. Writers hold `writer_lock` for as long as they have it open for writing."""

    def __init__(self, data_dir: Path, database: Database) -> None:
        self.data_dir = data_dir
        self.database = database
        self.collections = Collections(database)
        self.documents = Documents(database)
        self.files = Files(database)
        self.forgotten = Forgotten(database)
        self.nodes = Nodes(database)
        self.vectors = Vectors(database)
        self.generations = Generations(database)

    def folder(self, collection: str) -> Path:
        """Where the generations of a collection are."""
        return self.data_dir / "collections" / collection

    def is_half_dropped(self, collection: str) -> bool:
        """Whether a collection was dropped, but for files that were still there when that was cut off."""
        known = is_collection_name(collection) and self.folder(collection).is_dir()
        return known and self.collections.find(collection) is None

    @property
    def trash(self) -> Path:
        """Where directories go to be deleted; whatever is in it may be deleted at any time."""
        return self.data_dir / "trash"

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def open_store(data_dir: Path, *, for_writing: bool = False) -> Store:
    """Open a data directory; for writing it is created and migrated if need be, and the caller holds its lock.

    Raises StoreError if there is nothing to read, or if it was written by a newer program.
    """
    path = data_dir / STORE_NAME
    if for_writing:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_network_file_system(data_dir)
        if not path.exists():
            _refuse_lost_record(data_dir)
        store = Store(data_dir, Database(path, for_writing=True))
        if not schema_version(store.database):
            _refuse_lost_record(data_dir)
        migrate(store.database)
        return store
    if not path.exists():
        raise _no_data(data_dir)
    store = Store(data_dir, Database(path, for_writing=False))
    check_not_newer(store.database)
    if not schema_version(store.database):
        raise _no_data(data_dir)
    if schema_version(store.database) < len(STEPS):
        store.close()
        raise OutdatedStore(
            f"{path} was written by an older version.", hint="Run: elt-llm verify   (it makes a backup and migrates it)"
        )
    return store


def _no_data(data_dir: Path) -> StoreError:
    _refuse_lost_record(data_dir)
    return StoreError(
        f"There is no data in {data_dir} yet.", hint="Run: elt-llm ingest PATH -c NAME   (or: elt-llm demo)"
    )


def _refuse_lost_record(data_dir: Path) -> None:
    """Raise StoreError if there are generations that no record names: an empty record would have them deleted."""
    if any(path.name.isdecimal() for path in data_dir.glob("collections/*/*")):
        raise StoreError(
            f"{data_dir / STORE_NAME} is lost or empty, though there are collections.",
            hint=f"Restore it from a backup, or move {data_dir} away and ingest anew.",
        )
