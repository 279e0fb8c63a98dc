ALTER TABLE collections ADD COLUMN job TEXT;
ALTER TABLE document_versions ADD COLUMN part_of INTEGER REFERENCES document_versions ON DELETE CASCADE;
ALTER TABLE document_versions ADD COLUMN part TEXT NOT NULL DEFAULT '';
ALTER TABLE document_versions ADD COLUMN extraction TEXT NOT NULL DEFAULT '';
ALTER TABLE document_versions ADD COLUMN modified_at TEXT;
CREATE INDEX versions_by_file ON document_versions (part_of);
CREATE INDEX versions_by_content ON document_versions (content_hash, part);
CREATE TABLE artefacts (
    version INTEGER NOT NULL REFERENCES document_versions ON DELETE CASCADE,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (version, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    name BLOB NOT NULL,
    forgotten_at TEXT NOT NULL,
    PRIMARY KEY (collection, document_id, content_hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE enrichments (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    text TEXT NOT NULL
) STRICT;
