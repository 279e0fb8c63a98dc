"""The tab Documents: bring some, see how far they are and what they hold, forget them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_ingest.readers import REFUSED_SUFFIXES, SUPPORTED_SUFFIXES

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import Documents
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.actions.uploads import Uploads
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui.answers import failure_markdown
from elt_llm_api.serve.ui.callers import principal_of
from elt_llm_api.serve.ui.choices import collection_choices
from elt_llm_api.serve.ui.document_table import HEADERS, document_choices, table_rows
from elt_llm_api.serve.ui.handlers import QUIET, Updates
from elt_llm_api.serve.ui.job_watch import JobWatch

_KINDS = ("ingest", "forget")


@dataclass(frozen=True)
class _Controls:
    """What stands on the tab."""

    collection: gr.Dropdown
    files: gr.File
    bring: gr.Button
    stop: gr.Button
    said: gr.Markdown
    table: gr.Dataframe
    document: gr.Dropdown
    page: gr.Number
    open: gr.Button
    sure: gr.Checkbox
    forget: gr.Button
    text: gr.Textbox


def build(services: Services) -> None:
    """Lay out the tab and say what its controls do."""
    _Tab(services, _laid_out()).wire()


def _laid_out() -> _Controls:
    with gr.Row(elem_id="documents-bring"):
        collection = gr.Dropdown(
            [], label="Collection", info="Choose one, or type the name of a new one.", allow_custom_value=True,
            value=None, elem_id="documents-collection",
        )  # fmt: skip
        files = gr.File(
            label="Files to bring", file_count="multiple", type="filepath", height=140, elem_id="documents-files",
            file_types=sorted(SUPPORTED_SUFFIXES - REFUSED_SUFFIXES),
        )  # fmt: skip
    with gr.Row(elem_id="documents-buttons"):
        bring = gr.Button("Upload", variant="primary", elem_id="documents-upload")
        stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="documents-stop")
    said = gr.Markdown("", elem_id="documents-said", latex_delimiters=[])
    table = gr.Dataframe(
        headers=HEADERS, type="array", label="Documents", interactive=False, max_height=360, wrap=False, buttons=[],
        elem_id="documents-table",
    )  # fmt: skip
    with gr.Row(elem_id="documents-one"):
        document = gr.Dropdown([], label="Document", value=None, elem_id="documents-document")
        page = gr.Number(None, label="Page", info="None, or 0: from the beginning.", precision=0)
        opened = gr.Button("Open its text", elem_id="documents-open")
    with gr.Row(elem_id="documents-forget"):
        sure = gr.Checkbox(False, label="Forget it for good, the uploaded file included")
        forget = gr.Button("Forget", variant="stop", elem_id="documents-forget-button")
    text = gr.Textbox(label="Text", lines=12, max_lines=24, interactive=False, elem_id="documents-text")
    return _Controls(collection, files, bring, stop, said, table, document, page, opened, sure, forget, text)


class _Tab:
    """The handlers: each takes what controls hold, calls an action, and says what changes."""

    def __init__(self, services: Services, controls: _Controls) -> None:
        self._services, self._controls = services, controls
        self._uploads, self._documents = Uploads(services), Documents(services)
        self._watch = JobWatch(Jobs(services), _KINDS, controls.said, controls.stop)

    def wire(self) -> None:
        """Say which control calls what."""
        on, watch = self._controls, self._watch
        listed, watched = [on.said, on.table, on.document], watch.outputs
        gr.on(None, self.opened, None, [on.collection, *watched], **QUIET)
        gr.on([on.collection.input, on.collection.change], self.listed, [on.collection], listed, **QUIET)
        on.bring.click(self.bring, [on.collection, on.files], [on.files, *watched], **QUIET)
        watch.timer.tick(
            self.watch, [watch.running, on.collection], [*watched, on.collection, on.table, on.document], **QUIET
        )
        on.open.click(self.read, [on.collection, on.document, on.page], [on.text, on.said], **QUIET)
        on.forget.click(self.forget, [on.collection, on.document, on.sure], [on.sure, on.text, *watched], **QUIET)
        watch.wire()

    def opened(self, request: gr.Request) -> Updates:
        """What this caller can choose from, when the page is opened; what it brought last is watched again."""
        principal = principal_of(request)
        names = gr.update(choices=collection_choices(self._services, principal))
        return {self._controls.collection: names, **self._watch.resumed(principal)}

    def listed(self, collection: str | None, request: gr.Request) -> Updates:
        """The documents of a collection; none of one that is still to be made."""
        return {self._controls.said: "", **self._table(principal_of(request), collection)}

    async def bring(self, collection: str | None, files: Sequence[str] | None, request: gr.Request) -> Updates:
        """Keep the files, have them read, and begin to watch that."""
        on = self._controls
        if not collection or not files:
            return {on.said: "Choose a collection and files first."}
        came = [(Path(path).name, Path(path)) for path in files]
        try:
            taken = await asyncio.to_thread(self._uploads.add, principal_of(request), collection.strip(), came)
        except EltError as error:
            return {on.files: None, on.said: failure_markdown(error)}
        finally:
            for _, path in came:
                path.unlink(missing_ok=True)  # they are kept elsewhere now, or nowhere
        return {on.files: None, **self._watch.shown(taken.job)}

    def forget(self, collection: str | None, document: str | None, sure: bool, request: gr.Request) -> Updates:
        """Have a document forgotten, once somebody said that they are sure."""
        on = self._controls
        if not collection or not document:
            return {on.said: "Choose a document first."}
        if not sure:
            return {on.said: "Say first that you are sure: it cannot be undone."}
        changes = self._watch.tried(lambda: self._documents.forget(principal_of(request), collection, document))
        return {on.sure: False, on.text: "", **changes}

    def read(self, collection: str | None, document: str | None, page: float | None, request: gr.Request) -> Updates:
        """The text of a document, or of one page of it."""
        on = self._controls
        if not collection or not document:
            return {on.said: "Choose a document first."}
        number = int(page) if page and page >= 1 else None
        try:
            shown = self._documents.text(principal_of(request), collection, document, page=number)
        except EltError as error:
            return {on.said: failure_markdown(error)}
        label = f"{shown.source}: characters {shown.start} to {shown.end} of {shown.length}"
        return {on.said: "", on.text: gr.update(value=shown.text, label=label)}

    def watch(self, running: str, collection: str | None, request: gr.Request) -> Updates:
        """How far it is; when it has ended, also the documents as they are now."""
        principal = principal_of(request)
        watched = self._watch.looked(principal, running)
        if not self._watch.is_over(watched):
            return watched
        names = gr.update(choices=collection_choices(self._services, principal), value=collection)
        return {**self._table(principal, collection), self._controls.collection: names, **watched}

    def _table(self, principal: Principal, collection: str | None) -> Updates:
        on = self._controls
        known = collection in collection_choices(self._services, principal)
        listed = self._documents.all(principal, collection) if known and collection else []
        return {on.table: table_rows(listed), on.document: gr.update(choices=document_choices(listed), value=None)}
