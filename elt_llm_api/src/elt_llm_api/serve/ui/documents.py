"""The tab Documents: upload, list, read and forget documents."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_ingest.readers import readable_suffixes

from elt_llm_api.display.text import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import DocumentActions, DocumentEntry
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.actions.uploads import UploadActions
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.controls import JobWatch
from elt_llm_api.serve.ui.markup import failure_markdown

MOST_DOCUMENTS = 1000
_HEADERS = ["Document", "Title", "Pages", "Chunks", "Read", "Status"]
_STATUSES = {"ok": "✓ read", "empty": "○ contains no text", "failed": "✗ could not be read"}
_KINDS = ("ingest", "forget")


def _document_row(entry: DocumentEntry) -> list[str]:
    return [
        f"{entry.source} » {entry.part}" if entry.part else entry.source,
        entry.title,
        str(entry.pages or "-"),
        str(entry.chunks or "-"),
        local_time(entry.ingested_at),
        f"{_STATUSES.get(entry.outcome, entry.outcome)}{f': {entry.reason}' if entry.reason else ''}",
    ]


class DocumentsTab:
    """The controls of the tab, and their event handlers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._uploads, self._documents = UploadActions(services), DocumentActions(services)
        self._lay_out_upload(JobActions(services))
        self._lay_out_documents()
        self._wire()

    def _lay_out_upload(self, jobs: JobActions) -> None:
        with gr.Row(elem_id="documents-upload"):
            self._collection = gr.Dropdown(
                [], label="Collection", info="Choose one, or type the name of a new one.", allow_custom_value=True,
                value=None, elem_id="documents-collection",
            )  # fmt: skip
            self._files = gr.File(
                label="Files to upload", file_count="multiple", type="filepath", height=140, elem_id="documents-files",
                file_types=sorted(readable_suffixes()),
            )  # fmt: skip
        with gr.Row(elem_id="documents-buttons"):
            self._upload = gr.Button("Upload", variant="primary", elem_id="documents-upload-button")
            stop = gr.Button("Stop", variant="stop", interactive=False, elem_id="documents-stop")
        self._status = controls.html_area("documents-status")
        self._watch = JobWatch(jobs, _KINDS, self._status, stop)

    def _lay_out_documents(self) -> None:
        self._table = gr.Dataframe(
            headers=_HEADERS, type="array", label="Documents", interactive=False, max_height=360, wrap=False,
            buttons=[], elem_id="documents-table",
        )  # fmt: skip
        with gr.Row():
            self._document = gr.Dropdown([], label="Document", value=None, elem_id="documents-document")
            self._page = gr.Number(None, label="Page", info="Empty or 0: from the start.", precision=0)
            self._open = gr.Button("Show text", elem_id="documents-open")
        with gr.Row():
            self._confirmed = gr.Checkbox(False, label="Forget it for good, including the uploaded file")
            self._forget = gr.Button("Forget", variant="stop", elem_id="documents-forget-button")
        self._text = gr.Textbox(label="Text", lines=12, max_lines=24, interactive=False, elem_id="documents-text")

    def _wire(self) -> None:
        collection, watched = self._collection, self._watch.outputs
        listed, document = [self._table, self._document], [collection, self._document]
        gr.on(None, self.load, None, [collection, *watched], **controls.QUIET_EVENT)
        gr.on(
            [collection.input, collection.change],
            self.show,
            [collection],
            [self._status, *listed],
            **controls.QUIET_EVENT,
        )
        self._upload.click(self.upload, [collection, self._files], [self._files, *watched], **controls.QUIET_EVENT)
        refreshed = [*watched, collection, *listed]
        self._watch.timer.tick(self.refresh, [self._watch.running, collection], refreshed, **controls.QUIET_EVENT)
        self._open.click(self.read, [*document, self._page], [self._text, self._status], **controls.QUIET_EVENT)
        forgotten = [self._confirmed, self._text, *watched]
        self._forget.click(self.forget, [*document, self._confirmed], forgotten, **controls.QUIET_EVENT)

    def load(self, request: gr.Request) -> controls.ComponentUpdates:
        """List the collections and watch the caller's running job, when the page is opened."""
        principal = controls.principal_of_event(request)
        names = gr.update(choices=principal.readable(self._services.collection_names()))
        return {self._collection: names, **self._watch.resume(principal)}

    def show(self, collection: str | None, request: gr.Request) -> controls.ComponentUpdates:
        """List the documents of a collection. A new collection has none."""
        return {self._status: "", **self._list_documents(controls.principal_of_event(request), collection)}

    async def upload(
        self, collection: str | None, files: Sequence[str] | None, request: gr.Request
    ) -> controls.ComponentUpdates:
        """Store the files, queue a job that ingests them, and watch the job."""
        if not collection or not files:
            return {self._status: "Choose a collection and files first."}
        principal, named = controls.principal_of_event(request), [(Path(path).name, Path(path)) for path in files]
        try:
            _, job = await asyncio.to_thread(self._uploads.add, principal, collection.strip(), named)
        except EltError as error:
            return {self._files: None, self._status: failure_markdown(error)}
        finally:
            for _, path in named:
                path.unlink(missing_ok=True)  # the upload stores copies of accepted files
        return {self._files: None, **self._watch.show(job)}

    def forget(
        self, collection: str | None, document: str | None, confirmed: bool, request: gr.Request
    ) -> controls.ComponentUpdates:
        """Queue a job that forgets a document, if the caller has ticked the confirmation."""
        if not collection or not document:
            return {self._status: "Choose a document first."}
        if not confirmed:
            return {self._status: "Tick the box to confirm first: this cannot be undone."}
        principal = controls.principal_of_event(request)
        updates = self._watch.start(lambda: self._documents.forget(principal, collection, document))
        return {self._confirmed: False, self._text: "", **updates}

    def read(
        self, collection: str | None, document: str | None, page: float | None, request: gr.Request
    ) -> controls.ComponentUpdates:
        """Show the text of a document or of one page."""
        if not collection or not document:
            return {self._status: "Choose a document first."}
        number = int(page) if page and page >= 1 else None
        try:
            shown = self._documents.text(controls.principal_of_event(request), collection, document, page=number)
        except EltError as error:
            return {self._status: failure_markdown(error)}
        label = f"{shown.source}: characters {shown.start} to {shown.end} of {shown.length}"
        return {self._status: "", self._text: gr.update(value=shown.text, label=label)}

    def refresh(self, running: str, collection: str | None, request: gr.Request) -> controls.ComponentUpdates:
        """Show the progress of the job. When the job has ended, also list the documents again."""
        principal = controls.principal_of_event(request)
        updates = self._watch.refresh(principal, running)
        if not self._watch.is_over(updates):
            return updates
        names = gr.update(choices=principal.readable(self._services.collection_names()), value=collection)
        return {**self._list_documents(principal, collection), self._collection: names, **updates}

    def _list_documents(self, principal: Principal, collection: str | None) -> controls.ComponentUpdates:
        exists = collection in principal.readable(self._services.collection_names())
        entries = self._documents.all(principal, collection) if exists and collection else []
        # A document within a file is opened and forgotten together with the file.
        choices = gr.update(choices=[(one.source, one.id) for one in entries if not one.part], value=None)
        return {self._table: list(map(_document_row, entries[:MOST_DOCUMENTS])), self._document: choices}
