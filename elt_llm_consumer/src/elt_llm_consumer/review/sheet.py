"""Read reviews from an exported sheet (CSV or XLSX), and import these reviews."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, time
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile
from zlib import error as BadCompression  # noqa: N812 - it is an exception

from elt_llm_core.errors import UsageError
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, OutputRow, RowId, StoredReview
from elt_llm_core.store.database import Database
from elt_llm_core.utilities import nearest_names

from elt_llm_consumer.evidence import Cell, Row
from elt_llm_consumer.export.csv import EDITION_LENGTH, EDITION_MARK, ORIGIN_COLUMN
from elt_llm_consumer.export.text import one_line, printable, unescape_formula, value_text
from elt_llm_consumer.review.reviews import MAX_COMMENT_LENGTH, REVIEW_STATUSES

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

REQUIRED_COLUMNS = ("table", "key", "review_status")
OPTIONAL_COLUMNS = ("reviewer", "review_comment", "reviewed_at")
_KNOWN_COLUMNS = {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS, ORIGIN_COLUMN}
_MAX_TITLE_LINES = 20  # maximum lines above the line with the names of the columns
_EXPORT_HINT = "Import the file that the job wrote: .csv of one table, or .xlsx."
_MAX_BYTES = 64_000_000  # maximum bytes of a file; the largest outputs are many times smaller
_MAX_UNPACKED_BYTES = 256_000_000  # maximum unpacked bytes of a workbook; more may be a decompression bomb
_MAX_LINES = 100_000  # maximum lines of a sheet
_MAX_COLUMNS = 1_000
_UNREADABLE = (BadZipFile, BadCompression, ParseError, LookupError, ValueError, TypeError, EOFError, OSError)
"""The errors that the workbook reader raises for a damaged file."""


@dataclass(frozen=True)
class SheetRow:
    """The review columns of a sheet's line, without surrounding spaces. `where` names the line in messages."""

    where: str
    table: str
    key: str
    status: str
    reviewer: str
    comment: str
    reviewed_at: str | None = None
    """The time of the review that the sheet shows; empty if it shows none, None if the sheet lacks this column."""
    values: Mapping[str, str] = field(default_factory=dict)
    """All values of the line by column name."""
    origin: str = ""
    """The job that wrote the sheet, such as `glossary of rules`; empty if the sheet lacks this column."""
    edition: str = ""
    """The first digits of the hash of the row when the sheet was written; empty if the sheet lacks this column."""


def read_sheet(path: Path) -> list[SheetRow]:
    """Read the lines of a CSV file, or of all sheets with review columns in a workbook.

    Raises UsageError for any other file, and for a sheet that has only some of the review columns.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", hint=_EXPORT_HINT)
    if path.stat().st_size > _MAX_BYTES:
        raise UsageError(f"{path} is larger than {_MAX_BYTES:,} bytes.", hint=_EXPORT_HINT)
    sheets = _workbook(path) if path.suffix.lower() == ".xlsx" else [("", _lines(path))]
    found = [list(_rows(path, name, lines, top)) for name, lines in sheets if (top := _header(lines)) is not None]
    if not found:
        raise UsageError(f"{path} has no columns {', '.join(REQUIRED_COLUMNS)}.", hint=_EXPORT_HINT)
    return [row for rows in found for row in rows]


def _workbook(path: Path) -> list[tuple[str, list[list[str]]]]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with ZipFile(path) as package:
            unpacked = sum(part.file_size for part in package.infolist())
        if unpacked <= _MAX_UNPACKED_BYTES:
            with closing(load_workbook(path, read_only=True, data_only=True)) as workbook:
                return [(sheet.title, _worksheet_lines(sheet)) for sheet in workbook.worksheets]
    except (InvalidFileException, *_UNREADABLE) as error:
        raise UsageError(f"{path} cannot be read as a workbook: {error}", hint=_EXPORT_HINT) from error
    raise UsageError(f"{path} unpacks to more than {_MAX_UNPACKED_BYTES:,} bytes.", hint=_EXPORT_HINT)


def _worksheet_lines(sheet: "Worksheet") -> list[list[str]]:
    """Return the lines of a sheet up to the last non-empty line; without review columns, only the first ones."""
    # A file may declare sheets of any size, so the numbers of rows and columns that are read are limited.
    rows, columns = min(sheet.max_row or _MAX_LINES, _MAX_LINES), min(sheet.max_column or _MAX_COLUMNS, _MAX_COLUMNS)
    cells = sheet.iter_rows(max_row=rows + 2, max_col=columns, values_only=True)
    lines = ([_text(value) for value in line] if any(it is not None for it in line) else [] for line in cells)
    found = list(islice(lines, _MAX_TITLE_LINES))
    found += lines if _header(found) is not None else ()
    while found and not found[-1]:
        found.pop()
    return found


def _lines(path: Path) -> list[list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8.", hint="Save it as CSV UTF-8, or use the .xlsx.") from error
    head = next((line for line in text.splitlines()[:_MAX_TITLE_LINES] if set(line) & set(",;\t")), "")
    delimiter = max(",;\t", key=head.count)  # the delimiter depends on the spreadsheet's locale
    try:
        return list(islice(csv.reader(StringIO(text, newline=""), delimiter=delimiter), _MAX_LINES + 2))
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}", hint=_EXPORT_HINT) from error


def _header(lines: Sequence[Sequence[str]]) -> int | None:
    """Return the index of the first line with three or more names of review columns, or None."""
    names = ({name.strip().lower() for name in line} for line in lines[:_MAX_TITLE_LINES])
    return next((at for at, found in enumerate(names) if len(found & _KNOWN_COLUMNS) >= 3), None)


def _rows(path: Path, sheet: str, lines: Sequence[Sequence[str]], top: int) -> Iterator[SheetRow]:
    if len(lines) > _MAX_LINES + 1:
        raise UsageError(f"{path} has more than {_MAX_LINES:,} lines.", hint=_EXPORT_HINT)
    head = [name.strip() for name in lines[top]]
    at = {name.lower(): column for column, name in reversed(list(enumerate(head)))}
    if missing := [name for name in REQUIRED_COLUMNS if name not in at]:
        where = f"The sheet '{sheet}' of {path}" if sheet else str(path)
        hint = "Nothing was imported. Keep the names of the columns as the job wrote them."
        raise UsageError(f"{where} has no column {' and no '.join(missing)}.", hint=hint)
    for number, line in enumerate(lines[top + 1 :], start=top + 2):
        given = {name: line[column].strip() for name, column in at.items() if column < len(line)}
        table, key, status, reviewer, comment, reviewed_at = (
            given.get(name, "") for name in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)
        )
        if table or key or status or reviewer or comment:
            where = f"row {number} of sheet '{sheet}'" if sheet else f"row {number}"
            values = dict(zip(head, line, strict=False))
            seen = reviewed_at if "reviewed_at" in at else None
            origin, _, edition = given.get(ORIGIN_COLUMN, "").rpartition(EDITION_MARK)
            yield SheetRow(where, table, key, status, reviewer, comment, seen, values, origin, edition)


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())  # a spreadsheet stores a typed date as midnight
    return "" if value is None else str(value)


_CUT_MARK = "…"  # the character at the end of a truncated value
_MAX_CELL_LENGTH = 30_000  # characters; shorter texts are never truncated


def _cell_matches(line: SheetRow, name: str, cell: Cell) -> bool:
    if line.values.get(f"{name}: verdict", cell.verdict) != cell.verdict:
        return False
    text = line.values.get(name)
    if text is None:
        return True
    if isinstance(cell.value, int | float):
        try:
            return float(text) == cell.value
        except ValueError:
            return False
    written, expected = one_line(unescape_formula(text)), one_line(printable(value_text(cell.value)))
    if len(written) > _MAX_CELL_LENGTH and _CUT_MARK in written:
        return expected.startswith(written[: written.rindex(_CUT_MARK)].rstrip())
    return written == expected


_MAX_HINTS = 20  # maximum invalid lines whose message suggests similar names, since these are slow to find


@dataclass(frozen=True)
class ImportReport:
    """The numbers of imported, unchanged and empty lines, and the errors of invalid lines.

    `notes` report replaced reviews, and lines that differ from the last written row, because the row or the sheet was
    changed. `conflicts` report lines that were not imported, because the row was reviewed after the sheet was written.
    """

    taken: int
    unchanged: int
    without_review: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 1 if a line is invalid or in conflict with a newer review, else 0."""
        return int(bool(self.problems or self.conflicts))


def import_reviews(lines: Sequence[SheetRow], state: Database, name: JobName, *, replace: bool = False) -> ImportReport:
    """Import the reviews of a sheet for the last written rows. Raises UsageError for the sheet of another job.

    A review becomes stale if the values in the sheet differ from those of the row. A PENDING line without reviewer and
    comment counts as empty and does not remove a review. A line that equals the stored review changes nothing, even if
    this review is stale. A line replaces a review that is newer than the sheet only if `replace` is set; otherwise it
    is only added to the history.
    """
    job = printable(f"{name.kind} of {name.job}")
    if other := next((line.origin for line in lines if line.origin and line.origin != job), ""):
        raise UsageError(
            f"The sheet was written by the {other}, not by the {job}: nothing was imported.",
            hint="Name the job of the sheet with --job and, if it has several kinds, --kind.",
        )
    reviews = JobReviewTable(state)
    reader = _ReviewImporter(JobRowTable(state).shown(name), reviews.all(name), replace=replace)
    if len(lines) > 1 and not any(map(reader.find_row, lines)):
        problem = f"none of the {len(lines):,} rows in the sheet is in the last output of the {job}"
        return ImportReport(0, 0, 0, (problem,))
    for line in lines:
        reader.read(line)
    reviews.put(name, list(reader.taken.values()))
    reviews.put_aside(name, reader.put_aside)
    messages = map(tuple, (reader.problems, reader.notes, reader.conflicts))
    return ImportReport(len(reader.taken), reader.unchanged, reader.without_review, *messages)


class _ReviewImporter:
    """Imports the lines of a review sheet one by one."""

    def __init__(self, shown: Mapping[RowId, OutputRow], known: Mapping[RowId, StoredReview], *, replace: bool) -> None:
        self._known, self._replace = known, replace
        self.taken: dict[RowId, StoredReview] = {}
        self.put_aside: list[StoredReview] = []
        self.unchanged = self.without_review = 0
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.conflicts: list[str] = []
        self._rows = {(printable(it.table).strip(), printable(it.key).strip()): row for it, row in shown.items()}
        self._keys: dict[str, list[str]] = {}
        self._editions: dict[tuple[str, str], list[OutputRow]] = {}
        for place, row in shown.items():
            self._keys.setdefault(place.table, []).append(place.key)
            self._editions.setdefault((place.table, row.digest[:EDITION_LENGTH]), []).append(row)
        self._seen: dict[RowId, str] = {}

    def read(self, line: SheetRow) -> None:
        status = line.status.upper().replace(" ", "_").replace("-", "_")
        row = self.find_row(line)
        if row is None:
            if status in ("", "PENDING") and not (line.reviewer or line.comment):
                self.without_review += 1
            else:
                self._report_missing(line)
            return
        if status and status not in REVIEW_STATUSES:
            allowed = ", ".join(REVIEW_STATUSES)
            self.problems.append(f"{line.where}: '{line.status}' is not a review status; allowed: {allowed}")
        elif status == "REJECTED" and not line.reviewer:
            self.problems.append(f"{line.where}: the rejection of '{row.place.key}' needs the name of its reviewer")
        elif row.place in self._seen:
            self.problems.append(f"{line.where}: '{row.place.key}' is already reviewed in {self._seen[row.place]}")
        elif max(len(line.reviewer), len(line.comment)) > MAX_COMMENT_LENGTH:
            self.problems.append(
                f"{line.where}: the reviewer or comment has more than {MAX_COMMENT_LENGTH:,} characters"
            )
        else:
            self._seen[row.place] = line.where
            self._take(line, status or "PENDING", row)

    def _take(self, line: SheetRow, status: str, row: OutputRow) -> None:
        # Texts are cleaned as they are for outputs, so that the lines of an unedited sheet count as unchanged.
        reviewer, comment = (printable(unescape_formula(text)) for text in (line.reviewer, line.comment))
        known = self._known.get(row.place)
        if status == "PENDING" and not (reviewer or comment):
            self.without_review += 1
            self._differs(line, row, reviewed=False)
        elif known is not None and (known.status, known.reviewer, known.comment) == (status, reviewer, comment):
            self.unchanged += 1
            self._differs(line, row, reviewed=False)
        else:
            digest = "" if self._differs(line, row, reviewed=True) else row.digest
            review = StoredReview(row.place, status, reviewer, comment, digest, row.documents)
            if known is None or self._may_replace(line, review, known):
                self.taken[row.place] = review
            else:
                self.put_aside.append(review)

    def _may_replace(self, line: SheetRow, review: StoredReview, known: StoredReview) -> bool:
        """Return whether a line may replace the stored review, and report the replacement or the conflict."""
        stored = f"{_verdict(known)} of {known.reviewed_at}"
        newer = line.reviewed_at is not None and known.reviewed_at != line.reviewed_at
        if newer and not self._replace:
            if review.status == known.status:
                self.unchanged += 1
                self.notes.append(f"{line.where}: '{known.place.key}' keeps {stored}; this review is in its history")
                return False
            self.conflicts.append(
                f"{line.where}: '{known.place.key}' keeps the review {stored}, which the sheet does not show: its"
                f" reviewed_at is '{line.reviewed_at}'. To import the review {_verdict(review)}, add --replace"
            )
            return False
        if newer or line.reviewed_at is None or known.reviewer != line.reviewer:
            self.notes.append(f"{line.where}: the review of '{known.place.key}' replaces {stored}")
        return True

    def _differs(self, line: SheetRow, row: OutputRow, *, reviewed: bool) -> bool:
        """Return whether the sheet differs from the row, and note in which columns.

        Without a new review (`reviewed`), only other values are noted: perhaps somebody corrected them in the sheet.
        """
        cells = Row.model_validate_json(row.content).cells
        fields = [name for name, cell in cells.items() if not _cell_matches(line, name, cell)]
        differs = bool(fields) or not row.digest.startswith(line.edition)
        if fields or (differs and reviewed):
            where = ", ".join(fields) or "its name, group or quotes"
            stale = ", so its review is stale" if reviewed else ""
            hint = ". To correct a value, put it into the file that sources.curated names" if fields else ""
            self.notes.append(f"{line.where}: '{row.place.key}' differs from the last output in {where}{stale}{hint}")
        return differs

    def find_row(self, line: SheetRow) -> OutputRow | None:
        """Return the row of a line, also if only its key has changed since, or None if the last output lacks it."""
        table = unescape_formula(line.table)
        found = self._rows.get((table, line.key)) or self._rows.get((table, unescape_formula(line.key)))
        equal = self._editions.get((table, line.edition), ())
        return found or (equal[0] if len(equal) == 1 else None)

    def _report_missing(self, line: SheetRow) -> None:
        table, key = unescape_formula(line.table), line.key
        problem, name, known = f"the table '{table}' has no row '{key}'.", key, self._keys.get(table, [])
        if table not in self._keys:
            problem, name, known = f"the job has no table '{table}'.", table, list(self._keys)
        hint = nearest_names(name, known) if len(self.problems) < _MAX_HINTS else ""
        self.problems.append(f"{line.where}: {problem} {hint}".strip())


def _verdict(review: StoredReview) -> str:
    return f"{review.status} by {review.reviewer}" if review.reviewer else review.status
