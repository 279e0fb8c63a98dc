"""Controls that show a job's progress and stop it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.jobs import QueuedJob

from elt_llm_api.display.text import STAGE_WORDS
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.safe_text import escape_markdown
from elt_llm_api.serve.ui.controls import QUIET_EVENT, ComponentUpdates, principal_of_event
from elt_llm_api.serve.ui.markup import failure_markdown

_STATES = {
    "queued": "⏳ is waiting",
    "running": "▶ is running",
    "done": "✓ is done",
    "failed": "✗ failed",
    "cancelled": "■ was stopped",
}
_MOST_LISTED = 5  # failures, and notes
_SECONDS_BETWEEN_UPDATES = 1.0


def job_markdown(job: QueuedJob) -> str:
    """The job and its status, then its progress, what it is waiting for, or its result."""
    names = {
        "ingest": f"Reading documents into {job.arguments.get('collection', '')}",
        "forget": f"Forgetting a document of {job.arguments.get('collection', '')}",
    }
    name = names.get(job.kind) or f"{job.kind.capitalize()} of {job.arguments.get('job', '')}"
    lines = [f"{name} {_STATES[job.status]}.", *_detail_lines(job), job.error]
    first, *others = (escape_markdown(line) for line in lines if line)
    return "\n\n".join([f"**{first}**", *others])


def _detail_lines(job: QueuedJob) -> list[str]:
    if job.status == "queued":
        return list(job.progress.get("notes", []))[-1:]
    if job.status == "running":
        return [_progress_text(job.progress)]
    if job.status != "done":
        return []
    if job.kind == "forget":
        return ["The document is forgotten: no answer uses it any more."]
    return _ingest_result(job.result) if job.kind == "ingest" else _rows_result(job.result)


def _progress_text(progress: Mapping[str, Any]) -> str:
    stage = progress.get("stage")
    if not stage:
        return "Starting."
    words, _ = STAGE_WORDS.get(stage, (stage, ""))
    of = f" of {progress['total']}" if progress["total"] else ""
    return f"{words}: {progress['done']}{of} {progress['detail']}".strip()


def _ingest_result(result: Mapping[str, Any]) -> list[str]:
    counts = ", ".join(f"{count} {status}" for status, count in result["counts"].items())
    failed = [f"{file['path']}: {file['reason']}" for file in result["files"] if file["status"] == "failed"]
    return [f"{counts}.", *_first_failures(failed), *result["notes"]]


def _rows_result(result: Mapping[str, Any]) -> list[str]:
    if plan := result.get("plan"):
        return [
            f"It would make {plan['to_make']} of {plan['rows']} rows with {plan['calls']} calls of a language model;"
            f" {plan['kept']} exist already."
        ]
    counts = f"{result['rows']} rows: {result['made']} made now, {result['kept']} kept."
    failed = [f"{one['name']}: {one['reason']} {one['hint']}".strip() for one in result["failures"]]
    return [counts, *_first_failures(failed), *result["notes"][:_MOST_LISTED]]


def _first_failures(failed: list[str]) -> list[str]:
    more = len(failed) - _MOST_LISTED
    return [*failed[:_MOST_LISTED], *([f"{more} more failed."] if more > 0 else [])]


class JobWatch:
    """Watches one job at a time, of certain kinds, until the job has ended, is stopped, or is no longer visible."""

    def __init__(self, jobs: JobActions, kinds: Sequence[str], status: gr.Markdown, stop_button: gr.Button) -> None:
        """To be created within the tab, to which a state and a timer are added."""
        self._jobs, self._kinds, self._status, self._stop_button = jobs, kinds, status, stop_button
        self.running, self.timer = gr.State(""), gr.Timer(_SECONDS_BETWEEN_UPDATES, active=False)

    @property
    def outputs(self) -> list[Any]:
        """Every component that may be updated."""
        return [self._status, self._stop_button, self.timer, self.running]

    def wire(self) -> None:
        """Connect the button with its handler."""
        self._stop_button.click(self.stop, [self.running], self.outputs, **QUIET_EVENT)

    def stop(self, running: str, request: gr.Request) -> ComponentUpdates:
        """Cancel the watched job."""
        return self.start(lambda: self._jobs.cancel(principal_of_event(request), running))

    def resume(self, principal: Principal) -> ComponentUpdates:
        """When the page is opened, watch the latest job of the caller, unless it has ended."""
        active = self._jobs.all(principal, ("queued", "running"), kinds=self._kinds)
        own = next((job for job in active if job.requested_by == principal.name), None)
        return self.show(own) if own else {}

    def refresh(self, principal: Principal, running: str) -> ComponentUpdates:
        """Show the present state of the watched job."""
        return self.start(lambda: self._jobs.get(principal, running))

    def start(self, work: Callable[[], QueuedJob]) -> ComponentUpdates:
        """Watch the job that `work` returns; if it fails, show the error and watch nothing."""
        try:
            return self.show(work())
        except EltError as error:
            return self._updates("", failure_markdown(error))

    def show(self, job: QueuedJob) -> ComponentUpdates:
        """Watch this job, unless it has ended."""
        return self._updates("" if job.has_ended else job.id, job_markdown(job))

    def is_over(self, updates: ComponentUpdates) -> bool:
        """Whether nothing is watched after these updates."""
        return not updates[self.running]

    def _updates(self, running: str, status: str) -> ComponentUpdates:
        stop, timer = gr.update(interactive=bool(running)), gr.Timer(active=bool(running))
        return {self._status: status, self._stop_button: stop, self.timer: timer, self.running: running}
