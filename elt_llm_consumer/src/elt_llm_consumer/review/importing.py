"""Reading reviews back from a sheet: every line of it is taken, left alone for a reason, or reported."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import JobName, JobRows, Place, ShownRow
from elt_llm_core.store.database import Database

from elt_llm_consumer.export.texts import printable, unguarded
from elt_llm_consumer.review.deciding import LONGEST_COMMENT
from elt_llm_consumer.review.merging import STATUSES
from elt_llm_consumer.review.seen import fields_differing
from elt_llm_consumer.review.sheet import SheetRow
from elt_llm_consumer.rows import Row

_MOST_HINTS = 20  # wrong lines told with the nearest names, which take time to find


@dataclass(frozen=True)
class ImportReport:
    """How many lines gave a review, said what was known, and said nothing; and what is wrong with the others.

    `notes` tell of lines that show another row than was last written: it changed since, or somebody changed the sheet.
    """

    taken: int
    unchanged: int
    without_review: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if a line was not understood, else 0."""
        return int(bool(self.problems))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def import_reviews(lines: Sequence[SheetRow], state: Database, name: JobName) -> ImportReport:
    """Keep the reviews of a sheet. They are of the rows as they were last written, and stale if it shows others.

    A line that is PENDING without reviewer and comment says nothing, and takes back nothing that others said. One that
    says what is known leaves that as it is: a review that is stale does not become fresh by it.
    """
    reviews = JobReviews(state)
    reader = _Reader(JobRows(state).shown(name), reviews.all(name))
    for line in lines:
        reader.read(line)
    reviews.put(name, list(reader.taken.values()))
    return ImportReport(
        len(reader.taken), reader.unchanged, reader.without_review, tuple(reader.problems), tuple(reader.notes)
    )


class _Reader:
    """Takes lines one by one."""

    def __init__(self, shown: Mapping[Place, ShownRow], known: Mapping[Place, KeptReview]) -> None:
        self._shown, self._known = shown, known
        self.taken: dict[Place, KeptReview] = {}
        self.unchanged = self.without_review = 0
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._rows = {(printable(it.table).strip(), printable(it.key).strip()): row for it, row in shown.items()}
        self._tables = list(dict.fromkeys(place.table for place in shown))
        self._seen: dict[Place, str] = {}

    def read(self, line: SheetRow) -> None:
        status = line.status.upper().replace(" ", "_").replace("-", "_")
        row = self._row(line)
        if row is None:
            return
        if status and status not in STATUSES:
            allowed = ", ".join(STATUSES)
            self.problems.append(f"{line.where}: there is no review status '{line.status}'; allowed: {allowed}")
        elif row.place in self._seen:
            self.problems.append(f"{line.where}: '{row.place.key}' stands in {self._seen[row.place]} already")
        elif max(len(line.reviewer), len(line.comment)) > LONGEST_COMMENT:
            self.problems.append(f"{line.where}: reviewer or comment has more than {LONGEST_COMMENT:,} characters")
        else:
            self._seen[row.place] = line.where
            self._take(line, status or "PENDING", row)

    def _take(self, line: SheetRow, status: str, row: ShownRow) -> None:
        # As outputs show them: a sheet that comes back untouched must say nothing new.
        reviewer, comment = (printable(unguarded(text)) for text in (line.reviewer, line.comment))
        known = self._known.get(row.place)
        differing = self._differing(line, row)
        if status == "PENDING" and not (reviewer or comment):
            self.without_review += 1
        elif known is not None and (known.status, known.reviewer, known.comment) == (status, reviewer, comment):
            self.unchanged += 1
        else:
            digest = "" if differing else row.digest
            self.taken[row.place] = KeptReview(row.place, status, reviewer, comment, digest, row.documents)

    def _differing(self, line: SheetRow, row: ShownRow) -> bool:
        fields = fields_differing(line, Row.model_validate_json(row.content))
        if fields:
            self.notes.append(
                f"{line.where}: '{row.place.key}' was last written with another {', '.join(fields)}; its review counts"
                " as stale, and values are put right by sources.curated alone"
            )
        return bool(fields)

    def _row(self, line: SheetRow) -> ShownRow | None:
        tables = self._tables
        table, key = unguarded(line.table), line.key
        if table not in tables:
            self._no_such(f"{line.where}: the job has no table '{table}'.", table, tables)
            return None
        for written in (key, unguarded(key)):
            if (found := self._rows.get((table, written))) is not None:
                return found
        known = [place.key for place in self._shown if place.table == table] if self._hints_left else []
        self._no_such(f"{line.where}: '{table}' has no row '{key}'.", key, known)
        return None

    @property
    def _hints_left(self) -> bool:
        return len(self.problems) < _MOST_HINTS

    def _no_such(self, told: str, name: str, known: Sequence[str]) -> None:
        hint = nearest_names(name, known) if self._hints_left else ""
        self.problems.append(f"{told} {hint}".strip())
