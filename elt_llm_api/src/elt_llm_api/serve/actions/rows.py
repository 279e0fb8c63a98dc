"""Rows that jobs made, for callers who may read all that they were made from: browsing and reviewing them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from elt_llm_consumer.job_file import JobFile
from elt_llm_consumer.kinds import Kind
from elt_llm_consumer.review.deciding import LONGEST_REVIEWER, review_row
from elt_llm_consumer.review.merging import review_of
from elt_llm_consumer.review.overview import overview
from elt_llm_consumer.review.stale import read_sources, stale_rows
from elt_llm_consumer.rows import Review, Row
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import JobName, JobRows, Place, Quoted, ShownRow

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.batch_jobs import BatchJobs
from elt_llm_api.serve.actions.exports import Exports
from elt_llm_api.serve.actions.quotes import QuoteReader
from elt_llm_api.serve.actions.row_filters import NOBODY, is_wanted, reads_contents
from elt_llm_api.serve.actions.row_shapes import (
    CellShown,
    ReviewRequest,
    ReviewShown,
    ReviewStanding,
    RowDetail,
    RowFilter,
    RowPage,
    RowShown,
    StaleRows,
    StaleShown,
)
from elt_llm_api.serve.services import Services

Shown = Mapping[Place, ShownRow]


class Rows:
    """The rows of a job, as they were last written, with what reviewers said of them since.

    A row joins what several collections say: the job is there for those alone who may read all that its file names,
    and a row for those who may read every collection that it quotes, whatever the file names by now.
    """

    def __init__(self, services: Services) -> None:
        self._services, self._jobs, self._state = services, BatchJobs(services), services.state
        self._known = JobRows(services.state)

    def page(self, principal: Principal, job: str, kind: Kind, asked: RowFilter) -> RowPage:
        """The rows that a filter lets through, a page of them. Raises Forbidden."""
        file = self._jobs.get(principal, job)
        name, shown = self._shown(principal, file, kind, contents=reads_contents(asked))
        kept = JobReviews(self._state).all(name)
        reviews = {place: _review(kept.get(place), row) for place, row in shown.items()}
        found = [place for place, row in shown.items() if is_wanted(asked, row, reviews[place])]
        return RowPage(
            job=name.job,
            kind=kind,
            tables=dict(Counter(place.table for place in shown)),
            statuses=dict(sorted(Counter(review.status for review in reviews.values()).items())),
            total=len(found),
            offset=asked.offset,
            rows=[
                _in_list(row, _review(kept.get(place), row))
                for place in found[asked.offset : asked.offset + asked.limit]
                # It may have been written anew meanwhile, from other documents.
                if (row := self._known.shown_at(name, place)) is not None and _may_read(principal, row.documents)
            ],
        )

    def one(self, principal: Principal, job: str, kind: Kind, place: Place) -> RowDetail:
        """A row with its quotes in their context and the receipts of the exports it is in. Raises Forbidden."""
        file = self._jobs.get(principal, job)
        name = JobName(file.name, kind)
        return self._detail(principal, file, kind, self._at(principal, name, place), JobReviews(self._state).all(name))

    def review(self, principal: Principal, job: str, kind: Kind, asked: ReviewRequest) -> RowDetail:
        """Keep what somebody says of a row. Raises Forbidden, and RowChanged where it is not as it was shown."""
        file = self._jobs.to_change(principal, job)
        name = JobName(file.name, kind)
        row = self._at(principal, name, Place(asked.table, asked.key))
        reviewer = _reviewer(principal, asked.reviewer)
        kept = review_row(self._state, name, row, asked.status, reviewer, asked.comment, asked.seen)
        return self._detail(principal, file, kind, row, {row.place: kept})

    def standing(self, principal: Principal, job: str, kind: Kind) -> ReviewStanding:
        """How the reviews stand, those of rows that are there no more included. Raises Forbidden."""
        name, shown = self._shown(principal, self._jobs.get(principal, job), kind)
        kept = JobReviews(self._state).all(name)
        visible = {place for place, review in kept.items() if _may_read(principal, review.documents)}
        found = overview(self._state, name)
        counts = Counter(kept[place].status if place in kept else "PENDING" for place in shown)
        return ReviewStanding(
            job=name.job,
            kind=kind,
            rows=len(shown),
            counts=dict(sorted(counts.items())),
            reviews=[
                ReviewShown(**asdict(one))
                for one in found.reviews
                for place in [Place(one.table, one.key)]
                if place in shown or (one.state == "without a row" and place in visible)
            ],
        )

    async def stale(self, principal: Principal, job: str, kind: Kind) -> StaleRows:
        """Rows whose source text changed since. Reads all sources of the job: one of the bounded threads does it.

        Raises Forbidden, Overloaded.
        """
        return await self._services.workers.run(lambda _: self._stale(principal, job, kind))

    def _stale(self, principal: Principal, job: str, kind: Kind) -> StaleRows:
        file = self._jobs.get(principal, job)
        name, shown = self._shown(principal, file, kind)
        found = stale_rows(self._state, name, read_sources(file, self._services.loaded))
        told = [StaleShown(**asdict(one)) for one in found if Place(one.table, one.key) in shown]
        return StaleRows(job=name.job, kind=kind, stale=told)

    def _shown(
        self, principal: Principal, file: JobFile, kind: Kind, *, contents: bool = False
    ) -> tuple[JobName, Shown]:
        name = JobName(file.name, kind)
        rows = self._known.shown(name, contents=contents)
        return name, {place: row for place, row in rows.items() if _may_read(principal, row.documents)}

    def _at(self, principal: Principal, name: JobName, place: Place) -> ShownRow:
        row = self._known.shown_at(name, place)
        if row is None or not _may_read(principal, row.documents):
            raise Forbidden(f"There is no row '{place.key}' in '{place.table}', or this key may not read it.")
        return row

    def _detail(
        self, principal: Principal, file: JobFile, kind: Kind, kept: ShownRow, reviews: Mapping[Place, KeptReview]
    ) -> RowDetail:
        row = Row.model_validate_json(kept.content)
        row = row.model_copy(update={"review": _review(reviews.get(kept.place), kept)})
        return RowDetail(
            table=kept.place.table,
            row=row,
            digest=kept.digest,
            quotes=QuoteReader(self._services.store).of(row),
            receipts=Exports(self._services).receipts(principal, file, kind),
        )


def _may_read(principal: Principal, documents: Iterable[Quoted]) -> bool:
    return all(principal.may_read(collection) for collection, _, _ in documents)


def _reviewer(principal: Principal, given: str) -> str:
    """Nobody speaks under another's name: a name that is given is told with that of the key."""
    said = given.strip()
    if not said or said == principal.name or principal == LOCAL:
        return said or principal.name
    return f"{said} (key {principal.name})"[:LONGEST_REVIEWER]


def _review(kept: KeptReview | None, row: ShownRow) -> Review:
    return NOBODY if kept is None else review_of(kept, row.digest)


def _in_list(kept: ShownRow, review: Review) -> RowShown:
    row, place = Row.model_validate_json(kept.content), kept.place
    cells = {
        name: CellShown(value=cell.value, verdict=cell.verdict, evidence=len(cell.evidence))
        for name, cell in row.cells.items()
    }
    return RowShown(table=place.table, key=place.key, name=row.name, group=row.group, cells=cells, review=review)
