"""Noun phrases, told by what stands around them: "the Registrar", "each home club", "one or more Trained Helpers"."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from elt_llm_consumer.handbook.grammar import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    HAVE,
    JOINING,
    MODALS,
    NEGATIONS,
    PLAIN_ADJECTIVES,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    RELATIVES,
    SUBORDINATORS,
    SUPPOSED,
)
from elt_llm_consumer.handbook.tokens import Word
from elt_llm_consumer.handbook.verbs import Verbs

_LONGEST = 6
_NEVER = ADVERBS | BE | CONJUNCTIONS | DO | HAVE | MODALS | NEGATIONS | PREPOSITIONS | PRONOUNS | RELATIVES | SUPPOSED
_BOUNDS = _NEVER | SUBORDINATORS | DETERMINERS
_COUNTING = (("one", "or", "more"), ("at", "least"), ("at", "most"), ("no", "more", "than"), ("not", "more", "than"),
             ("up", "to"), ("not", "fewer", "than"), ("no", "fewer", "than"))  # fmt: skip
_ADVERB_ENDING = "ly"
_LY_NOUNS = frozenset(
    {"family", "reply", "supply", "assembly", "anomaly", "ally", "monthly", "weekly", "daily", "early"}
)


@dataclass(frozen=True)
class Phrase:
    """The words of a noun phrase, its article left out: words[first:last] of a sentence.

    `count` is what a quantity before them says: "each", "one or more", "nine". `owner` is the phrase with a possessive
    before it: of "the club's secretary" the club.
    """

    words: tuple[Word, ...]
    first: int
    last: int
    count: str = ""
    determined: bool = False
    owner: "Phrase | None" = field(default=None, repr=False)

    @property
    def start(self) -> int:
        """Where its first word begins in its sentence."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where its last word ends in its sentence."""
        return self.words[-1].end

    @property
    def head(self) -> str:
        """The word that says what kind of thing it is, in lower case."""
        return self.words[-1].low

    @property
    def written(self) -> str:
        """The phrase with single spaces."""
        return " ".join(word.written for word in self.words)


class Phrases:
    """Reads noun phrases of sentences. `verbs` are the words that may end one."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    def read(self, words: Sequence[Word], at: int) -> Phrase | None:
        """The noun phrase that begins at a word; None if none does. Its articles and quantities may stand before it."""
        place, count, determined = self._determiners(words, at)
        first = place
        while place < len(words) and place - first < _LONGEST and self._goes_on(words, first, place):
            place += 1
            if words[place - 1].owner:
                break
        if place == first or (place == first + 1 == at + 1 and self._is_done(words[first])):
            return None
        own = tuple(words[first:place])
        while own and own[0].low in PLAIN_ADJECTIVES and not (own[0].capital and own[0].start > words[0].start):
            own = own[1:]
        while len(own) > 1 and own[-1].low in PLAIN_ADJECTIVES and not own[-1].capital:
            own = own[:-1]
        if not own:
            return None
        phrase = Phrase(own, at, place, count, determined)
        if own[-1].owner:
            owned = self.read(words, place) if place < len(words) and not words[place].stop else None
            if owned is not None:
                return Phrase(owned.words, at, owned.last, owned.count, True, owned.owner or phrase)
        return self._with_of(words, phrase)

    def _determiners(self, words: Sequence[Word], at: int) -> tuple[int, str, bool]:
        """Where the words of the phrase begin, what a quantity says, and whether anything determines it."""
        place, said = at, list[str]()
        while place < len(words) and (place == at or not words[place].stop):
            counting = next((it for it in _COUNTING if reads(words, place, it)), None)
            low = words[place].low
            if counting is not None:
                said.append(" ".join(counting))
                place += len(counting)
            elif low in DETERMINERS or low.isdigit():
                said += [low] if low in QUANTIFIERS or low.isdigit() else []
                place += 1
                if low in QUANTIFIERS and place < len(words) and words[place].low == "of":
                    place += 1
            else:
                break
        return place, " ".join(said), place > at

    def _goes_on(self, words: Sequence[Word], first: int, place: int) -> bool:
        word, begins = words[place], place == first
        if (word.stop and not begins) or word.low in _BOUNDS or not any(map(str.isalpha, word.written)):
            return False
        if word.low.endswith(_ADVERB_ENDING) and word.low not in _LY_NOUNS and not (word.capital and not begins):
            return False
        if begins:
            return True
        return word.capital or not self.is_verb(words, place)

    def is_verb(self, words: Sequence[Word], place: int) -> bool:
        """Whether a word that may be a verb stands as one behind a noun: what follows it begins an object."""
        low = words[place].low
        verb = self._verbs.base(low, "third")
        participle = self._verbs.base(low, "participle", "past")
        if verb is None and participle is None:
            return False
        following = words[place + 1] if place + 1 < len(words) else None
        if following is None or following.stop:
            return participle is not None and low.endswith(("ed", "wn", "en", "ent", "pt", "ld", "id"))
        if participle is not None:
            return following.low in _BOUNDS
        return following.low in _BOUNDS - {"of"} or following.capital or following.low.isdigit()

    def _is_done(self, word: Word) -> bool:
        """Whether a word alone says what was done: "printed", "received"."""
        return not word.capital and self._verbs.base(word.low, "participle", "past") is not None

    def _with_of(self, words: Sequence[Word], phrase: Phrase) -> Phrase:
        """The phrase, or "Register" with "of Interests": both in capitals and no article between make one name."""
        place = phrase.last
        if not phrase.words[-1].capital or place + 1 >= len(words) or words[place].stop:
            return phrase
        if words[place].low not in JOINING:
            return phrase
        nearest = words[place + 1]
        if nearest.stop or not nearest.capital or nearest.low in _BOUNDS:
            return phrase
        other = self.read(words, place + 1)
        if other is None or other.owner is not None:
            return phrase
        own = (*phrase.words, words[place], *other.words)
        return Phrase(own, phrase.first, other.last, phrase.count, phrase.determined, phrase.owner)


def reads(words: Sequence[Word], place: int, said: Sequence[str]) -> bool:
    """Whether these words, in small letters, stand at a place."""
    return tuple(word.low for word in words[place : place + len(said)]) == tuple(said)
