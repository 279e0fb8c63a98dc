"""Reviews joined to the rows they are of, whenever a result is written."""

from collections.abc import Callable, Mapping

from elt_llm_core.state.reviews import KeptReview
from elt_llm_core.state.rows import Place, Quoted, ShownRow

from elt_llm_consumer.review.content import content_digest, quoted_in
from elt_llm_consumer.rows import JobResult, Review, ReviewStatus, Row

STATUSES: Mapping[str, ReviewStatus] = {
    "PENDING": "PENDING",
    "APPROVED": "APPROVED",
    "REJECTED": "REJECTED",
    "NEEDS_CLARIFICATION": "NEEDS_CLARIFICATION",
}


def with_rows(result: JobResult, change: Callable[[str, Row], Row]) -> JobResult:
    """The result with each row as `change` gives it for its table and itself."""
    tables = [
        table.model_copy(update={"rows": tuple(change(table.name, row) for row in table.rows)})
        for table in result.tables
    ]
    return result.model_copy(update={"tables": tuple(tables)})


def with_reviews(result: JobResult, reviews: Mapping[Place, KeptReview]) -> JobResult:
    """The result with what reviewers said of its rows; stale where the row does not say any more what they saw."""

    def reviewed(table: str, row: Row) -> Row:
        kept = reviews.get(Place(table, row.key))
        return row if kept is None else row.model_copy(update={"review": review_of(kept, content_digest(row))})

    return with_rows(result, reviewed)


def shown_rows(result: JobResult, read: Mapping[Place, frozenset[Quoted]]) -> list[ShownRow]:
    """The rows of a result as the state keeps them; `read` are documents that a row holds words of unquoted."""
    return [
        ShownRow(place, row.model_dump_json(), content_digest(row), quoted_in(row) | read.get(place, frozenset()))
        for table in result.tables
        for row in table.rows
        for place in [Place(table.name, row.key)]
    ]


def review_of(kept: KeptReview, digest: str) -> Review:
    """What was said of a row that has this digest now."""
    return Review(
        status=STATUSES.get(kept.status, "PENDING"),
        reviewer=kept.reviewer,
        comment=kept.comment,
        reviewed_at=kept.reviewed_at,
        stale=kept.digest != digest,
    )
