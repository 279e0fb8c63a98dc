"""The report of an ingest run: the outcome of every file, and counts."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

FileStatus = Literal["ok", "unchanged", "empty", "skipped", "failed", "removed", "missing"]


@dataclass(frozen=True)
class FileOutcome:
    """The outcome of one file: `missing` if it is deleted but kept, `stale` if its earlier version stays published."""

    path: str
    status: FileStatus
    reason: str = ""
    chunks: int = 0
    stale: bool = False


@dataclass(frozen=True)
class IngestReport:
    """The report of one run.

    `generation` is the current generation, and `published` whether this run published it. `model` holds the counts and
    gaps of an enterprise model, if the collection contains one.
    """

    collection: str
    files: tuple[FileOutcome, ...]
    generation: int | None
    published: bool
    documents: int
    chunks: int
    embedded: int
    reused: int
    collection_hash: str
    seconds: float
    notes: tuple[str, ...] = ()
    model: dict[str, Any] | None = None

    @property
    def exit_code(self) -> int:
        """Return 1 if a file failed or a deletion was held back, else 0."""
        return int(any(file.status in ("failed", "missing") for file in self.files))

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of files by status."""
        return dict(Counter(file.status for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "counts": self.counts}
