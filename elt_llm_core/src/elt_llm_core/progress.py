"""How long work tells what it is doing, without knowing who listens."""

from typing import Protocol


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
