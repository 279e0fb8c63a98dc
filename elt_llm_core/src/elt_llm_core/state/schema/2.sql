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
