"""What an ingest did with every file, by name and reason: nothing is silent."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

FileStatus = Literal["ok", "unchanged", "empty", "skipped", "failed", "removed", "missing"]


@dataclass(frozen=True)
class FileOutcome:
    """One file's end. `missing` means gone from its folder but kept, because too much is gone at once."""

    path: str
    status: FileStatus
    reason: str = ""
    chunks: int = 0
    stale: bool = False


@dataclass(frozen=True)
class IngestReport:
    """The whole run. `generation` is what readers see now; `published` whether this run made it.

    `model` has the counts and gaps of an enterprise model, if the collection holds one.
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
        """1 if a file failed or a deletion was held back, else 0."""
        return int(any(file.status in ("failed", "missing") for file in self.files))

    @property
    def counts(self) -> dict[str, int]:
        """How many files ended how."""
        return dict(Counter(file.status for file in self.files))

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {**asdict(self), "counts": self.counts}
