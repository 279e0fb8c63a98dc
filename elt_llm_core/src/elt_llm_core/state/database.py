"""The state database `state.sqlite3`, written in short transactions that never wait for the writer's lock."""

from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.database import Database, SqliteDatabase
from elt_llm_core.store.disk import refuse_network_file_system
from elt_llm_core.store.migrations import apply_schema_step, migrate_server, schema_steps
from elt_llm_core.store.postgres import STATE_SCHEMA, PostgresDatabase, has_database

STATE_NAME = "state.sqlite3"
STATE_VERSION = 6
"""The number of the latest schema step, the file `schema/6.sql`."""


def has_state(place: Path | Workspace) -> bool:
    """Return whether the workspace has a state database. Raises StoreError if its server does not answer."""
    return has_database(as_workspace(place), STATE_NAME, STATE_SCHEMA)


def open_state(place: Path | Workspace) -> Database:
    """Open the state database, creating or migrating it if needed. Raises StoreError if it is newer or read-only."""
    workspace = as_workspace(place)
    data_dir = workspace.folder
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_network_file_system(data_dir)
    if workspace.is_shared:
        return _open_shared_state(workspace)
    database = SqliteDatabase(data_dir / STATE_NAME, for_writing=True)
    try:
        # Deleted rows are overwritten, because they may quote a purged document.
        database.execute("PRAGMA secure_delete = ON")
        if database.schema_version() == STATE_VERSION:
            return database
        with database.transaction():  # if two processes migrate at once, the second one finds the work done
            version = database.schema_version()
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


def _open_shared_state(workspace: Workspace) -> Database:
    database = PostgresDatabase(workspace, STATE_SCHEMA)
    try:
        if database.schema_version() != schema_steps(database, "elt_llm_core.state"):
            database.prepare()
            migrate_server(database, "elt_llm_core.state")
    except StoreError:
        database.close()
        raise
    return database
