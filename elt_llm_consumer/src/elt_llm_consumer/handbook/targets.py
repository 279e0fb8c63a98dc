"""What follows a verb: what it is done to, and with what, to whom, by whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_consumer.handbook.grammar import ADVERBS, CONJUNCTIONS, ING_NOUNS, PREPOSITIONS
from elt_llm_consumer.handbook.joined import Joined
from elt_llm_consumer.handbook.phrases import Phrase, Phrases
from elt_llm_consumer.handbook.tokens import Word
from elt_llm_consumer.handbook.verbs import Verbs

_MOST_TARGETS = 6


@dataclass(frozen=True)
class Target:
    """What follows a verb; `by` is the preposition before it, empty before an object."""

    phrase: Phrase
    by: str = ""


class Targets:
    """Reads the targets that begin at a word."""

    def __init__(self, verbs: Verbs, phrases: Phrases, joined: Joined) -> None:
        self._verbs, self._phrases, self._joined = verbs, phrases, joined

    def read(self, words: Sequence[Word], place: int) -> tuple[tuple[Target, ...], int]:
        """The objects behind a verb, joined ones too, and what prepositions add, until something else begins."""
        found: list[Target] = []
        by = ""
        while place < len(words) and len(found) < _MOST_TARGETS:
            word = words[place]
            if word.stop and (not found or not self._joined.is_listed(words, place)):
                break
            if word.low in PREPOSITIONS and not word.stop and not _counts(words, place):
                if place + 1 < len(words) and self._is_done_by(word, words[place + 1]):
                    break
                by, place = word.low, place + 1
                continue
            if word.low in CONJUNCTIONS and found and self._joined.ends_in_target(words, place + 1):
                place += 1
                continue
            if word.low in ADVERBS and not by:
                place += 1
                continue
            phrase = self._phrases.read(words, place)
            if phrase is None or (
                found and not by and not words[place].stop and words[place - 1].low not in CONJUNCTIONS
            ):
                break
            found.append(Target(phrase, by))
            place = phrase.last
        return tuple(found), place

    def _is_done_by(self, preposition: Word, following: Word) -> bool:
        """Whether a verb follows: "to agree", "by writing"."""
        if preposition.low == "to" and self._verbs.base(following.low, "base") and not following.capital:
            return True
        return following.low.endswith("ing") and not following.capital and following.low not in ING_NOUNS


def _counts(words: Sequence[Word], place: int) -> bool:
    """Whether "up to" or "at least" stands there, which say how many and not where."""
    following = words[place + 1].low if place + 1 < len(words) else ""
    return (words[place].low, following) in {("up", "to"), ("at", "least"), ("at", "most")}
