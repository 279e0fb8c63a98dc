"""Connections to the databases that search vectors. The settings choose the library, which is an extra."""

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from elt_llm_core.errors import SettingsError
from elt_llm_core.index.points import PointDatabase
from elt_llm_core.index.qdrant import open_qdrant
from elt_llm_core.settings.loader import INDEX_KEY_FILE_VARIABLE, INDEX_KEY_VARIABLE
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.utilities import Closeable


class PointDatabases(Closeable):
    """Connections to databases, opened on first use and shared until they are closed. Many threads may use them."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._open: dict[tuple[str, bytes], PointDatabase] = {}
        self._lock = Lock()

    def get(
        self, settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings | None = None
    ) -> PointDatabase:
        """Return the points of an embedding model. `graph` has the parameters of the graph if it must be created.

        Raises SettingsError if the extra is not installed, and IndexUnavailable if another process uses the folder.
        """
        name = settings.model_dump_json(), fingerprint.key
        with self._lock:
            if name not in self._open:
                self._open[name] = open_qdrant(
                    settings, fingerprint, graph or ChromaSettings(), self._data_dir, database_key(os.environ)
                )
            return self._open[name]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for database in self._open.values():
                database.close()
            self._open.clear()


def refuse_shared_workspace(workspace: Workspace) -> None:
    """Raise SettingsError if documents are in PostgreSQL: only the machine that published could search the vectors."""
    if workspace.is_shared:
        raise SettingsError(
            "index.backend: qdrant cannot be used together with storage.backend: postgres.",
            hint="Set index.backend: local; every machine then builds the vector index from the database.",
        )


def database_key(environment: Mapping[str, str]) -> str | None:
    """Return the key of the database from the environment, or from the file that the environment names.

    Raises SettingsError, without the key, if the file cannot be read.
    """
    if key := environment.get(INDEX_KEY_VARIABLE, "").strip():
        return key
    if not (path := environment.get(INDEX_KEY_FILE_VARIABLE, "")):
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{INDEX_KEY_FILE_VARIABLE} names {path}, which cannot be read.",
            hint="Correct the path or its permissions.",
        ) from error
