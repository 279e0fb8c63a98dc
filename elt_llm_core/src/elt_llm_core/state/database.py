"""The SQLite file `state.sqlite3`, written in short transactions that never wait for the writer's lock."""

from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import Database, apply_schema_step, schema_version
from elt_llm_core.store.disk import refuse_network_file_system

STATE_NAME = "state.sqlite3"
_FIRST_SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    collections TEXT NOT NULL,
    profile TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    number INTEGER NOT NULL,
    asked TEXT NOT NULL,
    understood TEXT NOT NULL,
    answer TEXT NOT NULL,
    result TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT;
CREATE TABLE calibrations (
    collection TEXT NOT NULL,
    generation TEXT NOT NULL,
    profile TEXT NOT NULL,
    fitted TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (collection, generation, profile)
) STRICT;
"""
_JOBS_SCHEMA = """
CREATE TABLE job_rows (
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    part TEXT NOT NULL,
    row_key TEXT NOT NULL,
    made_from TEXT NOT NULL,
    content TEXT NOT NULL,
    documents TEXT NOT NULL,
    calls INTEGER NOT NULL,
    seconds REAL NOT NULL,
    made_at TEXT NOT NULL,
    PRIMARY KEY (job, kind, part, row_key, made_from)
) STRICT;
CREATE TABLE job_shown (
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    place INTEGER NOT NULL,
    part TEXT NOT NULL,
    row_key TEXT NOT NULL,
    content TEXT NOT NULL,
    digest TEXT NOT NULL,
    documents TEXT NOT NULL,
    PRIMARY KEY (job, kind, part, row_key)
) STRICT;
CREATE TABLE job_reviews (
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    part TEXT NOT NULL,
    row_key TEXT NOT NULL,
    status TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    comment TEXT NOT NULL,
    digest TEXT NOT NULL,
    documents TEXT NOT NULL,
    reviewed_at TEXT NOT NULL,
    PRIMARY KEY (job, kind, part, row_key)
) STRICT;
"""
_SERVING_SCHEMA = """
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT 'local';
CREATE TABLE api_keys (
    name TEXT NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    read TEXT NOT NULL,
    write TEXT NOT NULL,
    administers INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE queued_jobs (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    arguments TEXT NOT NULL,
    requested_by TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    pid INTEGER,
    progress TEXT NOT NULL,
    result TEXT NOT NULL,
    error TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE TABLE measures (
    period TEXT NOT NULL,
    start TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (period, start)
) STRICT, WITHOUT ROWID;
CREATE TABLE feedback (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    session TEXT,
    turn INTEGER,
    request_id TEXT,
    question TEXT NOT NULL,
    collections TEXT NOT NULL,
    documents TEXT NOT NULL,
    verdict TEXT NOT NULL,
    comment TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (session, turn) REFERENCES turns (session, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
"""
STATE_STEPS = (_FIRST_SCHEMA, _JOBS_SCHEMA, _SERVING_SCHEMA)


def open_state(data_dir: Path) -> Database:
    """Open the state database. Create or migrate it if needed. The caller closes the database.

    Raises StoreError if the database cannot be written, or if a newer program wrote it.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_network_file_system(data_dir)
    database = Database(data_dir / STATE_NAME, for_writing=True)
    try:
        # Deleted rows may quote a purged document.
        database.execute("PRAGMA secure_delete = ON")
        _migrate(database)
    except StoreError:
        database.close()
        raise
    return database


def _migrate(database: Database) -> None:
    if schema_version(database) == len(STATE_STEPS):
        return
    with database.transaction():  # if two processes migrate at once, the second one finds the current version
        version = schema_version(database)
        if version > len(STATE_STEPS):
            raise StoreError(
                f"{database.path} was written by a newer version of elt-llm: it has schema {version},"
                f" and this program supports schemas up to {len(STATE_STEPS)}.",
                hint="Use the newer version, or move the file away. Without the file, conversations and reviews are"
                " lost, but documents are not.",
            )
        for number, step in enumerate(STATE_STEPS[version:], start=version + 1):
            apply_schema_step(database, step, number)
