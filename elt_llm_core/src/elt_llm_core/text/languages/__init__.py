"""Load the languages' word lists, on which all rules about text rely, from one TOML file per language in this folder.

To add a language, add one file, `<ISO 639-1 code>.toml`. Its keys are the fields of `Language` and the names in
`WORD_LISTS`, which comments in en.toml, de.toml and fr.toml explain. Every key except `name` is optional. A list is a
string of words separated by white space, or an array of strings whose entries may contain spaces.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType

from elt_llm_core.errors import SettingsError
from elt_llm_core.text.normalise import fold

Words = tuple[str, ...]
_LIST_NAME = re.compile(r"@(\w+)@")


WORD_LISTS = frozenset(
    """
    stopwords letter_pairs endings articles quantifiers determiners prepositions conjunctions subordinators relatives
    pronouns permissions modals conditionals be have do negations negators adverbs plain_adjectives weekdays
    document_parts title_abbreviations reference_abbreviations open_abbreviations sentence_starters words_before_numbers
    words_before_ordinals words_after_ordinals street_endings
    """.split()  # noqa: SIM905 - a literal list has one name on each of over thirty lines
)


@dataclass(frozen=True)
class Language:
    """The rules and word lists of one language. Words are in the order of the file, and mostly in lower case."""

    code: str
    name: str
    sentence_rules: bool = False
    """Whether rules that read sentences (definitions, fields, grounding, questions) apply to this language."""
    snowball: str = ""
    """The name of the Snowball algorithm. If it is empty, words are compared as they are."""
    bm25s_stopwords: str = ""
    """The name of a stopword list in bm25s that is used instead of `stopwords`."""
    distinctive_letters: str = ""
    """Letters that occur in no other of these languages."""
    no_letter_pair_after: str = ""
    """Letters after which a pair in `letter_pairs`, such as "ue" for "ü", is read as two separate letters."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The values of cardinal numbers from two on, by spelling, without those in `scales`."""
    ordinals: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    """The values of hundred, thousand and so on, by spelling, including abbreviations."""
    months: tuple[Words, ...] = ()
    """Twelve tuples, each with the month's full name first, then its abbreviations and other forms."""
    full_stop_after_day: bool = False
    """Whether a full stop follows the day, as in "3. Mai"."""
    lists: Mapping[str, Words] = field(default_factory=dict)
    """The lists in `WORD_LISTS`, and lists for single rules, which are in the file's table [lists]."""

    def words(self, name: str) -> Words:
        """Return the word list `name`, or an empty one if the language has none."""
        return self.lists.get(name, ())


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of all languages that have a file, sorted."""
    names = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_language(code: str) -> Language:
    """Return the language with this code, read once. Raises SettingsError if it has no file."""
    if code not in languages():
        raise SettingsError(f"There are no word lists for language '{code}'", hint=f"Use {', '.join(languages())}")
    return parse_language(code, (resources.files(__name__) / f"{code}.toml").read_text(encoding="utf-8"))


def parse_language(code: str, toml: str) -> Language:
    """Parse the text of a language file. Raises TypeError for an unknown key."""
    content = tomllib.loads(toml)
    given = content.pop("lists", {}) | {name: content.pop(name) for name in WORD_LISTS & content.keys()}
    lists = {name: _words(value) for name, value in given.items()}
    months = tuple(_words(forms) for forms in content.pop("months", ()))
    return Language(code=code, months=months, lists=MappingProxyType(lists), **content)


def _words(value: str | list[str]) -> Words:
    return tuple(value.split()) if isinstance(value, str) else tuple(value)


@cache
def rule_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have grammar rules for sentences."""
    return tuple(code for code in languages() if load_language(code).sentence_rules)


def words(name: str, codes: Iterable[str] | None = None, *, folded: bool = False) -> frozenset[str]:
    """Return the union of the word lists `name` of these languages (default: all languages with sentence rules).

    With `folded`, the words have no diacritics. Raises KeyError if none of the languages has this list.
    """
    found = {word for code in codes or rule_languages() for word in load_language(code).words(name)}
    if not found:
        raise KeyError(f"None of the languages has a word list '{name}'")
    return frozenset(map(fold, found)) if folded else frozenset(found)


def word_pattern(expression: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile an expression in which `@name@` means any word of the list `name` in the languages with sentence rules.

    The entries of these lists may be regular expressions.
    """
    whole = _LIST_NAME.sub(lambda name: f"(?:{'|'.join(sorted(words(name[1]), reverse=True))})", expression)
    return re.compile(whole, flags)


def numbers(name: str, *, folded: bool = False) -> Mapping[str, float]:
    """Return the values in the table `name` of all languages with sentence rules: "two" -> 2, "zwei" -> 2."""
    tables: list[Mapping[str, float]] = [getattr(load_language(code), name) for code in rule_languages()]
    return {fold(word) if folded else word: value for table in tables for word, value in table.items()}


def month_numbers(codes: Iterable[str] | None = None, *, folded: bool = False) -> dict[str, int]:
    """Return month numbers by spelling, in these languages (default: in all): {"march": 3, "mar": 3, "märz": 3}."""
    years = [load_language(code).months for code in codes or languages()]
    forms = ((number, form) for year in years for number, month in enumerate(year, start=1) for form in month)
    return {fold(form) if folded else form: number for number, form in forms}


def month_names(codes: Iterable[str] | None = None, *, folded: bool = False) -> frozenset[str]:
    """Return the months' full names in these languages (default: in all languages with sentence rules)."""
    names = (forms[0] for code in codes or rule_languages() for forms in load_language(code).months)
    return frozenset(fold(name) if folded else name for name in names)


def alternatives(entries: Iterable[str]) -> str:
    """Join the entries as alternatives of a regular expression, longest first: ["at", "an", "all"] -> "all|an|at"."""
    return "|".join(re.escape(entry) for entry in sorted(set(entries), key=lambda entry: (-len(entry), entry)))
