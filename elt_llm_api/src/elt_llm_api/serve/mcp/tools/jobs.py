"""The tools `list_jobs`, `run_job`, `job_status` and `job_rows`."""

from collections.abc import Mapping
from typing import Annotated

from elt_llm_consumer.evidence import Cell, ReviewStatus, Value, Verdict
from elt_llm_consumer.jobs.tasks import JobKind
from elt_llm_core.errors import UsageError
from elt_llm_core.results import ResultModel
from elt_llm_core.state.jobs import RowId
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.jobs import MOST_ROWS, BatchJob, BatchJobActions, BatchJobRequest, JobActions
from elt_llm_api.serve.actions.rows import LONGEST_KEY, CellView, RowActions, RowDetail, RowFilter, RowPage
from elt_llm_api.serve.mcp.output import JobWithResult, fence_texts, job_with_result, single_line
from elt_llm_api.serve.mcp.tool_call import QUEUES_WORK, JobName, ToolCall, mcp_tool, tool_result

_MOST = 100
_Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]
_Name = Annotated[str, Field(min_length=1, max_length=2000)]


class JobFileListing(ResultModel):
    """The jobs whose collections the caller may read."""

    jobs: tuple[BatchJob, ...]


@mcp_tool("List the jobs")
async def list_jobs(call: ToolCall) -> Annotated[CallToolResult, JobFileListing]:
    """List the jobs of the server: `run_job` runs one, `job_rows` reads the rows that it made."""
    jobs = await call.run(lambda: BatchJobActions(call.services).all(call.principal))
    text = "\n".join(map(_job_line, jobs)) or "There is no job that you may read."
    return tool_result(text, JobFileListing(jobs=tuple(jobs)))


def _job_line(job: BatchJob) -> str:
    missing = f"; missing: {', '.join(job.missing)}" if job.missing else ""
    kinds = ", ".join(job.kinds) or "nothing yet"
    return f"{job.name} ({kinds}) of {', '.join(job.collections)}: {single_line(job.description)}{missing}"


@mcp_tool("Run a job", QUEUES_WORK)
async def run_job(
    call: ToolCall,
    job: JobName,
    kind: Annotated[JobKind, Field(description="What to make, such as a glossary of terms or a catalog of entities.")],
    only: Annotated[
        tuple[_Name, ...], Field(max_length=1000, description="Names or keys of the rows to make; empty: all.")
    ] = (),
    limit: Annotated[int | None, Field(ge=1, le=MOST_ROWS, description="Largest number of rows to make.")] = None,
    anew: Annotated[bool, Field(description="Make existing rows again.")] = False,
    dry_run: Annotated[bool, Field(description="Report what would be made and what it costs; make nothing.")] = False,
) -> Annotated[CallToolResult, JobWithResult]:
    """Run a job of the server that reads collections and makes tables of rows with evidence. Returns at once.

    Jobs run one after the other, in a process of their own: follow one with `job_status`, read it with `job_rows`.
    """
    request = BatchJobRequest(job=job, only=only, limit=limit, anew=anew, dry_run=dry_run)
    queued = await call.run(lambda: BatchJobActions(call.services).submit(call.principal, kind, request))
    return job_with_result(queued, call.principal)


@mcp_tool("Status of a job")
async def job_status(
    call: ToolCall,
    id: Annotated[str, Field(pattern="^[0-9a-f]{32}$", description="Id of the run, as `run_job` returned it.")],  # noqa: A002
) -> Annotated[CallToolResult, JobWithResult]:
    """Return the progress of a queued job, and its result once it has ended."""
    job = await call.run(lambda: JobActions(call.services).get(call.principal, id))
    return job_with_result(job, call.principal)


class RowListing(ResultModel):
    """A page of the rows of a job, or one row with all its evidence."""

    page: RowPage | None = Field(description="The requested rows; null where one row was named.")
    row: RowDetail | None = Field(description="The named row, with its quotes in their context.")


@mcp_tool("Rows of a job")
async def job_rows(  # noqa: PLR0913, PLR0917 - the arguments of the tool
    call: ToolCall,
    job: JobName,
    kind: Annotated[JobKind, Field(description="What was made, such as a glossary of terms or a catalog of entities.")],
    table: Annotated[str | None, Field(max_length=200, description="Rows of this table only.")] = None,
    key: Annotated[_Key | None, Field(description="One row, with all its quotes; needs `table`.")] = None,
    text: Annotated[str | None, Field(max_length=1000, description="Rows with these words.")] = None,
    verdict: Annotated[Verdict | None, Field(description="Rows with a cell of this verdict.")] = None,
    review: Annotated[ReviewStatus | None, Field(description="Rows whose review has this status.")] = None,
    offset: Annotated[int, Field(ge=0, le=10_000_000, description="Number of rows to skip.")] = 0,
    limit: Annotated[int, Field(ge=1, le=_MOST, description="Largest number of rows to return.")] = 20,
) -> Annotated[CallToolResult, RowListing]:
    """Read the rows that a job made: page by page, or one of them with every quote that supports it."""
    actions = RowActions(call.services)
    if key is not None:
        if table is None:
            raise UsageError("A row is named by its table and its key.", hint="Give `table`, too.")
        row_id = RowId(table, key)
        row = await call.run(lambda: actions.get(call.principal, job, kind, row_id))
        return tool_result(_row_text(row), RowListing(page=None, row=row))
    request = RowFilter(table=table, text=text, verdict=verdict, status=review, offset=offset, limit=limit)
    page = await call.run(lambda: actions.page(call.principal, job, kind, request))
    return tool_result(_page_text(page), RowListing(page=page, row=None))


def _page_text(page: RowPage) -> str:
    tables = ", ".join(f"{single_line(name)} {count}" for name, count in page.tables.items())
    head = f"{len(page.rows)} of {page.total} rows from {page.offset} on; tables: {tables or 'none yet'}."
    lines = [
        f"{row.table} / {row.key}: {row.name}; {_cell_texts(row.cells)}; review {row.review.status}"
        for row in page.rows
    ]
    return f"{head}\n\n{fence_texts([('Rows:', chr(10).join(lines))])}" if lines else head


def _row_text(detail: RowDetail) -> str:
    row = detail.row
    parts = [(f"Row of {single_line(detail.table)}:", f"{row.key}: {row.name}\n{_cell_texts(row.cells)}")]
    for quote in detail.quotes:
        state = "still in the document" if quote.found else "no longer in the document"
        where = f"{single_line(quote.evidence.place)}, {quote.evidence.collection}"
        parts.append((f"{single_line(quote.field)} is supported by {where} ({state}):", quote.evidence.quote))
    return f"Review {row.review.status}.\n\n{fence_texts(parts)}"


def _cell_texts(cells: Mapping[str, Cell] | Mapping[str, CellView]) -> str:
    return "; ".join(f"{name} = {_value_text(cell.value)} ({cell.verdict})" for name, cell in cells.items())


def _value_text(value: Value) -> str:
    return ", ".join(value) if isinstance(value, tuple) else "-" if value is None else single_line(str(value), 500)
