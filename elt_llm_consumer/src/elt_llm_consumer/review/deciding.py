"""One review, said of one row as it is now: what a page or a program sends, where others fill in whole sheets."""

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import JobName, ShownRow
from elt_llm_core.store.database import Database

from elt_llm_consumer.export.texts import printable
from elt_llm_consumer.rows import ReviewStatus

LONGEST_COMMENT = 10_000  # characters; a cell of a workbook has to give them back whole
LONGEST_REVIEWER = 200  # characters


class RowChanged(EltError):
    """The row says something else than the reviewer saw."""


def review_row(
    state: Database, name: JobName, row: ShownRow, status: ReviewStatus, reviewer: str, comment: str, seen: str = ""
) -> KeptReview:
    """Keep what somebody says of a row, in place of what was said; as lasting as what `import_reviews` takes.

    `seen` is the digest of the row they were shown: empty, they speak of it as it is. Raises RowChanged where it is
    another by now, and UsageError for a comment or a name that is too long.
    """
    if seen and seen != row.digest:
        raise RowChanged(
            f"The row '{row.place.key}' changed since it was shown.", hint="Look at it again, then review it."
        )
    said = printable(reviewer).strip(), printable(comment).strip()
    if len(said[0]) > LONGEST_REVIEWER or len(said[1]) > LONGEST_COMMENT:
        raise UsageError(
            f"A reviewer's name has {LONGEST_REVIEWER} characters at most, and a comment {LONGEST_COMMENT:,}."
        )
    JobReviews(state).put(name, [KeptReview(row.place, status, *said, row.digest, row.documents)])
    return JobReviews(state).all(name)[row.place]
