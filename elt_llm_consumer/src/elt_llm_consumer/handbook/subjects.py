"""The subjects of clauses: who or what a verb is said of."""

from collections.abc import Sequence

from elt_llm_consumer.handbook.grammar import (
    ADVERBS,
    CONJUNCTIONS,
    MODALS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    SUBORDINATORS,
)
from elt_llm_consumer.handbook.joined import NO_OBJECT, Joined
from elt_llm_consumer.handbook.phrases import Phrase, Phrases
from elt_llm_consumer.handbook.tokens import Word
from elt_llm_consumer.handbook.verbs import Verbs

_BEFORE_CLAUSES = SUBORDINATORS - PREPOSITIONS - RELATIVES
MANY = "they"
_AGAIN = frozenset({"it", MANY})
_TWO = 2
_LONGEST_RELATIVE = 30  # words
_ALSO_NOUNS = frozenset(
    {
        *("files", "issues", "documents", "licenses", "places", "processes", "comments", "uses", "records", "lists"),
        *("reports", "reviews", "appeals", "changes", "charges", "claims", "forms", "grants", "guides", "limits"),
        *("loads", "marks", "measures", "names", "notices", "offers", "orders", "plays", "questions", "requests"),
        *("supports", "tests", "transfers", "updates", "views", "visits", "votes", "awards", "bans", "links", "loans"),
        *("fines", "grades", "labels", "moves", "stops", "starts", "signs", "shows", "sets", "runs", "reads", "needs"),
        *("copies", "covers", "controls", "contacts", "checks", "permits", "invoices", "witnesses", "dates", "terms"),
    }
)


class Subjects:
    """Reads the subject that begins at a word."""

    def __init__(self, verbs: Verbs, phrases: Phrases, joined: Joined) -> None:
        self._verbs, self._phrases, self._joined = verbs, phrases, joined

    @staticmethod
    def begins(words: Sequence[Word], place: int, *, after_clause: bool) -> bool:
        """Whether a clause may begin at a word; behind a mere "and" only if there was one before."""
        if place == 0 or words[place].stop:
            return True
        before = words[place - 1]
        if before.low in ADVERBS and (place == 1 or before.stop):
            return True
        if before.low == "that":
            return place < _TWO or words[place - _TWO].low not in PREPOSITIONS
        if before.low in CONJUNCTIONS:
            return after_clause or before.stop
        return before.low in _BEFORE_CLAUSES

    def read(self, words: Sequence[Word], place: int) -> tuple[tuple[Phrase, ...], bool, int] | None:
        """The subjects that begin at a word and where their verb stands; None if no verb follows them at once."""
        if words[place].low in _AGAIN and place == 0 and len(words) > 1 and not words[1].stop:
            verb = words[place].low == MANY and self._verbs.base(words[1].low, "base")
            if verb or self._joined.verb_at(words, 1):
                return (), True, 1
        subjects, place = self._listed(words, place)
        if not subjects or place >= len(words) or not self._joined.verb_at(words, place):
            return None
        if self._phrases.is_verb(words, place) and not self._is_told_of(subjects, words, place):
            return None
        return tuple(subjects), False, place

    def _listed(self, words: Sequence[Word], place: int) -> tuple[list[Phrase], int]:
        """Phrases joined by "and", or by commas and an "and", and the place behind them and their details."""
        found: list[Phrase] = []
        details = False
        while place < len(words) and (phrase := self._phrases.read(words, place)) is not None:
            found += [] if details else [phrase]
            place = self._after_details(words, phrase.last)
            details = details or place > phrase.last
            if place < len(words) and words[place].low in CONJUNCTIONS and self._joined.starts_phrase(words, place + 1):
                place += 1
            elif not (place < len(words) and self._joined.is_listed(words, place)):
                break
        return found, place

    def _after_details(self, words: Sequence[Word], place: int) -> int:
        """The place behind "of the Board", "under Written Contract" and "who owes a fine", which go with a subject."""
        if place + 1 < len(words) and not words[place].stop and words[place + 1].low in PREPOSITIONS:
            place += self._verbs.base(words[place].low, "participle") is not None
        while place + 1 < len(words) and words[place].low in PREPOSITIONS and not words[place].stop:
            phrase = self._phrases.read(words, place + 1)
            if phrase is None or words[place + 1].stop:
                return place
            place = phrase.last
        if place < len(words) and words[place].low in RELATIVES and not words[place].stop:
            return self._after_relative(words, place)
        return place

    @staticmethod
    def _after_relative(words: Sequence[Word], place: int) -> int:
        """The modal verb behind a relative clause, if no other clause stands between; else the place itself."""
        for later in range(place + 1, min(len(words), place + _LONGEST_RELATIVE)):
            word = words[later]
            if word.sign.strip(",") or word.low in SUBORDINATORS - RELATIVES:
                return place
            if word.low in MODALS and later > place + 2 and words[later - 1].low not in RELATIVES | PRONOUNS:
                return later
        return place

    def _is_told_of(self, subjects: Sequence[Phrase], words: Sequence[Word], place: int) -> bool:
        """Whether a word in the third person is a verb: its subject is one certain thing, and an object follows.

        Words that are nouns too, as in "configuration files by", are verbs only before an article or a name.
        """
        only = subjects[0]
        certain = only.determined or (only.words[0].capital and only.first > 0)
        following = words[place + 1] if place + 1 < len(words) else None
        plainly = following is not None and not following.stop and following.low not in NO_OBJECT
        noun = self._verbs.base(words[place].low, "base") is not None or words[place].low in _ALSO_NOUNS
        return (
            len(subjects) == 1 and certain and not _is_many(only) and not words[place].capital and (plainly or not noun)
        )


def _is_many(phrase: Phrase) -> bool:
    head = phrase.head
    return head.endswith("s") and not head.endswith(("ss", "us", "is", "ics"))
