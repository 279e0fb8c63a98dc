"""A row of a job as its reviewer sees it: each cell with its verdict, and each quote where it stands."""

from collections.abc import Sequence

from elt_llm_consumer.rows import Cell, Evidence, Row, Value

from elt_llm_api.serve.actions.exports import ExportFile
from elt_llm_api.serve.actions.row_shapes import QuoteShown, RowDetail, RowShown
from elt_llm_api.serve.safe_text import as_text, own_link
from elt_llm_api.serve.ui.html_tables import flat
from elt_llm_api.serve.visible import made_visible

_SIGNS = {"found": "✓ found", "inferred": "≈ inferred", "absent": "∅ absent", "conflict": "⚡ conflict"}
_STATUSES = {
    "PENDING": "○ pending",
    "APPROVED": "✓ approved",
    "REJECTED": "✗ rejected",
    "NEEDS_CLARIFICATION": "? to be clarified",
}
_LONGEST_VALUE = 120  # characters of a value in a list
_MOST_COLUMNS = 4  # of values in a list
_HASH = 12  # hex digits of a hash that are shown


def row_html(detail: RowDetail) -> str:
    """The whole row, on one line: an empty line would end the HTML."""
    row = detail.row
    where = " · ".join(as_text(flat(part)) for part in (detail.table, *row.group) if part)
    parts = [f'<div class="opened"><p><b>{as_text(flat(row.name))}</b><br>{where}<br>{_review(row)}</p></div>']
    parts += [_cell(name, cell, [it for it in detail.quotes if it.field == name]) for name, cell in row.cells.items()]
    parts += [f'<p class="notes">{as_text(flat(note))}</p>' for note in row.notes]
    receipt = next(iter(detail.receipts), None)
    if receipt is not None:
        by = f", with {as_text(receipt.model)}" if receipt.model else ", without a language model"
        read = ", ".join(as_text("/".join(name.split("/")[:2])) for name in receipt.generations)  # name and number
        parts.append(f'<p class="facts">Written {as_text(receipt.written_at)}{by}, from {read}.</p>')
    return "".join(parts)


def listed(rows: Sequence[RowShown]) -> tuple[list[str], list[list[str | int]]]:
    """Headers and lines of a table: number, name, review, and the first columns of values."""
    told = (name for row in rows for name, cell in row.cells.items() if cell.value not in {None, row.name})
    columns = list(dict.fromkeys(told))[:_MOST_COLUMNS]
    lines: list[list[str | int]] = [
        [number, _short(row.name), status_told(row.review.status, stale=row.review.stale), *_values(row, columns)]
        for number, row in enumerate(rows, start=1)
    ]
    return ["No.", "Name", "Review", *map(made_visible, columns)], lines


def choice_of(number: int, row: RowShown) -> str:
    """How a row is called where one is chosen."""
    return f"{number}. {_short(row.name)} ({row.table}, {status_told(row.review.status, stale=row.review.stale)})"


def status_told(status: str, *, stale: bool) -> str:
    """A review's status with a sign of its own; colours alone tell nobody."""
    told = _STATUSES.get(status, status.lower())
    return f"{told}, changed since" if stale else told


def files_markdown(files: Sequence[ExportFile], job: str, kind: str) -> str:
    """A list of links to the files of a job; they are downloaded, and never shown in this page."""
    if not files:
        return "Nothing was written yet."
    lines = ["**Files**\n"]
    lines += [f"- {own_link(it.file, f'/v1/rows/{job}/{kind}/files/{it.file}')} ({it.bytes:,} bytes)" for it in files]
    if any(it.before_reviews for it in files):
        lines.append("\nThese were written before the last review: run the job again, and it is in them.")
    return "\n".join(lines)


def _cell(name: str, cell: Cell, quotes: Sequence[QuoteShown]) -> str:
    value = as_text(_value(cell.value)) or "<i>nothing</i>"
    note = f'<br><span class="facts">{as_text(flat(cell.note))}</span>' if cell.note else ""
    curated = f"put there by {cell.curation.by}, {cell.curation.at}" if cell.curation else cell.method
    told = f'<span class="badge">{_SIGNS[cell.verdict]}</span> <span>{as_text(flat(curated))}</span>'
    places = "".join(map(_quote, quotes))
    return (
        f'<div class="source"><p class="place"><b>{as_text(flat(name))}</b> {told}<br>{value}{note}</p>{places}</div>'
    )


def _quote(quote: QuoteShown) -> str:
    evidence = quote.evidence
    before, after = as_text(_start(quote.before)), as_text(_end(quote.after))
    cited = f'<mark class="cited">{as_text(flat(evidence.quote))}</mark>'
    gone = "" if quote.stands else " · the document does not have it at this place any more"
    start, end = evidence.span
    proof = f"{_place(evidence)} · characters {start:,} to {end:,} · SHA-256 {evidence.quote_hash[:_HASH]}…{gone}"
    return f'<blockquote>{before}{cited}{after}</blockquote><p class="facts">{proof}</p>'


def _place(evidence: Evidence) -> str:
    page = [f"page {evidence.page}"] if evidence.page else []
    section = [evidence.section] if evidence.section else []
    about = [] if evidence.about.startswith(evidence.source) else [evidence.about]  # which says the place once more
    return " · ".join(as_text(flat(part)) for part in (evidence.source, *page, *section, *about) if part)


def _review(row: Row) -> str:
    review = row.review
    by = f" by {review.reviewer}, {review.reviewed_at}" if review.reviewer else ""
    said = f": {review.comment}" if review.comment else ""
    return as_text(flat(f"{status_told(review.status, stale=review.stale)}{by}{said}"))


def _values(row: RowShown, columns: Sequence[str]) -> list[str]:
    cells = (row.cells.get(name) for name in columns)
    return ["" if cell is None else _short(_value(cell.value)) or _SIGNS[cell.verdict] for cell in cells]


def _value(value: Value) -> str:
    if value is None:
        return ""
    return "; ".join(map(flat, value)) if isinstance(value, tuple) else flat(str(value))


def _short(text: str) -> str:
    shown = made_visible(flat(text))
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"


def _start(text: str) -> str:
    words = flat(text)
    return f"… {words} " if words else ""


def _end(text: str) -> str:
    words = flat(text)
    return f" {words} …" if words else ""
