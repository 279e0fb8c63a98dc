"""What reviewers said of the rows of jobs: kept apart from the rows, so that it survives whatever makes them anew."""

from collections.abc import Iterable
from dataclasses import dataclass

from elt_llm_core.state.rows import IsGone, JobName, Place, Quoted, from_json, to_json
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database

_OF_ROW = "job = ? AND kind = ? AND part = ? AND row_key = ?"


@dataclass(frozen=True)
class KeptReview:
    """One row's review; `digest` is of what the reviewer saw of the row, `documents` what that quoted."""

    place: Place
    status: str
    reviewer: str
    comment: str
    digest: str
    documents: frozenset[Quoted] = frozenset()
    reviewed_at: str = ""


class JobReviews:
    """The reviews of all jobs in a state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, name: JobName, reviews: Iterable[KeptReview]) -> None:
        """Keep reviews in place of those there were, all of them or none; they are dated now."""
        moment = now()
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR REPLACE INTO job_reviews VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(name.job, name.kind, it.place.table, it.place.key),
                        *(it.status, it.reviewer, it.comment, it.digest, to_json(it.documents), moment),
                    )
                    for it in reviews
                ],
            )

    def all(self, name: JobName) -> dict[Place, KeptReview]:
        """Every review of a job, also those of rows that it has no more."""
        rows = self._database.rows(
            "SELECT part, row_key, status, reviewer, comment, digest, documents, reviewed_at FROM job_reviews"
            " WHERE job = ? AND kind = ? ORDER BY part, row_key",
            (name.job, name.kind),
        )
        found = [
            KeptReview(Place(part, key), status, reviewer, comment, digest, from_json(read), at)
            for part, key, status, reviewer, comment, digest, read, at in rows
        ]
        return {review.place: review for review in found}

    def rest_on(self, name: JobName, place: Place, documents: frozenset[Quoted]) -> None:
        """Note what the reviewed row quotes by now: the same words, in documents that may have changed elsewhere."""
        self._database.execute(
            f"UPDATE job_reviews SET documents = ? WHERE {_OF_ROW}",  # noqa: S608 - the names of columns alone
            (to_json(documents), name.job, name.kind, place.table, place.key),
        )

    def erase(self, is_gone: IsGone) -> int:
        """Erase what `is_gone` says yes to; returns how many reviews that were.

        Of a row that is still shown the status stays, and what was said of it goes: it may repeat words of a document.
        """
        rows = self._database.rows("SELECT job, kind, part, row_key, comment, documents FROM job_reviews")
        doomed = [tuple(row[:4]) for row in rows if is_gone(from_json(row[5]), f"{row[3]}\n{row[4]}")]
        with self._database.transaction():
            for names in doomed:
                self._erase_one(names)
        return len(doomed)

    def _erase_one(self, names: tuple[str, ...]) -> None:
        stays = self._database.row(f"SELECT 1 FROM job_shown WHERE {_OF_ROW}", names)  # noqa: S608 - as above
        change = "UPDATE job_reviews SET comment = '', documents = '[]'" if stays else "DELETE FROM job_reviews"
        self._database.execute(f"{change} WHERE {_OF_ROW}", names)
