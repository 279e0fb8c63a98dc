"""The SQLite file `state.sqlite3`, written in short transactions that never wait for the writer's lock."""

from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, apply_schema_step, schema_version
from elt_llm_core.store.disk import refuse_network_file_system

STATE_NAME = "state.sqlite3"
STATE_VERSION = 6
"""The number of schema steps in the folder `schema`."""


def open_state(data_dir: Path) -> Database:
    """Open, create or migrate the database. The caller closes it. Raises StoreError for a newer or read-only file."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_network_file_system(data_dir)
    database = Database(data_dir / STATE_NAME, for_writing=True)
    try:
        # Overwrite deleted rows, because they may quote a purged document.
        database.execute("PRAGMA secure_delete = ON")
        if schema_version(database) == STATE_VERSION:
            return database
        with database.transaction():  # if two processes migrate at once, the second one finds the current version
            version = schema_version(database)
            if version > STATE_VERSION:
                raise StoreError(
                    f"{database.path} was written by a newer version of elt-llm: it has schema {version},"
                    f" and this program supports schemas up to {STATE_VERSION}.",
                    hint="Use the newer version, or move the file away. Without the file, conversations and reviews are"
                    " lost, but documents are not.",
                )
            for step in range(version + 1, STATE_VERSION + 1):
                apply_schema_step(database, "elt_llm_core.state", step)
    except StoreError:
        database.close()
        raise
    return database
