"""`/v1/documents`: bring documents, list them, read them by span and page, forget them."""

from typing import Annotated, Any

from elt_llm_core.errors import UsageError
from elt_llm_core.store.collections import COLLECTION_NAME
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from elt_llm_api.serve.actions.documents import DocumentListed, Documents, DocumentText
from elt_llm_api.serve.actions.job_shapes import JobTold, job_told
from elt_llm_api.serve.actions.uploads import Uploads
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/documents", tags=["documents"])
Collection = Annotated[str, Path(pattern=COLLECTION_NAME, description="Name of the collection.")]
DocumentId = Annotated[
    str, Path(pattern="^[0-9a-f]{32}$", description="Id of the document, as lists and sources have it.")
]
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["collection", "files"],
                    "properties": {
                        "collection": {
                            "type": "string",
                            "pattern": COLLECTION_NAME,
                            "description": "Made if it is new.",
                        },
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 100,
                            "items": {"type": "string", "format": "binary"},
                        },
                    },
                }
            }
        },
    }
}


class DocumentList(BaseModel):
    """Documents by name; `total` counts those that are not in this part of the list, too."""

    documents: tuple[DocumentListed, ...]
    total: int


class UploadTaken(BaseModel):
    """Files that are kept, under these names, and the job that reads them."""

    names: tuple[str, ...]
    job: JobTold


@router.post("", status_code=202, openapi_extra=_FORM)
async def upload(request: Request, services: GivenServices, caller: Caller) -> UploadTaken:
    """Bring files into a collection: they are kept at once, and read by a job. One of the same name is replaced."""
    try:
        taken = await Uploads(services).receive(caller, request.headers.get("content-type", ""), request.stream())
    except ClientDisconnect as error:
        raise UsageError("The body broke off before its end.", hint="Send it again.") from error
    return UploadTaken(names=taken.names, job=job_told(taken.job, caller))


@router.get("")
def documents(
    services: GivenServices,
    caller: Caller,
    collection: Annotated[str, Query(pattern=COLLECTION_NAME, description="Whose documents.", examples=["samples"])],
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="How many to leave out at the beginning.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 200,
) -> DocumentList:
    """The documents of a collection, and the files that could not be read, with the reason."""
    found = Documents(services).all(caller, collection)
    part = found[offset : offset + limit]
    return DocumentList(documents=tuple(part), total=len(found))


@router.get("/{collection}/{identity}/text")
def text(
    collection: Collection,
    identity: DocumentId,
    services: GivenServices,
    caller: Caller,
    start: Annotated[int, Query(ge=0, le=10**12, description="First character.")] = 0,
    end: Annotated[
        int | None, Query(ge=0, le=10**12, description="The one after the last; unset: as far as goes.")
    ] = None,
    page: Annotated[int | None, Query(ge=1, le=10**9, description="Only this page, in place of a span.")] = None,
) -> DocumentText:
    """A span of the text as citations see it, or a page; 200,000 characters at most: `end` says how far it goes."""
    return Documents(services).text(caller, collection, identity, (start, end), page)


@router.get(
    "/{collection}/{identity}/page/{number}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def page_image(
    collection: Collection,
    identity: DocumentId,
    number: Annotated[int, Path(ge=1, le=100_000, description="The page, from 1.")],
    services: GivenServices,
    caller: Caller,
) -> Response:
    """A picture of a page of a PDF, drawn from the file as it was read; 404 with the reason where that is gone."""
    documents = Documents(services)
    picture = await services.workers.run(lambda _: documents.page_image(caller, collection, identity, number))
    return Response(picture, media_type="image/png", headers={"cache-control": "no-store"})


@router.delete("/{collection}/{identity}", status_code=202)
def forget(collection: Collection, identity: DocumentId, services: GivenServices, caller: Caller) -> JobTold:
    """Forget a document for good, as a job: out of every index, text and vector, its upload deleted."""
    return job_told(Documents(services).forget(caller, collection, identity), caller)
