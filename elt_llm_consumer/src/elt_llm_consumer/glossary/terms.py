"""Merge the definitions of each term across its spellings and all documents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elt_llm_core.text.normalise import words

from elt_llm_consumer.definitions.definition import Definition, grouped, term_key


@dataclass(frozen=True)
class MergedTerm:
    """A term and its definitions, in the order of the texts. `name` is the first spelling of the term."""

    key: str
    name: str
    definitions: tuple[Definition, ...] = field(repr=False)
    """The definitions that give a meaning of the term."""
    references: tuple[Definition, ...] = field(repr=False)
    """The definitions that only refer to another rule, section or term."""
    short_forms: tuple[Definition, ...] = field(repr=False)
    """The definitions that give an abbreviation of the term with its long form."""

    @cached_property
    def all(self) -> tuple[Definition, ...]:
        """All definitions of the term, in the order of the texts."""
        return tuple(sorted((*self.definitions, *self.references, *self.short_forms), key=lambda one: one.order))

    @cached_property
    def abbreviations(self) -> dict[str, list[Definition]]:
        """The abbreviations of the term, each with the definitions that give it."""
        short = (one for one in self.all if one.abbreviation and words(one.abbreviation) != words(self.name))
        return grouped(short, lambda one: one.abbreviation)

    @cached_property
    def synonyms(self) -> dict[str, list[Definition]]:
        """The other names of the term, each with the definitions that give it."""
        found: dict[str, list[Definition]] = {}
        for one in self.all:
            for alias in one.aliases:
                if words(alias) and term_key(alias) != term_key(self.name):
                    found.setdefault(alias, []).append(one)
        return found

    @cached_property
    def variants(self) -> dict[str, list[Definition]]:
        """The spellings that differ from `name` in more than upper and lower case, each with its definitions."""
        defining = (*self.definitions, *self.references)
        spelt = (one for one in defining if one.term.casefold() != self.name.casefold())
        return grouped((one for one in spelt if one.term not in self.abbreviations), lambda one: one.term)

    @property
    def has_meaning(self) -> bool:
        """Whether a meaning is known: a definition, a reference to one, or a long form that a glossary lists."""
        return bool(self.definitions or self.references or any(one.listed for one in self.short_forms))

    @property
    def forms(self) -> tuple[str, ...]:
        """All names and spellings of the term, starting with `name`."""
        return tuple(dict.fromkeys([self.name, *self.variants, *self.abbreviations, *self.synonyms]))


def merge_definitions(definitions: Iterable[Definition]) -> list[MergedTerm]:
    """Return the terms sorted by name, each with all its definitions. The order of the input does not matter.

    An abbreviation with exactly one long form is merged into the entry of the long form.
    """
    ordered = sorted(definitions, key=lambda one: one.order)
    long_of = _long_forms(ordered)
    groups = grouped(ordered, lambda one: _key_of(one, long_of))
    terms = [_merged_term(key, found) for key, found in groups.items() if key]
    return sorted(terms, key=lambda term: (term.name.casefold(), term.key))


def _long_forms(definitions: Sequence[Definition]) -> dict[str, tuple[str, ...]]:
    """Return, for each abbreviation with exactly one long form, the key of the long form."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for one in definitions:
        if one.pattern == "abbreviation":
            found.setdefault(_short_form_key(one.term), set()).add(term_key(one.text))
        elif one.abbreviation:
            found.setdefault(_short_form_key(one.abbreviation), set()).add(term_key(one.term))
    return {short: min(keys) for short, keys in found.items() if len(keys) == 1}


def _key_of(one: Definition, long_of: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if one.pattern == "abbreviation":
        return term_key(one.text)
    return long_of.get(_short_form_key(one.term)) or term_key(one.term)


def _short_form_key(term: str) -> str:
    """Return an abbreviation in the singular, without dots. Upper and lower case are kept, so "IT" and "it" differ."""
    return term.removesuffix("s").replace(".", "") if term.removesuffix("s").isupper() else term


def _merged_term(key: tuple[str, ...], found: Sequence[Definition]) -> MergedTerm:
    short_forms = tuple(one for one in found if one.pattern == "abbreviation")
    references = tuple(one for one in found if one.pattern != "abbreviation" and one.refers_to)
    definitions = tuple(one for one in found if one.pattern != "abbreviation" and not one.refers_to)
    named = [one.term for one in (*definitions, *references) if term_key(one.term) == key]
    name = named[0] if named else short_forms[0].text.rstrip(" .;,") if short_forms else found[0].term
    return MergedTerm(" ".join(key), name, definitions, references, short_forms)
