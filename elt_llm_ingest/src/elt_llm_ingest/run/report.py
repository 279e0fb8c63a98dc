"""The report of an ingest run: the outcome of every file, and counts."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

FileStatus = Literal["ok", "unchanged", "empty", "skipped", "failed", "removed", "missing"]


@dataclass(frozen=True)
class FileOutcome:
    """The outcome of a file. If its status is `missing`, its document is kept. If `stale`, its old version is used."""

    path: str
    status: FileStatus
    reason: str = ""
    chunks: int = 0
    stale: bool = False


@dataclass(frozen=True)
class IngestReport:
    """The report of one run.

    `generation` is the number of the current generation (build of the indexes), and `published` is true if this run
    published it. `model` contains the counts and gaps of an enterprise model, if the collection has one.
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
        """1 if a file failed, or if a file is missing and its document was kept; else 0."""
        return int(any(file.status in ("failed", "missing") for file in self.files))

    @property
    def counts(self) -> dict[str, int]:
        """The number of files by status."""
        return dict(Counter(file.status for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "counts": self.counts}
