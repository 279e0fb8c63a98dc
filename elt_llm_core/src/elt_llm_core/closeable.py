"""Things that are opened and must be closed, as context managers."""

from abc import abstractmethod
from types import TracebackType
from typing import Self


class Closeable:
    """`with thing:` closes the thing at the end, however that comes."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; harmless if done already."""

    def __enter__(self) -> Self:
        """The thing itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def close_if_possible(thing: object) -> None:
    """Closes what has something to close, such as a model behind a connection; leaves the rest alone."""
    close = getattr(thing, "close", None)
    if callable(close):
        close()
