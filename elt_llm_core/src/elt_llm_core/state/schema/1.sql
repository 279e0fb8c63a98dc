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
