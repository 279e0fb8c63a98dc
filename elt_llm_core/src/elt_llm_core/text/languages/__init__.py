"""The word lists of each language, read from one TOML file per language in this folder; rules in Python use them.

To add a language, add one file, `<ISO 639-1 code>.toml`. Its keys are the fields of `Language`; all but `name` may be
left out. A list is a string of words separated by white space, or an array of strings where entries hold spaces.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from elt_llm_core.errors import SettingsError
from elt_llm_core.text.normalise import fold

Words = tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """The word lists of one language, in the order of its file and in lower case; empty where the file has none."""

    code: str
    name: str
    sentence_rules: bool = False
    """Whether rules that read sentences (definitions, fields, grounding, questions) apply to this language."""

    # Keyword search and detection.
    snowball: str = ""
    """The Snowball algorithm; without one, words are compared as they are."""
    bm25s_stopwords: str = ""
    """The name of a stopword list of bm25s, used in place of `stopwords`."""
    stopwords: Words = ()
    distinctive_letters: str = ""
    """Letters that no other language here has."""
    letter_pairs: Words = ()
    """Pairs of letters that may be typed in place of one, each followed by that letter: "ae ä"."""
    no_letter_pair_after: str = ""
    """Letters after which such a pair is two letters."""
    endings: Words = ()
    """Endings as typed without diacritics, each followed by its usual spelling: "ees ées"; longest first."""

    # Parts of speech.
    articles: Words = ()
    quantifiers: Words = ()
    determiners: Words = ()
    """Demonstratives and possessives; neither articles nor quantifiers."""
    prepositions: Words = ()
    conjunctions: Words = ()
    subordinators: Words = ()
    relatives: Words = ()
    pronouns: Words = ()
    permissions: Words = ()
    obligations: Words = ()
    modals: Words = ()
    """Permissions, obligations, and modal verbs that forbid."""
    conditionals: Words = ()
    be: Words = ()
    have: Words = ()
    do: Words = ()
    auxiliaries: Words = ()
    """The verbs that a yes-or-no question starts with."""
    negations: Words = ()
    """Adverbs of negation."""
    negators: Words = ()
    """All words that deny, determiners and pronouns included."""
    adverbs: Words = ()
    plain_adjectives: Words = ()
    """Adjectives that never belong to a name, such as "new" and "other"."""
    question_words: Words = ()

    # Numbers and dates.
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Cardinals from two on by spelling, without scales."""
    ordinals: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    """Hundred, thousand and so on, with their abbreviations."""
    months: tuple[Words, ...] = ()
    """Twelve tuples: the full name of the month first, then its abbreviations and other forms."""
    weekdays: Words = ()
    full_stop_after_day: bool = False
    """Whether days are written as in "3. Mai"."""

    # Layout.
    document_parts: Words = ()
    """Nouns for parts of a document: rule, section, table, page."""
    title_abbreviations: Words = ()
    """Abbreviations that never end a sentence, without the last full stop."""
    reference_abbreviations: Words = ()
    """Abbreviations that are followed by a number or letter."""
    open_abbreviations: Words = ()
    """Abbreviations that may end a sentence."""
    sentence_starters: Words = ()
    """Words that start sentences and hardly ever follow an abbreviation within one."""
    words_before_numbers: Words = ()
    """Words that a number on the next line belongs to."""

    lists: Mapping[str, Words] = field(default_factory=dict)
    """Narrower lists that a single rule uses, by name: the table [lists] of the file."""

    def words(self, name: str) -> Words:
        """The list `name`: a field of this record, or a key of `lists`; empty if the language has none."""
        if name in self.lists:
            return self.lists[name]
        return tuple(getattr(self, name)) if name in _WORD_LISTS else ()


@cache
def languages() -> tuple[str, ...]:
    """The codes of all languages that have a file, sorted."""
    names = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_language(code: str) -> Language:
    """The language with this code, read once. Raises SettingsError if it has no file."""
    if code not in languages():
        raise SettingsError(f"There are no word lists for language '{code}'", hint=f"Use {', '.join(languages())}")
    return parse_language(code, (resources.files(__name__) / f"{code}.toml").read_text(encoding="utf-8"))


def parse_language(code: str, toml: str) -> Language:
    """A language from the text of its file. Raises TypeError for a key that `Language` lacks."""
    content = tomllib.loads(toml)
    lists = {name: _words(value) for name, value in content.pop("lists", {}).items()}
    months = tuple(_words(forms) for forms in content.pop("months", ()))
    plain = {name: _value(name, value) for name, value in content.items()}
    return Language(code=code, months=months, lists=MappingProxyType(lists), **plain)


def _value(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({word: float(number) for word, number in value.items()})
    return _words(value) if name in _WORD_LISTS else value


def _words(value: str | list[str]) -> Words:
    return tuple(value.split()) if isinstance(value, str) else tuple(value)


_WORD_LISTS = frozenset(one.name for one in fields(Language) if one.type == Words)


@cache
def rule_languages() -> tuple[str, ...]:
    """The codes of the languages that sentence rules apply to."""
    return tuple(code for code in languages() if load_language(code).sentence_rules)


def words(name: str, codes: Iterable[str] | None = None, *, folded: bool = False) -> frozenset[str]:
    """The union of the list `name` over languages, by default the rule languages; `folded`: without diacritics.

    Raises KeyError if none of the languages has such a list.
    """
    found = {word for code in codes or rule_languages() for word in load_language(code).words(name)}
    if not found:
        raise KeyError(f"No language has the list '{name}'")
    return frozenset(map(fold, found)) if folded else frozenset(found)


def numbers(name: str, *, folded: bool = False) -> Mapping[str, float]:
    """The values of the table `name` (numbers, ordinals or scales) over the rule languages, by spelling."""
    tables: list[Mapping[str, float]] = [getattr(load_language(code), name) for code in rule_languages()]
    return {fold(word) if folded else word: value for table in tables for word, value in table.items()}


def month_numbers(codes: Iterable[str] | None = None, *, folded: bool = False) -> dict[str, int]:
    """The number of the month, 1 to 12, by each of its spellings in these languages, by default all."""
    years = [load_language(code).months for code in codes or languages()]
    forms = ((number, form) for year in years for number, month in enumerate(year, start=1) for form in month)
    return {fold(form) if folded else form: number for number, form in forms}


def month_names(codes: Iterable[str] | None = None, *, folded: bool = False) -> frozenset[str]:
    """The full names of the months, without abbreviations, in these languages, by default the rule languages."""
    names = (forms[0] for code in codes or rule_languages() for forms in load_language(code).months)
    return frozenset(fold(name) if folded else name for name in names)


def alternatives(entries: Iterable[str]) -> str:
    """The entries as alternatives of a regular expression, longest first, without a group around them."""
    return "|".join(re.escape(entry) for entry in sorted(set(entries), key=lambda entry: (-len(entry), entry)))
