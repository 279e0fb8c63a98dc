"""`/v1/documents`: upload, list, read by span and page, forget."""

from typing import Annotated, Any

from elt_llm_core.errors import UsageError
from elt_llm_core.store.collections import COLLECTION_NAME
from elt_llm_core.store.conditions import LONGEST_VALUE
from elt_llm_core.store.records import OWNER_FIELDS
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from elt_llm_api.serve.actions.documents import DocumentActions, DocumentEntry, DocumentText
from elt_llm_api.serve.actions.jobs import JobSummary, job_summary
from elt_llm_api.serve.actions.uploads import UploadActions
from elt_llm_api.serve.routes.dependencies import Call

router = APIRouter(prefix="/v1/documents", tags=["documents"])
Collection = Annotated[str, Path(pattern=COLLECTION_NAME, description="Name of the collection.")]
DocumentId = Annotated[
    str, Path(pattern="^[0-9a-f]{32}$", description="Id of the document, as in lists and citations.")
]
_FILES = {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "format": "binary"}}
_COLLECTION = {"type": "string", "pattern": COLLECTION_NAME, "description": "Created if it does not exist."}
_RESUME = {"type": "boolean", "description": "Continue after a rollback, from the published generation."}
_OWNER = {
    name: {"type": "string", "maxLength": LONGEST_VALUE, "description": f"{name} of the files; keys may require it."}
    for name in OWNER_FIELDS
}
_FORM = {
    "type": "object",
    "required": ["collection", "files"],
    "properties": {"collection": _COLLECTION, "files": _FILES, "resume": _RESUME, **_OWNER},
    "additionalProperties": False,
}
_UPLOAD: dict[str, Any] = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


class DocumentList(BaseModel):
    """A page of documents by name. `total` counts all documents of the collection."""

    documents: tuple[DocumentEntry, ...]
    total: int
    unread_uploads: tuple[str, ...] = Field(
        description="All uploads that are stored but not read yet: waiting, or kept after a cancelled or failed job."
    )


class UploadResponse(BaseModel):
    """The names of the stored files, and the job that ingests them."""

    names: tuple[str, ...] = Field(description="In the order of the files; a shortened or changed name ends in a hash.")
    replaced: tuple[str, ...] = Field(description="Those of the names whose stored file had other bytes before.")
    job: JobSummary


@router.post("", status_code=202, openapi_extra=_UPLOAD)
async def upload_documents(call: Call) -> UploadResponse:
    """Upload files into a collection. They replace stored files of the same name, and a job ingests them."""
    request = call.request
    try:
        names, job = await UploadActions(call.services).receive(call.principal, request.headers, request.stream())
    except ClientDisconnect as error:
        raise UsageError("The body of the request is incomplete.", hint="Send it again.") from error
    summary = job_summary(job, call.principal)
    return UploadResponse(names=tuple(names), replaced=summary.arguments["replaced"], job=summary)


@router.get("")
def list_documents(
    call: Call,
    collection: Annotated[
        str, Query(pattern=COLLECTION_NAME, description="Name of the collection.", examples=["samples"])
    ],
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Number of documents to skip.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Largest number of documents to return.")] = 200,
) -> DocumentList:
    """List the documents of a collection, the files that could not be read, with the reason, and unread uploads."""
    actions = DocumentActions(call.services)
    unread = actions.unread_uploads(call.principal, collection)
    exists = not unread or collection in call.services.collection_names()
    documents = actions.all(call.principal, collection) if exists else []
    page = tuple(documents[offset : offset + limit])
    return DocumentList(documents=page, total=len(documents), unread_uploads=tuple(unread))


@router.get("/{collection}/{identity}/text")
def get_document_text(
    call: Call,
    collection: Collection,
    identity: DocumentId,
    start: Annotated[int, Query(ge=0, le=10**12, description="Offset of the first character.")] = 0,
    end: Annotated[
        int | None, Query(ge=0, le=10**12, description="Offset after the last character; unset: the end.")
    ] = None,
    page: Annotated[int | None, Query(ge=1, le=10**9, description="Return this page instead of a span.")] = None,
) -> DocumentText:
    """Return a span of the text that citations refer to, or a page. The text has at most 200,000 characters."""
    return DocumentActions(call.services).text(call.principal, collection, identity, (start, end), page)


@router.get(
    "/{collection}/{identity}/page/{number}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def get_page_image(
    call: Call,
    collection: Collection,
    identity: DocumentId,
    number: Annotated[int, Path(ge=1, le=100_000, description="The page, from 1.")],
    start: Annotated[int, Query(ge=0, le=10**12, description="Offset of the first character to mark.")] = 0,
    end: Annotated[int, Query(ge=0, le=10**12, description="Offset after the last character to mark.")] = 0,
) -> Response:
    """Return an image of a PDF page, rendered from the original file. If that fails, a 404 gives the reason.

    The characters of the document's text from `start` to `end` are marked if their words are found on the page.
    """
    actions = DocumentActions(call.services)
    image = await call.services.workers.run(
        lambda _: actions.page_image(call.principal, collection, identity, number, (start, end))
    )
    return Response(image, media_type="image/png", headers={"cache-control": "no-store"})


@router.delete("/{collection}/{identity}", status_code=202)
def forget_document(call: Call, collection: Collection, identity: DocumentId) -> JobSummary:
    """Queue a job that deletes a document for good: its text, its vectors, its index entries and its upload.

    Documents with the same bytes are deleted too, unless the key has conditions; `documents` in the result counts all.
    """
    return job_summary(DocumentActions(call.services).forget(call.principal, collection, identity), call.principal)
