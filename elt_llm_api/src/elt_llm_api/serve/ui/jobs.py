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

from elt_llm_api.display.text import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import BatchJobActions, BatchJobRequest
from elt_llm_api.serve.actions.rows import (
    ExportActions,
    ExportFile,
    QuoteView,
    ReviewRequest,
    RowActions,
    RowDetail,
    RowFilter,
    RowPage,
    RowView,
)
from elt_llm_api.serve.safe_text import escape_markdown, route_link
from elt_llm_api.serve.ui.controls import (
    LATEST_EVENT,
    QUIET_EVENT,
    ComponentUpdates,
    JobWatch,
    PageContext,
    WatchedJob,
    command_box,
    html_area,
    parse_command,
    principal_of_event,
)
from elt_llm_api.serve.ui.markup import failure_markdown, fill_template, flatten_lines, shorten
from elt_llm_api.serve.ui.texts import Texts

PAGE_SIZE = 50
_VERDICTS = ("found", "inferred", "absent", "conflict")
_STATUSES = ("PENDING", "APPROVED", "REJECTED", "NEEDS_CLARIFICATION")
_ANY = "any"
_LONGEST_VALUE = 120  # characters of a value in a list
_MOST_COLUMNS = 5  # columns with values in a list


@dataclass(frozen=True)
class NumberedQuote:
    """A quote of a row, and the fields that it supports. A quote that supports several fields is shown once."""

    number: int
    quote: QuoteView
    fields: tuple[str, ...]


def numbered_quotes(quotes: Sequence[QuoteView]) -> list[NumberedQuote]:
    """Return each quoted span once, in order, with all fields that it supports."""
    spans: dict[tuple[str, str, tuple[int, int]], tuple[QuoteView, list[str]]] = {}
    for one in quotes:
        key = (one.evidence.collection, one.evidence.document_id, one.evidence.span)
        spans.setdefault(key, (one, []))[1].append(one.field)
    return [
        NumberedQuote(number, quote, tuple(dict.fromkeys(fields)))
        for number, (quote, fields) in enumerate(spans.values(), start=1)
    ]


def row_html(detail: RowDetail, texts: Texts) -> str:
    """Return the complete row as HTML: its review, its cells, each quote once, its notes and its receipt."""
    review = detail.row.review
    status = status_text(review.status, texts, stale=review.stale)
    if review.reviewer:
        status = texts("rows.by", status=status, reviewer=review.reviewer, time=local_time(review.reviewed_at))
    status = f"{status}: {review.comment}" if review.comment else status
    return fill_template("row", texts, detail, status, numbered_quotes(detail.quotes), _value_text)


def row_grid(rows: Sequence[RowView], opened: RowId | None, texts: Texts) -> str:
    """Return the rows as a grid: name, review, and the first columns of values, each with the sign of its verdict."""
    names = (name for row in rows for name, cell in row.cells.items() if cell.value not in {None, row.name})
    columns = list(dict.fromkeys(names))[:_MOST_COLUMNS]
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for name in columns:
            cell = row.cells.get(name)
            words = texts(f"rows.{cell.verdict}") if cell else ""
            value = shorten(_value_text(cell.value), _LONGEST_VALUE) if cell else ""
            cells.append((name, cell.verdict if cell else "", words, value))
        status = status_text(row.review.status, texts, stale=row.review.stale)
        is_open = opened == RowId(row.table, row.key)
        lines.append((number, shorten(row.name, _LONGEST_VALUE), row.review.status.lower(), status, cells, is_open))
    return fill_template("rows", texts, columns, lines) if rows else ""


def status_text(status: str, texts: Texts, *, stale: bool) -> str:
    """Return a review's status in words with a sign; `stale` adds that the row has changed since its review."""
    words = texts(f"rows.{status.lower()}")
    return texts("rows.changed", status=words) if stale else words


def files_markdown(files: Sequence[ExportFile], job: str, kind: str, texts: Texts) -> str:
    """Return a list of download links to the files of a job, or the reason why there is none."""
    withheld = f"\n{texts('rows.withheld')}" if any(one.withheld for one in files) else ""
    files = [one for one in files if not one.withheld]
    if not files:
        return withheld.strip() or texts("rows.no_files")
    links = (route_link(one.file, f"/v1/rows/{job}/{kind}/files/{one.file}") for one in files)
    sizes = (texts("rows.bytes", count=texts.figure(f"{one.bytes:,}")) for one in files)
    lines = [f"**{texts('rows.files')}**\n", *(f"- {link} ({size})" for link, size in zip(links, sizes, strict=True))]
    if any(one.before_reviews for one in files):
        lines.append(f"\n{texts('rows.outdated')}")
    return "\n".join(filter(None, [*lines, withheld]))


def _value_text(value: Value) -> str:
    if value is None:
        return ""
    return "; ".join(map(flatten_lines, value)) if isinstance(value, tuple) else flatten_lines(str(value))


@dataclass(frozen=True)
class RowBrowserState:
    """The displayed page of rows with their job, and the open row."""

    job: str = ""
    kind: JobKind = JOB_KINDS[0]
    offset: int = 0
    rows: tuple[RowView, ...] = ()
    total: int = 0
    opened: RowId | None = None
    digest: str = ""

    @property
    def row_ids(self) -> list[RowId]:
        """The ids of the displayed rows, in order."""
        return [RowId(row.table, row.key) for row in self.rows]


class RowBrowser:
    """A filtered grid of the rows of one job, the open row beside it with its review, and the files."""

    def __init__(self, page: PageContext) -> None:
        self._texts = t = page.texts
        self._rows, self._exports = RowActions(page.services), ExportActions(page.services)
        self._state = gr.State(RowBrowserState())
        statuses = [(t(f"rows.{status.lower()}"), status) for status in _STATUSES]
        verdicts = [(t(f"rows.{verdict}"), verdict) for verdict in _VERDICTS]
        any_choice = (t("rows.any"), _ANY)
        with gr.Row(elem_id="rows-filter"):
            self._table = gr.Dropdown([any_choice], value=_ANY, label=t("rows.table"))
            self._review = gr.Dropdown([any_choice, *statuses], value=_ANY, label=t("rows.review"))
            self._verdict = gr.Dropdown([any_choice, *verdicts], value=_ANY, label=t("rows.verdict"))
            self._words = gr.Textbox(
                "", label=t("rows.words"), placeholder=t("rows.words_placeholder"), max_length=1000, min_width=240,
                elem_id="rows-text",
            )  # fmt: skip
        self._count = html_area("rows-count", t("jobs.choose"))
        with gr.Row(elem_id="rows-beside"):
            with gr.Column(scale=3, min_width=320):
                self._list = html_area("rows")
                with gr.Row(elem_id="rows-pages"):
                    self._previous = gr.Button(t("rows.previous"), size="sm", visible=False, elem_id="rows-previous")
                    self._next = gr.Button(t("rows.next"), size="sm", visible=False, elem_id="rows-next")
                self._files = html_area("rows-files")
            with gr.Column(scale=2, min_width=320, visible=False, elem_id="row-side") as self._side:
                self._detail = html_area("row")
                self._lay_out_review(statuses)
        self._command = command_box("jobs", t)
        self._wire()

    def _lay_out_review(self, statuses: Sequence[tuple[str, str]]) -> None:
        t = self._texts
        with gr.Group(elem_id="review"):
            self._status = gr.Radio(statuses, value="PENDING", label=t("rows.decision"), elem_id="review-status")
            self._comment = gr.Textbox(
                "", label=t("rows.comment"), lines=2, max_length=10_000, elem_id="review-comment"
            )
            self._reviewer = gr.Textbox(
                "", label=t("rows.reviewer"), info=t("rows.reviewer_info"), max_length=200, elem_id="review-reviewer"
            )
            self._save = gr.Button(t("rows.save"), variant="primary", elem_id="review-save")
        self._result = html_area("review-result")

    @property
    def outputs(self) -> list[Any]:
        """The components that `show_job` may update."""
        return [self._table, *self._page_outputs]

    @property
    def _page_outputs(self) -> list[Any]:
        row = [self._side, self._detail, self._status, self._comment, self._result]
        return [self._state, self._count, self._list, self._previous, self._next, self._files, *row]

    def _wire(self) -> None:
        filters = [self._table, self._review, self._verdict, self._words]
        page, form = self._page_outputs, [self._status, self._comment, self._reviewer]
        changed = [self._table.input, self._review.input, self._verdict.input, self._words.submit]
        gr.on(changed, self._page_handler(None), [self._state, *filters], page, **LATEST_EVENT)
        for button, step in ((self._previous, -PAGE_SIZE), (self._next, PAGE_SIZE)):
            button.click(self._page_handler(step), [self._state, *filters], page, **QUIET_EVENT)
        self._command.change(self.run_command, [self._command, self._state, *form, *filters], page, **QUIET_EVENT)
        self._save.click(self.review, [self._state, *form, *filters], page, **QUIET_EVENT)

    def show_job(self, job: str | None, kind: JobKind | None, request: gr.Request) -> ComponentUpdates:
        """Show the first rows of a job, unfiltered, and its files."""
        if not job or kind not in JOB_KINDS:
            return {self._count: self._texts("jobs.choose")}
        principal, state = principal_of_event(request), RowBrowserState(job, kind)
        try:
            page = self._rows.page(principal, job, state.kind, RowFilter(limit=PAGE_SIZE))
            files = self._show_files(principal, state)
        except EltError as error:
            return self._show_error(error)
        any_choice = (self._texts("rows.any"), _ANY)
        tables = gr.update(choices=[any_choice, *((name, name) for name in page.tables)], value=_ANY)
        return {self._table: tables, self._files: files, **self._show_page(state, page), **self._close()}

    def _page_handler(self, step: int | None) -> Any:
        """Return an event handler that moves the list on by `step` rows, or to the first row if `step` is None."""

        def show_rows(request: gr.Request, state: RowBrowserState, *filters: str) -> ComponentUpdates:
            moved = replace(state, offset=0 if step is None else max(0, state.offset + step))
            return self._filter(moved, filters, principal_of_event(request))

        return show_rows

    def run_command(
        self,
        request: gr.Request,
        command: str,
        state: RowBrowserState,
        status: str,
        comment: str,
        reviewer: str,
        *filters: str,
    ) -> ComponentUpdates:
        """Open a row by its number, the next or the previous row, or review the open row and open the next."""
        principal, (name, value) = principal_of_event(request), parse_command(command)
        if name == "row" and value.isdecimal():
            return self._open(state, int(value), principal)
        if name == "close":
            return {**self._close(), self._state: replace(state, opened=None)}
        if name == "step" and value in {"1", "-1"}:
            return self._step(state, int(value), filters, principal)
        if name == "review" and value in _STATUSES and state.opened in state.row_ids:
            place = state.row_ids.index(state.opened)
            reviewed = self.review(request, state, value, comment, reviewer, *filters)
            after: RowBrowserState = reviewed.get(self._state, state)
            if self._state not in reviewed:
                return reviewed  # an error
            moved = place if state.opened not in after.row_ids else place + 1  # a filter may have removed the row
            return {**reviewed, **self._open(after, min(moved, len(after.rows) - 1), principal)}
        return {self._state: gr.skip()}

    def _step(
        self, state: RowBrowserState, step: int, filters: Sequence[str], principal: Principal
    ) -> ComponentUpdates:
        place = state.row_ids.index(state.opened) + step if state.opened in state.row_ids else 0
        if place < 0 and state.offset == 0:
            return {self._state: gr.skip()}
        if 0 <= place < len(state.rows):
            return self._open(state, place, principal)
        if place > 0 and state.offset + len(state.rows) >= state.total:
            return {self._state: gr.skip()}
        moved = replace(state, offset=max(0, state.offset + step * PAGE_SIZE))
        page = self._filter(moved, filters, principal)
        shown: RowBrowserState = page[self._state]
        return {**page, **self._open(shown, 0 if step > 0 else len(shown.rows) - 1, principal)}

    def _open(self, state: RowBrowserState, place: int, principal: Principal) -> ComponentUpdates:
        """Open the row at this index, from 0, of the displayed page of rows."""
        if not 0 <= place < len(state.rows):
            return {self._state: gr.skip()}
        row_id = state.row_ids[place]
        try:
            detail = self._rows.get(principal, state.job, state.kind, row_id)
        except EltError as error:
            return {self._side: gr.update(visible=True), self._detail: failure_markdown(error, self._texts)}
        opened = replace(state, opened=row_id, digest=detail.digest)
        grid = row_grid(opened.rows, row_id, self._texts)
        return {self._state: opened, self._list: grid, **self._show_row(detail)}

    def review(
        self, request: gr.Request, state: RowBrowserState, status: str, comment: str, reviewer: str, *filters: str
    ) -> ComponentUpdates:
        """Review the open row, in the version that the reviewer has seen."""
        principal = principal_of_event(request)
        if state.opened is None:
            return {self._result: self._texts("rows.choose")}
        values = {"status": status, "comment": comment or "", "reviewer": reviewer or "", "seen": state.digest}
        try:
            decision = ReviewRequest(table=state.opened.table, key=state.opened.key, **values)  # type: ignore[arg-type]
            detail = self._rows.review(principal, state.job, state.kind, decision)
            files = self._show_files(principal, state)
        except ValidationError:
            return {self._result: self._texts("rows.too_long")}
        except EltError as error:
            return {self._result: failure_markdown(error, self._texts)}
        page = self._filter(replace(state, digest=detail.digest), filters, principal)
        return {**page, **self._show_row(detail), self._result: self._texts("rows.saved"), self._files: files}

    def _filter(self, state: RowBrowserState, filters: Sequence[str], principal: Principal) -> ComponentUpdates:
        if not state.job:
            return {self._count: self._texts("jobs.choose")}
        values = zip(("table", "status", "verdict", "text"), (*filters[:3], (filters[3] or "").strip()), strict=True)
        wanted: dict[str, Any] = {name: value for name, value in values if value not in {_ANY, ""}}
        try:
            row_filter = RowFilter(offset=state.offset, limit=PAGE_SIZE, **wanted)
            page = self._rows.page(principal, state.job, state.kind, row_filter)
        except EltError as error:
            return self._show_error(error)
        return self._show_page(state, page)

    def _show_page(self, state: RowBrowserState, page: RowPage) -> ComponentUpdates:
        t, last = self._texts, page.offset + len(page.rows)
        counts = ", ".join(f"{count} {t(f'rows.{status.lower()}')}" for status, count in page.statuses.items())
        figures = {"first": page.offset + 1, "last": last, "total": page.total}
        shown = t("rows.shown", **figures) if page.rows else t("rows.none")
        count = escape_markdown(f"{shown} {t('rows.in_all', counts=counts)}" if counts else shown)
        now = replace(state, offset=page.offset, rows=tuple(page.rows), total=page.total)
        return {
            self._state: now,
            self._count: f'{count} <span class="facts">{t("rows.keys")}</span>' if page.rows else count,
            self._list: row_grid(page.rows, state.opened, t),
            self._previous: gr.update(visible=page.offset > 0),
            self._next: gr.update(visible=last < page.total),
        }

    def _show_row(self, detail: RowDetail) -> ComponentUpdates:
        return {
            self._side: gr.update(visible=True),
            self._detail: row_html(detail, self._texts),
            self._status: detail.row.review.status,
            self._comment: detail.row.review.comment,
            self._result: "",
        }

    def _show_files(self, principal: Principal, state: RowBrowserState) -> str:
        files = self._exports.all(principal, state.job, state.kind)
        return files_markdown(files, state.job, state.kind, self._texts)

    def _close(self) -> ComponentUpdates:
        return {self._side: gr.update(visible=False), self._detail: "", self._result: ""}

    def _show_error(self, error: EltError) -> ComponentUpdates:
        count = failure_markdown(error, self._texts)
        return {self._state: RowBrowserState(), self._count: count, self._list: "", **self._close()}


class JobsTab:
    """The controls of the tab Jobs, and their event handlers."""

    def __init__(self, page: PageContext) -> None:
        self._jobs, self._texts = BatchJobActions(page.services), page.texts
        t = page.texts
        with gr.Row(elem_id="jobs-settings"):
            self._job = gr.Dropdown([], value=None, label=t("jobs.job"), info=t("jobs.job_info"), elem_id="jobs-job")
            self._kind = gr.Dropdown(
                [], value=None, label=t("jobs.kind"), info=t("jobs.kind_info"), elem_id="jobs-kind"
            )
        with gr.Accordion(t("jobs.options"), open=False, elem_id="jobs-options"):
            self._only = gr.Textbox("", label=t("jobs.only"), info=t("jobs.only_info"), lines=2)
            with gr.Row():
                self._limit = gr.Number(None, label=t("jobs.limit"), minimum=1, precision=0)
                self._again = gr.Checkbox(False, label=t("jobs.again"))
                self._dry_run = gr.Checkbox(False, label=t("jobs.dry_run"))
        with gr.Row(elem_id="jobs-buttons"):
            self._run = gr.Button(t("jobs.run"), variant="primary", elem_id="jobs-run")
            stop = gr.Button(t("jobs.stop"), variant="stop", visible=False, elem_id="jobs-stop")
        self._status = html_area("jobs-status")
        self._watch = JobWatch(page, JOB_KINDS, self._status, stop)
        self._rows = RowBrowser(page)
        page.pickers.add(self._job, self._list_jobs)
        self._wire()

    def _wire(self) -> None:
        rows, watched, chosen = self._rows, self._watch.outputs, [self._job, self._kind]
        options = [self._only, self._limit, self._again, self._dry_run]
        gr.on(None, self.load, [self._watch.watched], watched, **QUIET_EVENT)
        chosen_job = self._job.input(self.kinds, [self._job], [self._kind], **QUIET_EVENT)
        chosen_job.then(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._kind.input(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._run.click(self.run, {self._watch.watched, *chosen, *options}, watched, **QUIET_EVENT)
        ticked = [self._watch.watched, *chosen]
        self._watch.timer.tick(self.refresh, ticked, [*watched, *rows.outputs], **QUIET_EVENT)

    def load(self, watched: WatchedJob, request: gr.Request) -> ComponentUpdates:
        """Watch the caller's running job, when the page is opened."""
        return {self._status: gr.skip(), **self._watch.resume(watched, principal_of_event(request))}

    def _list_jobs(self, principal: Principal) -> Any:
        names = [job.name for job in self._jobs.all(principal)]
        help_text = self._texts("jobs.job_info" if names else "jobs.none")
        return gr.update(choices=names, info=" ".join([help_text, *self._jobs.problems(principal)]))

    def kinds(self, job: str | None, request: gr.Request) -> Any:
        """Offer the kinds of output that the job can produce from its sources, such as "glossary" and "handbook"."""
        kinds = {one.name: one.kinds for one in self._jobs.all(principal_of_event(request))}.get(job or "", ())
        return gr.update(choices=list(kinds), value=next(iter(kinds), None))

    def run(self, values: dict[Any, Any], request: gr.Request) -> ComponentUpdates:
        """Queue a run of the job and watch it. `values` contains the value of each component of the form."""
        job, kind = values[self._job], values[self._kind]
        if not job or kind not in JOB_KINDS:
            return {self._status: self._texts("jobs.choose_first")}
        names = tuple(line.strip() for line in (values[self._only] or "").splitlines() if line.strip())
        most, again, dry_run = values[self._limit], values[self._again], values[self._dry_run]
        try:
            asked = BatchJobRequest(job=job, only=names, limit=int(most) if most else None, anew=again, dry_run=dry_run)
            queued = self._jobs.submit(principal_of_event(request), kind, asked)
            return self._watch.show(values[self._watch.watched], queued)
        except EltError as error:
            return {self._status: failure_markdown(error, self._texts)}
        except ValidationError:
            return {self._status: self._texts("jobs.invalid")}

    async def refresh(
        self, watched: WatchedJob, job: str | None, kind: JobKind | None, request: gr.Request
    ) -> ComponentUpdates:
        """Show the progress of the job. When the job has ended, also show its rows."""
        updates = await asyncio.to_thread(self._watch.refresh, watched, principal_of_event(request))
        if not updates or watched.id:
            return {self._status: gr.skip(), **updates}
        return {**updates, **await asyncio.to_thread(self._rows.show_job, job, kind, request)}
