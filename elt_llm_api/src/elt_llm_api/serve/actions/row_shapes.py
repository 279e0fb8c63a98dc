"""Rows of jobs as callers see them: in a list, and one by one with everything it rests on."""

from typing import Annotated, Literal

from elt_llm_consumer.kinds import Kind
from elt_llm_consumer.review.deciding import LONGEST_COMMENT, LONGEST_REVIEWER
from elt_llm_consumer.rows import Evidence, Review, ReviewStatus, Row, Value, Verdict
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

LONGEST_KEY = 2000  # characters
MOST_ON_A_PAGE = 500
ReviewState = Literal["fresh", "stale", "none"]


def _in_capitals(value: object) -> object:
    return value.upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value


Status = Annotated[ReviewStatus, BeforeValidator(_in_capitals)]


class RowFilter(BaseModel):
    """Which rows, and which page of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str | None = Field(None, max_length=200, description="Rows of this table alone.")
    status: Status | None = Field(
        None, description="Rows whose review has this status; those nobody spoke of: PENDING."
    )
    review: ReviewState | None = Field(
        None, description="fresh: reviewed as it is; stale: it changed since; none: nobody spoke of it."
    )
    verdict: Verdict | None = Field(None, description="Rows with a cell of this verdict.")
    text: str | None = Field(None, max_length=1000, description="Rows with these words in their name, key or values.")
    offset: int = Field(0, ge=0, le=10_000_000, description="Rows to leave out from the beginning.")
    limit: int = Field(50, ge=1, le=MOST_ON_A_PAGE, description="Rows to give.")


class CellShown(BaseModel):
    """A cell in a list: without what it rests on."""

    value: Value
    verdict: Verdict
    evidence: int = Field(ge=0, description="How many places it rests on.")


class RowShown(BaseModel):
    """A row in a list."""

    table: str
    key: str
    name: str
    group: tuple[str, ...]
    cells: dict[str, CellShown]
    review: Review


class RowPage(BaseModel):
    """Some of the rows of a job, in the order in which they were written."""

    job: str
    kind: Kind
    tables: dict[str, int] = Field(description="How many rows each table has.", examples=[{"terms": 40}])
    statuses: dict[str, int] = Field(description="How many rows have which review.", examples=[{"PENDING": 40}])
    total: int = Field(description="Rows that the filter lets through.")
    offset: int
    rows: list[RowShown]


class QuoteShown(BaseModel):
    """A piece of evidence of a cell, within the words around it as its document has them now."""

    field: str = Field(description="The cell it stands for.")
    evidence: Evidence
    stands: bool = Field(description="Whether the document still has the quote at its place.")
    before: str = Field(description="Text before the quote; empty where it does not stand there any more.")
    after: str = Field(description="Text after it.")


class ReceiptShown(BaseModel):
    """What an export that holds the row was made from."""

    file: str
    file_hash: str = Field(description="SHA-256 of its bytes, 64 hex digits.")
    written_at: str = Field(description="ISO 8601, UTC.")
    generations: tuple[str, ...]
    model: str = Field(description="The language model that wrote; empty where none did.")
    versions: dict[str, str]


class RowDetail(BaseModel):
    """One row with all that it rests on. `digest` is of what a reviewer sees of it."""

    table: str
    row: Row
    digest: str = Field(description="Send it back as `seen` with a review.")
    quotes: list[QuoteShown]
    receipts: list[ReceiptShown]


class ReviewRequest(BaseModel):
    """What a reviewer says of a row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str = Field(max_length=200, description="Table of the row.", examples=["terms"])
    key: str = Field(max_length=LONGEST_KEY, description="Key of the row.", examples=["appeal"])
    status: Status = Field(description="What becomes of it; PENDING takes back what was said.")
    reviewer: str = Field(
        "", max_length=LONGEST_REVIEWER, description="Who says so; empty: the name of the key. Told with that name."
    )
    comment: str = Field("", max_length=LONGEST_COMMENT, description="Why, in their words.")
    seen: str = Field(
        "", max_length=64, description="Digest of the row as it was shown; where it changed since, 409 is the answer."
    )


class ReviewShown(BaseModel):
    """A review that was kept."""

    table: str
    key: str
    name: str
    status: str
    reviewer: str
    comment: str
    reviewed_at: str
    state: str = Field(description="fresh, stale, or without a row.")


class ReviewStanding(BaseModel):
    """How the reviews of a job stand."""

    job: str
    kind: Kind
    rows: int
    counts: dict[str, int] = Field(description="Rows by status.", examples=[{"APPROVED": 3, "PENDING": 37}])
    reviews: list[ReviewShown]


class StaleShown(BaseModel):
    """A row whose source text changed since it was written."""

    table: str
    key: str
    name: str
    status: str
    changes: tuple[str, ...] = Field(description="Where and how, a sentence each.")


class StaleRows(BaseModel):
    """Every such row of a job."""

    job: str
    kind: Kind
    stale: list[StaleShown]
