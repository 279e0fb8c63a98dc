"""The tab Documents: upload, list, open, read again and forget documents."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import gradio as gr
from elt_llm_core.errors import EltError
from elt_llm_core.state.jobs import QueuedJob
from elt_llm_core.store.collections import is_collection_name
from elt_llm_ingest.readers import readable_suffixes

from elt_llm_api.display.text import local_time
from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.documents import DocumentActions, DocumentEntry, DocumentText
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.actions.uploads import UploadActions
from elt_llm_api.serve.ui import controls
from elt_llm_api.serve.ui.ask import COLLECTION_OF_DROPPED_FILES
from elt_llm_api.serve.ui.controls import JobWatch, PageContext, WatchedJob
from elt_llm_api.serve.ui.markup import failure_markdown, fill_template
from elt_llm_api.serve.ui.sources import page_image_path
from elt_llm_api.serve.ui.texts import Texts

MOST_DOCUMENTS = 250
"""Number of documents that are listed; the filter finds the others."""
_TEXT_LENGTH = 12_000  # characters of a document without pages that are shown at once
_KINDS = ("ingest", "forget")


@dataclass(frozen=True)
class DocumentsState:
    """The open document with its page (or part of its text), and the document to forget once the user confirms."""

    opened: str = ""
    part: int = 1
    to_forget: str = ""


@dataclass(frozen=True)
class DocumentRow:
    """A line of the document list. A document within a file, and a file that is still waiting, have no id."""

    id: str
    name: str
    title: str
    pages: int
    chunks: int
    read_at: str
    status: str


def document_rows(
    entries: Sequence[DocumentEntry], job: QueuedJob | None, texts: Texts, unread: Sequence[str] = ()
) -> list[DocumentRow]:
    """Return unread uploads, with the progress of an unfinished job that reads them, then all documents.

    If the documents have several owners, each name is followed by the document's owner fields.
    """
    rows = []
    owners = {str(entry.owner_fields) for entry in entries}
    for entry in entries:
        status = texts.find(f"documents.{entry.outcome}", entry.outcome)
        owner = [f"{name}={value}" for name, value in entry.owner_fields.items()] if len(owners) > 1 else []
        rows.append(
            DocumentRow(
                "" if entry.part else entry.id,
                " · ".join([f"{entry.source} » {entry.part}" if entry.part else entry.source, *owner]),
                "" if entry.title == entry.source else entry.title,
                entry.pages,
                entry.chunks,
                local_time(entry.ingested_at),
                f"{status}: {texts.say(entry.reason)}" if entry.reason else status,
            )
        )
    words = dict.fromkeys(unread, "documents.unread")
    if job is not None and not job.has_ended:
        done, current = {entry.source for entry in entries} - set(unread), str(job.progress.get("detail") or "")
        waiting = [name for name in job.arguments.get("uploads", ()) if name not in done]
        words |= {name: "documents.being_read" if name in current else "documents.waiting" for name in waiting}
    return [*(DocumentRow("", name, "", 0, 0, "", texts(word)) for name, word in words.items()), *rows]


def document_list(rows: Sequence[DocumentRow], words: str, to_forget: str, texts: Texts) -> str:
    """Return the rows whose name or title contains all `words`, as a table with buttons for each document."""
    wanted = words.casefold().split()
    found = [row for row in rows if all(word in f"{row.name} {row.title}".casefold() for word in wanted)]
    if not found:
        return fill_template("notes", [texts("documents.none_match" if rows else "documents.none")])
    return fill_template("documents", texts, found[:MOST_DOCUMENTS], len(found), to_forget)


class DocumentsTab:
    """The controls of the tab Documents, and their event handlers."""

    def __init__(self, page: PageContext) -> None:
        self._services, self._texts, self._pickers = page.services, page.texts, page.pickers
        self._uploads, self._documents = UploadActions(page.services), DocumentActions(page.services)
        self._jobs, self._state = JobActions(page.services), gr.State(DocumentsState())
        self._lay_out_upload(page)
        self._lay_out_documents()
        self._wire(page.tab)

    def _lay_out_upload(self, page: PageContext) -> None:
        t = page.texts
        with gr.Row(elem_id="documents-upload"):
            with gr.Column(min_width=240):
                self._collection = gr.Dropdown(
                    [], label=t("documents.collection"), info=t("documents.collection_info"), allow_custom_value=True,
                    value=None, elem_id="documents-collection", interactive=False,
                )  # fmt: skip
                with gr.Row(elem_id="documents-buttons"):
                    self._upload = gr.Button(
                        t("documents.upload"), variant="primary", elem_id="documents-upload-button"
                    )
                    stop = gr.Button(t("documents.stop"), variant="stop", visible=False, elem_id="documents-stop")
            self._files = gr.File(
                label=t("documents.files"), file_count="multiple", type="filepath", height=150,
                elem_id="documents-files", file_types=sorted(readable_suffixes()),
            )  # fmt: skip
        self._status = controls.html_area("documents-status")
        self._watch = JobWatch(page, _KINDS, self._status, stop)

    def _lay_out_documents(self) -> None:
        t = self._texts
        with gr.Row(elem_id="documents"):
            with gr.Column(scale=3, min_width=320):
                self._filter = gr.Textbox(
                    "", label=t("documents.filter"), placeholder=t("documents.filter_placeholder"), max_length=200,
                    elem_id="documents-filter",
                )  # fmt: skip
                self._table = controls.html_area("documents-table")
            with gr.Column(scale=2, min_width=320, visible=False, elem_id="documents-opened") as self._side:
                self._text = controls.html_area("documents-text")
        self._command = controls.command_box("documents", t)

    def _wire(self, tab: gr.Tab) -> None:
        collection, watched = self._collection, self._watch.outputs
        shown = [self._table, self._side, self._text, self._state]
        listing = [collection, self._filter, self._state]
        job = self._watch.watched
        gr.on(None, self.load, [job], [collection, *shown, *watched], **controls.QUIET_EVENT)
        chosen = [collection.input, collection.change, self._filter.change]
        gr.on(chosen, self.show, listing, shown, **controls.LATEST_EVENT)
        changed = [self._pickers.changes.change, tab.select]
        gr.on(changed, self.list_again, listing, [self._table], **controls.LATEST_EVENT)
        uploaded = [self._files, *shown, *watched]
        self._upload.click(
            self.upload, [job, collection, self._files, self._filter, self._state], uploaded, **controls.QUIET_EVENT
        )
        refreshed = [self._pickers.changes, *shown, *watched]
        ticked = [job, *listing]
        self._watch.timer.tick(self.refresh, ticked, refreshed, **controls.QUIET_EVENT)
        commanded = [job, self._command, *listing]
        self._command.change(self.run_command, commanded, [*shown, *watched], **controls.QUIET_EVENT)
        self._pickers.add(collection, lambda principal: gr.update(choices=self._services.readable_names(principal)))

    def load(self, watched: WatchedJob, request: gr.Request) -> controls.ComponentUpdates:
        """Choose the first collection that the caller may change, and watch the caller's running job.

        The name of another collection can be typed only afterwards, because the choice would replace a typed name.
        """
        principal = controls.principal_of_event(request)
        names = self._services.readable_names(principal)
        writable = [name for name in (*names, COLLECTION_OF_DROPPED_FILES) if principal.may_write(name)]
        first = next(iter([*writable, *names]), None)
        table = self._list(principal, first, "", DocumentsState())
        return {
            self._collection: gr.update(choices=names, value=first, interactive=True),
            **table,
            **self._watch.resume(watched, principal),
        }

    def show(
        self, collection: str | None, words: str, state: DocumentsState, request: gr.Request
    ) -> controls.ComponentUpdates:
        """List the documents of a collection. A new collection has none."""
        principal = controls.principal_of_event(request)
        return self._list(principal, collection, words, replace(state, to_forget=""))

    def list_again(
        self, collection: str | None, words: str, state: DocumentsState, request: gr.Request
    ) -> controls.ComponentUpdates:
        """List the documents again, because files may have been added in the question box or in a terminal."""
        listed = self._list(controls.principal_of_event(request), collection, words, state)
        return {self._table: listed[self._table]}

    async def upload(
        self,
        watched: WatchedJob,
        collection: str | None,
        files: Sequence[str] | None,
        words: str,
        state: DocumentsState,
        request: gr.Request,
    ) -> controls.ComponentUpdates:
        """Store the files, queue a job that ingests them, and watch the job. Refused files stay chosen."""
        if not collection or not files:
            return {self._status: self._texts("documents.choose")}
        principal = controls.principal_of_event(request)
        try:
            job = await asyncio.to_thread(self._uploads.add, principal, collection.strip(), files)
        except EltError as error:
            return {self._status: failure_markdown(error, self._texts)}
        listed = await asyncio.to_thread(self._list, principal, collection, words, state, job)
        return {self._files: None, **listed, **self._watch.show(watched, job)}

    async def run_command(
        self,
        watched: WatchedJob,
        command: str,
        collection: str | None,
        words: str,
        state: DocumentsState,
        request: gr.Request,
    ) -> controls.ComponentUpdates:
        """Run the command of a button, such as "open 3f0c 7": 3f0c is a document's id, 7 only makes the text unique.

        "open" shows a document, "part 2 ..." its second page, "close" hides it. "reread" queues a job that reads the
        document again. "forget" asks for confirmation, "forget-now" confirms, "keep" declines. The list of documents is
        filtered by `words`.
        """
        principal, (name, value) = controls.principal_of_event(request), controls.parse_command(command)
        if not collection:
            return {self._state: gr.skip()}
        if name in {"open", "part"}:
            opened = value if name == "open" else state.opened
            part = int(value) if name == "part" and value.isdecimal() else 1
            wanted = replace(state, opened=opened, part=part)
            # The workers limit how many pages are rendered at once: each needs a process and much memory.
            return await self._services.workers.run(lambda _: self._open(principal, collection, wanted))
        if name == "close":
            return {self._side: gr.update(visible=False), self._state: replace(state, opened="")}
        if name in {"forget", "keep"}:
            return self._list(principal, collection, words, replace(state, to_forget=value))
        start = {"reread": self._documents.read_again, "forget-now": self._documents.forget}.get(name)
        if start is None:
            return {self._state: gr.skip()}
        updates = await asyncio.to_thread(self._watch.start, watched, lambda: start(principal, collection, value))
        return {**self._list(principal, collection, words, replace(state, to_forget="")), **updates}

    def refresh(
        self, watched: WatchedJob, collection: str | None, words: str, state: DocumentsState, request: gr.Request
    ) -> controls.ComponentUpdates:
        """Show the progress of the job in its collection. When it has ended, refresh the lists of all tabs."""
        principal = controls.principal_of_event(request)
        try:
            job = self._jobs.get(principal, watched.id)
        except EltError:
            job = None
        updates = self._watch.refresh(watched, principal)
        if not updates:
            return {self._state: gr.skip()}
        listed = self._list(principal, collection, words, state, job)
        over = {} if watched.id else {self._pickers.changes: time.time()}
        return {**listed, **over, **updates}

    def _list(
        self,
        principal: Principal,
        collection: str | None,
        words: str,
        state: DocumentsState,
        job: QueuedJob | None = None,
    ) -> controls.ComponentUpdates:
        exists = collection is not None and collection in self._services.readable_names(principal)
        entries = self._documents.all(principal, collection) if exists and collection else []
        ours = job if job and job.arguments.get("collection") == collection else None
        readable = is_collection_name(collection or "") and principal.readable([collection or ""])
        unread = self._documents.unread_uploads(principal, collection or "") if readable else []
        rows = document_rows(entries, ours, self._texts, unread)
        skipped = self._documents.skipped(principal, collection) if exists and collection else (0, [])
        left_out = fill_template("skipped", self._texts, collection, *skipped)
        is_open = any(row.id == state.opened for row in rows if row.id)
        return {
            self._table: document_list(rows, words or "", state.to_forget, self._texts) + left_out,
            self._state: state if is_open else replace(state, opened=""),
            self._side: gr.update(visible=is_open),
        }

    def _open(self, principal: Principal, collection: str, state: DocumentsState) -> controls.ComponentUpdates:
        """Show one page of a document with its image, or a part of a text without pages."""
        try:
            shown = self._documents.text(principal, collection, state.opened, (0, 0))
            parts = shown.pages or max(1, -(-shown.length // _TEXT_LENGTH))
            part = min(max(1, state.part), parts)
            page, start = part if shown.pages else None, (part - 1) * _TEXT_LENGTH
            span = start, min(start + _TEXT_LENGTH, shown.length)
            shown = self._documents.text(principal, collection, state.opened, span, page)
            image = page_image_path(self._documents, principal, collection, shown.id, shown.source, page)
            html = self._document_html(shown, part, parts, *image)
        except EltError as error:
            html, part = failure_markdown(error, self._texts), 1
        return {self._text: html, self._side: gr.update(visible=True), self._state: replace(state, part=part)}

    def _document_html(self, shown: DocumentText, part: int, parts: int, image: str, missing: str) -> str:
        if shown.pages:
            place = self._texts("documents.page_of", page=part, pages=parts)
        else:
            figures = {"start": shown.start, "end": shown.end, "length": shown.length}
            place = self._texts(
                "documents.characters", **{key: self._texts.figure(f"{one:,}") for key, one in figures.items()}
            )
        return fill_template("document", self._texts, shown, place, (part, parts), image, missing)
