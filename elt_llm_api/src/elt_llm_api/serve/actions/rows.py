"""Rows that jobs wrote: filter, show with evidence, review; download the exports of jobs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from elt_llm_consumer.evidence import Evidence, Review, ReviewStatus, Row, Value, Verdict
from elt_llm_consumer.jobs.job_file import JobFile
from elt_llm_consumer.jobs.tasks import JobKind
from elt_llm_consumer.review.reviews import (
    MAX_COMMENT_LENGTH,
    MAX_REVIEWER_LENGTH,
    ReviewedRow,
    current_review,
    review_overview,
    save_review,
)
from elt_llm_consumer.review.stale import StaleRow, read_sources, stale_rows
from elt_llm_consumer.runner.receipts import RECEIPT_SUFFIX
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, OutputRow, QuotedDocument, RowId, StoredReview
from elt_llm_core.store.store import Store
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.jobs import BatchJobActions
from elt_llm_api.serve.errors import NotReady
from elt_llm_api.serve.services import RequestModel, ServiceActions, Services

LONGEST_KEY = 2000  # characters
MOST_ON_A_PAGE = 500
ReviewState = Literal["fresh", "stale", "none"]


def _to_upper(value: object) -> object:
    return value.upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value


Status = Annotated[ReviewStatus, BeforeValidator(_to_upper)]


class RowFilter(RequestModel):
    """The conditions for the rows to return, and the requested page of the result."""

    table: str | None = Field(None, max_length=200, description="Rows of this table only.")
    status: Status | None = Field(None, description="Rows whose review has this status; PENDING: without a review.")
    review: ReviewState | None = Field(
        None, description="fresh: unchanged since its review; stale: changed since; none: without a review."
    )
    verdict: Verdict | None = Field(None, description="Rows with a cell of this verdict.")
    text: str | None = Field(None, max_length=1000, description="Rows with these words in their name, key or values.")
    offset: int = Field(0, ge=0, le=10_000_000, description="Number of rows to skip.")
    limit: int = Field(50, ge=1, le=MOST_ON_A_PAGE, description="Largest number of rows to return.")


class CellView(BaseModel):
    """A cell in a list of rows: its value and verdict, without its evidence."""

    value: Value
    verdict: Verdict
    evidence: int = Field(ge=0, description="Number of quotes that support it.")


class RowView(BaseModel):
    """A row of a job in a list, without the evidence of its cells."""

    table: str
    key: str
    name: str
    group: tuple[str, ...]
    cells: dict[str, CellView]
    review: Review


class RowPage(BaseModel):
    """A page of the rows of a job, in the order in which they were written."""

    job: str
    kind: JobKind
    tables: dict[str, int] = Field(description="Number of rows by table.", examples=[{"terms": 40}])
    statuses: dict[str, int] = Field(description="Number of rows by review status.", examples=[{"PENDING": 40}])
    total: int = Field(description="Number of rows that match the filter.")
    offset: int
    rows: list[RowView]


class QuoteView(BaseModel):
    """A quote that supports a cell, with the surrounding text of its document as it is now."""

    field: str = Field(description="The cell that it supports.")
    evidence: Evidence
    found: bool = Field(description="Whether the document still has the quote in its place.")
    before: str = Field(description="Text before the quote; empty if it is not found.")
    after: str = Field(description="Text after the quote; empty if it is not found.")


class ReceiptView(BaseModel):
    """The receipt of an exported file that contains the row: the inputs that the file was made from."""

    file: str = Field(
        validation_alias=AliasChoices("file", "output")
    )  # the MCP library validates results again, under the names of the fields
    file_hash: str = Field(
        validation_alias=AliasChoices("file_hash", "output_hash"), description="SHA-256 of its bytes, 64 hex digits."
    )
    written_at: str = Field(description="ISO 8601, UTC.")
    generations: tuple[str, ...]
    model: str = Field(description="The language model that wrote the rows; empty if none did.")
    versions: dict[str, str]


class RowDetail(BaseModel):
    """One row with all its evidence. `digest` is a hash of the content that a reviewer sees."""

    table: str
    row: Row
    digest: str = Field(description="Hash of the content; send it back as `seen` with a review.")
    quotes: list[QuoteView]
    receipts: list[ReceiptView]


class ReviewRequest(RequestModel):
    """A review of a row."""

    table: str = Field(max_length=200, description="Table of the row.", examples=["terms"])
    key: str = Field(max_length=LONGEST_KEY, description="Key of the row.", examples=["appeal"])
    status: Status = Field(description="Status of the row; PENDING withdraws an earlier review.")
    reviewer: str = Field(
        "",
        max_length=MAX_REVIEWER_LENGTH,
        description="Name of the reviewer, shown with the key's name; by default the key's name.",
    )
    comment: str = Field("", max_length=MAX_COMMENT_LENGTH, description="Why, in words.")
    seen: str = Field(
        "", max_length=64, description="Digest of the row as it was shown; if it has changed, the response is 409."
    )


class ReviewOverview(BaseModel):
    """The state of the reviews of a job."""

    job: str
    kind: JobKind
    rows: int
    counts: dict[str, int] = Field(description="Rows by status.", examples=[{"APPROVED": 3, "PENDING": 37}])
    reviews: list[ReviewedRow]


class StaleRows(BaseModel):
    """Every stale row of a job: its source text has changed since the row was written."""

    job: str
    kind: JobKind
    stale: list[StaleRow]


NO_REVIEW = Review()


def needs_row_content(filters: RowFilter) -> bool:
    """Return whether a filter needs the content of a row (verdict, words), not only its table and its review."""
    return filters.verdict is not None or filters.text is not None


def row_matches(filters: RowFilter, row: OutputRow, review: Review) -> bool:
    """Return whether a row passes a filter. The content of the row is parsed only if `needs_row_content`."""
    state = "none" if review == NO_REVIEW else "stale" if review.stale else "fresh"
    return (
        filters.table in {None, row.place.table}
        and filters.status in {None, review.status}
        and filters.review in {None, state}
        and (not needs_row_content(filters) or _content_matches(filters, json.loads(row.content)))
    )


def _content_matches(filters: RowFilter, content: Mapping[str, Any]) -> bool:
    cells = content["cells"].values()
    if filters.verdict is not None and all(cell["verdict"] != filters.verdict for cell in cells):
        return False
    values = [cell["value"] for cell in cells]
    texts = [content["name"], content["key"], *content["group"]]
    texts += [
        str(part) for value in values for part in (value if isinstance(value, list) else [value]) if part is not None
    ]
    text = "\n".join(texts).casefold()
    return all(word in text for word in (filters.text or "").casefold().split())


CONTEXT_CHARACTERS = 240  # characters before and after a quote


def _quotes_of(row: Row, store: Store) -> list[QuoteView]:
    """Return every quote of a row with its context in the published documents, in the order of its cells."""

    @cache
    def versions_in(collection: str) -> dict[str, int]:
        record = store.collections.find(collection)
        if record is None or record.published is None:
            return {}
        return {one.document_id: one.version for one in store.documents.in_generation(record.id, record.published)}

    @cache
    def text_of(collection: str, document_id: str) -> str:
        version = versions_in(collection).get(document_id)
        return "" if version is None else store.documents.text(version)  # "" for a document that is gone

    quotes = []
    for field, evidence in ((field, it) for field, cell in row.cells.items() for it in cell.evidence):
        text, (start, end) = text_of(evidence.collection, evidence.document_id), evidence.span
        found = text[start:end] == evidence.quote
        before = text[max(0, start - CONTEXT_CHARACTERS) : start] if found else ""
        after = text[end : end + CONTEXT_CHARACTERS] if found else ""
        quotes.append(QuoteView(field=field, evidence=evidence, found=found, before=before, after=after))
    return quotes


_CATALOG_FORMATS = ("purview", "openmetadata", "datahub")
_MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".yaml": "application/yaml",
}


class ExportFile(BaseModel):
    """A file that a job wrote."""

    file: str = Field(examples=["glossary.xlsx"])
    format: str = Field(examples=["xlsx"])
    bytes: int
    written_at: str = Field(description="ISO 8601, UTC.")
    before_reviews: bool = Field(description="Whether rows were reviewed later; run the job again to add the reviews.")
    withheld: bool = Field(description="Whether the job must run again first, because it read a forgotten document.")


class _ReceiptDocument(BaseModel):
    """A document that the receipt of an exported file names."""

    collection: str
    document_id: str


class _Receipt(ReceiptView):
    """The fields of a receipt that the server uses. Its quotes, which may be tens of thousands, are not parsed."""

    job: str
    kind: str
    documents: tuple[_ReceiptDocument, ...]


class ExportActions(ServiceActions):
    """Lists the exports of jobs.

    A caller's file name is only looked up in the list and never becomes part of a path.
    """

    def all(self, principal: Principal, job: str, kind: JobKind) -> list[ExportFile]:
        """Return every file of a job, by name. Raises Forbidden."""
        file = BatchJobActions(self._services).get(principal, job)
        reviews = JobReviewTable(self._services.state).all(JobName(file.name, kind)).values()
        last_review = max((review.reviewed_at for review in reviews), default="")
        return [
            ExportFile(
                file=path.name,
                format=_format_name(path),
                bytes=path.stat().st_size,
                written_at=receipt.written_at,
                before_reviews=receipt.written_at <= last_review,  # both times have a resolution of one second
                withheld=self._is_withheld(receipt),
            )
            for path, receipt in self._exports(principal, file, kind)
        ]

    def download(self, principal: Principal, job: str, kind: JobKind, wanted: str) -> tuple[Path, str]:
        """Return path and media type of a file, by name or format, such as `xlsx`. Raises Forbidden, NotReady."""
        file = BatchJobActions(self._services).get(principal, job)
        exports = dict(self._exports(principal, file, kind))
        matches = [path for path in exports if path.name == wanted] or sorted(
            (path for path in exports if _format_name(path) == wanted),
            key=lambda path: (".evidence." in path.name, len(path.name), path.name),
        )
        if not matches:
            raise Forbidden(
                f"There is no file '{wanted}' of this job, or this key may not read it.",
                hint=f"List the files: GET /v1/rows/{file.name}/{kind}/files",
            )
        if self._is_withheld(exports[matches[0]]):
            reason = f"'{matches[0].name}' was made from a document that was forgotten since."
            raise NotReady(reason, hint=f"Run the job again: POST /v1/batch-jobs/{kind}")
        return matches[0], _MEDIA_TYPES.get(matches[0].suffix, "application/octet-stream")

    def _is_withheld(self, receipt: _Receipt) -> bool:
        """Return whether the job read a document that was forgotten since, or a collection that was dropped."""
        store, read = self._services.store, {one.collection for one in receipt.documents}
        gone = {it.name: store.forgotten.all(it.id).document_ids for it in store.collections.all() if it.name in read}
        return any(it.collection not in gone or it.document_id in gone[it.collection] for it in receipt.documents)

    def receipts(self, principal: Principal, file: JobFile, kind: JobKind) -> list[ReceiptView]:
        """Return the receipt of each exported file of a job, without paths and settings."""
        return [receipt for _, receipt in self._exports(principal, file, kind)]

    def _exports(self, principal: Principal, file: JobFile, kind: JobKind) -> Iterator[tuple[Path, _Receipt]]:
        """Yield each file of this job with its receipt, if the caller may read all collections named in the receipt."""
        folder = file.folder / file.spec.outputs.folder
        for receipt_path in sorted(folder.glob(f"*{RECEIPT_SUFFIX}")):
            path = receipt_path.with_name(receipt_path.name.removesuffix(RECEIPT_SUFFIX))
            if not path.is_file() or path.is_symlink():
                continue
            try:
                receipt = _Receipt.model_validate_json(receipt_path.read_bytes())
            except (OSError, ValidationError):
                continue  # an incomplete receipt, or one of another version of the program
            is_of_job = (receipt.job, receipt.kind, receipt.file) == (file.name, kind, path.name)
            if is_of_job and all(principal.sees_whole(document.collection) for document in receipt.documents):
                yield path, receipt


def _format_name(path: Path) -> str:
    """Return the format of a file, named as in job files, such as `xlsx`."""
    parts = path.name.split(".")
    return next((name for name in _CATALOG_FORMATS if name in parts[-2:]), parts[-1])


class RowActions:
    """The rows of a job as last written, with their current reviews.

    A row combines several collections. A caller sees the job if the caller may read all collections that the job file
    names. A caller sees a row if the caller may read every collection that the row quotes.
    """

    def __init__(self, services: Services) -> None:
        self._services, self._jobs, self._state = services, BatchJobActions(services), services.state
        self._rows = JobRowTable(services.state)
        self._reviews = JobReviewTable(services.state)

    def page(self, principal: Principal, job: str, kind: JobKind, filters: RowFilter) -> RowPage:
        """Return a page of the rows that match a filter. Raises Forbidden."""
        name, rows = self._visible_rows(principal, job, kind, contents=needs_row_content(filters))
        stored = self._reviews.all(name)
        reviews = {row_id: _current_review(stored.get(row_id), row) for row_id, row in rows.items()}
        matches = [row_id for row_id, row in rows.items() if row_matches(filters, row, reviews[row_id])]
        return RowPage(
            job=name.job,
            kind=kind,
            tables=dict(Counter(row_id.table for row_id in rows)),
            statuses=dict(sorted(Counter(review.status for review in reviews.values()).items())),
            total=len(matches),
            offset=filters.offset,
            rows=[
                _row_view(row, _current_review(stored.get(row_id), row))
                for row_id in matches[filters.offset : filters.offset + filters.limit]
                # Meanwhile, a job may have replaced the row by one from other documents.
                if (row := self._rows.shown_at(name, row_id)) is not None
                and _may_read_documents(principal, row.documents)
            ],
        )

    def get(self, principal: Principal, job: str, kind: JobKind, row_id: RowId) -> RowDetail:
        """Return a row with its quotes in their context and the receipts of its exports. Raises Forbidden."""
        file = self._jobs.get(principal, job)
        name = JobName(file.name, kind)
        return self._detail(
            principal, file, kind, self._row(principal, name, row_id), self._reviews.all(name).get(row_id)
        )

    def review(self, principal: Principal, job: str, kind: JobKind, request: ReviewRequest) -> RowDetail:
        """Store a review. Raises Forbidden, and RowChanged if the row has changed since the reviewer saw it."""
        file = self._jobs.get_writable(principal, job)
        name = JobName(file.name, kind)
        row = self._row(principal, name, RowId(request.table, request.key))
        reviewer = request.reviewer.strip() or principal.name
        if reviewer != principal.name and principal != LOCAL:  # a review always names the key of its author
            reviewer = f"{reviewer} (key {principal.name})"[:MAX_REVIEWER_LENGTH]
        stored = save_review(self._state, name, row, request.status, reviewer, request.comment, request.seen)
        return self._detail(principal, file, kind, row, stored)

    def review_overview(self, principal: Principal, job: str, kind: JobKind) -> ReviewOverview:
        """Return the state of all reviews, including reviews of rows that no longer exist. Raises Forbidden."""
        name, rows = self._visible_rows(principal, job, kind)
        stored = self._reviews.all(name)
        visible = {row_id for row_id, review in stored.items() if _may_read_documents(principal, review.documents)}
        counts = Counter(stored[row_id].status if row_id in stored else "PENDING" for row_id in rows)
        return ReviewOverview(
            job=name.job,
            kind=kind,
            rows=len(rows),
            counts=dict(sorted(counts.items())),
            reviews=[
                one
                for one in review_overview(self._state, name).reviews
                for row_id in [RowId(one.table, one.key)]
                if row_id in rows or (one.state == "without a row" and row_id in visible)
            ],
        )

    async def stale(self, principal: Principal, job: str, kind: JobKind) -> StaleRows:
        """Return rows whose source text has changed. All sources of the job are read, in a worker thread.

        Raises Forbidden, ServerOverloaded.
        """
        return await self._services.workers.run(lambda _: self._stale(principal, job, kind))

    def _stale(self, principal: Principal, job: str, kind: JobKind) -> StaleRows:
        name, rows = self._visible_rows(principal, job, kind)
        stale = stale_rows(self._state, name, read_sources(self._jobs.get(principal, job), self._services.loaded))
        visible = [one for one in stale if RowId(one.table, one.key) in rows]
        return StaleRows(job=name.job, kind=kind, stale=visible)

    def _visible_rows(
        self, principal: Principal, job: str, kind: JobKind, *, contents: bool = False
    ) -> tuple[JobName, Mapping[RowId, OutputRow]]:
        name = JobName(self._jobs.get(principal, job).name, kind)
        rows = self._rows.shown(name, contents=contents)
        return name, {row_id: row for row_id, row in rows.items() if _may_read_documents(principal, row.documents)}

    def _row(self, principal: Principal, name: JobName, row_id: RowId) -> OutputRow:
        row = self._rows.shown_at(name, row_id)
        if row is None or not _may_read_documents(principal, row.documents):
            raise Forbidden(f"There is no row '{row_id.key}' in '{row_id.table}', or this key may not read it.")
        return row

    def _detail(
        self, principal: Principal, file: JobFile, kind: JobKind, output: OutputRow, review: StoredReview | None
    ) -> RowDetail:
        row = Row.model_validate_json(output.content)
        row = row.model_copy(update={"review": _current_review(review, output)})
        return RowDetail(
            table=output.place.table,
            row=row,
            digest=output.digest,
            quotes=_quotes_of(row, self._services.store),
            receipts=ExportActions(self._services).receipts(principal, file, kind),
        )


def _may_read_documents(principal: Principal, documents: Iterable[QuotedDocument]) -> bool:
    return all(principal.sees_whole(collection) for collection, _, _ in documents)


def _current_review(stored: StoredReview | None, row: OutputRow) -> Review:
    return NO_REVIEW if stored is None else current_review(stored, row.digest)


def _row_view(output: OutputRow, review: Review) -> RowView:
    row, row_id = Row.model_validate_json(output.content), output.place
    cells = {
        name: CellView(value=cell.value, verdict=cell.verdict, evidence=len(cell.evidence))
        for name, cell in row.cells.items()
    }
    return RowView(table=row_id.table, key=row_id.key, name=row.name, group=row.group, cells=cells, review=review)
