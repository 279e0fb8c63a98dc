"""The server's job queue, and the rows and reviews of batch jobs. A row is stored as soon as it is finished."""

import hashlib
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from elt_llm_core.errors import LockHeld, UsageError
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.store.database import DatabaseTable, Row, placeholders, replacing
from elt_llm_core.store.lock import lock_holder, writer_lock
from elt_llm_core.store.records import utc_now

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED_STATUSES: tuple[JobStatus, ...] = ("done", "failed", "cancelled")
MAX_ATTEMPTS = 3  # starts of a job before it fails, if its process dies every time
_NO_LIMIT = (1 << 63) - 1


@dataclass(frozen=True)
class QueuedJob:
    """A job in the server's queue. `arguments` depend on its `kind`. At first, `progress` and `result` are empty."""

    id: str
    kind: str
    arguments: Mapping[str, Any]
    requested_by: str
    status: JobStatus
    attempts: int
    pid: int | None
    progress: Mapping[str, Any]
    result: Mapping[str, Any]
    error: str
    created_at: str
    updated_at: str

    @property
    def has_ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.status in ENDED_STATUSES

    @property
    def collections(self) -> tuple[str, ...]:
        """The names of the collections in the arguments `collections` or `collection`."""
        named = self.arguments.get("collections") or [self.arguments.get("collection")]
        return tuple(str(name) for name in named if name)


class JobQueue(DatabaseTable):
    """The server's jobs in a state database. Every change is one short transaction."""

    def submit(self, kind: str, arguments: Mapping[str, Any], requested_by: str) -> QueuedJob:
        """Append a job to the queue and return the job."""
        identity, moment = uuid.uuid4().hex, utc_now()
        self._database.execute(
            "INSERT INTO queued_jobs VALUES (?, ?, ?, ?, 'queued', 0, NULL, '{}', '{}', '', ?, ?)",
            (identity, kind, json.dumps(dict(arguments), sort_keys=True), requested_by, moment, moment),
        )
        return self.get(identity)

    def get(self, identity: str) -> QueuedJob:
        """Return the job with this id. Raises UsageError if no job has this id."""
        row = self._database.row(f"{_SELECT_JOB} WHERE id = ?", (identity,))
        if row is None:
            raise UsageError(f"There is no job '{identity}'.", hint="List the jobs: GET /v1/jobs")
        return _job_from_row(row)

    def all(self, statuses: Sequence[JobStatus] = get_args(JobStatus), most: int = 1000) -> list[QueuedJob]:
        """Return the jobs with one of these statuses, newest first."""
        statement = f"{_SELECT_JOB} WHERE status IN ({placeholders(statuses)}) ORDER BY rowid DESC LIMIT ?"
        return [_job_from_row(row) for row in self._database.rows(statement, (*statuses, most))]

    def next(self, kinds: Collection[str] = (), besides: Collection[str] = (), machine: str = "") -> QueuedJob | None:
        """Return the oldest queued job of these kinds (default: any) whose id is not in `besides`, or None.

        The job stays queued. A job whose files are on another machine than `machine` is not returned.
        """
        rows = self._database.rows(f"{_SELECT_JOB} WHERE status = 'queued' ORDER BY rowid")
        waiting = (job for job in map(_job_from_row, rows) if job.id not in besides)
        ours = (job for job in waiting if job.arguments.get("machine", machine) == machine)
        return next((job for job in ours if not kinds or job.kind in kinds), None)

    def waiting(self) -> int:
        """Return the number of jobs that wait in the queue."""
        return self.counts().get("queued", 0)

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by status. A status without jobs is left out."""
        rows = self._database.rows("SELECT status, count(*) FROM queued_jobs GROUP BY status ORDER BY status")
        return {str(status): int(count) for status, count in rows}

    def begin(self, identity: str, pid: int) -> bool:
        """Mark a queued job as running in the process `pid`. Return False if the job is no longer queued."""
        started = self._database.rows(
            "UPDATE queued_jobs SET status = 'running', attempts = attempts + 1, pid = ?, updated_at = ?"
            " WHERE id = ? AND status = 'queued' RETURNING id",
            (pid, utc_now(), identity),
        )
        return bool(started)

    def report(self, identity: str, progress: Mapping[str, Any]) -> None:
        """Store the progress of a running job."""
        self._database.execute(
            "UPDATE queued_jobs SET progress = ?, updated_at = ? WHERE id = ? AND status = 'running'",
            (json.dumps(dict(progress)), utc_now(), identity),
        )

    def end(self, identity: str, status: JobStatus, result: Mapping[str, Any], error: str = "") -> None:
        """Store the final status and result of a job. A job that has already ended is not changed."""
        self._database.execute(
            "UPDATE queued_jobs SET status = ?, result = ?, error = ?, pid = NULL, updated_at = ?"
            " WHERE id = ? AND status IN ('queued', 'running')",
            (status, json.dumps(dict(result)), error, utc_now(), identity),
        )

    def wait_again(self, identity: str, *, counted: bool) -> None:
        """Put a running job back into the queue.

        If `counted` is false, as when another process held the lock, this attempt does not count towards the maximum.
        """
        self._database.execute(
            "UPDATE queued_jobs SET status = 'queued', pid = NULL, attempts = attempts - ?, updated_at = ?"
            " WHERE id = ? AND status = 'running'",
            (0 if counted else 1, utc_now(), identity),
        )

    def abandoned(self, identity: str, reason: str) -> None:
        """Put a job whose process died back into the queue, or mark it as failed after `MAX_ATTEMPTS` attempts."""
        job = self.get(identity)
        if job.attempts >= MAX_ATTEMPTS:
            self.end(identity, "failed", job.result, f"{reason} The job was started {job.attempts} times.")
        else:
            self.wait_again(identity, counted=True)

    def cancel(self, identity: str, note: str = "") -> QueuedJob:
        """Cancel a job with a note as its `error`, unless it has ended. Raises UsageError for unknown ids."""
        job = self.get(identity)
        if not job.has_ended:
            self.end(identity, "cancelled", job.result, note)
        return self.get(identity)

    def pending_uploads(self) -> set[tuple[str, str]]:
        """Return the collection and file name of every upload that a queued or running job will read."""
        return {
            (str(job.arguments.get("collection")), str(name))
            for job in self.all(("queued", "running"), _NO_LIMIT)
            for name in job.arguments.get("uploads", ())
        }

    def forget_ended(self, before: str = "9999") -> int:
        """Delete jobs that ended before a time (ISO 8601), or all ended jobs. Return the number of deleted jobs."""
        ended = "DELETE FROM queued_jobs WHERE status NOT IN ('queued', 'running') AND updated_at < ? RETURNING id"
        return len(self._database.rows(ended, (before,)))


_SELECT_JOB = (
    "SELECT id, kind, arguments, requested_by, status, attempts, pid, progress, result, error, created_at, updated_at"
    " FROM queued_jobs"
)


def _job_from_row(row: Row) -> QueuedJob:
    texts = {2, 7, 8}
    return QueuedJob(*(json.loads(value) if place in texts else value for place, value in enumerate(row)))


QuotedDocument = tuple[str, str, str]
"""The collection, document id and hash of a quoted document. The id `*` means any document in the collection."""
ANY_DOCUMENT = "*"
_EMPTY_TEXT = "''"
_OF_ROW = "job = ? AND kind = ? AND part = ? AND row_key = ?"
ErasePredicate = Callable[[frozenset[QuotedDocument], str], bool]
"""A function that is given the documents that an entry quotes, and its text. It returns whether to erase the entry."""


class JobName(NamedTuple):
    """The name and kind of a batch job. One job file may define several kinds."""

    job: str
    kind: str


class RowId(NamedTuple):
    """The identity of a row of a job: the output table that contains it, and its key in that table."""

    table: str
    key: str


@dataclass(frozen=True)
class StoredRow:
    """A finished row of a batch job. `content` is JSON text, and `made_from` is a hash of all the row's inputs."""

    place: RowId
    made_from: str
    content: str
    documents: frozenset[QuotedDocument] = frozenset()
    calls: int = 0
    """The number of language model calls for the row."""
    seconds: float = 0.0


@dataclass(frozen=True)
class OutputRow:
    """A batch job's row as last written to its output. `digest` is a hash of the fields that a reviewer sees."""

    place: RowId
    content: str
    digest: str
    documents: frozenset[QuotedDocument] = frozenset()


@contextmanager
def job_lock(place: Path | Workspace, name: JobName) -> Iterator[None]:
    """Hold a batch job's lock during the block. If another process holds it, raises LockHeld, which names it."""
    digest = hashlib.sha256(f"{name.kind}\0{name.job}".encode()).hexdigest()[:16]
    workspace, part = as_workspace(place), f"jobs/{digest}"
    for private in (workspace.folder, workspace.folder / "jobs"):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(workspace, f"elt-llm {name.kind} --job {name.job}", part))
        except LockHeld as error:
            raise LockHeld(
                f"The {name.kind} of job '{name.job}' is being run by"
                f" {lock_holder(workspace, part) or 'another process'}.",
                hint="Finished rows are kept. Run this command again when that process has ended.",
            ) from error
        yield


class JobRowTable(DatabaseTable):
    """The rows of all batch jobs in a state database. Threads and processes can use the table concurrently."""

    def put(self, name: JobName, row: StoredRow) -> None:
        """Store a finished row durably, replacing the previous row with the same key.

        A row written without a language model does not replace one written with a model, or the reverse. A run that
        cannot reach the model server therefore does not discard earlier output from the model.
        """
        names = (*name, *row.place)
        with self._database.transaction():
            self._database.execute(f"DELETE FROM job_rows WHERE {_OF_ROW} AND (calls > 0) = ?", (*names, row.calls > 0))  # noqa: S608
            self._database.execute(
                "INSERT INTO job_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (job, kind, part, row_key, made_from)"
                " DO UPDATE SET content = excluded.content, documents = excluded.documents, calls = excluded.calls,"
                " seconds = excluded.seconds, made_at = excluded.made_at",
                (*names, row.made_from, row.content, quoted_to_json(row.documents), row.calls, row.seconds, utc_now()),
            )

    def all(self, name: JobName) -> dict[RowId, tuple[StoredRow, ...]]:
        """Return all stored rows of a job by row id. An id has up to two rows, with and without a language model."""
        rows = self._database.rows(
            "SELECT part, row_key, made_from, content, documents, calls, seconds FROM job_rows"
            " WHERE job = ? AND kind = ? ORDER BY part, row_key, made_from",
            name,
        )
        kept: dict[RowId, tuple[StoredRow, ...]] = {}
        for part, key, made_from, content, documents, calls, seconds in rows:
            place = RowId(part, key)
            row = StoredRow(place, made_from, content, quoted_from_json(documents), calls, seconds)
            kept[place] = (*kept.get(place, ()), row)
        return kept

    def keep_only(self, name: JobName, places: Collection[RowId]) -> None:
        """Delete all stored rows of a job except the rows with the ids `places`."""
        gone = [place for place in self.all(name) if place not in places]
        with self._database.transaction():
            self._database.execute_many(
                f"DELETE FROM job_rows WHERE {_OF_ROW}",  # noqa: S608 - column names only
                [(*name, *place) for place in gone],
            )

    def show(self, name: JobName, rows: Iterable[OutputRow]) -> None:
        """Store the rows that a job has just written to its output, replacing those of its previous output."""
        values = [
            (*name, number, *row.place, row.content, row.digest, quoted_to_json(row.documents))
            for number, row in enumerate(rows)
        ]
        with self._database.transaction():
            self._database.execute("DELETE FROM job_shown WHERE job = ? AND kind = ?", name)
            self._database.execute_many("INSERT INTO job_shown VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def shown(self, name: JobName, *, contents: bool = True) -> dict[RowId, OutputRow]:
        """Return the rows of a job's last output by row id, in order. Unless `contents`, their `content` is empty."""
        rows = self._database.rows(
            f"SELECT part, row_key, {'content' if contents else _EMPTY_TEXT}, digest, documents FROM job_shown"  # noqa: S608
            " WHERE job = ? AND kind = ? ORDER BY place",
            name,
        )
        read = {text: quoted_from_json(text) for text in {row[4] for row in rows}}  # many rows quote the same documents
        found = [OutputRow(RowId(part, key), text, digest, read[said]) for part, key, text, digest, said in rows]
        return {row.place: row for row in found}

    def shown_at(self, name: JobName, place: RowId) -> OutputRow | None:
        """Return the row with this id in the last output, or None."""
        row = self._database.row(
            f"SELECT content, digest, documents FROM job_shown WHERE {_OF_ROW}",  # noqa: S608 - column names
            (*name, *place),
        )
        return None if row is None else OutputRow(place, row[0], row[1], quoted_from_json(row[2]))

    def erase(self, is_gone: ErasePredicate) -> int:
        """Delete rows, both stored ones and those of the last output, if `is_gone` is true for their quotes and text.

        Returns the number of deleted rows. A row that is both stored and output counts once.
        """
        return len(self._erase_from("job_rows", is_gone) | self._erase_from("job_shown", is_gone))

    def _erase_from(self, table: str, is_gone: ErasePredicate) -> set[tuple[str, ...]]:
        rows = self._database.rows(f"SELECT job, kind, part, row_key, content, documents FROM {table}")  # noqa: S608
        doomed = {tuple(row[:4]) for row in rows if is_gone(quoted_from_json(row[5]), f"{row[3]}\n{row[4]}")}
        statement = f"DELETE FROM {table} WHERE {_OF_ROW}"  # noqa: S608
        with self._database.transaction():
            self._database.execute_many(statement, sorted(doomed))
        return doomed


def quoted_from_json(text: str) -> frozenset[QuotedDocument]:
    """Parse quoted documents from their stored JSON."""
    return frozenset((str(name), str(identity), str(content)) for name, identity, content in json.loads(text))


def quoted_to_json(documents: Iterable[QuotedDocument]) -> str:
    """Serialize quoted documents as JSON. Equal documents give equal text."""
    return json.dumps(sorted(documents), ensure_ascii=False)


@dataclass(frozen=True)
class StoredReview:
    """A reviewer's verdict on a row that quotes `documents`. `digest` is a hash of the fields that the reviewer saw.

    In the history, `applied` is false if the review was not applied to its row, because a newer review was kept.
    """

    place: RowId
    status: str
    reviewer: str
    comment: str
    digest: str
    documents: frozenset[QuotedDocument] = frozenset()
    reviewed_at: str = ""
    applied: bool = True


_REVIEW_COLUMNS = "part, row_key, status, reviewer, comment, digest, documents, reviewed_at"
_ADD_TO_HISTORY = (
    f"INSERT INTO job_review_history (job, kind, {_REVIEW_COLUMNS}, applied)"  # noqa: S608 - column names only
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _stored_review(row: Sequence[Any]) -> StoredReview:
    part, key, status, reviewer, comment, digest, documents, reviewed_at, *applied = row
    said = (status, reviewer, comment, digest)
    return StoredReview(RowId(part, key), *said, quoted_from_json(documents), reviewed_at, *map(bool, applied))


def _review_lines(name: JobName, reviews: Iterable[StoredReview]) -> list[tuple[str, ...]]:
    moment = utc_now()
    return [
        (*name, *it.place, it.status, it.reviewer, it.comment, it.digest, quoted_to_json(it.documents), moment)
        for it in reviews
    ]


class JobReviewTable(DatabaseTable):
    """The reviews of all batch jobs in a state database."""

    def put(self, name: JobName, reviews: Iterable[StoredReview]) -> None:
        """Store reviews with the current time, in one transaction. Earlier reviews of the rows stay in the history."""
        lines = _review_lines(name, reviews)
        with self._database.transaction():
            self._database.execute_many(
                f"INSERT INTO job_reviews (job, kind, {_REVIEW_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
                f" ON CONFLICT (job, kind, part, row_key) DO UPDATE SET {replacing(_REVIEW_COLUMNS)}",
                lines,
            )
            self._database.execute_many(_ADD_TO_HISTORY, [(*line, True) for line in lines])

    def put_aside(self, name: JobName, reviews: Iterable[StoredReview]) -> None:
        """Add reviews to the history of their rows only, because newer reviews of these rows are kept.

        Reviews that are already in the history are skipped.
        """
        new = [
            review
            for review in reviews
            if (review.status, review.reviewer, review.comment)
            not in {(it.status, it.reviewer, it.comment) for it in self.history(name, review.place)}
        ]
        self._database.execute_many(_ADD_TO_HISTORY, [(*line, False) for line in _review_lines(name, new)])

    def all(self, name: JobName) -> dict[RowId, StoredReview]:
        """Return all reviews of a job by row id, including reviews of removed rows."""
        rows = self._database.rows(
            f"SELECT {_REVIEW_COLUMNS} FROM job_reviews WHERE job = ? AND kind = ? ORDER BY part, row_key",  # noqa: S608
            name,
        )
        return {review.place: review for review in map(_stored_review, rows)}

    def history(self, name: JobName, place: RowId) -> list[StoredReview]:
        """Return all reviews of a row, oldest first. The last one with `applied` true is the current review.

        `applied` is false for a review, imported from a review sheet, that did not replace a newer review of the row.
        """
        rows = self._database.rows(
            f"SELECT {_REVIEW_COLUMNS}, applied FROM job_review_history WHERE {_OF_ROW} ORDER BY number",  # noqa: S608
            (*name, *place),
        )
        return [_stored_review(row) for row in rows]

    def move(self, name: JobName, places: Mapping[RowId, RowId]) -> None:
        """Give the reviews of rows, with their history, to the rows that have the same content under other keys."""
        changes = [(*after, *name, *before) for before, after in places.items()]
        with self._database.transaction():
            for table in ("job_reviews", "job_review_history"):
                self._database.execute_many(f"UPDATE {table} SET part = ?, row_key = ? WHERE {_OF_ROW}", changes)  # noqa: S608

    def rest_on(self, name: JobName, place: RowId, documents: frozenset[QuotedDocument]) -> None:
        """Store which documents a reviewed row quotes now, replacing those of the last run."""
        self._database.execute(
            f"UPDATE job_reviews SET documents = ? WHERE {_OF_ROW}",  # noqa: S608 - column names only
            (quoted_to_json(documents), *name, *place),
        )

    def erase(self, is_gone: ErasePredicate) -> int:
        """Erase reviews if `is_gone` is true for their row's quoted documents or their text. Return how many.

        If the row is still in the job's output, only the review's comment, which may repeat document text, and its
        documents are erased. The status stays.
        """
        names = "job, kind, part, row_key"
        rows = self._database.rows(
            f"SELECT {names}, comment, documents FROM job_reviews"  # noqa: S608 - column names only
            f" UNION SELECT {names}, comment, documents FROM job_review_history"
        )
        doomed = {tuple(row[:4]) for row in rows if is_gone(quoted_from_json(row[5]), f"{row[3]}\n{row[4]}")}
        with self._database.transaction():
            for row_id in sorted(doomed):
                stays = self._database.row(f"SELECT 1 FROM job_shown WHERE {_OF_ROW}", row_id)  # noqa: S608
                for table in ("job_reviews", "job_review_history"):
                    change = f"UPDATE {table} SET comment = '', documents = '[]'" if stays else f"DELETE FROM {table}"  # noqa: S608
                    self._database.execute(f"{change} WHERE {_OF_ROW}", row_id)
        return len(doomed)
