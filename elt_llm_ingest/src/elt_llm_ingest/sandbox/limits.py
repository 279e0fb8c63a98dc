"""How much one file may cost."""

from dataclasses import dataclass

from elt_llm_core.settings import IngestSettings

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ParseLimits:
    """What a file may take to read: memory and size in megabytes, times in seconds, its text in characters.

    `computing_share` is how much of the time may be processor time. `files_per_worker` and `worker_megabytes` say
    when a process is replaced by a fresh one between two files.
    """

    memory_mb: int = 1536
    seconds: float = 120
    file_mb: int = 256
    characters: int = 20_000_000
    computing_share: float = 0.5
    files_per_worker: int = 1000
    worker_megabytes: int = 600

    @classmethod
    def of(cls, settings: IngestSettings) -> "ParseLimits":
        """The limits that the settings name."""
        return cls(
            memory_mb=settings.parse_memory_mb,
            seconds=settings.parse_seconds,
            file_mb=settings.max_file_mb,
            characters=settings.max_characters,
        )

    @property
    def computing_seconds(self) -> int:
        """Processor time a file may take, at least one second."""
        return max(1, round(self.seconds * self.computing_share))

    @property
    def answer_bytes(self) -> int:
        """Most bytes that a worker may answer with for a file."""
        return 16 * MEGABYTE + 12 * self.characters
