"""Progress of long work, reported to any listener."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

One = TypeVar("One")


class ProgressListener(Protocol):
    """Receives progress. Calls come from one thread, in order; they must not raise."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage of `total` units (files, texts, nodes); 0 if unknown."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count `amount` more finished units; `detail` names the current one."""

    def note(self, message: str) -> None:
        """Show one sentence to the user."""


class SilentListener:
    """Ignore all progress."""

    def stage(self, name: str, total: int) -> None:
        """Ignored."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


def track_progress(items: Sequence[One], progress: ProgressListener, stage: str) -> Iterator[One]:
    """Yield the items as one stage; an item counts as finished when the next is requested."""
    progress.stage(stage, len(items))
    for item in items:
        yield item
        progress.advance()
