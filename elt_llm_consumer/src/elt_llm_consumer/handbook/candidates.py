"""Which things a handbook speaks of: what it defines, what it writes with a capital, and what acts in its rules."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from elt_llm_core.text.normalise import fold
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.handbook.grammar import (
    CALENDAR,
    DETERMINERS,
    ING_NOUNS,
    JOINING,
    PLAIN_ADJECTIVES,
    PRONOUNS,
)
from elt_llm_consumer.handbook.kind_words import KindWords, phrase_key
from elt_llm_consumer.handbook.ordinary_nouns import ORDINARY_NOUNS
from elt_llm_consumer.handbook.phrases import Phrase
from elt_llm_consumer.handbook.reading import Sentence
from elt_llm_consumer.joining.named import names_of
from elt_llm_consumer.name_words import word_key
from elt_llm_consumer.sections.handbook import HandbookSection

Why = Literal["defined", "named", "acting", "used"]
_LEAST_WORD = 2  # letters
_CAPITAL_SHARE = 0.6
_NOT_RARE = 4
_NO_KIND = 3
_LEAST_DETERMINED = 2
_IMPERATIVES = frozenset(
    {"see", "use", "note", "make", "read", "check", "do", "let", "consider", "refer", "please", "set"}
)
_NUMBERED = re.compile(r"(?:^|\s)[A-Z]?\d[\d.]{0,10}$")


@dataclass
class Uses:
    """How often a phrase stands in sentences, and how; the same sentence in many places counts once."""

    written: Counter[str] = field(default_factory=Counter)
    capital: int = 0
    small: int = 0
    acting: int = 0
    acted_on: int = 0
    determined: int = 0
    """Times an article or the like stands before it: before a verb none does."""
    whole: int = 0
    """Times it is all of a phrase, and no part of a longer one; so are `capital` and `small` counted."""


@dataclass(frozen=True)
class Candidate:
    """Something that may be an entity. `names` are its name and other names; `key` tells it from all others."""

    key: str
    name: str
    names: tuple[str, ...]
    why: Why
    definitions: tuple[Definition, ...] = ()
    acting: int = 0
    acted_on: int = 0


class Found:
    """The candidates of a handbook, and which of them a phrase names."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.candidates = tuple(candidates)
        self._by_key = {phrase_key(name): one for one in reversed(self.candidates) for name in reversed(one.names)}

    def of(self, phrase: Phrase) -> Candidate | None:
        """The candidate that a phrase names, by as many of its last words as make one."""
        for number, key in enumerate(suffix_keys(phrase)):
            one = self._by_key.get(key)
            if one is not None:
                return one if self._may_end(phrase, number, one) else None
        return None

    @staticmethod
    def _may_end(phrase: Phrase, number: int, one: Candidate) -> bool:
        """Whether a phrase may be a kind of a candidate: a "Rules Committee" is its own thing, no "committee"."""
        other_name = number and phrase.words[number - 1].capital and phrase.words[number].capital
        return not other_name or one.why in {"defined", "named"}

    def exactly(self, name: str) -> Candidate | None:
        """The candidate of that name."""
        return self._by_key.get(phrase_key(name))


def find_candidates(
    sentences: Sequence[Sentence],
    in_tables: Sequence[Phrase],
    definitions: Sequence[Definition],
    aliases: Aliases,
    settings: HandbookSection,
) -> Found:
    """The candidates in order of their names: those defined, then those used most, up to the bound in the settings."""
    uses = count_uses(sentences, in_tables)
    skipped = {phrase_key(name) for name in settings.skip}
    ordinary = {phrase_key(name) for name in (*ORDINARY_NOUNS, *settings.ordinary_words)}
    groups = _groups(definitions, aliases)
    drafts = (*_defined(definitions, groups), *_used(uses, ordinary, settings, groups))
    merged = _merged([one for one in drafts if one.key not in skipped], uses)
    ranked = sorted(merged, key=lambda one: (one.why != "defined", -_weight(one, uses), one.key))
    return Found(sorted(ranked[: settings.at_most], key=lambda one: (one.name.casefold(), one.key)))


def count_uses(sentences: Iterable[Sentence], in_tables: Iterable[Phrase]) -> Mapping[str, Uses]:
    """By key how every phrase is used; in rules every ending of one too."""
    uses: dict[str, Uses] = defaultdict(Uses)
    seen: set[str] = set()
    for phrase in in_tables:
        _count(phrase, uses)
    for sentence in sentences:
        if sentence.text in seen:
            continue
        seen.add(sentence.text)
        for phrase in sentence.phrases:
            _count(phrase, uses)
        for clause in sentence.clauses:
            for subject in sentence.subjects_of(clause):
                for key in suffix_keys(subject):
                    uses[key].acting += not clause.passive
                    uses[key].acted_on += clause.passive
            for target in clause.targets:
                for key in suffix_keys(target.phrase) if target.by in {"", "by", "to"} else ():
                    uses[key].acted_on += target.by != "by"
                    uses[key].acting += target.by == "by"
    return uses


def _count(phrase: Phrase, uses: dict[str, Uses]) -> None:
    """Count a phrase as a whole; before capitals that end it, adjectives in small letters are no part of it."""
    words = phrase.words
    if words[-1].capital:
        while not words[0].capital:
            words = words[1:]
    begins = words[0] is phrase.words[0] and phrase.first == 0 and not phrase.determined
    if begins and (len(words) == 1 or words[0].low in _IMPERATIVES or words[0].low.endswith("ing")):
        return  # any word has a capital there, and "See Part B" names no see
    one = uses[_key(tuple(word.written for word in words))]
    named = all(word.capital for word in words if word.low not in JOINING)
    one.capital += named
    one.small += not named
    one.whole += 1
    one.determined += phrase.determined
    one.written[" ".join(word.written for word in words)] += 1


def suffix_keys(phrase: Phrase) -> Iterator[str]:
    """Keys of the phrase and of its endings, the longest first; a name with "of" or "for" is whole or nothing."""
    written = tuple(word.written for word in phrase.words)
    if not JOINING.isdisjoint(written):
        yield _key(written)
        return
    for number in range(len(written)):
        yield _key(written[number:])


@cache
def _key(words: tuple[str, ...]) -> str:
    return phrase_key(" ".join(words))


def _groups(definitions: Sequence[Definition], aliases: Aliases) -> Mapping[str, tuple[str, ...]]:
    """All other names of a name by its key."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for group in (*(names_of(one) for one in definitions), *aliases.groups):
        for name in group:
            found[phrase_key(name)] |= dict.fromkeys(group)
    return {key: tuple(names) for key, names in found.items() if key}


def _defined(definitions: Sequence[Definition], groups: Mapping[str, tuple[str, ...]]) -> Iterator[Candidate]:
    by_key: dict[str, list[Definition]] = defaultdict(list)
    for one in definitions:
        by_key[phrase_key(names_of(one)[0])].append(one)
    for key, same in by_key.items():
        name = names_of(same[0])[0]
        if key and name.casefold() not in PRONOUNS | DETERMINERS:
            yield Candidate(key, name, _names(name, groups), "defined", tuple(same))


def _used(
    uses: Mapping[str, Uses],
    ordinary: set[str],
    settings: HandbookSection,
    groups: Mapping[str, tuple[str, ...]],
) -> Iterator[Candidate]:
    kinds = KindWords(settings.kinds)
    for key, one in uses.items():
        if not one.written or key in ordinary or len(key) <= _LEAST_WORD:
            continue
        name = _usual(one.written)
        why = _why(name, one, settings, kinds) if _may_be_name(name, one) else None
        if why is not None:
            yield Candidate(key, name, _names(name, groups), why)


def _may_be_name(name: str, one: Uses) -> bool:
    """Whether it is neither a date, nor the number of a rule, nor what somebody is doing."""
    said = [word.casefold() for word in name.split()]
    if said[0] in PLAIN_ADJECTIVES or not CALENDAR.isdisjoint(said) or not any(map(str.isalpha, name)):
        return False
    doing = len(said) == 1 and _is_gerund(said[0]) and one.capital <= one.small
    return not doing and not _NUMBERED.search(name)


def _why(name: str, one: Uses, settings: HandbookSection, kinds: KindWords) -> Why | None:
    """What makes it a candidate: capitals, what it does, or how often it is spoken of; None if nothing does."""
    many = len(name.split()) > 1
    acts = one.acting + one.acted_on
    named = one.capital >= _CAPITAL_SHARE * (one.capital + one.small) and (many or acts > 0)
    if named and one.capital >= settings.least_named + (not many):
        return "named"
    enough = settings.least_acting if not many else max(2, settings.least_acting - 1)
    if acts >= enough and one.whole >= enough and (many or one.determined >= _LEAST_DETERMINED):
        return "acting"
    often = settings.least_used * (1 if kinds.of(name) else _NO_KIND)
    told = one.whole if kinds.of(name) and one.determined >= _LEAST_DETERMINED else one.determined
    return "used" if told >= often else None


def _names(name: str, groups: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, *groups.get(phrase_key(name), ()))))


def _merged(drafts: Sequence[Candidate], uses: Mapping[str, Uses]) -> list[Candidate]:
    """One for each thing: a draft that is another name of one before it adds its uses to that."""
    found: dict[str, Candidate] = {}
    known: dict[str, str] = {}
    for one in drafts:
        keys = [phrase_key(name) for name in one.names]
        into = next((known[key] for key in keys if key in known), one.key)
        whole = found.get(into, one)
        names = tuple(dict.fromkeys((*whole.names, *one.names)))
        definitions = tuple(dict.fromkeys((*whole.definitions, *one.definitions)))
        found[into] = Candidate(into, whole.name, names, whole.why, definitions)
        known |= dict.fromkeys(keys, into)
    return [_counted(one, uses) for one in found.values()]


def _counted(one: Candidate, uses: Mapping[str, Uses]) -> Candidate:
    keys = list(dict.fromkeys(phrase_key(name) for name in one.names))
    acting = sum(uses[key].acting for key in keys if key in uses)
    acted_on = sum(uses[key].acted_on for key in keys if key in uses)
    return Candidate(one.key, one.name, one.names, one.why, one.definitions, acting, acted_on)


def _weight(one: Candidate, uses: Mapping[str, Uses]) -> int:
    keys = dict.fromkeys(phrase_key(name) for name in one.names)
    return one.acting + one.acted_on + sum(uses[key].capital for key in keys if key in uses)


def _is_gerund(word: str) -> bool:
    return word.endswith("ing") and word not in ING_NOUNS


def _usual(written: Counter[str]) -> str:
    """How it is written most often, in the singular where that is not rare; then in alphabetical order."""
    capital = [form for form in written if form[:1].isupper()]
    if sum(written[form] for form in capital) >= _CAPITAL_SHARE * written.total():
        written = Counter({form: written[form] for form in capital})
    often = max(written.values())
    singular = [
        form
        for form, times in written.items()
        if word_key(form.split()[-1]) == fold(form.split()[-1]) and times * _NOT_RARE >= often
    ]
    return min(singular or written, key=lambda form: (-written[form], form))
