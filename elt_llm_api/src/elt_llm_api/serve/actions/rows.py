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
_NOBODY = Review()


class Rows:
    """The rows of a job, as they were last written, with what reviewers said of them since.

    A row joins what several collections say: the job is there for those alone who may read all that its file names,
    and a row for those who may read every collection that it quotes, whatever the file names by now.
    """

    def __init__(self, services: Services) -> None:
        self._services, self._jobs = services, BatchJobs(services)

    def page(self, principal: Principal, job: str, kind: Kind, asked: RowFilter) -> RowPage:
        """The rows that a filter lets through, a page of them. Raises Forbidden."""
        name, shown = self._shown(principal, self._jobs.get(principal, job), kind)
        reviews = JobReviews(self._services.state).all(name)
        rows = [
            (place, row, _review(reviews.get(place), kept))
            for place, kept in shown.items()
            for row in [Row.model_validate_json(kept.content)]
        ]
        found = [one for one in rows if _is_wanted(asked, *one)]
        return RowPage(
            job=name.job,
            kind=kind,
            tables=dict(Counter(place.table for place in shown)),
            statuses=dict(sorted(Counter(review.status for _, _, review in rows).items())),
            total=len(found),
            offset=asked.offset,
            rows=[_in_list(*one) for one in found[asked.offset : asked.offset + asked.limit]],
        )

    def one(self, principal: Principal, job: str, kind: Kind, place: Place) -> RowDetail:
        """A row with its quotes in their context and the receipts of the exports it is in. Raises Forbidden."""
        file = self._jobs.get(principal, job)
        name, shown = self._shown(principal, file, kind)
        return self._detail(principal, file, kind, _existing(shown, place), JobReviews(self._services.state).all(name))

    def review(self, principal: Principal, job: str, kind: Kind, asked: ReviewRequest) -> RowDetail:
        """Keep what somebody says of a row. Raises Forbidden, and RowChanged where it is not as it was shown."""
        file = self._jobs.to_change(principal, job)
        name, shown = self._shown(principal, file, kind)
        row = _existing(shown, Place(asked.table, asked.key))
        reviewer = _reviewer(principal, asked.reviewer)
        kept = review_row(self._services.state, name, row, asked.status, reviewer, asked.comment, asked.seen)
        return self._detail(principal, file, kind, row, {row.place: kept})

    def standing(self, principal: Principal, job: str, kind: Kind) -> ReviewStanding:
        """How the reviews stand, those of rows that are there no more included. Raises Forbidden."""
        name, shown = self._shown(principal, self._jobs.get(principal, job), kind)
        kept = JobReviews(self._services.state).all(name)
        visible = {place for place, review in kept.items() if _may_read(principal, review.documents)}
        found = overview(self._services.state, name)
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
        found = stale_rows(self._services.state, name, read_sources(file, self._services.loaded))
        told = [StaleShown(**asdict(one)) for one in found if Place(one.table, one.key) in shown]
        return StaleRows(job=name.job, kind=kind, stale=told)

    def _shown(self, principal: Principal, file: JobFile, kind: Kind) -> tuple[JobName, Shown]:
        name = JobName(file.name, kind)
        rows = JobRows(self._services.state).shown(name)
        return name, {place: row for place, row in rows.items() if _may_read(principal, row.documents)}

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


def _existing(shown: Shown, place: Place) -> ShownRow:
    row = shown.get(place)
    if row is None:
        raise Forbidden(f"There is no row '{place.key}' in '{place.table}', or this key may not read it.")
    return row


def _may_read(principal: Principal, documents: Iterable[Quoted]) -> bool:
    return all(principal.may_read(collection) for collection, _, _ in documents)


def _reviewer(principal: Principal, given: str) -> str:
    """Nobody speaks under another's name: a name that is given is told with that of the key."""
    said = given.strip()
    if not said or said == principal.name or principal == LOCAL:
        return said or principal.name
    return f"{said} (key {principal.name})"[:LONGEST_REVIEWER]


def _review(kept: KeptReview | None, row: ShownRow) -> Review:
    return _NOBODY if kept is None else review_of(kept, row.digest)


def _is_wanted(asked: RowFilter, place: Place, row: Row, review: Review) -> bool:
    state = "none" if review == _NOBODY else "stale" if review.stale else "fresh"
    return (
        asked.table in {None, place.table}
        and asked.status in {None, review.status}
        and asked.review in {None, state}
        and (asked.verdict is None or any(cell.verdict == asked.verdict for cell in row.cells.values()))
        and (asked.text is None or _says(row, asked.text.casefold().split()))
    )


def _says(row: Row, words: Iterable[str]) -> bool:
    values = (value for cell in row.cells.values() for value in _texts(cell.value))
    text = "\n".join([row.name, row.key, *row.group, *values]).casefold()
    return all(word in text for word in words)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else ("" if value is None else str(value),)


def _in_list(place: Place, row: Row, review: Review) -> RowShown:
    cells = {
        name: CellShown(value=cell.value, verdict=cell.verdict, evidence=len(cell.evidence))
        for name, cell in row.cells.items()
    }
    return RowShown(table=place.table, key=place.key, name=row.name, group=row.group, cells=cells, review=review)
