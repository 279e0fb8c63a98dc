"""Candidate entities: what the texts define, what they write with a capital, and what acts in rules."""
# ruff: noqa: SIM905 - word lists are easier to read as text.

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from elt_llm_core.text.normalise import fold
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.handbook.kind_words import ORDINARY_NOUNS, KindWords
from elt_llm_consumer.handbook.reading import ParsedSentence
from elt_llm_consumer.jobs.sections import HandbookSection
from elt_llm_consumer.names.joins import definition_names
from elt_llm_consumer.names.names import joined_key, word_key
from elt_llm_consumer.sentences.reader import NounPhrase
from elt_llm_consumer.sentences.words import (
    CALENDAR,
    DETERMINERS,
    ING_NOUNS,
    NAME_PREPOSITIONS,
    PLAIN_ADJECTIVES,
    PRONOUNS,
)

CandidateReason = Literal["defined", "named", "acting", "used"]
_MIN_KEY_LENGTH = 3  # letters
_CAPITAL_SHARE = 0.6
_NOT_RARE = 4
_NO_KIND = 3
_MIN_DETERMINED = 2
_IMPERATIVES = frozenset("see use note make read check do let consider refer please set".split())
_NUMBERED = re.compile(r"(?:^|\s)[A-Z]?\d[\d.]{0,10}$")


@dataclass
class PhraseUses:
    """How often and how sentences use a phrase; the same sentence in several documents counts once."""

    written: Counter[str] = field(default_factory=Counter)
    capital: int = 0
    small: int = 0
    acting: int = 0
    acted_on: int = 0
    determined: int = 0
    """Times an article or the like comes before the phrase: before a verb none does."""
    whole: int = 0
    """Times the phrase is no part of a longer one; only then `capital` and `small` are counted."""


@dataclass(frozen=True)
class EntityCandidate:
    """Something that may be an entity. `names` are its name and other names; `key` is unique."""

    key: str
    name: str
    names: tuple[str, ...]
    why: CandidateReason
    definitions: tuple[Definition, ...] = ()
    acting: int = 0
    acted_on: int = 0

    @property
    def name_keys(self) -> tuple[str, ...]:
        """The keys of all names, each once."""
        return tuple(dict.fromkeys(map(joined_key, self.names)))


class CandidateIndex:
    """The candidates of a handbook, by the phrases that name them."""

    def __init__(self, candidates: Sequence[EntityCandidate]) -> None:
        self.candidates = tuple(candidates)
        self._by_key = {key: one for one in reversed(self.candidates) for key in reversed(one.name_keys)}

    def of(self, phrase: NounPhrase) -> EntityCandidate | None:
        """The candidate that a phrase names, by as many of its last words as possible.

        A "Rules Committee" is an entity of its own and no "committee": words in capitals before the name of a
        candidate count only if the candidate is defined or written with a capital.
        """
        for number, key in enumerate(_suffix_keys(phrase)):
            one = self._by_key.get(key)
            if one is not None:
                other_name = number and phrase.words[number - 1].capital and phrase.words[number].capital
                return one if not other_name or one.why in {"defined", "named"} else None
        return None

    def exactly(self, name: str) -> EntityCandidate | None:
        """The candidate of that name."""
        return self._by_key.get(joined_key(name))


def find_candidates(
    sentences: Sequence[ParsedSentence],
    in_tables: Sequence[NounPhrase],
    definitions: Sequence[Definition],
    aliases: Aliases,
    settings: HandbookSection,
) -> CandidateIndex:
    """The candidates in order of their names: those defined, then those used most, up to the bound in the settings."""
    uses = _count_uses(sentences, in_tables)
    skipped = set(map(joined_key, settings.skip))
    groups = _alias_groups(definitions, aliases)
    drafts = (*_defined_candidates(definitions, groups), *_used_candidates(uses, settings, groups))
    merged = _merge_candidates([one for one in drafts if one.key not in skipped], uses)

    def weight(one: EntityCandidate) -> int:
        return one.acting + one.acted_on + sum(uses[key].capital for key in one.name_keys if key in uses)

    ranked = sorted(merged, key=lambda one: (one.why != "defined", -weight(one), one.key))
    return CandidateIndex(sorted(ranked[: settings.at_most], key=lambda one: (one.name.casefold(), one.key)))


def _count_uses(sentences: Iterable[ParsedSentence], in_tables: Iterable[NounPhrase]) -> Mapping[str, PhraseUses]:
    """By key how every phrase is used; in rules every ending of one too."""
    uses: dict[str, PhraseUses] = defaultdict(PhraseUses)
    seen: set[str] = set()
    for phrase in in_tables:
        _count_phrase(phrase, uses)
    for sentence in sentences:
        if sentence.text in seen:
            continue
        seen.add(sentence.text)
        for phrase in sentence.phrases:
            _count_phrase(phrase, uses)
        for clause in sentence.clauses:
            for subject in sentence.subjects_of(clause):
                for key in _suffix_keys(subject):
                    uses[key].acting += not clause.passive
                    uses[key].acted_on += clause.passive
            for target in clause.targets:
                for key in _suffix_keys(target.phrase) if target.by in {"", "by", "to"} else ():
                    uses[key].acted_on += target.by != "by"
                    uses[key].acting += target.by == "by"
    return uses


def _count_phrase(phrase: NounPhrase, uses: dict[str, PhraseUses]) -> None:
    """Count a phrase as a whole, without adjectives in small letters before capitals."""
    words = phrase.words
    if words[-1].capital:
        while not words[0].capital:
            words = words[1:]
    is_first = words[0] is phrase.words[0] and phrase.first == 0 and not phrase.determined
    if is_first and (len(words) == 1 or words[0].low in _IMPERATIVES or words[0].low.endswith("ing")):
        return  # the first word of a sentence has a capital anyway, and "See Part B" names no see
    one = uses[_key(tuple(word.written for word in words))]
    named = all(word.capital for word in words if word.low not in NAME_PREPOSITIONS)
    one.capital += named
    one.small += not named
    one.whole += 1
    one.determined += phrase.determined
    one.written[" ".join(word.written for word in words)] += 1


def _suffix_keys(phrase: NounPhrase) -> Iterator[str]:
    """Keys of the phrase and of its endings, the longest first; a name with "of" or "for" has no endings."""
    written = tuple(word.written for word in phrase.words)
    for number in range(len(written) if NAME_PREPOSITIONS.isdisjoint(written) else 1):
        yield _key(written[number:])


@cache
def _key(words: tuple[str, ...]) -> str:
    return joined_key(" ".join(words))


def _alias_groups(definitions: Sequence[Definition], aliases: Aliases) -> Mapping[str, tuple[str, ...]]:
    """All other names of a name by its key."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for group in (*(definition_names(one) for one in definitions), *aliases.groups):
        for name in group:
            found[joined_key(name)] |= dict.fromkeys(group)
    return {key: tuple(names) for key, names in found.items() if key}


def _defined_candidates(
    definitions: Sequence[Definition], groups: Mapping[str, tuple[str, ...]]
) -> Iterator[EntityCandidate]:
    by_key: dict[str, list[Definition]] = defaultdict(list)
    for one in definitions:
        by_key[joined_key(definition_names(one)[0])].append(one)
    for key, same in by_key.items():
        name = definition_names(same[0])[0]
        if key and name.casefold() not in PRONOUNS | DETERMINERS:
            yield EntityCandidate(key, name, _names(name, groups), "defined", tuple(same))


def _used_candidates(
    uses: Mapping[str, PhraseUses], settings: HandbookSection, groups: Mapping[str, tuple[str, ...]]
) -> Iterator[EntityCandidate]:
    kinds = KindWords(settings.kinds)
    ordinary = set(map(joined_key, (*ORDINARY_NOUNS, *settings.ordinary_words)))
    for key, one in uses.items():
        if not one.written or key in ordinary or len(key) < _MIN_KEY_LENGTH:
            continue
        name = _usual_spelling(one.written)
        why = _candidate_reason(name, one, settings, kinds) if _may_be_name(name, one) else None
        if why is not None:
            yield EntityCandidate(key, name, _names(name, groups), why)


def _may_be_name(name: str, one: PhraseUses) -> bool:
    """Whether a phrase is neither a date, nor the number of a rule, nor an activity."""
    words = [word.casefold() for word in name.split()]
    if words[0] in PLAIN_ADJECTIVES or not CALENDAR.isdisjoint(words) or not any(map(str.isalpha, name)):
        return False
    gerund = len(words) == 1 and words[0].endswith("ing") and words[0] not in ING_NOUNS
    return not (gerund and one.capital <= one.small) and not _NUMBERED.search(name)


def _candidate_reason(
    name: str, one: PhraseUses, settings: HandbookSection, kinds: KindWords
) -> CandidateReason | None:
    """The reason why a phrase is a candidate: capitals, what it does, or how often it is used; None without any."""
    many = len(name.split()) > 1
    acts = one.acting + one.acted_on
    named = one.capital >= _CAPITAL_SHARE * (one.capital + one.small) and (many or acts > 0)
    if named and one.capital >= settings.least_named + (not many):
        return "named"
    enough = settings.least_acting if not many else max(2, settings.least_acting - 1)
    if acts >= enough and one.whole >= enough and (many or one.determined >= _MIN_DETERMINED):
        return "acting"
    known = kinds.of(name) is not None
    often = settings.least_used * (1 if known else _NO_KIND)
    counted = one.whole if known and one.determined >= _MIN_DETERMINED else one.determined
    return "used" if counted >= often else None


def _names(name: str, groups: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, *groups.get(joined_key(name), ()))))


def _merge_candidates(drafts: Sequence[EntityCandidate], uses: Mapping[str, PhraseUses]) -> list[EntityCandidate]:
    """One candidate for each entity: a draft that is another name of an earlier one adds its uses to that one."""
    found: dict[str, EntityCandidate] = {}
    known: dict[str, str] = {}
    for one in drafts:
        into = next((known[key] for key in one.name_keys if key in known), one.key)
        whole = found.get(into, one)
        names = tuple(dict.fromkeys((*whole.names, *one.names)))
        definitions = tuple(dict.fromkeys((*whole.definitions, *one.definitions)))
        found[into] = EntityCandidate(into, whole.name, names, whole.why, definitions)
        known |= dict.fromkeys(one.name_keys, into)
    used = {key: [uses[name] for name in one.name_keys if name in uses] for key, one in found.items()}
    return [
        replace(one, acting=sum(it.acting for it in used[key]), acted_on=sum(it.acted_on for it in used[key]))
        for key, one in found.items()
    ]


def _usual_spelling(written: Counter[str]) -> str:
    """The most frequent spelling, in the singular where that is not rare; then in alphabetical order."""
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
