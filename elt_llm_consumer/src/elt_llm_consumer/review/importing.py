"""Reading reviews back from a sheet: every line of it is taken, left alone for a reason, or reported."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import JobName, JobRows, Place, ShownRow
from elt_llm_core.store.database import Database

from elt_llm_consumer.review.merging import STATUSES
from elt_llm_consumer.review.sheet import SheetRow

_GUARD = "'"  # put by the export before text that a spreadsheet would take for a formula


@dataclass(frozen=True)
class ImportReport:
    """How many lines gave a review, said what was known, and said nothing; and what is wrong with the others."""

    taken: int
    unchanged: int
    without_review: int
    problems: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """1 if a line was not understood, else 0."""
        return int(bool(self.problems))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def import_reviews(lines: Sequence[SheetRow], state: Database, name: JobName) -> ImportReport:
    """Keep the reviews of a sheet. They are of the rows as they were last written.

    A line that is PENDING without reviewer and comment says nothing, and takes back nothing that others said. One that
    says what is known leaves that as it is: a review that is stale does not become fresh by it.
    """
    reviews = JobReviews(state)
    reader = _Reader(JobRows(state).shown(name), reviews.all(name))
    for line in lines:
        reader.read(line)
    reviews.put(name, list(reader.taken.values()))
    return ImportReport(len(reader.taken), reader.unchanged, reader.without_review, tuple(reader.problems))


class _Reader:
    """Takes lines one by one."""

    def __init__(self, shown: Mapping[Place, ShownRow], known: Mapping[Place, KeptReview]) -> None:
        self._shown, self._known = shown, known
        self.taken: dict[Place, KeptReview] = {}
        self.unchanged = self.without_review = 0
        self.problems: list[str] = []
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
        else:
            self._seen[row.place] = line.where
            self._take(line, status or "PENDING", row)

    def _take(self, line: SheetRow, status: str, row: ShownRow) -> None:
        reviewer, comment = _unguarded(line.reviewer), _unguarded(line.comment)
        known = self._known.get(row.place)
        if status == "PENDING" and not (reviewer or comment):
            self.without_review += 1
        elif known is not None and (known.status, known.reviewer, known.comment) == (status, reviewer, comment):
            self.unchanged += 1
        else:
            self.taken[row.place] = KeptReview(row.place, status, reviewer, comment, row.digest, row.documents)

    def _row(self, line: SheetRow) -> ShownRow | None:
        tables = list(dict.fromkeys(place.table for place in self._shown))
        table, key = _unguarded(line.table), line.key
        if table not in tables:
            self.problems.append(
                f"{line.where}: the job has no table '{table}'. {nearest_names(table, tables)}".strip()
            )
            return None
        for written in (key, _unguarded(key)):
            if (found := self._shown.get(Place(table, written))) is not None:
                return found
        known = [place.key for place in self._shown if place.table == table]
        self.problems.append(f"{line.where}: '{table}' has no row '{key}'. {nearest_names(key, known)}".strip())
        return None


def _unguarded(text: str) -> str:
    return text.removeprefix(_GUARD)
