"""Definitions of one term put together, however it is spelt and wherever it stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elt_llm_core.text.normalise import words

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.terms import term_key


@dataclass(frozen=True)
class Term:
    """All that the texts say of one term; `name` is how it is first written. Each list is in order of place."""

    key: str
    name: str
    definitions: tuple[Definition, ...] = field(repr=False)
    """Those that say what it means."""
    references: tuple[Definition, ...] = field(repr=False)
    """Those that say where that is said."""
    short_forms: tuple[Definition, ...] = field(repr=False)
    """Those that spell out its abbreviation."""

    @cached_property
    def all(self) -> tuple[Definition, ...]:
        """Every place that defines it, in order."""
        return tuple(sorted((*self.definitions, *self.references, *self.short_forms), key=_place))

    @cached_property
    def abbreviations(self) -> dict[str, list[Definition]]:
        """Its short forms, each with the places that give it."""
        found: dict[str, list[Definition]] = {}
        for one in self.all:
            if one.abbreviation and words(one.abbreviation) != words(self.name):
                found.setdefault(one.abbreviation, []).append(one)
        return found

    @cached_property
    def synonyms(self) -> dict[str, list[Definition]]:
        """Its other names, each with the places that give it."""
        found: dict[str, list[Definition]] = {}
        for one in self.all:
            for alias in one.aliases:
                if words(alias) and term_key(alias) != term_key(self.name):
                    found.setdefault(alias, []).append(one)
        return found

    @cached_property
    def variants(self) -> dict[str, list[Definition]]:
        """Other spellings of it that differ in more than capitals, each with its places."""
        found: dict[str, list[Definition]] = {}
        for one in (*self.definitions, *self.references):
            if one.term.casefold() != self.name.casefold() and one.term not in self.abbreviations:
                found.setdefault(one.term, []).append(one)
        return found

    @property
    def forms(self) -> tuple[str, ...]:
        """Every way in which it is called, its name first."""
        return tuple(dict.fromkeys([self.name, *self.variants, *self.abbreviations, *self.synonyms]))


def merged(definitions: Iterable[Definition]) -> list[Term]:
    """The terms by name, each with all its places; the same whatever the order of the definitions.

    A short form is its long form's, and what is said of the short form is too, unless it stands for several things.
    """
    ordered = sorted(definitions, key=_place)
    long_of = _long_forms(ordered)
    groups: dict[tuple[str, ...], list[Definition]] = {}
    for one in ordered:
        key = _key_of(one, long_of)
        if key:
            groups.setdefault(key, []).append(one)
    terms = [_term(key, found) for key, found in groups.items()]
    return sorted(terms, key=lambda term: (term.name.casefold(), term.key))


def _long_forms(definitions: Sequence[Definition]) -> dict[str, tuple[str, ...]]:
    """The keys of the long forms of abbreviations that stand for one thing only."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for one in definitions:
        if one.pattern == "abbreviation":
            found.setdefault(_short(one.term), set()).add(term_key(one.text))
        elif one.abbreviation:
            found.setdefault(_short(one.abbreviation), set()).add(term_key(one.term))
    return {short: min(keys) for short, keys in found.items() if len(keys) == 1}


def _key_of(one: Definition, long_of: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if one.pattern == "abbreviation":
        return term_key(one.text)
    return long_of.get(_short(one.term)) or term_key(one.term)


def _short(term: str) -> str:
    """An abbreviation in the singular: capitals count, or IT and it would be one."""
    return term.removesuffix("s").replace(".", "") if term.removesuffix("s").isupper() else term


def _term(key: tuple[str, ...], found: Sequence[Definition]) -> Term:
    short_forms = tuple(one for one in found if one.pattern == "abbreviation")
    references = tuple(one for one in found if one.pattern != "abbreviation" and one.refers_to)
    definitions = tuple(one for one in found if one.pattern != "abbreviation" and not one.refers_to)
    named = [one.term for one in (*definitions, *references) if term_key(one.term) == key]
    name = named[0] if named else short_forms[0].text.rstrip(" .;,") if short_forms else found[0].term
    return Term(" ".join(key), name, definitions, references, short_forms)


def _place(one: Definition) -> tuple[object, ...]:
    evidence = one.evidence
    return evidence.collection, evidence.source, evidence.document_id, one.term_span, one.definition_span, one.pattern
