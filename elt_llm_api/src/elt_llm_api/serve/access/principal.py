"""The caller of a request, and the collections that the caller may read and write."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from elt_llm_core.errors import EltError


class Forbidden(EltError):
    """The caller's key does not allow the request."""


@dataclass(frozen=True)
class Principal:
    """A caller. `read` and `write` are collection names or patterns such as `hr_*`. Write access includes reading."""

    name: str
    read: tuple[str, ...] = ("*",)
    write: tuple[str, ...] = ("*",)
    administers: bool = False
    """Whether the caller may see settings, metrics and the state of the whole server."""

    def may_read(self, collection: str) -> bool:
        """Return whether the caller may read a collection, and see its name."""
        return _matches(collection, self.read) or self.may_write(collection)

    def may_write(self, collection: str) -> bool:
        """Return whether the caller may change a collection."""
        return _matches(collection, self.write)

    def require_write(self, collection: str) -> None:
        """Raise Forbidden unless the caller may change this collection. Check read access first, to hide its name."""
        if not self.may_write(collection):
            raise Forbidden(f"This key may not change the collection '{collection}'.")

    def readable(self, collections: Iterable[str]) -> list[str]:
        """Return the collections that the caller may read, in the given order."""
        return [name for name in collections if self.may_read(name)]


LOCAL = Principal("local", administers=True)
"""The caller of all requests while no key is required."""


def _matches(collection: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(collection, pattern) for pattern in patterns)
