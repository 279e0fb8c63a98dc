"""Documents of collections: listed, shown by span and by page, forgotten."""

import time
from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.results import Result
from elt_llm_core.state.job_queue import QueuedJob
from elt_llm_core.store.records import CollectionRecord, StoredDocument
from elt_llm_core.store.uploads import uploads_folder
from pydantic import Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.page_images import page_image
from elt_llm_api.serve.refusals import NotThere
from elt_llm_api.serve.services import Services

LONGEST_TEXT = 200_000
"""Characters that are shown at once."""


class DocumentListed(Result):
    """A document of a collection, or a file that could not be read, of which nothing but its name is known."""

    id: str
    title: str
    source: str = Field(description="File name, or path below the folder it was read from.")
    pages: int = 0
    chunks: int = Field(0, description="Passages that are searched.")
    size: int = Field(description="Bytes of the file.")
    document_hash: str = Field("", description="sha256 of the file; empty for one that could not be read.")
    ingested_at: str = Field("", description="When what is shown was stored, UTC, ISO 8601.")
    outcome: str = Field(description="ok, empty or failed: the last attempt to read it.", examples=["ok"])
    reason: str = Field(description="What more there is to say of that attempt.")
    uploaded: bool = Field(description="Whether it was brought over HTTP, and not read from a folder of the server.")
    part: str = Field("", description="Name of a document within a file; empty for the file itself.")


class DocumentText(Result):
    """A part of a document's text; offsets are characters."""

    id: str
    collection: str
    title: str
    source: str
    document_hash: str
    pages: int
    page_starts: tuple[int, ...] = Field(description="Where each page begins.")
    start: int
    end: int
    length: int = Field(description="Characters of the whole text.")
    text: str


class Documents:
    """Shows and forgets documents for callers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._store = services.store

    def all(self, principal: Principal, collection: str) -> list[DocumentListed]:
        """Every document that readers see, and every file that could not be read, by name. Raises Forbidden."""
        record = self._record(principal, collection)
        made, folders = self._store.documents.made_at(record.id), self._uploaded_roots(record)
        published = self._published(record)
        files = self._store.files.of_collection(record.id)
        listed = [
            DocumentListed(
                **_named(document),
                pages=len(document.pages),
                chunks=document.nodes,
                size=document.size,
                document_hash=document.document_hash,
                ingested_at=made.get(document.version, ""),
                outcome=files[document.document_id].outcome if document.document_id in files else document.outcome,
                reason=files[document.document_id].reason if document.document_id in files else "",
                uploaded=document.root in folders,
                part=document.part,
            )
            for document in published
        ]
        there = {document.document_id for document in published}
        failed = [file for file in files.values() if file.document_id not in there]
        listed += [
            DocumentListed(
                id=it.document_id,
                title=it.path,
                source=it.path,
                size=it.size,
                outcome=it.outcome,
                reason=it.reason,
                uploaded=it.root in folders,
            )
            for it in failed
        ]
        return sorted(listed, key=lambda one: (one.source, one.part))

    def text(
        self,
        principal: Principal,
        collection: str,
        identity: str,
        span: tuple[int, int | None] = (0, None),
        page: int | None = None,
    ) -> DocumentText:
        """A span of a document's parsed text, or one page of it, `LONGEST_TEXT` characters at most.

        Raises Forbidden, NotThere for no such document, UsageError for a span or page that it does not have.
        """
        document = self._document(principal, collection, identity)
        text = self._store.documents.text(document.version)
        start, end = _page(document.pages, page, len(text)) if page is not None else (span[0], span[1])
        end = min(len(text) if end is None else end, start + LONGEST_TEXT)
        if not 0 <= start <= end <= len(text):
            raise UsageError(f"{start}:{end} is no span of this document.", hint=f"It has characters 0:{len(text)}.")
        return DocumentText(
            **_named(document),
            collection=collection,
            document_hash=document.document_hash,
            pages=len(document.pages),
            page_starts=document.pages,
            start=start,
            end=end,
            length=len(text),
            text=text[start:end],
        )

    def page_image(self, principal: Principal, collection: str, identity: str, page: int) -> bytes:
        """A page as PNG, drawn from the file it was read from, if that is still there and still the same.

        Raises Forbidden, and NotThere with the reason.
        """
        document = self._document(principal, collection, identity)
        if document.part or Path(document.source).suffix.lower() != ".pdf":
            raise NotThere("Only pages of PDF files are drawn.", hint="Its text is there.")
        if not 1 <= page <= max(1, len(document.pages)):
            raise NotThere(f"There is no page {page} in this document.", hint=f"It has {len(document.pages)} pages.")
        record = self._record(principal, collection)
        return page_image(self._original(record, document), document.document_hash, page)

    def forget(self, principal: Principal, collection: str, identity: str) -> QueuedJob:
        """Queue the forgetting of a document for good, its upload included. Raises Forbidden, NotThere, Overloaded."""
        record = self._record(principal, collection)
        principal.require_write(collection)
        files = self._store.files.of_collection(record.id)
        if identity not in files and all(one.document_id != identity for one in self._published(record)):
            raise _no_document(identity, collection)
        arguments = {"collection": collection, "collections": [collection], "document": identity}
        return Jobs(self._services).submit(principal, "forget", {**arguments, "asked_at": time.time()})

    def _record(self, principal: Principal, collection: str) -> CollectionRecord:
        self._services.collections(principal, [collection])
        return self._store.collections.get(collection)

    def _published(self, record: CollectionRecord) -> list[StoredDocument]:
        return [] if record.published is None else self._store.documents.in_generation(record.id, record.published)

    def _document(self, principal: Principal, collection: str, identity: str) -> StoredDocument:
        documents = self._published(self._record(principal, collection))
        found = next((document for document in documents if document.document_id == identity), None)
        if found is None:
            raise _no_document(identity, collection)
        return found

    def _uploaded_roots(self, record: CollectionRecord) -> frozenset[str]:
        folder = uploads_folder(self._services.loaded.data_dir, record.name).resolve()
        return frozenset(name for name, (path, _) in self._store.collections.roots(record.id).items() if path == folder)

    def _original(self, record: CollectionRecord, document: StoredDocument) -> Path:
        """The file a document was read from: an upload, or a file of the server that may be shown."""
        roots = self._store.collections.roots(record.id)
        if document.root not in roots:
            raise NotThere("The file it was read from is not known any more.", hint="Its text is there.")
        path = roots[document.root][0] / document.source
        allowed = [uploads_folder(self._services.loaded.data_dir, record.name), *self._shown_folders()]
        if not any(path.resolve().is_relative_to(folder.resolve()) for folder in allowed):
            raise NotThere("The file it was read from lies where the server may not look.", hint="Its text is there.")
        return path.resolve()

    def _shown_folders(self) -> Sequence[Path]:
        loaded = self._services.loaded
        return [loaded.project / root.expanduser() for root in loaded.settings.ingest.roots]


def _named(document: StoredDocument) -> dict[str, str]:
    return {"id": document.document_id, "title": document.title, "source": document.source}


def _page(pages: tuple[int, ...], page: int, length: int) -> tuple[int, int]:
    if not 1 <= page <= len(pages):
        hint = f"It has pages 1 to {len(pages)}." if pages else "It has no pages: ask for a span."
        raise UsageError(f"There is no page {page} in this document.", hint=hint)
    return pages[page - 1], (*pages, length)[page]


def _no_document(identity: str, collection: str) -> NotThere:
    return NotThere(f"There is no document '{identity}' in '{collection}'.", hint="List them: GET /v1/documents")
