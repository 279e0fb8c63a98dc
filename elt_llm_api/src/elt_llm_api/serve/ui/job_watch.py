"""The controls by which a tab shows how far a job is: what is said of it, what stops it, and when to look again."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.job_queue import QueuedJob

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.handlers import QUIET, Updates
from elt_llm_api.serve.ui.running_job import job_markdown

_SECONDS_BETWEEN_LOOKS = 1.0


class JobWatch:
    """Shows one job at a time, of these kinds, until it has ended, is stopped, or cannot be seen any more."""

    def __init__(self, jobs: Jobs, kinds: Sequence[str], said: gr.Markdown, button: gr.Button) -> None:
        """To be made within the tab, to which a state and a timer are added."""
        self._jobs, self._kinds, self._said, self._button = jobs, kinds, said, button
        self.running, self.timer = gr.State(""), gr.Timer(_SECONDS_BETWEEN_LOOKS, active=False)

    @property
    def outputs(self) -> list[Any]:
        """Every component that may change."""
        return [self._said, self._button, self.timer, self.running]

    def wire(self) -> None:
        """Say what the button does."""
        self._button.click(self.stop, [self.running], self.outputs, **QUIET)

    def stop(self, running: str, request: gr.Request) -> Updates:
        """Have what is watched not done."""
        return self.tried(lambda: self._jobs.cancel(principal_of(request), running))

    def resumed(self, principal: Principal) -> Updates:
        """When the page is opened: what the caller asked for last, unless it has ended."""
        under_way = self._jobs.all(principal, ("queued", "running"), kinds=self._kinds)
        mine = next((job for job in under_way if job.requested_by == principal.name), None)
        return self.shown(mine) if mine else {}

    def looked(self, principal: Principal, running: str) -> Updates:
        """What is watched, as it is now."""
        return self.tried(lambda: self._jobs.get(principal, running))

    def tried(self, work: Callable[[], QueuedJob]) -> Updates:
        """Watch the job that comes of this; if it fails, say why and watch nothing."""
        try:
            return self.shown(work())
        except EltError as error:
            return self._changed("", failure_markdown(error))

    def shown(self, job: QueuedJob) -> Updates:
        """Watch this job from now on, unless it has ended."""
        return self._changed("" if job.has_ended else job.id, job_markdown(job))

    def is_over(self, changes: Updates) -> bool:
        """Whether nothing is watched after these changes."""
        return not changes[self.running]

    def _changed(self, identity: str, said: str) -> Updates:
        stop, timer = gr.update(interactive=bool(identity)), gr.Timer(active=bool(identity))
        return {self._said: said, self._button: stop, self.timer: timer, self.running: identity}
