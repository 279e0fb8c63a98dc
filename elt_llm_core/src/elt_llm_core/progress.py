"""How long work tells what it is doing, without knowing who listens."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

One = TypeVar("One")


class Progress(Protocol):
    """A listener. Calls come from one thread, in order; none may raise."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins; `total` counts its units (files, texts, nodes), 0 if unknown."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """`amount` more units are done; `detail` names the present one."""

    def note(self, message: str) -> None:
        """One sentence a person should read, in passing."""


class SilentProgress:
    """Listens to everything and says nothing."""

    def stage(self, name: str, total: int) -> None:
        """Ignored."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Ignored."""

    def note(self, message: str) -> None:
        """Ignored."""


def followed(items: Sequence[One], progress: Progress, stage: str) -> Iterator[One]:
    """The items one by one as a stage of their own; one is done when the next is asked for."""
    progress.stage(stage, len(items))
    for item in items:
        yield item
        progress.advance()
