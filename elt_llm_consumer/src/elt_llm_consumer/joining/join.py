"""One-to-one joins of two lists of named things: by id, by name, by other names, and by likeness, in this order."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from elt_llm_consumer.name_likeness import likely_keys
from elt_llm_consumer.names import Names

JoinedBy = Literal["id", "same", "alias", "fuzzy"]
LEAST_LIKENESS = 0.85
LEAST_NEAR = 0.7
_ORDER: dict[JoinedBy, int] = {"id": 0, "same": 1, "alias": 2, "fuzzy": 3}


@dataclass(frozen=True)
class Named:
    """Something to be joined. `key` is unique in its list; `ids` are those it may be known by on the other side."""

    key: str
    name: str
    ids: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    kind: str = ""
    """Of equally good partners the one of the same kind is taken."""


@dataclass(frozen=True)
class Join:
    """Two that are the same thing. `score` is 1 but for a fuzzy one; `reason` is for people to read."""

    left: str
    right: str
    by: JoinedBy
    score: float
    reason: str


@dataclass(frozen=True)
class Joined:
    """Each of either side is in one join, or alone. `near` are pairs to look at, too unlike to be joined."""

    joins: tuple[Join, ...] = ()
    left_alone: tuple[str, ...] = ()
    right_alone: tuple[str, ...] = ()
    near: tuple[Join, ...] = ()

    def of_left(self, key: str) -> Join | None:
        """The join of one of the left side."""
        return self._by_left.get(key)

    @cached_property
    def _by_left(self) -> dict[str, Join]:
        return {one.left: one for one in self.joins}


def join(left: Sequence[Named], right: Sequence[Named], names: Names, least: float = LEAST_LIKENESS) -> Joined:
    """Join two lists, each of which has every key once; the order in which they come does not matter.

    `names` knows the aliases; `least`, 0 to 1, is the likeness from which two different names count as the same.
    Equal claims go to the same kind, then to the lesser key.
    """
    by_left, by_right = {one.key: one for one in left}, {one.key: one for one in right}
    joins: list[Join] = []
    near: list[Join] = []
    taken_left: set[str] = set()
    taken_right: set[str] = set()
    for claim in sorted(_claims(left, right, names), key=lambda it: _rank(it, by_left, by_right)):
        if claim.left in taken_left or claim.right in taken_right:
            continue
        if claim.by == "fuzzy" and claim.score < least:
            near.append(claim)
        else:
            joins.append(claim)
            taken_left.add(claim.left)
            taken_right.add(claim.right)
    return Joined(
        tuple(sorted(joins, key=lambda it: (by_left[it.left].name, it.left))),
        tuple(sorted(by_left.keys() - taken_left, key=lambda key: (by_left[key].name, key))),
        tuple(sorted(by_right.keys() - taken_right, key=lambda key: (by_right[key].name, key))),
        tuple(one for one in near if one.left not in taken_left and one.right not in taken_right),
    )


def _rank(claim: Join, left: dict[str, Named], right: dict[str, Named]) -> tuple[int, float, bool, str, str]:
    other_kind = left[claim.left].kind != right[claim.right].kind
    return _ORDER[claim.by], -claim.score, other_kind, claim.left, claim.right


def _claims(left: Sequence[Named], right: Sequence[Named], names: Names) -> Iterator[Join]:
    yield from _by_id(left, right)
    yield from _by_name(left, right, names)
    yield from _by_likeness(left, right, names)


def _by_id(left: Sequence[Named], right: Sequence[Named]) -> Iterator[Join]:
    known: dict[str, list[Named]] = defaultdict(list)
    for one in right:
        for identity in one.ids:
            known[identity].append(one)
    for one in left:
        for identity in filter(None, one.ids):
            for other in known.get(identity, ()):
                yield Join(one.key, other.key, "id", 1.0, f"Both have the id {identity}.")


def _by_name(left: Sequence[Named], right: Sequence[Named], names: Names) -> Iterator[Join]:
    """Same names, then pairs of which some name of one is some name of the other."""
    known: dict[str, list[tuple[Named, str]]] = defaultdict(list)
    for one in right:
        for form in _forms(one, names):
            known["".join(names.key(form))].append((one, form))
    for one in left:
        for form in _forms(one, names):
            for other, other_form in known.get("".join(names.key(form)), ()):
                own = (form, other_form) == (one.name, other.name)
                said = "Both have this name." if own else f"'{one.name}' is also called '{other.name}'."
                yield Join(one.key, other.key, "same" if own else "alias", 1.0, said)


def _forms(one: Named, names: Names) -> tuple[str, ...]:
    given = [form for name in (one.name, *one.other_names) for form in names.forms(name)]
    return tuple(dict.fromkeys(form for form in given if names.key(form)))


def _by_likeness(left: Sequence[Named], right: Sequence[Named], names: Names) -> Iterator[Join]:
    known: dict[tuple[str, ...], list[Named]] = defaultdict(list)
    for one in right:
        for key in likely_keys(names.key(one.name), one.name):
            known[key].append(one)
    for one in left:
        keys = likely_keys(names.key(one.name), one.name)
        near = {other.key: other for key in sorted(keys) for other in known.get(key, ())}
        for other in near.values():
            likeness = names.likeness(one.name, other.name)
            if likeness.how not in {"same", "alias"} and likeness.score >= LEAST_NEAR:
                said = f"'{one.name}' is like '{other.name}' by {likeness.score:.2f}."
                yield Join(one.key, other.key, "fuzzy", likeness.score, said)
