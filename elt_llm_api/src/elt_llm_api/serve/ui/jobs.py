"""The tab Jobs: run a job, watch it, browse its rows with what they rest on, review them, take the files home."""

import asyncio
from dataclasses import dataclass
from typing import Any

import gradio as gr
from elt_llm_consumer.kinds import KINDS, Kind
from elt_llm_core.errors import EltError
from pydantic import ValidationError

from elt_llm_api.serve.actions.batch_jobs import BatchJobs, BatchRequest
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.handlers import QUIET, Updates
from elt_llm_api.serve.ui.job_watch import JobWatch
from elt_llm_api.serve.ui.row_browser import RowBrowser


@dataclass(frozen=True)
class _Controls:
    """What stands above the rows."""

    job: gr.Dropdown
    kind: gr.Dropdown
    only: gr.Textbox
    limit: gr.Number
    anew: gr.Checkbox
    dry_run: gr.Checkbox
    run: gr.Button
    stop: gr.Button
    said: gr.Markdown


def build(services: Services) -> None:
    """Lay out the tab and say what its controls do."""
    controls = _laid_out()
    rows = RowBrowser(services)
    _Tab(services, controls, rows).wire()


def _laid_out() -> _Controls:
    with gr.Row(elem_id="jobs-settings"):
        job = gr.Dropdown([], value=None, label="Job", info="Files in config/consumer.", elem_id="jobs-job")
        kind = gr.Dropdown([], value=None, label="Kind", info="What is made of its sources.", elem_id="jobs-kind")
    with gr.Accordion("Which rows to make", open=False, elem_id="jobs-options"):
        only = gr.Textbox("", label="Names or keys", info="One a line; none: all.", lines=2, elem_id="jobs-only")
        with gr.Row():
            limit = gr.Number(None, label="At most so many", minimum=1, precision=0, elem_id="jobs-limit")
            anew = gr.Checkbox(False, label="Make rows anew that are at hand", elem_id="jobs-anew")
            dry_run = gr.Checkbox(False, label="Only say what would be made", elem_id="jobs-dry-run")
    with gr.Row(elem_id="jobs-buttons"):
        run = gr.Button("Run", variant="primary", elem_id="jobs-run")
        stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="jobs-stop")
    said = gr.Markdown("", elem_id="jobs-said", latex_delimiters=[])
    return _Controls(job, kind, only, limit, anew, dry_run, run, stop, said)


class _Tab:
    """The handlers: each takes what controls hold, calls an action, and says what changes."""

    def __init__(self, services: Services, controls: _Controls, rows: RowBrowser) -> None:
        self._controls, self._rows = controls, rows
        self._batch = BatchJobs(services)
        self._watch = JobWatch(Jobs(services), KINDS, controls.said, controls.stop)

    def wire(self) -> None:
        """Say which control calls what."""
        on, rows, watch = self._controls, self._rows, self._watch
        chosen, watched = [on.job, on.kind], watch.outputs
        options = [on.only, on.limit, on.anew, on.dry_run]
        gr.on(None, self.opened, None, [on.job, *watched], **QUIET)
        on.job.input(self.kinds, [on.job], [on.kind], **QUIET).then(rows.of_job, chosen, rows.outputs, **QUIET)
        on.kind.input(rows.of_job, chosen, rows.outputs, **QUIET)
        on.run.click(self.run, [*chosen, *options], watched, **QUIET)
        watch.timer.tick(self.watch, [watch.running, *chosen], [*watched, *rows.outputs], **QUIET)
        watch.wire()
        rows.wire(on.job, on.kind)

    def opened(self, request: gr.Request) -> Updates:
        """What this caller can run, when the page is opened; a job that it asked for and that runs is watched again."""
        principal = principal_of(request)
        names = [job.name for job in self._batch.all(principal)]
        return {self._controls.job: gr.update(choices=names), **self._watch.resumed(principal)}

    def kinds(self, job: str | None, request: gr.Request) -> Any:
        """What can be made of a job's sources."""
        listed = {one.name: one.kinds for one in self._batch.all(principal_of(request))}
        kinds = listed.get(job or "", ())
        return gr.update(choices=list(kinds), value=next(iter(kinds), None))

    def run(
        self,
        job: str | None,
        kind: Kind | None,
        only: str | None,
        limit: float | None,
        anew: bool,
        dry_run: bool,
        request: gr.Request,
    ) -> Updates:
        """Put a run into the queue and begin to watch it."""
        on = self._controls
        if not job or kind not in KINDS:
            return {on.said: "Choose a job and a kind first."}
        names = tuple(line.strip() for line in (only or "").splitlines() if line.strip())
        most = int(limit) if limit else None
        try:
            asked = BatchRequest(job=job, only=names, limit=most, anew=anew, dry_run=dry_run)
            queued = self._batch.submit(principal_of(request), kind, asked)
        except EltError as error:
            return {on.said: failure_markdown(error)}
        except ValidationError:
            return {on.said: "Name at most 1,000 rows, and a whole number from 1 of them."}
        return self._watch.shown(queued)

    async def watch(self, running: str, job: str | None, kind: str | None, request: gr.Request) -> Updates:
        """How far it is; when it has ended, also the rows as they are now."""
        principal = principal_of(request)
        watched = await asyncio.to_thread(self._watch.looked, principal, running)
        if not self._watch.is_over(watched):
            return watched
        return {**watched, **await asyncio.to_thread(self._rows.of_job, job, kind, request)}
