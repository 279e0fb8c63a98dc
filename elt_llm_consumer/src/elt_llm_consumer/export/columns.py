"""Rows laid out flat, as sheets have them: a line a row, and a line for each piece of evidence."""

from collections.abc import Iterator

from elt_llm_consumer.export.texts import places, shown
from elt_llm_consumer.rows import Cell, JobResult, Row, Table

REVIEW_COLUMNS = ("review_status", "reviewer", "review_comment")
"""What a reviewer fills in, and `elt-llm review import` reads."""
IDENTITY = ("table", "key", "name")
EVIDENCE_COLUMNS = (
    *IDENTITY,
    "field",
    "value",
    "verdict",
    "method",
    "model",
    "confidence",
    "note",
    "source",
    "page",
    "section",
    "span",
    "quote",
    "score",
    "quote_hash",
    "document_hash",
    "curated_by",
    "curated_at",
)
Line = tuple[str | int | float, ...]


def header(table: Table) -> tuple[str, ...]:
    """Names of the columns of a table's lines: what a row is, what a reviewer fills in, three for each field."""
    fields = (part for column in table.columns for part in (column, f"{column}: verdict", f"{column}: evidence"))
    return (*IDENTITY, *_groups(table), *REVIEW_COLUMNS, "review_stale", *fields, "notes")


def line(table: Table, row: Row) -> Line:
    """One row, a value for each name in `header`."""
    groups = _groups(table)
    filled = (*row.group, *[""] * len(groups))[: len(groups)]
    fields = [part for column in table.columns for part in _field(row, column)]
    review = row.review
    stale = "yes" if review.stale else ""
    reviewed = (review.status, review.reviewer, review.comment, stale)
    return (table.name, row.key, row.name, *filled, *reviewed, *fields, "\n".join(row.notes))


def evidence_lines(result: JobResult) -> Iterator[Line]:
    """Every piece of evidence of every cell, a value for each of EVIDENCE_COLUMNS; a cell without any has one line."""
    for table in result.tables:
        for row in table.rows:
            for column in table.columns:
                yield from _cell_lines(table, row, column)


def _cell_lines(table: Table, row: Row, column: str) -> Iterator[Line]:
    cell = row.cells.get(column)
    if cell is None:
        return
    by = (cell.curation.by, cell.curation.at) if cell.curation else ("", "")
    what = (cell.verdict, cell.method, cell.model, cell.confidence, cell.note)
    identity = (table.name, row.key, row.name, column)
    if not cell.evidence:
        yield (*identity, shown(cell.value), *what, *[""] * 8, *by)
    for it in cell.evidence:
        place = (it.source, it.page or "", it.section or "", f"{it.span[0]}:{it.span[1]}")
        proof = (it.quote, it.score, it.quote_hash, it.document_hash)
        yield (*identity, it.about or shown(cell.value), *what, *place, *proof, *by)


def _groups(table: Table) -> tuple[str, ...]:
    deepest = max((len(row.group) for row in table.rows), default=0)
    names = [*table.groups, *(f"group_{number + 1}" for number in range(len(table.groups), deepest))][:deepest]
    return tuple(f"group: {name}" if name in table.columns else name for name in names)  # no two of one name


def _field(row: Row, column: str) -> tuple[str | int | float, str, str]:
    cell = row.cells.get(column)
    if cell is None:
        return "", "", ""
    value = cell.value if isinstance(cell.value, int | float) else shown(cell.value)
    return value, cell.verdict, _basis(cell)


def _basis(cell: Cell) -> str:
    """Where the evidence stands; and why, where the value was not simply found."""
    parts = (places(cell), "" if cell.verdict == "found" else cell.note)
    return "\n".join(part for part in parts if part)
