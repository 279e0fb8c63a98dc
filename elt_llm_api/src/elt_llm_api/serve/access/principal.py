"""The caller of a request, and the collections and documents that the caller may read and write."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import chain, product
from math import prod
from urllib.parse import quote

from elt_llm_core.errors import EltError
from elt_llm_core.store.conditions import DocumentCondition, DocumentConditions


class Forbidden(EltError):
    """The caller's key does not allow the request."""


@dataclass(frozen=True)
class Grant:
    """Permissions for collections, by names or patterns such as `hr_*`, and the conditions on their documents."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    conditions: DocumentConditions = ()

    def may_read(self, collection: str) -> bool:
        """Return whether the collection may be read. Write access includes reading."""
        return _matches(collection, self.read) or self.may_write(collection)

    def may_write(self, collection: str) -> bool:
        """Return whether the collection may be changed."""
        return _matches(collection, self.write)


@dataclass(frozen=True)
class ReadableCollection:
    """A collection that a caller may read, with the conditions that its documents must fulfil.

    Query engines are lent only for a ReadableCollection, which only `Services` creates, always for a caller. So no code
    can search a collection without the caller's conditions.
    """

    name: str
    conditions: DocumentConditions = ()


@dataclass(frozen=True)
class Principal:
    """A caller. `read` and `write` are collection names or patterns such as `hr_*`. Write access includes reading.

    In these collections, the caller sees only documents that fulfil `conditions`. `groups` adds permissions: the caller
    has the union of all. `is_person` is true for a person whom a proxy signed in, and false for a key.
    """

    name: str
    read: tuple[str, ...] = ("*",)
    write: tuple[str, ...] = ("*",)
    administers: bool = False
    """Whether the caller may see settings, metrics and the state of the whole server."""
    conditions: DocumentConditions = ()
    groups: tuple[Grant, ...] = ()
    is_person: bool = False

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The permissions of the caller."""
        return (Grant(self.read, self.write, self.conditions), *self.groups)

    @cached_property
    def owner(self) -> str:
        """The name under which conversations, feedback and jobs of this caller are stored.

        If the caller has conditions, the name contains a hash of all grants. If a key is then created again for another
        tenant, or a person joins or leaves a group, work done under the former grants can no longer be read.
        """
        # Names of keys have no colon, space or tilde, which separate the parts of stored names.
        name = f"user:{quote(self.name, safe='@').replace('~', '%7E')}" if self.is_person else self.name
        granted = [f"{one.read} {one.write} {one.conditions}" for one in self.grants] if self.has_conditions else []
        return f"{name} {hashlib.sha256(str(granted).encode()).hexdigest()[:16]}" if granted else name

    @property
    def has_conditions(self) -> bool:
        """Whether conditions limit the caller to some documents of at least one collection."""
        return any(grant.conditions for grant in self.grants)

    @property
    def may_read_all(self) -> bool:
        """Whether the caller may read every collection, and may therefore learn that none exists."""
        return any("*" in (*grant.read, *grant.write) for grant in self.grants)

    @property
    def may_write_any(self) -> bool:
        """Whether the caller may change at least one collection."""
        return any(grant.write for grant in self.grants)

    @property
    def written_patterns(self) -> tuple[str, ...]:
        """The names and patterns of the collections that the caller may change."""
        return tuple(dict.fromkeys(pattern for grant in self.grants for pattern in grant.write))

    def may_read(self, collection: str) -> bool:
        """Return whether the caller may read a collection, and see its name."""
        return any(grant.may_read(collection) for grant in self.grants)

    def may_write(self, collection: str) -> bool:
        """Return whether the caller may change a collection, or at least the caller's own documents in it."""
        return any(grant.may_write(collection) for grant in self.grants)

    def require_write(self, collection: str) -> None:
        """Raise Forbidden unless the caller may change the collection.

        Check read access first, because the error names the collection.
        """
        if not self.may_write(collection):
            raise Forbidden(f"This key may not change the collection '{collection}'.")

    def require_whole(self, collection: str, *, to_write: bool = True) -> None:
        """Raise Forbidden unless the caller may read (with `to_write`: change) every document of the collection."""
        if to_write:
            self.require_write(collection)
        if (self.write_conditions if to_write else self.conditions_of)(collection):
            raise Forbidden(
                f"This key may use only some documents of '{collection}', but the request concerns all of them.",
                hint="Use a key without conditions: elt-llm keys add NAME --write PATTERN",
            )

    def sees_whole(self, collection: str) -> bool:
        """Return whether the caller may read every document of a collection."""
        return any(grant.may_read(collection) and not grant.conditions for grant in self.grants)

    def changes_whole(self, collection: str) -> bool:
        """Return whether the caller may change every document of a collection."""
        return any(grant.may_write(collection) and not grant.conditions for grant in self.grants)

    def readable(self, collections: Iterable[str]) -> list[str]:
        """Return those of the collections that the caller may read, in order.

        A collection is left out if the conditions of the caller's groups on it cannot be joined into one list.
        """
        return [name for name in collections if _joined(self._read_conditions(name)) is not None]

    def conditions_of(self, collection: str) -> DocumentConditions:
        """Return the conditions on the documents that the caller may read in a collection. Raises Forbidden."""
        return _require_joined(self._read_conditions(collection), collection)

    def write_conditions(self, collection: str) -> DocumentConditions:
        """Return the conditions on the documents that the caller may change in a collection. Raises Forbidden."""
        granted = tuple(grant.conditions for grant in self.grants if grant.may_write(collection))
        return _require_joined(granted, collection)

    def _read_conditions(self, collection: str) -> tuple[DocumentConditions, ...]:
        return tuple(grant.conditions for grant in self.grants if grant.may_read(collection))


LOCAL = Principal("local", administers=True)
"""The caller of all requests while no key is required."""


def _matches(collection: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(collection, pattern) for pattern in patterns)


def _require_joined(granted: tuple[DocumentConditions, ...], collection: str) -> DocumentConditions:
    if not granted:
        raise Forbidden(f"There is no collection '{collection}', or this key may not read it.")
    if (joined := _joined(granted)) is None:
        raise Forbidden(
            f"The groups of this person have conditions on '{collection}' that cannot be joined.",
            hint="In the setting serve.groups, give these groups conditions that differ in one field only.",
        )
    return joined


@lru_cache(maxsize=256)
def _joined(granted: tuple[DocumentConditions, ...]) -> DocumentConditions | None:
    """Join the conditions of several grants into one list, which admits what at least one of the grants admits.

    For example, `tenant_id=a` and `tenant_id=b` become `tenant_id=a or b`. Return None if no such list exists, as for
    `tenant_id=a, doc_type=x` and `tenant_id=b, doc_type=y`, and if nothing is granted.
    """
    values: dict[str, set[str | None]] = {}  # by field; None means all other values
    for one in chain.from_iterable(granted):
        values.setdefault(one.field, {None}).update(one.values)
    admitted: set[tuple[str | None, ...]] = set()
    for conditions in granted:
        own = _by_field(conditions)
        admitted.update(product(*(own.get(name, every) for name, every in values.items())))
    sides = {name: {one[at] for one in admitted} for at, name in enumerate(values)}
    if len(admitted) != prod(map(len, sides.values())):
        return None
    listed = {name: tuple(sorted(filter(None, side))) for name, side in sorted(sides.items()) if None not in side}
    return tuple(DocumentCondition(name, side) for name, side in listed.items())


def _by_field(conditions: DocumentConditions) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for one in conditions:
        values = frozenset(one.values)
        found[one.field] = found[one.field] & values if one.field in found else values
    return found
