"""Save reviews of rows, attach reviews to results, detect stale reviews, and count reviews."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import get_args

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, OutputRow, QuotedDocument, RowId, StoredReview
from elt_llm_core.store.database import Database
from elt_llm_core.utilities import nearest_names

from elt_llm_consumer.evidence import JobResult, Review, ReviewStatus, Row, content_digest
from elt_llm_consumer.export.text import printable

REVIEW_STATUSES: Mapping[str, ReviewStatus] = {status: status for status in get_args(ReviewStatus)}


def map_rows(result: JobResult, change: Callable[[str, Row], Row]) -> JobResult:
    """Return the result with each row replaced by `change(table, row)`."""
    tables = [
        table.model_copy(update={"rows": tuple(change(table.name, row) for row in table.rows)})
        for table in result.tables
    ]
    return result.model_copy(update={"tables": tuple(tables)})


def attach_reviews(result: JobResult, reviews: Mapping[RowId, StoredReview]) -> JobResult:
    """Return the result with the reviews of its rows; a review is stale if the row has changed since."""

    def reviewed(table: str, row: Row) -> Row:
        kept = reviews.get(RowId(table, row.key))
        return row if kept is None else row.model_copy(update={"review": current_review(kept, content_digest(row))})

    return map_rows(result, reviewed)


def reviews_of_rows(
    result: JobResult, state: Database, name: JobName, waiting: Collection[RowId] = ()
) -> dict[RowId, StoredReview]:
    """Return the reviews of a job after giving each review whose row has another key now to this row.

    A review without a row belongs to the only row of its table without a review that equals the reviewed row (see
    `content_digest`). Rows in `waiting` are missing only from this result, so they keep their reviews.
    """
    table = JobReviewTable(state)
    reviews = table.all(name)
    rows = {RowId(it.name, row.key): row for it in result.tables for row in it.rows}
    lost = {place: review for place, review in reviews.items() if place not in rows and place not in waiting}
    if not lost:
        return reviews
    shown = JobRowTable(state).shown(name, contents=False)
    sought = {place: (place.table, shown.get(place, review).digest) for place, review in lost.items()}
    free = [((place.table, content_digest(row)), place) for place, row in rows.items() if place not in reviews]
    equal, claims, offers = dict(free), Counter(sought.values()), Counter(digest for digest, _ in free)
    moved = {place: equal[it] for place, it in sought.items() if claims[it] == offers[it] == 1}
    table.move(name, moved)
    return table.all(name)


def shown_rows(result: JobResult, read: Mapping[RowId, frozenset[QuotedDocument]]) -> list[OutputRow]:
    """Convert the rows of a result to `OutputRow`s, which the store keeps so that reviews can refer to them.

    An OutputRow has the row as JSON, its digest, and the documents whose text it may contain. These are the documents
    that the row quotes, and those that `read` lists for the row: the documents from which it was made.
    """
    return [
        OutputRow(
            place, row.model_dump_json(), content_digest(row), row.quoted_documents | read.get(place, frozenset())
        )
        for table in result.tables
        for row in table.rows
        for place in [RowId(table.name, row.key)]
    ]


def current_review(kept: StoredReview, digest: str) -> Review:
    """Return a stored review, marked stale if `digest`, that of the row now, differs from that of the reviewed row."""
    return Review(
        status=REVIEW_STATUSES.get(kept.status, "PENDING"),
        reviewer=kept.reviewer,
        comment=kept.comment,
        reviewed_at=kept.reviewed_at,
        stale=kept.digest != digest,
    )


MAX_COMMENT_LENGTH = 10_000  # characters; a comment must fit into a cell of a workbook
MAX_REVIEWER_LENGTH = 200  # characters


class RowChanged(EltError):
    """Raised if a row has changed since its reviewer saw it."""


def save_review(
    state: Database, name: JobName, row: OutputRow, status: ReviewStatus, reviewer: str, comment: str, seen: str = ""
) -> StoredReview:
    """Store a review of a row in place of the former review.

    `seen` is the digest of the row that the reviewer saw; empty means the current row. Raises RowChanged if the row has
    changed since, and UsageError if the comment or name is too long, or if a rejection does not name its reviewer.
    """
    if seen and seen != row.digest:
        raise RowChanged(
            f"The row '{row.place.key}' has changed since it was shown.", hint="Read the row again, then review it."
        )
    said = printable(reviewer).strip(), printable(comment).strip()
    if status == "REJECTED" and not said[0]:
        raise UsageError("A rejection needs the name of its reviewer.")
    if len(said[0]) > MAX_REVIEWER_LENGTH or len(said[1]) > MAX_COMMENT_LENGTH:
        raise UsageError(
            f"A reviewer's name has at most {MAX_REVIEWER_LENGTH} characters, a comment {MAX_COMMENT_LENGTH:,}."
        )
    JobReviewTable(state).put(name, [StoredReview(row.place, status, *said, row.digest, row.documents)])
    return JobReviewTable(state).all(name)[row.place]


def review_history(state: Database, name: JobName, row: str) -> list[StoredReview]:
    """Return all reviews of a row, oldest first. `row` is its key or its name in any case.

    Raises UsageError, with similar names, if the job has written no such row, and if several rows have this name.
    """
    shown = JobRowTable(state).shown(name)
    names = {place: Row.model_validate_json(one.content).name for place, one in shown.items()}
    found = [place for place, called in names.items() if row == place.key or row.casefold() == called.casefold()]
    if not found:
        raise UsageError(f"The job has no row '{row}'.", hint=nearest_names(row, sorted(set(names.values()))))
    if len(found) > 1:
        keys = ", ".join(sorted(place.key for place in found))
        raise UsageError(f"Several rows are named '{row}'.", hint=f"Give one of the keys {keys}.")
    return JobReviewTable(state).history(name, found[0])


@dataclass(frozen=True)
class ReviewedRow:
    """A review with its `state`: fresh, stale (the row has changed), or without a row."""

    table: str
    key: str
    name: str
    status: str
    reviewer: str
    comment: str
    reviewed_at: str
    state: str


@dataclass(frozen=True)
class ReviewOverview:
    """All reviews of a job, and the number of rows by status."""

    job: str
    kind: str
    rows: int
    counts: Mapping[str, int]
    reviews: tuple[ReviewedRow, ...]


def written_kinds(state: Database, job: str, kinds: tuple[str, ...]) -> list[str]:
    """Return those of the given kinds for which the job file has already written outputs."""
    return [kind for kind in kinds if JobRowTable(state).shown(JobName(job, kind))]


def review_overview(state: Database, name: JobName) -> ReviewOverview:
    """Summarize the reviews of a job. Rows without a review count as PENDING."""
    shown, reviews = JobRowTable(state).shown(name), JobReviewTable(state).all(name)
    counts = Counter(reviews[place].status if place in reviews else "PENDING" for place in shown)
    found = []
    for place, review in reviews.items():
        row = shown.get(place)
        fresh = "fresh" if row and row.digest == review.digest else "stale"
        called = Row.model_validate_json(row.content).name if row else place.key
        said = (review.status, review.reviewer, review.comment, review.reviewed_at)
        found.append(ReviewedRow(place.table, place.key, called, *said, fresh if row else "without a row"))
    return ReviewOverview(name.job, name.kind, len(shown), dict(sorted(counts.items())), tuple(found))
