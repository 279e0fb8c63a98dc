"""The rows of a job in a table, one of them with all it rests on, and what its reviewer says of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from elt_llm_consumer.kinds import KINDS, Kind
from elt_llm_core.errors import EltError
from elt_llm_core.state.rows import Place
from pydantic import ValidationError

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.exports import Exports
from elt_llm_api.serve.actions.row_shapes import ReviewRequest, RowDetail, RowFilter, RowPage
from elt_llm_api.serve.actions.rows import Rows
from elt_llm_api.serve.safe_text import as_markdown
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.handlers import QUIET, Updates
from elt_llm_api.serve.ui.row_cards import choice_of, files_markdown, listed, row_html

ON_A_PAGE = 50
_ANY = "any"
_STATUSES = [
    ("Pending", "PENDING"),
    ("Approved", "APPROVED"),
    ("Rejected", "REJECTED"),
    ("To be clarified", "NEEDS_CLARIFICATION"),
]
_VERDICTS = [("Any", _ANY), *((name.capitalize(), name) for name in ("found", "inferred", "absent", "conflict"))]


@dataclass(frozen=True)
class Shown:
    """The page that is shown: of which job, the places of its rows in order, and the row that is opened."""

    job: str = ""
    kind: str = ""
    offset: int = 0
    total: int = 0
    places: tuple[Place, ...] = ()
    opened: Place | None = None
    digest: str = ""


class RowBrowser:
    """Lays out rows, the opened row and its review, and the files; all of one job at a time."""

    def __init__(self, services: Services) -> None:
        self._rows, self._exports = Rows(services), Exports(services)
        self._state = gr.State(Shown())
        with gr.Row(elem_id="rows-filter"):
            self._table = gr.Dropdown([("Any", _ANY)], value=_ANY, label="Table", elem_id="rows-table")
            self._status = gr.Dropdown([("Any", _ANY), *_STATUSES], value=_ANY, label="Review", elem_id="rows-status")
            self._verdict = gr.Dropdown(_VERDICTS, value=_ANY, label="Verdict of a cell", elem_id="rows-verdict")
            self._text = gr.Textbox(
                "", label="Words", placeholder="Press Enter to look.", max_length=1000, elem_id="rows-text"
            )
        self._count = gr.Markdown("Choose a job to see its rows.", elem_id="rows-count", latex_delimiters=[])
        self._list = gr.Dataframe(
            headers=["No.", "Name", "Review"],
            type="array",
            label="Rows",
            interactive=False,
            max_height=360,
            wrap=False,
            buttons=[],
            elem_id="rows",
        )
        with gr.Row(elem_id="rows-pages"):
            self._back = gr.Button("Earlier rows", size="sm", interactive=False, elem_id="rows-back")
            self._on = gr.Button("Further rows", size="sm", interactive=False, elem_id="rows-on")
        self._row = gr.Dropdown([], value=None, label="Row to look at", elem_id="rows-row")
        self._detail = gr.Markdown("", elem_id="row", latex_delimiters=[])
        self._review = _ReviewForm()
        self._files = gr.Markdown("", elem_id="rows-files", latex_delimiters=[])

    @property
    def outputs(self) -> list[Any]:
        """Every component that `of_job` may change."""
        return [self._state, self._table, self._files, *self._of_page]

    def wire(self, job: gr.Dropdown, kind: gr.Dropdown) -> None:
        """Say what the controls do."""
        filters = [self._table, self._status, self._verdict, self._text]
        page, opened = [self._state, *self._of_page], [self._state, self._row, *self._of_row]
        changed = [self._table.input, self._status.input, self._verdict.input, self._text.submit]
        gr.on(changed, self.filtered, [self._state, *filters], page, **QUIET)
        for button, step in ((self._back, -ON_A_PAGE), (self._on, ON_A_PAGE)):
            button.click(self._turner(step), [self._state, *filters], page, **QUIET)
        self._row.input(self.open_chosen, [self._state, self._row], opened, **QUIET)
        self._list.select(self.open_selected, [self._state], opened, **QUIET)
        form = self._review
        form.keep.click(
            self.review,
            [self._state, form.status, form.comment, form.reviewer, *filters],
            [*page, self._files],
            **QUIET,
        )

    def of_job(self, job: str | None, kind: str | None, request: gr.Request) -> Updates:
        """The first rows of a job, unfiltered, and its files."""
        if not job or kind not in KINDS:
            return {self._count: "Choose a job and a kind to see its rows."}
        principal, state = principal_of(request), Shown(job, kind)
        try:
            page = self._rows.page(principal, job, _kind(kind), RowFilter(limit=ON_A_PAGE))
            files = files_markdown(self._exports.all(principal, job, _kind(kind)), job, kind)
        except EltError as error:
            return self._refused(error)
        tables = [("Any", _ANY), *((name, name) for name in page.tables)]
        return {
            self._table: gr.update(choices=tables, value=_ANY),
            self._files: files,
            **self._page(state, page),
            **self._closed(),
        }

    def filtered(self, state: Shown, table: str, status: str, verdict: str, text: str, request: gr.Request) -> Updates:
        """The first rows that the filters let through."""
        return self._turned(replace(state, offset=0), (table, status, verdict, text), principal_of(request))

    def open_chosen(self, state: Shown, number: int | None, request: gr.Request) -> Updates:
        """Open the row that was chosen by its number, from 0."""
        if number is None or not 0 <= number < len(state.places):
            return {self._detail: ""}
        return self._opened(state, number, principal_of(request))

    def open_selected(self, state: Shown, event: gr.SelectData, request: gr.Request) -> Updates:
        """Open the row of which a cell was selected: known by the number in its first column, however it is sorted."""
        number = int(event.row_value[0]) - 1 if event.row_value and str(event.row_value[0]).isdigit() else -1
        return self.open_chosen(state, number, request)

    def review(  # noqa: PLR0913, PLR0917 - one parameter for each control
        self,
        state: Shown,
        status: str,
        comment: str,
        reviewer: str,
        table: str,
        shown_status: str,
        verdict: str,
        text: str,
        request: gr.Request,
    ) -> Updates:
        """Keep what the reviewer says of the opened row, of which they saw just this."""
        principal = principal_of(request)
        if state.opened is None:
            return {self._review.said: "Choose a row first."}
        given = {"status": status, "comment": comment or "", "reviewer": reviewer or "", "seen": state.digest}
        try:
            asked = ReviewRequest(table=state.opened.table, key=state.opened.key, **given)  # type: ignore[arg-type]
            detail = self._rows.review(principal, state.job, _kind(state.kind), asked)
            files = files_markdown(self._exports.all(principal, state.job, _kind(state.kind)), state.job, state.kind)
        except ValidationError:
            return {self._review.said: "Choose what becomes of the row; comment and name must not be too long."}
        except EltError as error:
            return {self._review.said: failure_markdown(error)}
        page = self._turned(state, (table, shown_status, verdict, text), principal)
        return {**page, **self._row_shown(detail), self._review.said: "Kept.", self._files: files}

    @property
    def _of_page(self) -> list[Any]:
        return [self._count, self._list, self._back, self._on, self._row, *self._of_row]

    @property
    def _of_row(self) -> list[Any]:
        return [self._detail, *self._review.outputs]

    def _turner(self, step: int) -> Any:
        def turned(state: Shown, table: str, status: str, verdict: str, text: str, request: gr.Request) -> Updates:
            moved = replace(state, offset=max(0, state.offset + step))
            return self._turned(moved, (table, status, verdict, text), principal_of(request))

        return turned

    def _turned(self, state: Shown, filters: Sequence[str], principal: Principal) -> Updates:
        if not state.job:
            return {self._count: "Choose a job to see its rows."}
        try:
            page = self._rows.page(principal, state.job, _kind(state.kind), _filter(filters, state.offset))
        except EltError as error:
            return self._refused(error)
        return self._page(state, page)

    def _page(self, state: Shown, page: RowPage) -> Updates:
        headers, lines = listed(page.rows)
        places = tuple(Place(row.table, row.key) for row in page.rows)
        last = page.offset + len(page.rows)
        statuses = ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in page.statuses.items())
        told = f"Rows {page.offset + 1} to {last} of {page.total}." if page.rows else "No rows."
        choices = [(choice_of(number, row), number - 1) for number, row in enumerate(page.rows, start=1)]
        chosen = places.index(state.opened) if state.opened in places else None
        return {
            self._state: replace(state, offset=page.offset, total=page.total, places=places),
            self._count: as_markdown(f"{told} In all: {statuses}." if statuses else told),
            self._list: gr.update(headers=headers, value=lines),
            self._back: gr.update(interactive=page.offset > 0),
            self._on: gr.update(interactive=last < page.total),
            self._row: gr.update(choices=choices, value=chosen),
        }

    def _opened(self, state: Shown, number: int, principal: Principal) -> Updates:
        place = state.places[number]
        try:
            detail = self._rows.one(principal, state.job, _kind(state.kind), place)
        except EltError as error:
            return {self._detail: failure_markdown(error)}
        opened = replace(state, opened=place, digest=detail.digest)
        return {self._state: opened, self._row: number, **self._row_shown(detail)}

    def _row_shown(self, detail: RowDetail) -> Updates:
        return {self._detail: row_html(detail), **self._review.shown(detail)}

    def _closed(self) -> Updates:
        return {self._detail: "", **self._review.hidden()}

    def _refused(self, error: EltError) -> Updates:
        told = failure_markdown(error)
        return {self._state: Shown(), self._count: told, self._list: gr.update(value=[]), **self._closed()}


class _ReviewForm:
    """What a reviewer fills in."""

    def __init__(self) -> None:
        with gr.Group(visible=False, elem_id="review") as self.group:
            self.status = gr.Radio(_STATUSES, value="PENDING", label="What becomes of the row", elem_id="review-status")
            self.comment = gr.Textbox("", label="Comment", lines=2, max_length=10_000, elem_id="review-comment")
            self.reviewer = gr.Textbox(
                "", label="Reviewer", info="Empty: the name of your key.", max_length=200, elem_id="review-reviewer"
            )
            self.keep = gr.Button("Keep the review", variant="primary", elem_id="review-keep")
        self.said = gr.Markdown("", elem_id="review-said", latex_delimiters=[])

    @property
    def outputs(self) -> list[Any]:
        return [self.group, self.status, self.comment, self.said]

    def shown(self, detail: RowDetail) -> Updates:
        review = detail.row.review
        return {
            self.group: gr.update(visible=True),
            self.status: review.status,
            self.comment: review.comment,
            self.said: "",
        }

    def hidden(self) -> Updates:
        return {self.group: gr.update(visible=False), self.said: ""}


def _filter(filters: Sequence[str], offset: int) -> RowFilter:
    table, status, verdict, text = filters
    chosen = {"table": table, "status": status, "verdict": verdict, "text": (text or "").strip() or _ANY}
    wanted: dict[str, Any] = {name: value for name, value in chosen.items() if value != _ANY}
    return RowFilter(offset=offset, limit=ON_A_PAGE, **wanted)


def _kind(name: str) -> Kind:
    """The kind of that name, which the control has from us. Raises ValueError for any other."""
    return KINDS[KINDS.index(name)]
