"""The databases that have points: which one a generation uses, and the record of its lineages."""

import os
from pathlib import Path
from threading import Lock

from elt_llm_core.errors import SettingsError
from elt_llm_core.index.points import LineageRecord, PointDatabase
from elt_llm_core.index.qdrant import database_key, open_qdrant
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.database import Database
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Closeable


class PointDatabases(Closeable):
    """Connections to databases, opened on first use and shared until they are closed. Many threads may use them."""

    def __init__(
        self, data_dir: Path, current: IndexSettings | None = None, *, database: Database | None = None
    ) -> None:
        """Connect to the database that `current` names with its settings, such as gRPC, and to others as recorded.

        Points in PostgreSQL are asked for through `database`, the open one of the workspace.
        """
        self._data_dir, self._current, self._database = data_dir, current, database
        self._open: dict[tuple[str, bytes], PointDatabase] = {}
        self._lock = Lock()

    def get(
        self, settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings | None = None
    ) -> PointDatabase:
        """Return the points of an embedding model. `graph` has the parameters of the graph if it must be created.

        Raises SettingsError if the extra is not installed, and IndexUnavailable if another process uses the folder.
        """
        if self._current is not None and settings.is_same_place(self._current):
            settings = self._current
        name = settings.model_dump_json(), fingerprint.key
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(settings, fingerprint, graph or ChromaSettings())
            return self._open[name]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for database in self._open.values():
                database.close()
            self._open.clear()

    def _opened(
        self, settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings
    ) -> PointDatabase:
        if settings.backend == "pgvector" and self._database is not None:
            from elt_llm_core.index.pgvector import PgvectorPoints
            from elt_llm_core.store.postgres import as_server

            return PgvectorPoints(as_server(self._database), fingerprint, graph)
        return open_qdrant(settings, fingerprint, graph, self._data_dir, database_key(os.environ))


def point_databases(store: Store, current: IndexSettings | None = None) -> PointDatabases:
    """Return the connections of an open store."""
    return PointDatabases(store.data_dir, current, database=store.database)


def lineages_of(store: Store) -> LineageRecord:
    """Return the record of the lineages of a workspace: in its folder or, if machines share it, in its database."""
    if not store.workspace.is_shared:
        return LineageRecord(store.data_dir)
    from elt_llm_core.index.pgvector import SharedLineages
    from elt_llm_core.store.postgres import as_server

    return SharedLineages(as_server(store.database))


def check_place(index: IndexSettings, workspace: Workspace) -> None:
    """Raise SettingsError unless every machine of the workspace can search the vectors where the settings put them."""
    if index.backend == "qdrant" and workspace.is_shared:
        raise SettingsError(
            "index.backend: qdrant cannot be used together with storage.backend: postgres.",
            hint="Set index.backend: pgvector to search the vectors in PostgreSQL, or local to search them in files"
            " that every machine builds from the database.",
        )
    if index.backend == "pgvector" and not workspace.is_shared:
        raise SettingsError(
            "index.backend: pgvector needs storage.backend: postgres.",
            hint="Set storage.backend: postgres, or index.backend: local.",
        )
