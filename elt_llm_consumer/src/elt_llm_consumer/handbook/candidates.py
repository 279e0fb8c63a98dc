"""Find candidate entities: defined terms, capitalized names, and nouns that act or are acted on in rules."""
# ruff: noqa: SIM905 - word lists are easier to read as text.

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Final, Literal

from elt_llm_core.text.languages import month_names
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import fold
from elt_llm_query.understanding.aliases import Aliases

from elt_llm_consumer.definitions.definition import Definition, grouped
from elt_llm_consumer.handbook.reading import ParsedSentence
from elt_llm_consumer.jobs.sections import EntityKind, HandbookSection
from elt_llm_consumer.names.joins import definition_names
from elt_llm_consumer.names.names import joined_key, word_key
from elt_llm_consumer.sentences.reader import NounPhrase, SentenceClause
from elt_llm_consumer.sentences.words import (
    DETERMINERS,
    ING_NOUNS,
    NAME_PREPOSITIONS,
    PLAIN_ADJECTIVES,
    PRONOUNS,
    SentenceWord,
)

_WORDS: Final = tomllib.loads(files("elt_llm_consumer.handbook").joinpath("words.toml").read_text(encoding="utf-8"))
_KIND_WORDS: Final[Mapping[EntityKind, Iterable[str]]] = {kind: text.split() for kind, text in _WORDS["kinds"].items()}
_ORDINARY_NOUNS: Final = tuple(_WORDS["ordinary_nouns"].split())
_NOUNS: Final = frozenset(map(joined_key, (*_ORDINARY_NOUNS, *chain.from_iterable(_KIND_WORDS.values()))))
PERSONAL_VERBS: Final = frozenset(_WORDS["personal_verbs"].split())
_APPOINTING_VERBS: Final = frozenset(_WORDS["appointing_verbs"].split())
_COMPOUND_ENDS: Final = tuple(_WORDS["compound_ends"].split())
_APPOINTED: Final = frozenset({"role", "organisation"})
_APPOINTING: Final = _APPOINTED | {"event"}  # "The General Meeting elects the Treasurer"


class KindWords:
    """Finds the kind of an entity, such as role or document, from the last words of its English or German name."""

    def __init__(self, kinds: Mapping[EntityKind, Iterable[str]]) -> None:
        """`kinds` are the words in the job file that show each kind. They take precedence over the shipped words."""
        self._by_key: dict[str, EntityKind] = {}
        for kind, heads in (*kinds.items(), *_KIND_WORDS.items()):
            for head in heads:
                self._by_key.setdefault(joined_key(head), kind)

    def of(self, name: str) -> tuple[EntityKind, str] | None:
        """Return the kind of the named entity and the words that show it, or None.

        In "Register of Interests", the word before "of" shows the kind.
        """
        words = name.replace("-", " ").split()
        joined = next((number for number, word in enumerate(words) if number and word in NAME_PREPOSITIONS), len(words))
        for number in range(joined):
            ending = " ".join(words[number:joined])
            kind = self._by_key.get(joined_key(ending))
            if kind is not None:
                return kind, ending
        last = words[joined - 1].casefold() if joined else ""
        compound = next((end for end in _COMPOUND_ENDS if last.endswith(end)), "")
        return (self._by_key[joined_key(compound)], compound) if compound else None


CandidateReason = Literal["defined", "named", "acting", "used", "appointed"]
_MIN_KEY_LENGTH = 3  # minimum letters of a phrase's key
_CAPITAL_SHARE = 0.6
_NOT_RARE = 4
_NO_KIND = 3
_MIN_DETERMINED = 2
_CALENDAR = month_names() | language_words("weekdays")
_IMPERATIVES = frozenset("see use note make read check do let consider refer please set".split())
_NUMBERED = re.compile(r"(?:^|\s)[A-Z]?\d[\d.]{0,10}$")


@dataclass
class PhraseUses:
    """Counts how a phrase is used in sentences. A sentence that occurs in several documents counts once."""

    written: Counter[str] = field(default_factory=Counter)
    capital: int = 0
    small: int = 0
    acting: int = 0
    acted_on: int = 0
    appointed: int = 0
    appointing: int = 0
    determined: int = 0
    """The number of uses after an article or another determiner. Such a use cannot be a verb."""
    whole: int = 0
    """The number of uses that are not part of a longer phrase. Only these uses count for `capital` and `small`."""


@dataclass(frozen=True)
class EntityCandidate:
    """A candidate entity. `names` contains its name and its other names; `key` is unique."""

    key: str
    name: str
    names: tuple[str, ...]
    why: CandidateReason
    definitions: tuple[Definition, ...] = ()
    acting: int = 0
    acted_on: int = 0

    @property
    def name_keys(self) -> tuple[str, ...]:
        """The normalised forms of all names of the candidate entity, without duplicates."""
        return tuple(dict.fromkeys(map(joined_key, self.names)))


class CandidateIndex:
    """Finds the candidate entities of a handbook by the phrases that name them."""

    def __init__(self, candidates: Sequence[EntityCandidate]) -> None:
        self.candidates = tuple(candidates)
        self._by_key = {key: one for one in reversed(self.candidates) for key in reversed(one.name_keys)}

    def of(self, phrase: NounPhrase) -> EntityCandidate | None:
        """Return the candidate entity whose name is the longest possible ending of the phrase, or None.

        If a capitalized word precedes this ending, the candidate must be a defined term or a capitalized name: a "Rules
        Committee" is a separate entity, and not just any "committee".
        """
        for number, key in enumerate(_suffix_keys(phrase)):
            one = self._by_key.get(key)
            if one is not None:
                other_name = number and phrase.words[number - 1].capital and phrase.words[number].capital
                return one if not other_name or one.why in {"defined", "named"} else None
        return None

    def exactly(self, name: str) -> EntityCandidate | None:
        """Return the candidate entity with exactly this name, or None."""
        return self._by_key.get(joined_key(name))


def find_candidates(
    sentences: Sequence[ParsedSentence],
    in_tables: Sequence[NounPhrase],
    definitions: Sequence[Definition],
    aliases: Aliases,
    settings: HandbookSection,
) -> CandidateIndex:
    """Find the candidate entities in sentences, tables and definitions. Return them sorted by name.

    If there are more than the settings allow, defined terms are kept first, then the most frequent names.
    """
    uses = _count_uses(sentences, in_tables)
    skipped = set(map(joined_key, settings.skip))
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for group in (*map(_entity_names, definitions), *aliases.groups):
        for name in group:
            found[joined_key(name)] |= dict.fromkeys(group)
    groups = {key: tuple(names) for key, names in found.items() if key}
    drafts = (*_defined_candidates(definitions, groups), *_used_candidates(uses, settings, groups))
    merged = _merge_candidates([one for one in drafts if one.key not in skipped], uses)

    def weight(one: EntityCandidate) -> int:
        return one.acting + one.acted_on + sum(uses[key].capital for key in one.name_keys if key in uses)

    ranked = sorted(merged, key=lambda one: (one.why != "defined", -weight(one), one.key))
    return CandidateIndex(sorted(ranked[: settings.at_most], key=lambda one: (one.name.casefold(), one.key)))


def _entity_names(definition: Definition) -> tuple[str, ...]:
    """Return the names that a definition gives, without abbreviations that are nouns themselves.

    With "Internet Drafts (IDs)", "a process ID" is no draft; with "Identity Document (ID)", "ID" may be the document.
    """
    name, *others = definition_names(definition)
    long = joined_key(name)

    def is_noun(other: str) -> bool:
        key = joined_key(other)
        return key in _NOUNS and other.removesuffix("s").isupper() and not long.startswith(key)

    return (name, *(one for one in others if not is_noun(one)))


def _count_uses(sentences: Iterable[ParsedSentence], in_tables: Iterable[NounPhrase]) -> Mapping[str, PhraseUses]:
    """Count how each phrase is used, and return the counts by the key of the phrase.

    A use as subject or object of a rule also counts for each ending of the phrase: "Committee" in "Rules Committee".
    """
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
            _count_appointment(sentence.subjects_of(clause), clause, uses)
    return uses


def _count_appointment(subjects: Sequence[NounPhrase], clause: SentenceClause, uses: dict[str, PhraseUses]) -> None:
    """Count who appoints and who is appointed in a clause such as "The Board shall appoint a Treasurer"."""
    if clause.verb not in _APPOINTING_VERBS:
        return
    objects, agents = ([one.phrase for one in clause.targets if one.by == by] for by in ("", "by"))
    for phrase in subjects if clause.passive else objects:
        uses[_bare_key(phrase)].appointed += 1
    for phrase in agents if clause.passive else subjects:
        uses[_bare_key(phrase)].appointing += 1


def _bare_key(phrase: NounPhrase) -> str:
    return _key(tuple(word.written for word in _bare_words(phrase)))


def _bare_words(phrase: NounPhrase) -> tuple[SentenceWord, ...]:
    """Return the words of a phrase, without lower-case adjectives before its capitalized words."""
    words = phrase.words
    if words[-1].capital:
        while not words[0].capital:
            words = words[1:]
    return words


def _count_phrase(phrase: NounPhrase, uses: dict[str, PhraseUses]) -> None:
    """Count one use of a phrase, ignoring lower-case adjectives before its capitalized words."""
    words = _bare_words(phrase)
    is_first = words[0] is phrase.words[0] and phrase.first == 0 and not phrase.determined
    if is_first and (len(words) == 1 or words[0].low in _IMPERATIVES or words[0].low.endswith("ing")):
        return  # the first word of a sentence is always capitalized, and "See" in "See Part B" is a verb
    one = uses[_key(tuple(word.written for word in words))]
    named = all(word.capital for word in words if word.low not in NAME_PREPOSITIONS)
    one.capital += named
    one.small += not named
    one.whole += 1
    one.determined += phrase.determined
    one.written[" ".join(word.written for word in words)] += 1


def _suffix_keys(phrase: NounPhrase) -> Iterator[str]:
    """Yield the keys (`joined_key`) of a phrase, of the phrase without its first word, and so on.

    "Rules Committee" -> "rulecommittee", "committee". A name with a preposition, such as "Chair of Council", has only
    the key of the whole name.
    """
    written = tuple(word.written for word in phrase.words)
    for number in range(len(written) if NAME_PREPOSITIONS.isdisjoint(written) else 1):
        yield _key(written[number:])


@cache
def _key(words: tuple[str, ...]) -> str:
    return joined_key(" ".join(words))


def _defined_candidates(
    definitions: Sequence[Definition], groups: Mapping[str, tuple[str, ...]]
) -> Iterator[EntityCandidate]:
    for key, same in grouped(definitions, lambda one: joined_key(definition_names(one)[0])).items():
        name = definition_names(same[0])[0]
        if key and name.casefold() not in PRONOUNS | DETERMINERS:
            yield EntityCandidate(key, name, tuple(dict.fromkeys((name, *groups.get(key, ())))), "defined", tuple(same))


def _used_candidates(
    uses: Mapping[str, PhraseUses], settings: HandbookSection, groups: Mapping[str, tuple[str, ...]]
) -> Iterator[EntityCandidate]:
    kinds = KindWords(settings.kinds)
    ordinary = set(map(joined_key, (*_ORDINARY_NOUNS, *settings.ordinary_words)))
    for key, one in uses.items():
        if not one.written or key in ordinary or len(key) < _MIN_KEY_LENGTH:
            continue
        name = _usual_spelling(one.written)
        why = _candidate_reason(name, one, settings, kinds) if _may_be_name(name, one) else None
        if why is not None:
            yield EntityCandidate(key, name, tuple(dict.fromkeys((name, *groups.get(key, ())))), why)


def _may_be_name(name: str, one: PhraseUses) -> bool:
    """Return whether a phrase may be a name: it is not a date, not the number of a rule, and not an activity."""
    words = [word.casefold() for word in name.split()]
    if words[0] in PLAIN_ADJECTIVES or not _CALENDAR.isdisjoint(words) or not any(map(str.isalpha, name)):
        return False
    gerund = len(words) == 1 and words[0].endswith("ing") and words[0] not in ING_NOUNS
    return not (gerund and one.capital <= one.small) and not _NUMBERED.search(name)


def _candidate_reason(
    name: str, one: PhraseUses, settings: HandbookSection, kinds: KindWords
) -> CandidateReason | None:
    """Return why a phrase is a candidate entity: capitals, use in rules, or frequency; None if it is not one."""
    many = len(name.split()) > 1
    acts = one.acting + one.acted_on
    named = one.capital >= _CAPITAL_SHARE * (one.capital + one.small) and (many or acts > 0)
    if named and one.capital >= settings.least_named + (not many):
        return "named"
    enough = settings.least_acting if not many else max(2, settings.least_acting - 1)
    if acts >= enough and one.whole >= enough and (many or one.determined >= _MIN_DETERMINED):
        return "acting"
    known = kinds.of(name)
    if known is not None and known[0] in (_APPOINTED if one.appointed else _APPOINTING if one.appointing else ()):
        return "appointed"
    often = settings.least_used * (1 if known else _NO_KIND)
    counted = one.whole if known and one.determined >= _MIN_DETERMINED else one.determined
    return "used" if counted >= often else None


def _merge_candidates(drafts: Sequence[EntityCandidate], uses: Mapping[str, PhraseUses]) -> list[EntityCandidate]:
    found: dict[str, EntityCandidate] = {}
    known: dict[str, str] = {}
    for one in drafts:
        into = next((known[key] for key in one.name_keys if key in known), one.key)
        whole = found.get(into, one)
        names = tuple(dict.fromkeys((*whole.names, *one.names)))
        definitions = tuple(dict.fromkeys((*whole.definitions, *one.definitions)))
        found[into] = EntityCandidate(into, whole.name, names, whole.why, definitions)
        known |= dict.fromkeys(one.name_keys, into)
    merged = []
    for one in found.values():
        used = [uses[name] for name in one.name_keys if name in uses]
        merged.append(replace(one, acting=sum(it.acting for it in used), acted_on=sum(it.acted_on for it in used)))
    return merged


def _usual_spelling(written: Counter[str]) -> str:
    """Return the singular if it is not rare, else the most frequent spelling. Ties are resolved alphabetically."""
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
