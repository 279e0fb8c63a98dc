"""The tab Jobs: run a job, watch it, browse and review its rows, download its files."""

import asyncio
from typing import Any

import gradio as gr
from elt_llm_consumer.jobs.tasks import JOB_KINDS, JobKind
from elt_llm_core.errors import EltError
from pydantic import ValidationError

from elt_llm_api.serve.actions.batch_jobs import BatchJobActions, BatchJobRequest
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.controls import QUIET_EVENT, ComponentUpdates, html_area, principal_of_event
from elt_llm_api.serve.ui.job_watch import JobWatch
from elt_llm_api.serve.ui.markup import failure_markdown
from elt_llm_api.serve.ui.rows import RowBrowser


def build(services: Services) -> None:
    """Lay out the tab and connect its controls."""
    _Tab(services).wire()


class _Tab:
    """The controls of the tab and their handlers."""

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

    def wire(self) -> None:
        """Connect the controls with their handlers."""
        rows, watched, chosen = self._rows, self._watch.outputs, [self._job, self._kind]
        options = [self._only, self._limit, self._again, self._dry_run]
        gr.on(None, self.load, None, [self._job, *watched], **QUIET_EVENT)
        chosen_job = self._job.input(self.kinds, [self._job], [self._kind], **QUIET_EVENT)
        chosen_job.then(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._kind.input(rows.show_job, chosen, rows.outputs, **QUIET_EVENT)
        self._run.click(self.run, [*chosen, *options], watched, **QUIET_EVENT)
        ticked = [self._watch.running, *chosen]
        self._watch.timer.tick(self.refresh, ticked, [*watched, *rows.outputs], **QUIET_EVENT)
        self._watch.wire()
        rows.wire()

    def load(self, request: gr.Request) -> ComponentUpdates:
        """When the page is opened, list the jobs and watch the caller's running job."""
        principal = principal_of_event(request)
        names = [job.name for job in self._jobs.all(principal)]
        return {self._job: gr.update(choices=names), **self._watch.resume(principal)}

    def kinds(self, job: str | None, request: gr.Request) -> Any:
        """The kinds that the sources of a job allow."""
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
        """Queue a run and watch it."""
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

    async def refresh(self, running: str, job: str | None, kind: str | None, request: gr.Request) -> ComponentUpdates:
        """Show the progress of the job; when it has ended, also its rows."""
        updates = await asyncio.to_thread(self._watch.refresh, principal_of_event(request), running)
        if not self._watch.is_over(updates):
            return updates
        return {**updates, **await asyncio.to_thread(self._rows.show_job, job, kind, request)}
