"""Parts that all tabs share: the caller of an event, commands of our HTML, pickers, and the progress of a job."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.jobs import QueuedJob

from elt_llm_api.display.text import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.collections import CollectionActions
from elt_llm_api.serve.actions.conversations import ConversationActions
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.actions.profiles import ProfileActions
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.markup import failure_markdown, fill_template
from elt_llm_api.serve.ui.texts import Texts

QUIET_EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Options for an event handler that is fast or shows its own progress."""
TIMED_EVENT: dict[str, Any] = {**QUIET_EVENT, "show_progress": "minimal"}
"""Options for an event handler that may take several seconds. Gradio shows the elapsed time."""
LATEST_EVENT: dict[str, Any] = {**QUIET_EVENT, "trigger_mode": "always_last"}
"""Options for an event handler that runs once more for events during its run. By default, Gradio ignores them."""
ComponentUpdates = dict[Any, Any]
"""Maps components to their new values."""
LabelledChoice = tuple[str, str]
"""The label and the value of a choice."""
_MOST_CONVERSATIONS = 100


def principal_of_event(request: gr.Request) -> Principal:
    """Return the caller of an event, whom the middleware around the app has authenticated."""
    scope = request.request.scope  # type: ignore[union-attr]  # it always has one in a handler
    principal: Principal = scope[PRINCIPAL]
    return principal


def html_area(elem_id: str | None = None, value: str = "", **options: Any) -> gr.Markdown:
    """Return an area for our HTML and Markdown, which does not render formulas."""
    return gr.Markdown(value, elem_id=elem_id, latex_delimiters=[], **options)


def command_box(tab: str, texts: Texts) -> gr.Textbox:
    """Return the hidden box into which page.js types a command when a button in our HTML or a shortcut key is used."""
    return gr.Textbox("", elem_id=f"{tab}-command", elem_classes="command", label=texts("page.command"))


def parse_command(text: str) -> tuple[str, str]:
    """Return name and value of a command: "open 3f0c 7" -> ("open", "3f0c").

    The number at the end makes each command different, so that Gradio reports a repeated command as a change.
    """
    name, _, value = text.rpartition(" ")[0].partition(" ")
    return name, value.strip()


@dataclass(frozen=True)
class CollectionPickers:
    """The controls of all tabs that list collections. All are refreshed together, so that none is out of date."""

    changes: gr.State
    """Gets a new value whenever this page has changed a collection."""
    listed: gr.State
    """The values of the window's command box and of `changes` at the start of the last refresh."""
    parts: list[tuple[Any, Callable[[Principal], Any]]] = field(default_factory=list)

    def add(self, component: Any, update: Callable[[Principal], Any]) -> None:
        """Add a control, and the function that returns its update for a caller."""
        self.parts.append((component, update))

    def refresh_on(self, events: Sequence[Any], focused: Any) -> None:
        """Refresh all controls after each of `events`, when the window gets the focus, and when a collection changes.

        page.js changes the value of `focused` when the window gets the focus; handlers change that of `self.changes`.
        Gradio ignores both events during a refresh. If one of the two values has changed when a refresh ends, it is
        repeated.
        """
        current, outputs = [focused, self.changes], [*(component for component, _ in self.parts), self.listed]
        triggers = [*events, focused.change, self.changes.change]
        refreshed = gr.on(triggers, self.list_collections, current, outputs, **QUIET_EVENT)
        refreshed.then(self.list_collections_again, [self.listed, *current], outputs, **QUIET_EVENT)

    def list_collections(self, focused: str, changes: float, request: gr.Request) -> Iterator[ComponentUpdates]:
        """Yield the current choices of each control."""
        principal = principal_of_event(request)
        for component, update in self.parts:
            yield {component: update(principal)}
        yield {self.listed: (focused, changes)}

    def list_collections_again(
        self, listed: tuple[str, float] | None, focused: str, changes: float, request: gr.Request
    ) -> Iterator[ComponentUpdates]:
        """Refresh the controls again if `focused` or `changes` has changed since the last refresh started.

        Gradio has then ignored the event that should have caused a refresh. `listed` contains both values at that time.
        Yields the choices of each control.
        """
        if listed == (focused, changes):
            yield {self.listed: gr.skip()}
        else:
            yield from self.list_collections(focused, changes, request)


@dataclass(frozen=True)
class PageContext:
    """What a tab needs: the services, the texts in the language of the page, the shared pickers, and Gradio's tab."""

    services: Services
    texts: Texts
    pickers: CollectionPickers
    tab: gr.Tab


def collection_choices(services: Services, principal: Principal) -> list[LabelledChoice]:
    """Return the collections that the caller may read, labelled with their number of documents."""
    statuses = [status for status, _ in CollectionActions(services).all(principal)]
    return [(f"{one.collection} ({one.documents:,})", one.collection) for one in statuses]


def profile_choices(services: Services) -> list[str]:
    """Return the names of all profiles, the default first."""
    return [one.name for one in ProfileActions(services).all()]


def conversation_choices(services: Services, principal: Principal) -> list[LabelledChoice]:
    """Return the caller's latest conversations that have a question, the newest first."""
    conversations = ConversationActions(services).all(principal, _MOST_CONVERSATIONS, 0)
    return [(f"{local_time(one.updated_at)}  {one.title}", one.session_id) for one in conversations if one.turns]


_MOST_LISTED = 5  # most failures, and most notes, that are listed
_SECONDS_BETWEEN_UPDATES = 1.0


def job_html(job: QueuedJob, texts: Texts) -> str:
    """Return the name and status of a job, then its progress, its reason to wait, or its result."""
    if job.kind in {"ingest", "forget"}:
        name = texts(f"job.{job.kind}", collection=job.arguments.get("collection", ""))
    else:
        name = texts("job.other", kind=job.kind.capitalize(), job=job.arguments.get("job", ""))
    lines = [f"{name} {texts(f'job.{job.status}')}.", *_detail_lines(job, texts), texts.say(job.error)]
    progress = job.progress if job.status == "running" else {}
    return fill_template("job", [line for line in lines if line], progress)


def _detail_lines(job: QueuedJob, texts: Texts) -> list[str]:
    if job.status == "queued":
        return [texts.say(note) for note in list(job.progress.get("notes", []))[-1:]]
    if job.status == "running":
        return [_progress_text(job.progress, texts)]
    if job.status != "done":
        return []
    if job.kind == "forget":
        return [texts.count("job.forgotten", max(1, job.result.get("documents", 1)))]
    return _ingest_result(job.result, texts) if job.kind == "ingest" else _rows_result(job.result, texts)


def _progress_text(progress: Mapping[str, Any], texts: Texts) -> str:
    stage = progress.get("stage")
    if not stage:
        return texts("job.starting")
    words = texts.find(f"stage.{stage}", stage)
    key = "job.progress_of" if progress["total"] else "job.progress"
    return texts(key, **{**progress, "stage": words}).strip()


def unread_files(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the files that an ingest could not read, or in which it found no text."""
    return [file for file in result.get("files", ()) if file["status"] in {"failed", "empty"}]


def _ingest_result(result: Mapping[str, Any], texts: Texts) -> list[str]:
    counts = ", ".join(
        f"{count} {texts.find(f'outcome.{status}', status)}" for status, count in result["counts"].items()
    )
    failed = [f"{file['path']}: {texts.say(file['reason'])}" for file in unread_files(result)]
    return [f"{counts}.", *_first_lines(failed, "job.more_failed", texts), *map(texts.say, result["notes"])]


def _rows_result(result: Mapping[str, Any], texts: Texts) -> list[str]:
    if plan := result.get("plan"):
        figures = {"make": plan["to_make"], "rows": plan["rows"], "calls": plan["calls"], "kept": plan["kept"]}
        return [texts("job.plan", **figures)]
    counts = texts("job.rows", rows=result["rows"], made=result["made"], kept=result["kept"])
    failed = [f"{one['name']}: {texts.say(one['reason'])} {texts.say(one['hint'])}" for one in result["failures"]]
    notes = _first_lines([texts.say(note) for note in result["notes"]], "job.more_notes", texts)
    return [counts, *_first_lines(failed, "job.more_failed", texts), *notes]


def _first_lines(lines: list[str], more: str, texts: Texts) -> list[str]:
    left_out = len(lines) - _MOST_LISTED
    return [*lines[:_MOST_LISTED], *([texts(more, count=left_out)] if left_out > 0 else [])]


@dataclass
class WatchedJob:
    """The id of the job that a tab watches, or "". Handlers that run at the same time share it, and see each change."""

    id: str = ""


class JobWatch:
    """Watches one job of certain kinds until the job has ended, is stopped, or is no longer visible to the caller."""

    def __init__(self, page: PageContext, kinds: Sequence[str], status: gr.Markdown, stop_button: gr.Button) -> None:
        """Add a state and a timer to the tab that is being laid out."""
        self._jobs, self._texts = JobActions(page.services), page.texts
        self._kinds, self._status, self._stop_button = kinds, status, stop_button
        self.watched, self.timer = gr.State(WatchedJob()), gr.Timer(_SECONDS_BETWEEN_UPDATES, active=False)
        stop_button.click(self.stop, [self.watched], self.outputs, **QUIET_EVENT)

    @property
    def outputs(self) -> list[Any]:
        """The components that the handlers may update."""
        return [self._status, self._stop_button, self.timer]

    def stop(self, watched: WatchedJob, request: gr.Request) -> ComponentUpdates:
        """Cancel the watched job."""
        return self.start(watched, lambda: self._jobs.cancel(principal_of_event(request), watched.id))

    def resume(self, watched: WatchedJob, principal: Principal) -> ComponentUpdates:
        """Watch the latest unfinished job of the caller, when the page is opened."""
        active = self._jobs.all(principal, ("queued", "running"), kinds=self._kinds)
        own = next((job for job in active if job.requested_by == principal.owner), None)
        return self.show(watched, own) if own else {}

    def refresh(self, watched: WatchedJob, principal: Principal) -> ComponentUpdates:
        """Show the watched job's current state. Do nothing if no job is watched, or if another was chosen meanwhile."""
        if not (current := watched.id):
            return {}
        shown = WatchedJob(current)
        updates = self.start(shown, lambda: self._jobs.get(principal, current))
        if watched.id != current:
            return {}
        watched.id = shown.id
        return updates

    def start(self, watched: WatchedJob, work: Callable[[], QueuedJob]) -> ComponentUpdates:
        """Call `work`, and watch the job that it returns. If `work` fails, show the error and watch no job."""
        try:
            return self.show(watched, work())
        except EltError as error:
            return self._updates(watched, "", failure_markdown(error, self._texts))

    def show(self, watched: WatchedJob, job: QueuedJob) -> ComponentUpdates:
        """Watch this job unless it has ended, and show its state."""
        return self._updates(watched, "" if job.has_ended else job.id, job_html(job, self._texts))

    def _updates(self, watched: WatchedJob, running: str, status: str) -> ComponentUpdates:
        watched.id = running
        stop, timer = gr.update(visible=bool(running)), gr.Timer(active=bool(running))
        return {self._status: status, self._stop_button: stop, self.timer: timer}
