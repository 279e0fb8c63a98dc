"""Listeners to which long-running work reports its progress."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

One = TypeVar("One")


class ProgressListener(Protocol):
    """A receiver of progress reports. All calls come from one thread, in order. The methods must not raise."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage of `total` units (files, texts, nodes). `total` is 0 if the number is unknown."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Count `amount` more units as finished. `detail` names the current unit."""

    def note(self, message: str) -> None:
        """Show one sentence to the user."""


class SilentListener:
    """A listener that ignores all progress."""

    def stage(self, name: str, total: int) -> None:
        """Ignore the start of a stage."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Ignore the finished units."""

    def note(self, message: str) -> None:
        """Ignore the message instead of showing it to the user."""


def track_progress(items: Sequence[One], progress: ProgressListener, stage: str) -> Iterator[One]:
    """Yield the items and report them as one stage. An item counts as finished when the next one is requested."""
    progress.stage(stage, len(items))
    for item in items:
        yield item
        progress.advance()
