"""`/v1/rows/{job}/{kind}`: rows that a job wrote, their reviews and exports."""

from typing import Annotated

from elt_llm_consumer.jobs.tasks import JobKind
from elt_llm_core.state.jobs import RowId
from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel

from elt_llm_api.serve.actions.rows import (
    LONGEST_KEY,
    ExportActions,
    ExportFile,
    ReviewOverview,
    ReviewRequest,
    RowActions,
    RowDetail,
    RowFilter,
    RowPage,
    StaleRows,
)
from elt_llm_api.serve.jobs.kinds import NAME
from elt_llm_api.serve.routes.dependencies import Call

router = APIRouter(prefix="/v1/rows/{job}/{kind}", tags=["rows"])
JobPath = Annotated[str, Path(pattern=NAME, description="Name of the job file.", examples=["glossary"])]
_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A policy that forbids scripts in a report, in case a browser shows the attachment."""


class ExportList(BaseModel):
    """The files that a job wrote, for download."""

    files: list[ExportFile]


@router.get("")
def list_rows(job: JobPath, kind: JobKind, filters: Annotated[RowFilter, Query()], call: Call) -> RowPage:
    """List a page of rows that pass the filters, as they were last written, with their reviews."""
    return RowActions(call.services).page(call.principal, job, kind, filters)


@router.get("/row")
def get_row(
    job: JobPath,
    kind: JobKind,
    table: Annotated[str, Query(max_length=200)],
    key: Annotated[str, Query(max_length=LONGEST_KEY)],
    call: Call,
) -> RowDetail:
    """Return one row with the verdict and evidence of every cell, quotes within their context, and receipts."""
    return RowActions(call.services).get(call.principal, job, kind, RowId(table, key))


@router.post("/review")
def review_row(job: JobPath, kind: JobKind, body: ReviewRequest, call: Call) -> RowDetail:
    """Review a row. Later runs of the job keep the review and include it in their output."""
    return RowActions(call.services).review(call.principal, job, kind, body)


@router.get("/status")
def get_review_status(job: JobPath, kind: JobKind, call: Call) -> ReviewOverview:
    """Return the reviews of a job: fresh, stale because the row has changed, or without a row."""
    return RowActions(call.services).review_overview(call.principal, job, kind)


@router.get("/stale")
async def list_stale_rows(job: JobPath, kind: JobKind, call: Call) -> StaleRows:
    """List rows with a quote that is no longer in its place, or whose surrounding text has changed."""
    return await RowActions(call.services).stale(call.principal, job, kind)


@router.get("/files")
def list_exports(job: JobPath, kind: JobKind, call: Call) -> ExportList:
    """List the files that the job wrote last."""
    return ExportList(files=ExportActions(call.services).all(call.principal, job, kind))


@router.get("/files/{wanted}", response_class=FileResponse)
def download_export(
    job: JobPath,
    kind: JobKind,
    wanted: Annotated[str, Path(max_length=300, description="Name of a file, or a format.", examples=["xlsx"])],
    call: Call,
) -> FileResponse:
    """Download a file of the job as an attachment, as it was written: csv, xlsx, html, json or a catalog format."""
    path, media_type = ExportActions(call.services).download(call.principal, job, kind, wanted)
    headers = {"content-security-policy": _POLICY, "cache-control": "no-store"}
    return FileResponse(path, media_type=media_type, filename=path.name, headers=headers)
