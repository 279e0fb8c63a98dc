"""What a worker is asked to read."""

from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_ingest.readers.options import ReaderOptions


@dataclass(frozen=True)
class ParseRequest:
    """One file. `reader` is "auto", which goes by the suffix, or a reader's name; `within` a folder it must lie in.

    A link is followed only where `within` is given, and only to a file below that.
    """

    path: Path
    reader: str = "auto"
    options: ReaderOptions = field(default_factory=ReaderOptions)
    within: Path | None = None
