"""Who asks, and which collections they may read and write: the one place where that is decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from elt_llm_core.errors import EltError


class Forbidden(EltError):
    """The caller's key does not allow it."""


@dataclass(frozen=True)
class Principal:
    """A caller. `read` and `write` are names of collections, or patterns such as `hr_*`; who writes also reads."""

    name: str
    read: tuple[str, ...] = ("*",)
    write: tuple[str, ...] = ("*",)
    administers: bool = False
    """Whether it may see settings, metrics and the state of the whole server."""

    def may_read(self, collection: str) -> bool:
        """Whether it may see anything of a collection, its name included."""
        return _matches(collection, self.read) or self.may_write(collection)

    def may_write(self, collection: str) -> bool:
        """Whether it may change a collection."""
        return _matches(collection, self.write)

    def require_write(self, collection: str) -> None:
        """Raises Forbidden unless it may change a collection, which it may read then, or which is to be made."""
        if not self.may_write(collection):
            raise Forbidden(f"This key may not change the collection '{collection}'.")

    def readable(self, collections: Iterable[str]) -> list[str]:
        """Those of the collections it may read, in their order."""
        return [name for name in collections if self.may_read(name)]


LOCAL = Principal("local", administers=True)
"""Whoever asks from this machine where no key is demanded."""


def collections_for(
    principal: Principal, named: Sequence[str], prefixes: Sequence[str], known: Sequence[str]
) -> list[str]:
    """The collections a request is about: those it names, and those whose names begin with its prefixes.

    Scopes bind after prefixes are expanded: a prefix reaches what the caller may read and nothing else, as if the rest
    were not there; what is named and may not be read is refused as what does not exist is, so that nobody learns names.
    Raises Forbidden.
    """
    matched = [name for prefix in prefixes for name in known if name.startswith(prefix) and principal.may_read(name)]
    for name in named:
        if name not in known or not principal.may_read(name):
            raise Forbidden(f"There is no collection '{name}', or this key may not read it.")
    return list(dict.fromkeys([*named, *matched]))


def _matches(collection: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(collection, pattern) for pattern in patterns)
