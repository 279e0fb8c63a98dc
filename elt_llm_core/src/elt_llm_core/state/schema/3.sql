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
