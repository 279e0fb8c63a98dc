CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    published INTEGER,
    previous INTEGER,
    last_number INTEGER NOT NULL DEFAULT 0,
    rolled_back INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE roots (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    whole INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (collection, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    checked_ns INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (collection, document_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE document_versions (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    reader TEXT NOT NULL,
    chunker TEXT NOT NULL,
    tokeniser TEXT NOT NULL,
    outcome TEXT NOT NULL,
    title TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES texts,
    pages TEXT NOT NULL,
    sections TEXT NOT NULL,
    metadata TEXT NOT NULL,
    notes TEXT NOT NULL,
    checksum BLOB NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX versions_by_document ON document_versions (collection, document_id);
CREATE INDEX versions_by_text ON document_versions (text);
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL REFERENCES document_versions ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    page INTEGER,
    section TEXT,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    metadata TEXT NOT NULL,
    embedded_hash BLOB NOT NULL,
    stems TEXT NOT NULL,
    UNIQUE (version, ordinal)
) STRICT;
CREATE INDEX nodes_by_node_id ON nodes (node_id);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    vector BLOB NOT NULL
) STRICT;
CREATE TABLE generations (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    number INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    fresh_base INTEGER NOT NULL,
    changed_since_fresh INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    collection_hash BLOB NOT NULL,
    passport TEXT NOT NULL,
    PRIMARY KEY (collection, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE generation_documents (
    collection INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    version INTEGER NOT NULL REFERENCES document_versions,
    PRIMARY KEY (collection, generation, version),
    FOREIGN KEY (collection, generation) REFERENCES generations (collection, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX generations_of_version ON generation_documents (version);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    command TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    report TEXT
) STRICT;
