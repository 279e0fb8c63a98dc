"""Write CSV: one file per table, and one file with all evidence. The XLSX sheets have the same columns."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

from elt_llm_consumer.evidence import Cell, JobResult, Row, Table, content_digest
from elt_llm_consumer.export.text import escape_formula, evidence_places, value_text, write_atomically

REVIEW_COLUMNS = ("review_status", "reviewer", "review_comment")
"""The columns that reviewers fill in and `elt-llm review import` reads."""
ORIGIN_COLUMN = "review_of"
"""The column with a row's job and edition (a hash of its content). The import refuses the sheet of another job."""
EDITION_MARK = ", edition "
EDITION_LENGTH = 12
IDENTITY_COLUMNS = ("table", "key", "name")
EVIDENCE_COLUMNS = (
    *IDENTITY_COLUMNS,
    *("field", "value", "verdict", "method", "model", "confidence", "note"),
    *("source", "page", "section", "span", "quote", "score", "quote_hash", "document_hash"),
    *("curated_by", "curated_at", "curation_reason"),
)
SheetLine = tuple[str | int | float, ...]


def column_names(table: Table) -> tuple[str, ...]:
    """Return the column names: table, key and name, groups, review, three columns for each field, and notes."""
    fields = (part for column in table.columns for part in (column, f"{column}: verdict", f"{column}: evidence"))
    return (
        *IDENTITY_COLUMNS,
        *_group_columns(table),
        *REVIEW_COLUMNS,
        "reviewed_at",
        "review_stale",
        ORIGIN_COLUMN,
        *fields,
        "notes",
    )


def row_values(result: JobResult, table: Table, row: Row) -> SheetLine:
    """Return the values of one row, one value per column."""
    groups = _group_columns(table)
    filled = (*row.group, *[""] * len(groups))[: len(groups)]
    fields = [part for column in table.columns for part in _field_values(row, column)]
    review = row.review
    stale = "yes" if review.stale else ""
    origin = f"{result.kind} of {result.job}{EDITION_MARK}{content_digest(row)[:EDITION_LENGTH]}"
    reviewed = (review.status, review.reviewer, review.comment, review.reviewed_at, stale, origin)
    return (table.name, row.key, row.name, *filled, *reviewed, *fields, "\n".join(row.notes))


def evidence_lines(result: JobResult) -> Iterator[SheetLine]:
    """Yield a line with the columns EVIDENCE_COLUMNS for each quote of each cell, and for each cell without quotes."""
    for table in result.tables:
        for row in table.rows:
            for column in table.columns:
                if column in row.cells:
                    yield from _cell_lines((table.name, row.key, row.name, column), row.cells[column])


def _cell_lines(identity: tuple[str, ...], cell: Cell) -> Iterator[SheetLine]:
    by = (cell.curation.by, cell.curation.at, cell.curation.reason) if cell.curation else ("", "", "")
    what = (cell.verdict, cell.method, cell.model, cell.confidence, cell.note)
    if not cell.evidence:
        yield (*identity, value_text(cell.value), *what, *[""] * 8, *by)
    for it in cell.evidence:
        place = (it.source, it.page or "", it.section or "", f"{it.span[0]}:{it.span[1]}")
        proof = (it.quote, it.score, it.quote_hash, it.document_hash)
        yield (*identity, it.about or value_text(cell.value), *what, *place, *proof, *by)


def _group_columns(table: Table) -> tuple[str, ...]:
    deepest = max((len(row.group) for row in table.rows), default=0)
    names = [*table.groups, *(f"group_{number + 1}" for number in range(len(table.groups), deepest))][:deepest]
    return tuple(f"group: {name}" if name in table.columns else name for name in names)  # column names must be unique


def _field_values(row: Row, column: str) -> tuple[str | int | float, str, str]:
    cell = row.cells.get(column)
    if cell is None:
        return "", "", ""
    value = cell.value if isinstance(cell.value, int | float) else value_text(cell.value)
    by = cell.curation
    curated = ": ".join(filter(None, (f"Curated by {by.by}, {by.at}", by.reason))) if by else ""
    return value, cell.verdict, "\n".join(filter(None, (evidence_places(cell), curated, cell.note)))


def write_csv(result: JobResult, path: Path) -> list[Path]:
    """Write `NAME.TABLE.csv` for each table and `NAME.evidence.csv`; return their paths. `path` is NAME.csv.

    The format is RFC 4180 in UTF-8 with a byte order mark. An apostrophe is put before text that a spreadsheet would
    run as a formula.
    """
    files = {
        path.with_suffix(f".{table.name}.csv"): [
            column_names(table),
            *(row_values(result, table, row) for row in table.rows),
        ]
        for table in result.tables
    }
    files[path.with_suffix(".evidence.csv")] = [EVIDENCE_COLUMNS, *evidence_lines(result)]
    for target, lines in files.items():
        write_atomically(target, csv_bytes(lines, mark=True))
    return list(files)


def csv_bytes(lines: Iterable[SheetLine], *, mark: bool = False) -> bytes:
    """Encode lines as UTF-8 CSV, with formulas escaped. `mark` adds a byte order mark."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    for one in lines:
        writer.writerow([escape_formula(value) if isinstance(value, str) else value for value in one])
    # Spreadsheets misread UTF-8 without a byte order mark.
    return buffer.getvalue().encode("utf-8-sig" if mark else "utf-8", "replace")
