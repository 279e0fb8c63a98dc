"""How the reviews of a job stand: what was said of which rows, and which of them say something else by now."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.state.reviews import JobReviews
from elt_llm_core.state.rows import JobName, JobRows
from elt_llm_core.store.database import Database

from elt_llm_consumer.rows import Row


@dataclass(frozen=True)
class Reviewed:
    """One row's review; `state`: fresh, stale (the row says something else now) or without a row."""

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
    """All reviews of a job, and how many of its rows have which status."""

    job: str
    kind: str
    rows: int
    counts: Mapping[str, int]
    reviews: tuple[Reviewed, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def kinds_shown(state: Database, job: str, kinds: tuple[str, ...]) -> list[str]:
    """The kinds of a job of which something was written."""
    return [kind for kind in kinds if JobRows(state).shown(JobName(job, kind))]


def overview(state: Database, name: JobName) -> ReviewOverview:
    """How the reviews of a job stand; rows nobody spoke of are PENDING."""
    shown, reviews = JobRows(state).shown(name), JobReviews(state).all(name)
    counts = Counter(reviews[place].status if place in reviews else "PENDING" for place in shown)
    found = []
    for place, review in reviews.items():
        row = shown.get(place)
        fresh = "fresh" if row and row.digest == review.digest else "stale"
        called = Row.model_validate_json(row.content).name if row else place.key
        said = (review.status, review.reviewer, review.comment, review.reviewed_at)
        found.append(Reviewed(place.table, place.key, called, *said, fresh if row else "without a row"))
    return ReviewOverview(name.job, name.kind, len(shown), dict(sorted(counts.items())), tuple(found))
