"""`/v1/rows/{job}/{kind}`: the rows that a job wrote, what reviewers say of them, and the files they are in."""

from typing import Annotated

from elt_llm_consumer.kinds import Kind
from elt_llm_core.state.rows import Place
from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel

from elt_llm_api.serve.actions.batch_jobs import NAME
from elt_llm_api.serve.actions.exports import ExportFile, Exports
from elt_llm_api.serve.actions.row_shapes import (
    LONGEST_KEY,
    ReviewRequest,
    ReviewStanding,
    RowDetail,
    RowFilter,
    RowPage,
    StaleRows,
)
from elt_llm_api.serve.actions.rows import Rows
from elt_llm_api.serve.routes.given import Caller, GivenServices

router = APIRouter(prefix="/v1/rows/{job}/{kind}", tags=["rows"])
JobPath = Annotated[str, Path(pattern=NAME, description="Name of the job file.", examples=["glossary"])]
_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For whoever shows a report in spite of its being an attachment: it runs nothing here."""


class ExportList(BaseModel):
    """The files of a job."""

    files: list[ExportFile]


@router.get("")
def list_rows(
    job: JobPath, kind: Kind, asked: Annotated[RowFilter, Query()], services: GivenServices, caller: Caller
) -> RowPage:
    """Rows as they were last written, with their reviews; filtered, a page at a time."""
    return Rows(services).page(caller, job, kind, asked)


@router.get("/row")
def read_row(
    job: JobPath,
    kind: Kind,
    table: Annotated[str, Query(max_length=200)],
    key: Annotated[str, Query(max_length=LONGEST_KEY)],
    services: GivenServices,
    caller: Caller,
) -> RowDetail:
    """One row: every cell with its verdict and its evidence, quotes within their context, and receipts."""
    return Rows(services).one(caller, job, kind, Place(table, key))


@router.post("/review")
def review_row(job: JobPath, kind: Kind, asked: ReviewRequest, services: GivenServices, caller: Caller) -> RowDetail:
    """Say of a row what becomes of it. It outlasts later runs, and is in what they write."""
    return Rows(services).review(caller, job, kind, asked)


@router.get("/status")
def review_status(job: JobPath, kind: Kind, services: GivenServices, caller: Caller) -> ReviewStanding:
    """How the reviews stand: fresh, stale where the row says something else by now, or without a row."""
    return Rows(services).standing(caller, job, kind)


@router.get("/stale")
async def stale_rows(job: JobPath, kind: Kind, services: GivenServices, caller: Caller) -> StaleRows:
    """Rows of which a quote is not at its place any more, or whose document changed around it."""
    return await Rows(services).stale(caller, job, kind)


@router.get("/files")
def list_exports(job: JobPath, kind: Kind, services: GivenServices, caller: Caller) -> ExportList:
    """The files that the job wrote last."""
    return ExportList(files=Exports(services).all(caller, job, kind))


@router.get("/files/{wanted}", response_class=FileResponse)
def download_export(
    job: JobPath,
    kind: Kind,
    wanted: Annotated[str, Path(max_length=300, description="A name of the list, or a format.", examples=["xlsx"])],
    services: GivenServices,
    caller: Caller,
) -> FileResponse:
    """A file as it was written, to be kept and not to be shown: csv, xlsx, html, json and those for other programs."""
    found = Exports(services).download(caller, job, kind, wanted)
    headers = {"content-security-policy": _POLICY, "cache-control": "no-store"}
    return FileResponse(found.path, media_type=found.media_type, filename=found.path.name, headers=headers)
