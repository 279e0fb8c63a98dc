"""Join entities, fact sheets and defined terms one to one: by id, name, alias and similarity, in this order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from elt_llm_core.enterprise import Entity, FactSheet
from elt_llm_core.text.normalise import words
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.names.names import Names, blocking_keys

JoinMethod = Literal["id", "same", "alias", "fuzzy"]
MIN_LIKENESS = 0.85
MIN_NEAR_LIKENESS = 0.7
_ORDER: dict[JoinMethod, int] = {"id": 0, "same": 1, "alias": 2, "fuzzy": 3}


@dataclass(frozen=True)
class NamedItem:
    """An entity, fact sheet or term, to be joined with an item of another list that means the same thing.

    `key` is unique in its list; `ids` may identify the item in the other list; an empty id is ignored.
    """

    key: str
    name: str
    ids: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    kind: str = ""
    """The type of the item, such as DataObject. Of equally good partners, a partner of the same type is preferred."""


@dataclass(frozen=True)
class JoinPair:
    """Two joined items, which count as the same entity.

    `score` is less than 1 only if their names are merely similar. `reason` is a sentence that explains the join.
    """

    left: str
    right: str
    by: JoinMethod
    score: float
    reason: str


@dataclass(frozen=True)
class JoinResult:
    """The result of a join. Each item is joined with one item of the other list, or remains alone.

    `near` lists pairs of items that were not joined although their names are similar.
    """

    joins: tuple[JoinPair, ...] = ()
    left_alone: tuple[str, ...] = ()
    right_alone: tuple[str, ...] = ()
    near: tuple[JoinPair, ...] = ()

    def of_left(self, key: str) -> JoinPair | None:
        """Return the pair of the item of the first list with this key, or None if the item was not joined."""
        return self._by_left.get(key)

    @cached_property
    def _by_left(self) -> dict[str, JoinPair]:
        return {one.left: one for one in self.joins}


def join_names(
    left: Sequence[NamedItem], right: Sequence[NamedItem], names: Names, least: float = MIN_LIKENESS
) -> JoinResult:
    """Join two lists one to one. Keys must be unique within a list. The order of the lists does not matter.

    `names` provides the aliases. `least`, 0 to 1, is the lowest similarity at which two different names count as the
    same. Of equally good pairs, those with items of the same type are joined first, then those with smaller keys.
    """
    by_left, by_right = {one.key: one for one in left}, {one.key: one for one in right}

    def rank(pair: JoinPair) -> tuple[int, float, bool, str, str]:
        other_kind = by_left[pair.left].kind != by_right[pair.right].kind
        return _ORDER[pair.by], -pair.score, other_kind, pair.left, pair.right

    joins: list[JoinPair] = []
    near: list[JoinPair] = []
    taken_left, taken_right = set[str](), set[str]()
    pairs = (*_by_id(left, right), *_by_name(left, right, names), *_by_likeness(left, right, names))
    for pair in sorted(pairs, key=rank):
        if pair.left in taken_left or pair.right in taken_right:
            continue
        if pair.by == "fuzzy" and pair.score < least:
            near.append(pair)
        else:
            joins.append(pair)
            taken_left.add(pair.left)
            taken_right.add(pair.right)
    return JoinResult(
        tuple(sorted(joins, key=lambda it: (by_left[it.left].name, it.left))),
        tuple(sorted(by_left.keys() - taken_left, key=lambda key: (by_left[key].name, key))),
        tuple(sorted(by_right.keys() - taken_right, key=lambda key: (by_right[key].name, key))),
        tuple(one for one in near if one.left not in taken_left and one.right not in taken_right),
    )


def join_equal_names(joined: JoinResult, left: Sequence[NamedItem], names: Names) -> JoinResult:
    """Join items that are alone as the joined item of the same name, because a definition holds for all of them."""
    keys = {one.key: names.key(one.name) for one in left}
    of_name = {keys[pair.left]: pair for pair in reversed(joined.joins)}
    more = {key: replace(of_name[keys[key]], left=key) for key in joined.left_alone if keys[key] in of_name}
    return JoinResult(
        (*joined.joins, *more.values()),
        tuple(key for key in joined.left_alone if key not in more),
        joined.right_alone,
        tuple(pair for pair in joined.near if pair.left not in more),
    )


def _by_id(left: Sequence[NamedItem], right: Sequence[NamedItem]) -> Iterator[JoinPair]:
    known: dict[str, list[NamedItem]] = defaultdict(list)
    for one in right:
        for identity in one.ids:
            known[identity].append(one)
    for one in left:
        for identity in filter(None, one.ids):
            for other in known.get(identity, ()):
                yield JoinPair(one.key, other.key, "id", 1.0, f"Both have the id {identity}.")


def _by_name(left: Sequence[NamedItem], right: Sequence[NamedItem], names: Names) -> Iterator[JoinPair]:
    known: dict[str, list[tuple[NamedItem, str]]] = defaultdict(list)
    for one in right:
        for form in _name_forms(one, names):
            known["".join(names.key(form))].append((one, form))
    for one in left:
        for form in _name_forms(one, names):
            for other, other_form in known.get("".join(names.key(form)), ()):
                own = (form, other_form) == (one.name, other.name)
                reason = "Both have the same name." if own else f"'{one.name}' is also called '{other.name}'."
                yield JoinPair(one.key, other.key, "same" if own else "alias", 1.0, reason)


def _name_forms(one: NamedItem, names: Names) -> tuple[str, ...]:
    forms = [form for name in (one.name, *one.other_names) for form in names.forms(name)]
    return tuple(dict.fromkeys(form for form in forms if names.key(form)))


def _by_likeness(left: Sequence[NamedItem], right: Sequence[NamedItem], names: Names) -> Iterator[JoinPair]:
    known: dict[tuple[str, ...], list[NamedItem]] = defaultdict(list)
    for one in right:
        for key in blocking_keys(names.key(one.name), one.name):
            known[key].append(one)
    for one in left:
        keys = blocking_keys(names.key(one.name), one.name)
        near = {other.key: other for key in sorted(keys) for other in known.get(key, ())}
        for other in near.values():
            likeness = names.likeness(one.name, other.name)
            if likeness.how not in {"same", "alias"} and likeness.score >= MIN_NEAR_LIKENESS:
                reason = f"'{one.name}' is similar to '{other.name}': {likeness.score:.2f}."
                yield JoinPair(one.key, other.key, "fuzzy", likeness.score, reason)


_BETWEEN = ";"
_MIN_INITIALS, _MAX_INITIALS = 2, 8


def entity_items(entities: Iterable[Entity]) -> list[NamedItem]:
    """Return the entities of a model as items. The key of an item is the id of the entity."""
    return [NamedItem(one.id, one.name, (one.fact_sheet_id,), (), one.type) for one in entities]


def fact_sheet_items(sheets: Iterable[FactSheet], alias_columns: Sequence[str]) -> list[NamedItem]:
    """Return fact sheets as items. The key of an item is the id; `alias_columns` are the columns with other names."""
    return [
        NamedItem(one.id, one.name, (one.fact_sheet_id,), _other_names(one, alias_columns), one.type) for one in sheets
    ]


def term_items(definitions: Iterable[Definition]) -> list[NamedItem]:
    """Return an item for each defined term, by its normalised name. Short forms become names of their long form."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for definition in definitions:
        term, *others = definition_names(definition)
        key = term_name_key(term)
        name, known = found.get(key, (term, ()))
        found[key] = name, tuple(dict.fromkeys([*known, *others]))
    return [NamedItem(key, name, (), others) for key, (name, others) in found.items() if key]


def term_name_key(term: str) -> str:
    """Return the key of the `NamedItem` of a defined term, which `join_names` joins: "Café Rule" -> "cafe rule"."""
    return " ".join(words(term))


def definition_names(definition: Definition) -> tuple[str, ...]:
    """Return the names that a definition gives: the term, its short form, and its aliases.

    For an abbreviation such as "AGM: Annual General Meeting", the long form comes first.
    """
    initials = "".join(word[0] for word in words(definition.text))
    short, folded = definition.term, "".join(words(definition.term))
    # The short form may omit the initial of one word, such as that of "and".
    possible = {initials, *(initials[:place] + initials[place + 1 :] for place in range(1, len(initials)))}
    likely = short.isupper() and _MIN_INITIALS <= len(short) <= _MAX_INITIALS and folded in possible
    spelt_out = likely or definition.pattern == "abbreviation"
    names = (definition.text.rstrip(" ."), short) if spelt_out else (short, definition.abbreviation)
    return tuple(name for name in dict.fromkeys((*names, *definition.aliases)) if words(name))


def collect_aliases(
    aliases: Aliases, sheets: Iterable[FactSheet], alias_columns: Sequence[str], definitions: Iterable[Definition]
) -> Aliases:
    """Return all aliases: the configured ones, other names in the inventory, and abbreviations in the texts."""
    groups: dict[tuple[str, ...], None] = dict.fromkeys(aliases.groups)
    for sheet in sheets:
        if others := _other_names(sheet, alias_columns):
            groups[sheet.name, *others] = None
    for definition in definitions:
        if len(names := definition_names(definition)) > 1:
            groups[names] = None
    return Aliases(tuple(groups))


def _other_names(sheet: FactSheet, columns: Sequence[str]) -> tuple[str, ...]:
    fields: Mapping[str, str] = {label.casefold(): value for label, value in sheet.fields.items()}
    names = [name.strip() for column in columns for name in fields.get(column.casefold(), "").split(_BETWEEN)]
    return tuple(name for name in dict.fromkeys(names) if words(name))
