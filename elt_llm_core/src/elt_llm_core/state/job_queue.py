"""Work that the server was asked to do: kept until it is done, whatever becomes of the server meanwhile."""

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from elt_llm_core.errors import UsageError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED: tuple[JobStatus, ...] = ("done", "failed", "cancelled")
MOST_ATTEMPTS = 3  # of a job that is found running with nobody at work on it
_NO_LIMIT = -1  # as SQLite has it


@dataclass(frozen=True)
class QueuedJob:
    """One piece of work. `arguments` are those of its kind; `result` and `progress` are JSON, at first empty."""

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
        """Whether nothing will happen to it any more."""
        return self.status in ENDED

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections that it is about: those that its arguments name as `collections`, or as `collection`."""
        named = self.arguments.get("collections") or [self.arguments.get("collection")]
        return tuple(str(name) for name in named if name)


class JobQueue:
    """The jobs in a state database, oldest first. Every change is one short transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def submit(self, kind: str, arguments: Mapping[str, Any], requested_by: str) -> QueuedJob:
        """Put a job at the end of the queue."""
        identity, moment = uuid.uuid4().hex, now()
        self._database.execute(
            "INSERT INTO queued_jobs VALUES (?, ?, ?, ?, 'queued', 0, NULL, '{}', '{}', '', ?, ?)",
            (identity, kind, json.dumps(dict(arguments), sort_keys=True), requested_by, moment, moment),
        )
        return self.get(identity)

    def get(self, identity: str) -> QueuedJob:
        """The job with this id. Raises UsageError if there is none."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", (identity,))
        if row is None:
            raise UsageError(f"There is no job '{identity}'.", hint="List the jobs: GET /v1/jobs")
        return _job(row)

    def all(self, statuses: Sequence[JobStatus] = get_args(JobStatus), most: int = 1000) -> list[QueuedJob]:
        """The jobs with one of these statuses, newest first."""
        marks = ", ".join("?" * len(statuses))
        rows = self._database.rows(
            f"{_SELECT} WHERE status IN ({marks}) ORDER BY rowid DESC LIMIT ?", (*statuses, most)
        )
        return [_job(row) for row in rows]

    def next(self, kinds: Collection[str] = (), besides: Collection[str] = ()) -> QueuedJob | None:
        """The oldest job that waits, of these kinds (none: of any), but none of `besides`.

        It stays queued until `begin`.
        """
        rows = self._database.rows(f"{_SELECT} WHERE status = 'queued' ORDER BY rowid")
        waiting = (job for job in map(_job, rows) if job.id not in besides)
        return next((job for job in waiting if not kinds or job.kind in kinds), None)

    def waiting(self) -> int:
        """How many jobs are queued."""
        row = self._database.row("SELECT count(*) FROM queued_jobs WHERE status = 'queued'")
        return int(row[0]) if row else 0

    def counts(self) -> dict[str, int]:
        """How many jobs there are by status; those that no job has are left out."""
        rows = self._database.rows("SELECT status, count(*) FROM queued_jobs GROUP BY status ORDER BY status")
        return {str(status): int(count) for status, count in rows}

    def begin(self, identity: str, pid: int) -> bool:
        """Mark a queued job as run by a process; False if it is not queued any more."""
        with self._database.transaction():
            waiting = self._database.row("SELECT 1 FROM queued_jobs WHERE id = ? AND status = 'queued'", (identity,))
            if waiting is None:
                return False
            self._database.execute(
                "UPDATE queued_jobs SET status = 'running', attempts = attempts + 1, pid = ?, updated_at = ?"
                " WHERE id = ?",
                (pid, now(), identity),
            )
        return True

    def report(self, identity: str, progress: Mapping[str, Any]) -> None:
        """Keep how far a running job is."""
        self._database.execute(
            "UPDATE queued_jobs SET progress = ?, updated_at = ? WHERE id = ? AND status = 'running'",
            (json.dumps(dict(progress)), now(), identity),
        )

    def end(self, identity: str, status: JobStatus, result: Mapping[str, Any], error: str = "") -> None:
        """Keep how a job ended; one that was cancelled meanwhile stays so."""
        self._database.execute(
            "UPDATE queued_jobs SET status = ?, result = ?, error = ?, pid = NULL, updated_at = ?"
            " WHERE id = ? AND status IN ('queued', 'running')",
            (status, json.dumps(dict(result)), error, now(), identity),
        )

    def wait_again(self, identity: str, *, counted: bool) -> None:
        """Put a running job back into the queue: uncounted if it could not begin, such as for a lock that was held."""
        self._database.execute(
            "UPDATE queued_jobs SET status = 'queued', pid = NULL, attempts = attempts - ?, updated_at = ?"
            " WHERE id = ? AND status = 'running'",
            (0 if counted else 1, now(), identity),
        )

    def abandoned(self, identity: str, reason: str) -> None:
        """Put a job whose process died back into the queue; the `MOST_ATTEMPTS`th time it has failed, for `reason`."""
        job = self.get(identity)
        if job.attempts >= MOST_ATTEMPTS:
            self.end(identity, "failed", job.result, f"{reason} This was tried {job.attempts} times.")
        else:
            self.wait_again(identity, counted=True)

    def cancel(self, identity: str) -> QueuedJob:
        """Have a job not done; who runs it sees the status and stops. Raises UsageError if there is none."""
        job = self.get(identity)
        if not job.has_ended:
            self.end(identity, "cancelled", job.result)
        return self.get(identity)

    def pending_uploads(self) -> set[tuple[str, str]]:
        """Collection and name of every upload that is still to be read."""
        return {
            (str(job.arguments.get("collection")), str(name))
            for job in self.all(("queued", "running"), _NO_LIMIT)
            for name in job.arguments.get("uploads", ())
        }

    def forget_ended(self, before: str = "9999") -> int:
        """Delete jobs that ended before a moment (ISO 8601), or all that ended; returns how many."""
        ended = self._database.rows(
            "SELECT id FROM queued_jobs WHERE status IN ('done', 'failed', 'cancelled') AND updated_at < ?", (before,)
        )
        self._database.execute_many("DELETE FROM queued_jobs WHERE id = ?", ended)
        return len(ended)


_SELECT = (
    "SELECT id, kind, arguments, requested_by, status, attempts, pid, progress, result, error, created_at, updated_at"
    " FROM queued_jobs"
)


def _job(row: Row) -> QueuedJob:
    texts = {2, 7, 8}
    return QueuedJob(*(json.loads(value) if place in texts else value for place, value in enumerate(row)))
