"""`job_rows`: the rows that a job made, with the places they rest on."""

from collections.abc import Mapping
from typing import Annotated

from elt_llm_consumer.kinds import Kind
from elt_llm_consumer.rows import Cell, ReviewStatus, Value, Verdict
from elt_llm_core.errors import UsageError
from elt_llm_core.results import Result
from elt_llm_core.state.rows import Place
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.row_shapes import LONGEST_KEY, CellShown, RowDetail, RowFilter, RowPage
from elt_llm_api.serve.actions.rows import Rows
from elt_llm_api.serve.mcp.arguments import JobName
from elt_llm_api.serve.mcp.fencing import fenced, on_one_line
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told

_MOST = 100
_Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]


class RowsTold(Result):
    """Some of the rows of a job, or one with everything it rests on."""

    page: RowPage | None = Field(description="The rows that were asked for; none where one row was named.")
    row: RowDetail | None = Field(description="The row that was named, with its quotes in their context.")


def tool(given: Given) -> Tool:
    """The tool `job_rows`."""

    async def job_rows(  # noqa: PLR0913, PLR0917 - the arguments of the tool
        context: AnyContext,
        job: JobName,
        kind: Annotated[Kind, Field(description="What was made: terms, entities, their coverage, or a model.")],
        table: Annotated[str | None, Field(max_length=200, description="Rows of this table alone.")] = None,
        key: Annotated[_Key | None, Field(description="One row, with all its quotes; needs `table`.")] = None,
        text: Annotated[str | None, Field(max_length=1000, description="Rows with these words.")] = None,
        verdict: Annotated[Verdict | None, Field(description="Rows with a cell of this verdict.")] = None,
        review: Annotated[ReviewStatus | None, Field(description="Rows whose review has this status.")] = None,
        offset: Annotated[int, Field(ge=0, le=10_000_000, description="Rows to leave out.")] = 0,
        limit: Annotated[int, Field(ge=1, le=_MOST, description="Rows to give.")] = 20,
    ) -> Annotated[CallToolResult, RowsTold]:
        """Read the rows that a job made: page by page, or one of them with every quote it rests on."""
        principal = given.caller(context)
        if key is not None:
            if table is None:
                raise UsageError("A row is named by its table and its key.", hint="Give `table`, too.")
            place = Place(table, key)
            row = await given.work(lambda: Rows(given.services).one(principal, job, kind, place))
            return told(_row_in_words(row), RowsTold(page=None, row=row))
        asked = RowFilter(table=table, text=text, verdict=verdict, status=review, offset=offset, limit=limit)
        page = await given.work(lambda: Rows(given.services).page(principal, job, kind, asked))
        return told(_page_in_words(page), RowsTold(page=page, row=None))

    return declared(job_rows, "Rows of a job", READS)


def _page_in_words(page: RowPage) -> str:
    tables = ", ".join(f"{on_one_line(name)} {count}" for name, count in page.tables.items())
    head = f"{len(page.rows)} of {page.total} rows from {page.offset} on; tables: {tables or 'none yet'}."
    lines = [
        f"{row.table} / {row.key}: {row.name}; {_cells(row.cells)}; review {row.review.status}" for row in page.rows
    ]
    return f"{head}\n\n{fenced([('Rows:', chr(10).join(lines))])}" if lines else head


def _row_in_words(detail: RowDetail) -> str:
    row = detail.row
    parts = [(f"Row of {on_one_line(detail.table)}:", f"{row.key}: {row.name}\n{_cells(row.cells)}")]
    for quote in detail.quotes:
        stands = "stands there" if quote.stands else "does not stand there any more"
        where = f"{on_one_line(quote.evidence.place)}, {quote.evidence.collection}"
        parts.append((f"{on_one_line(quote.field)} rests on {where} ({stands}):", quote.evidence.quote))
    return f"Review {row.review.status}.\n\n{fenced(parts)}"


def _cells(cells: Mapping[str, Cell] | Mapping[str, CellShown]) -> str:
    return "; ".join(f"{name} = {_value(cell.value)} ({cell.verdict})" for name, cell in cells.items())


def _value(value: Value) -> str:
    return ", ".join(value) if isinstance(value, tuple) else "-" if value is None else on_one_line(str(value), 500)
