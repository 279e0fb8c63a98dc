CREATE TABLE job_review_history (
    number INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    part TEXT NOT NULL,
    row_key TEXT NOT NULL,
    status TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    comment TEXT NOT NULL,
    digest TEXT NOT NULL,
    documents TEXT NOT NULL,
    reviewed_at TEXT NOT NULL
) STRICT;
CREATE INDEX job_review_history_of_row ON job_review_history (job, kind, part, row_key);
INSERT INTO job_review_history (job, kind, part, row_key, status, reviewer, comment, digest, documents, reviewed_at)
    SELECT job, kind, part, row_key, status, reviewer, comment, digest, documents, reviewed_at
    FROM job_reviews ORDER BY reviewed_at;
