"""The tab Jobs: run a job and watch it, browse and review its rows, download its files."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from elt_llm_consumer.evidence import Value
from elt_llm_consumer.jobs.tasks import JOB_KINDS, JobKind
from elt_llm_core.errors import EltError
from elt_llm_core.state.jobs import RowId
from pydantic import ValidationError

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import BatchJobActions, BatchJobRequest, JobActions
from elt_llm_api.serve.actions.rows import (
    ExportActions,
    ExportFile,
    ReviewRequest,
    RowActions,
    RowDetail,
    RowFilter,
    RowPage,
    RowView,
)
from elt_llm_api.serve.safe_text import escape_markdown, route_link, show_invisible_characters
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import QUIET_EVENT, ComponentUpdates, JobWatch, html_area, principal_of_event
from elt_llm_api.serve.ui.markup import failure_markdown, fill_template, flatten_lines

PAGE_SIZE = 50
_SIGNS = {"found": "✓ found", "inferred": "≈ inferred", "absent": "∅ absent", "conflict": "⚡ conflict"}
_STATUSES = {
    "PENDING": ("Pending", "○ pending"),
    "APPROVED": ("Approved", "✓ approved"),
    "REJECTED": ("Rejected", "✗ rejected"),
    "NEEDS_CLARIFICATION": ("Needs clarification", "? needs clarification"),
}
"""The label and the text of each review status. The text has a sign, because colours alone are not accessible."""
_ANY = "any"
_ANY_CHOICE = ("Any", _ANY)
_STATUS_CHOICES = [(label, status) for status, (label, _) in _STATUSES.items()]
_VERDICT_CHOICES = [_ANY_CHOICE, *((name.capitalize(), name) for name in _SIGNS)]
_LONGEST_VALUE = 120  # characters of a value in a list
_MOST_COLUMNS = 4  # columns with values in a list
_CHOOSE_JOB = "Choose a job and a kind to see its rows."


def row_html(detail: RowDetail) -> str:
    """Return the complete row as HTML: its review, its cells with their quotes, its notes and its receipt."""
    review = detail.row.review
    by = f" by {review.reviewer}, {review.reviewed_at}" if review.reviewer else ""
    comment = f": {review.comment}" if review.comment else ""
    status = f"{status_text(review.status, stale=review.stale)}{by}{comment}"
    return fill_template("row", detail, status, _SIGNS, _value_text)


def row_table(rows: Sequence[RowView]) -> tuple[list[str], list[list[str | int]]]:
    """Return the headers and lines of a table: number, name, review, and the first columns of values."""
    names = (name for row in rows for name, cell in row.cells.items() if cell.value not in {None, row.name})
    columns = list(dict.fromkeys(names))[:_MOST_COLUMNS]
    lines: list[list[str | int]] = []
    for number, row in enumerate(rows, start=1):
        cells = (row.cells.get(name) for name in columns)
        values = ["" if cell is None else _shorten(_value_text(cell.value)) or _SIGNS[cell.verdict] for cell in cells]
        lines.append([number, _shorten(row.name), status_text(row.review.status, stale=row.review.stale), *values])
    return ["No.", "Name", "Review", *map(show_invisible_characters, columns)], lines


def status_text(status: str, *, stale: bool) -> str:
    """Return the status of a review with a sign."""
    return f"{_STATUSES[status][1]}, changed since" if stale else _STATUSES[status][1]


def files_markdown(files: Sequence[ExportFile], job: str, kind: str) -> str:
    """Return a list of download links to the files of a job."""
    if not files:
        return "No files yet."
    links = (route_link(one.file, f"/v1/rows/{job}/{kind}/files/{one.file}") for one in files)
    lines = ["**Files**\n", *(f"- {link} ({one.bytes:,} bytes)" for link, one in zip(links, files, strict=True))]
    if any(one.before_reviews for one in files):
        lines.append("\nThese files are older than the last review: run the job again to include it.")
    return "\n".join(lines)


def _value_text(value: Value) -> str:
    if value is None:
        return ""
    return "; ".join(map(flatten_lines, value)) if isinstance(value, tuple) else flatten_lines(str(value))


def _shorten(text: str) -> str:
    shown = show_invisible_characters(flatten_lines(text))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"


@dataclass(frozen=True)
class RowBrowserState:
    """The displayed page of rows: its job, the row ids in order, and the open row."""

    job: str = ""
    kind: JobKind = JOB_KINDS[0]
    offset: int = 0
    row_ids: tuple[RowId, ...] = ()
    opened: RowId | None = None
    digest: str = ""


class RowBrowser:
    """A filtered list of the rows of one job, the open row with its review, and the files."""

    def __init__(self, services: Services) -> None:
        self._rows, self._exports = RowActions(services), ExportActions(services)
        self._state = gr.State(RowBrowserState())
        with gr.Row(elem_id="rows-filter"):
            self._table = gr.Dropdown([_ANY_CHOICE], value=_ANY, label="Table")
            self._review = gr.Dropdown([_ANY_CHOICE, *_STATUS_CHOICES], value=_ANY, label="Review")
            self._verdict = gr.Dropdown(_VERDICT_CHOICES, value=_ANY, label="Verdict of a cell")
            self._text = gr.Textbox(
                "", label="Words", placeholder="Press Enter to search.", max_length=1000, elem_id="rows-text"
            )
        self._count = html_area("rows-count", _CHOOSE_JOB)
        self._list = gr.Dataframe(
            headers=["No.", "Name", "Review"], type="array", label="Rows", interactive=False, max_height=360,
            wrap=False, buttons=[], elem_id="rows",
        )  # fmt: skip
        with gr.Row(elem_id="rows-pages"):
            self._previous = gr.Button("Previous rows", size="sm", interactive=False, elem_id="rows-previous")
            self._next = gr.Button("Next rows", size="sm", interactive=False, elem_id="rows-next")
        self._row = gr.Dropdown([], value=None, label="Open a row", elem_id="rows-row")
        self._detail = html_area("row")
        self._lay_out_review()
        self._files = html_area("rows-files")
        self._wire()

    def _lay_out_review(self) -> None:
        with gr.Group(visible=False, elem_id="review") as self._form:
            self._status = gr.Radio(_STATUS_CHOICES, value="PENDING", label="Decision", elem_id="review-status")
            self._comment = gr.Textbox("", label="Comment", lines=2, max_length=10_000, elem_id="review-comment")
            self._reviewer = gr.Textbox(
                "", label="Reviewer", info="Empty: the name of your key.", max_length=200, elem_id="review-reviewer"
            )
            self._save = gr.Button("Save the review", variant="primary", elem_id="review-save")
        self._result = html_area("review-result")

    @property
    def outputs(self) -> list[Any]:
        """The components that `show_job` may update."""
        return [self._table, self._files, *self._page_outputs]

    @property
    def _page_outputs(self) -> list[Any]:
        row = [self._detail, self._form, self._status, self._comment, self._result]
        return [self._state, self._count, self._list, self._previous, self._next, self._row, *row]

    def _wire(self) -> None:
        filters = [self._table, self._review, self._verdict, self._text]
        page = self._page_outputs
        changed = [self._table.input, self._review.input, self._verdict.input, self._text.submit]
        gr.on(changed, self._page_handler(None), [self._state, *filters], page, **QUIET_EVENT)
        for button, step in ((self._previous, -PAGE_SIZE), (self._next, PAGE_SIZE)):
            button.click(self._page_handler(step), [self._state, *filters], page, **QUIET_EVENT)
        self._row.input(self.open_chosen, [self._state, self._row], page, **QUIET_EVENT)
        self._list.select(self.open_selected, [self._state], page, **QUIET_EVENT)
        form = [self._status, self._comment, self._reviewer]
        self._save.click(self.review, [self._state, *form, *filters], [*page, self._files], **QUIET_EVENT)

    def show_job(self, job: str | None, kind: JobKind | None, request: gr.Request) -> ComponentUpdates:
        """Show the first rows of a job, unfiltered, and its files."""
        if not job or kind not in JOB_KINDS:
            return {self._count: _CHOOSE_JOB}
        principal, state = principal_of_event(request), RowBrowserState(job, kind)
        closed = {self._detail: "", self._form: gr.update(visible=False), self._result: ""}
        try:
            page = self._rows.page(principal, job, state.kind, RowFilter(limit=PAGE_SIZE))
            files = self._show_files(principal, state)
        except EltError as error:
            return {**self._show_error(error), **closed}
        tables = gr.update(choices=[_ANY_CHOICE, *((name, name) for name in page.tables)], value=_ANY)
        return {self._table: tables, self._files: files, **self._show_page(state, page), **closed}

    def _page_handler(self, step: int | None) -> Any:
        """Return an event handler that scrolls the list by `step` rows, or with None to the first row."""

        def show_rows(request: gr.Request, state: RowBrowserState, *filters: str) -> ComponentUpdates:
            moved = replace(state, offset=0 if step is None else max(0, state.offset + step))
            return self._filter(moved, filters, principal_of_event(request))

        return show_rows

    def open_chosen(self, state: RowBrowserState, number: int | None, request: gr.Request) -> ComponentUpdates:
        """Open the row with this number on the page, counted from 0."""
        if number is None or not 0 <= number < len(state.row_ids):
            return {self._detail: ""}
        row_id = state.row_ids[number]
        try:
            detail = self._rows.get(principal_of_event(request), state.job, state.kind, row_id)
        except EltError as error:
            return {self._detail: failure_markdown(error)}
        opened = replace(state, opened=row_id, digest=detail.digest)
        return {self._state: opened, self._row: number, **self._show_row(detail)}

    def open_selected(self, state: RowBrowserState, event: gr.SelectData, request: gr.Request) -> ComponentUpdates:
        """Open the row of a selected cell. The row number is in the first column, because the table may be sorted."""
        number = int(event.row_value[0]) - 1 if event.row_value and str(event.row_value[0]).isdigit() else -1
        return self.open_chosen(state, number, request)

    def review(
        self, request: gr.Request, state: RowBrowserState, status: str, comment: str, reviewer: str, *filters: str
    ) -> ComponentUpdates:
        """Save a review of the version of the open row that the reviewer has seen."""
        principal = principal_of_event(request)
        if state.opened is None:
            return {self._result: "Choose a row first."}
        values = {"status": status, "comment": comment or "", "reviewer": reviewer or "", "seen": state.digest}
        try:
            decision = ReviewRequest(table=state.opened.table, key=state.opened.key, **values)  # type: ignore[arg-type]
            detail = self._rows.review(principal, state.job, state.kind, decision)
            files = self._show_files(principal, state)
        except ValidationError:
            return {self._result: "Choose a decision; comment and name must not be too long."}
        except EltError as error:
            return {self._result: failure_markdown(error)}
        page = self._filter(state, filters, principal)
        return {**page, **self._show_row(detail), self._result: "Saved.", self._files: files}

    def _filter(self, state: RowBrowserState, filters: Sequence[str], principal: Principal) -> ComponentUpdates:
        if not state.job:
            return {self._count: _CHOOSE_JOB}
        values = zip(("table", "status", "verdict", "text"), (*filters[:3], (filters[3] or "").strip()), strict=True)
        wanted: dict[str, Any] = {name: value for name, value in values if value not in {_ANY, ""}}
        try:
            row_filter = RowFilter(offset=state.offset, limit=PAGE_SIZE, **wanted)
            page = self._rows.page(principal, state.job, state.kind, row_filter)
        except EltError as error:
            return self._show_error(error)
        return self._show_page(state, page)

    def _show_page(self, state: RowBrowserState, page: RowPage) -> ComponentUpdates:
        headers, lines = row_table(page.rows)
        row_ids = tuple(RowId(row.table, row.key) for row in page.rows)
        last = page.offset + len(page.rows)
        counts = ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in page.statuses.items())
        shown = f"Rows {page.offset + 1} to {last} of {page.total}." if page.rows else "No rows."
        labels = [
            (f"{number}. {name} ({row.table}, {review})", index)
            for index, ((number, name, review, *_), row) in enumerate(zip(lines, page.rows, strict=True))
        ]
        return {
            self._state: replace(state, offset=page.offset, row_ids=row_ids),
            self._count: escape_markdown(f"{shown} In all: {counts}." if counts else shown),
            self._list: gr.update(headers=headers, value=lines),
            self._previous: gr.update(interactive=page.offset > 0),
            self._next: gr.update(interactive=last < page.total),
            self._row: gr.update(
                choices=labels, value=row_ids.index(state.opened) if state.opened in row_ids else None
            ),
        }

    def _show_row(self, detail: RowDetail) -> ComponentUpdates:
        return {
            self._detail: row_html(detail),
            self._form: gr.update(visible=True),
            self._status: detail.row.review.status,
            self._comment: detail.row.review.comment,
            self._result: "",
        }

    def _show_files(self, principal: Principal, state: RowBrowserState) -> str:
        files = self._exports.all(principal, state.job, state.kind)
        return files_markdown(files, state.job, state.kind)

    def _show_error(self, error: EltError) -> ComponentUpdates:
        return {
            self._state: RowBrowserState(),
            self._count: failure_markdown(error),
            self._list: gr.update(value=[]),
            self._detail: "",
            self._form: gr.update(visible=False),
            self._result: "",
        }


class JobsTab:
    """The controls of the tab, and their event handlers."""

    def __init__(self, services: Services) -> None:
        self._jobs = BatchJobActions(services)
        with gr.Row(elem_id="jobs-settings"):
            self._job = gr.Dropdown([], value=None, label="Job", info="Files in config/consumer.", elem_id="jobs-job")
            self._kind = gr.Dropdown([], value=None, label="Kind", info="What the job makes.", elem_id="jobs-kind")
        with gr.Accordion("Which rows to make", open=False, elem_id="jobs-options"):
            self._only = gr.Textbox("", label="Names or keys", info="One per line; empty: all rows.", lines=2)
            with gr.Row():
                self._limit = gr.Number(None, label="Most rows", minimum=1, precision=0)
                self._again = gr.Checkbox(False, label="Make existing rows again")
                self._dry_run = gr.Checkbox(False, label="Dry run: only report what would be made")
        with gr.Row(elem_id="jobs-buttons"):
            self._run = gr.Button("Run", variant="primary", elem_id="jobs-run")
            stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="jobs-stop")
        self._status = html_area("jobs-status")
        self._watch = JobWatch(JobActions(services), JOB_KINDS, self._status, stop)
        self._rows = RowBrowser(services)
        self._wire()

    def _wire(self) -> None:
        rows, watched, chosen = self._rows, self._watch.outputs, [self._job, self._kind]
        options = [self._only, self._limit, self._again, self._dry_run]
        gr.on(None, self.load, None, [self._job, *watched], **QUIET_EVENT)
        chosen_job = self._job.input(self.kinds, [self._job], [self._kind], **QUIET_EVENT)
        chosen_job.then(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._kind.input(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._run.click(self.run, [*chosen, *options], watched, **QUIET_EVENT)
        ticked = [self._watch.running, *chosen]
        self._watch.timer.tick(self.refresh, ticked, [*watched, *rows.outputs], **QUIET_EVENT)

    def load(self, request: gr.Request) -> ComponentUpdates:
        """List the jobs and watch the caller's running job, when the page is opened."""
        principal = principal_of_event(request)
        names = [job.name for job in self._jobs.all(principal)]
        return {self._job: gr.update(choices=names), **self._watch.resume(principal)}

    def kinds(self, job: str | None, request: gr.Request) -> Any:
        """Return the kinds of output that the sources of a job allow."""
        kinds = {one.name: one.kinds for one in self._jobs.all(principal_of_event(request))}.get(job or "", ())
        return gr.update(choices=list(kinds), value=next(iter(kinds), None))

    def run(
        self,
        job: str | None,
        kind: JobKind | None,
        only: str | None,
        limit: float | None,
        again: bool,
        dry_run: bool,
        request: gr.Request,
    ) -> ComponentUpdates:
        """Queue a run of the job and watch it."""
        if not job or kind not in JOB_KINDS:
            return {self._status: "Choose a job and a kind first."}
        names = tuple(line.strip() for line in (only or "").splitlines() if line.strip())
        most = int(limit) if limit else None
        try:
            asked = BatchJobRequest(job=job, only=names, limit=most, anew=again, dry_run=dry_run)
            return self._watch.show(self._jobs.submit(principal_of_event(request), kind, asked))
        except EltError as error:
            return {self._status: failure_markdown(error)}
        except ValidationError:
            return {self._status: "Name at most 1,000 rows, and a whole number from 1 of them."}

    async def refresh(
        self, running: str, job: str | None, kind: JobKind | None, request: gr.Request
    ) -> ComponentUpdates:
        """Show the progress of the job. When the job has ended, also show its rows."""
        updates = await asyncio.to_thread(self._watch.refresh, principal_of_event(request), running)
        if not self._watch.is_over(updates):
            return updates
        return {**updates, **await asyncio.to_thread(self._rows.show_job, job, kind, request)}
