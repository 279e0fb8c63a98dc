"""Things joined by "and" and by commas, and where a verb stands among them."""

from collections.abc import Sequence

from elt_llm_consumer.handbook.grammar import (
    BE,
    CONJUNCTIONS,
    MODALS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    SUBORDINATORS,
)
from elt_llm_consumer.handbook.phrases import Phrases
from elt_llm_consumer.handbook.tokens import Word
from elt_llm_consumer.handbook.verbs import Verbs

NO_OBJECT = PREPOSITIONS | RELATIVES | SUBORDINATORS | BE | CONJUNCTIONS
"""Before one of these a word that may be noun or verb is a noun: "configuration files by"."""


class Joined:
    """Looks ahead in a sentence."""

    def __init__(self, verbs: Verbs, phrases: Phrases) -> None:
        self._verbs, self._phrases = verbs, phrases

    def verb_at(self, words: Sequence[Word], place: int) -> bool:
        """Whether a verb may stand at a word, as behind its subject."""
        if place >= len(words) or (words[place].stop and words[place - 1].low not in PRONOUNS):
            return False
        low = words[place].low
        return low in MODALS | BE | {"has", "have"} or self._verbs.base(low, "third") is not None

    def starts_phrase(self, words: Sequence[Word], place: int) -> bool:
        """Whether things are named from a word on, and not done."""
        if place >= len(words) or self._verbs.base(words[place].low, "third"):
            return False
        return self._phrases.read(words, place) is not None

    def ends_in_target(self, words: Sequence[Word], place: int) -> bool:
        """Whether what follows "and" is a further object, and not the subject of another verb."""
        phrase = self._phrases.read(words, place) if self.starts_phrase(words, place) else None
        return phrase is not None and not self.verb_at(words, phrase.last)

    def is_listed(self, words: Sequence[Word], place: int) -> bool:
        """Whether a comma goes on with a list of things: an "and" ends the list."""
        while place < len(words) and words[place].sign == ",":
            if words[place].low in CONJUNCTIONS:
                return self.starts_phrase(words, place + 1)
            phrase = self._phrases.read(words, place)
            if phrase is None or phrase.last >= len(words) or self._is_next_verb(words, place):
                return False
            place = phrase.last
            if words[place].low in CONJUNCTIONS and not words[place].stop:
                return self._phrases.read(words, place + 1) is not None
        return False

    def _is_next_verb(self, words: Sequence[Word], place: int) -> bool:
        """Whether a word after a comma, such as "collects", has an object behind it and so is a verb."""
        following = words[place + 1] if place + 1 < len(words) else None
        goes_on = following is not None and not following.stop and following.low not in NO_OBJECT
        return goes_on and self._verbs.base(words[place].low, "third") is not None
