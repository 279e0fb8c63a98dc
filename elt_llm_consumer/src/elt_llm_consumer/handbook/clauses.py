"""Who does what to whom in a sentence: clauses with a subject, a verb and what it is done to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from elt_llm_consumer.handbook.grammar import (
    ADVERBS,
    ASIDES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    DONE,
    DUTIES,
    HAVE,
    MODALS,
    NEGATIONS,
    PERMISSIONS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    SUBORDINATORS,
)
from elt_llm_consumer.handbook.joined import Joined
from elt_llm_consumer.handbook.phrases import Phrase, Phrases, reads
from elt_llm_consumer.handbook.subjects import MANY, Subjects
from elt_llm_consumer.handbook.targets import Target, Targets
from elt_llm_consumer.handbook.tokens import Word
from elt_llm_consumer.handbook.verb_last import GERMAN_MODALS, verb_last
from elt_llm_consumer.handbook.verbs import Verbs

Modality = Literal["must", "must not", "may", "may not", "should", "should not", "will", "will not", "does", "does not"]
_SHOULD = frozenset({"should", "soll", "sollen"})
_AHEAD = 8  # words among which a further verb of the same subject is looked for
_LIKE_ADVERBS = frozenset({"apply", "supply", "reply", "comply", "rely", "fly", "imply"})


@dataclass(frozen=True)
class Clause:
    """`subjects` do, or where `passive` have done to them, what `verb` (in its base form) says, to `targets`.

    `again` if the subject is "it" or "they": that of the sentence before. `verb` is "be" where subject and target are
    the same, and "have".
    """

    subjects: tuple[Phrase, ...]
    verb: str
    modality: Modality
    passive: bool
    targets: tuple[Target, ...]
    again: bool = False


class Clauses:
    """Reads the clauses of sentences."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._phrases = Phrases(verbs)
        joined = Joined(verbs, self._phrases)
        self._subjects = Subjects(verbs, self._phrases, joined)
        self._targets = Targets(verbs, self._phrases, joined)

    def read(self, words: Sequence[Word]) -> list[Clause]:
        """The clauses of a sentence of which subject and verb are beyond doubt, in order."""
        found: list[Clause] = []
        place = 0
        while place < len(words):
            begins = self._subjects.begins(words, place, after_clause=bool(found))
            begun = self._subjects.read(words, place) if begins else None
            if begun is None:
                place += 1
                continue
            subjects, again, at = begun
            clauses, place = self._predicates(words, subjects, at, again=again)
            found += clauses
        return found

    def phrases(self, words: Sequence[Word]) -> Iterator[Phrase]:
        """All noun phrases of a sentence, in order."""
        place = 0
        while place < len(words):
            phrase = self._phrases.read(words, place)
            if phrase is None:
                place += 1
                continue
            yield phrase
            place = max(phrase.last, place + 1)

    def _predicates(
        self, words: Sequence[Word], subjects: tuple[Phrase, ...], place: int, *, again: bool
    ) -> tuple[list[Clause], int]:
        """What the subjects do, and where the reading goes on: verbs joined by "and" have the same subject."""
        found: list[Clause] = []
        modality: Modality | None = "does" if again and words[0].low == MANY else None
        while place < len(words):
            read = self._predicate(words, place, modality)
            if read is None:
                break
            clause, place, modality = read
            found.append(replace(clause, subjects=subjects, again=again))
            following = self._next_predicate(words, place, bare=modality is not None)
            if following is None:
                break
            place = following
        return found, max(place, 1)

    def _predicate(
        self, words: Sequence[Word], place: int, before: Modality | None
    ) -> tuple[Clause, int, Modality | None] | None:
        """One verb with its targets, where the reading goes on, and the modality of a bare verb that follows."""
        low = words[place].low
        if low in GERMAN_MODALS:
            return self._german(words, place)
        modal = low in MODALS
        negated, at = self._skip(words, place + 1) if modal or low in BE | HAVE else (False, place)
        negated = negated or low == "cannot"
        if modal:
            modality = _modality(low, negated=negated)
        else:
            modality = before if before and self._verbs.base(low, "base") else ("does not" if negated else "does")
        if at >= len(words) or (words[at].stop and at > place):
            return None
        read = self._verb(words, place, at, modal=modal, bare=before is not None)
        if read is None:
            return None
        verb, passive, after = read
        targets, end = self._targets.read(words, after)
        kept = modality if modal or (before and modality == before) else None
        return Clause((), verb, modality, passive, targets), end, kept

    def _german(self, words: Sequence[Word], place: int) -> tuple[Clause, int, Modality | None] | None:
        read = verb_last(words, place, self._phrases)
        if read is None:
            return None
        verb, negated, targets, end = read
        return Clause((), verb, _modality(words[place].low, negated=negated), False, targets), end, None

    def _verb(
        self, words: Sequence[Word], place: int, at: int, *, modal: bool, bare: bool
    ) -> tuple[str, bool, int] | None:
        """The verb, whether it is passive, and the word behind it."""
        low = words[place].low
        if modal and words[at].low in {"be", "have"}:
            _, further = self._skip(words, at + 1)
            return self._of_be(words, further) if words[at].low == "be" else self._of_have(words, further)
        if modal:
            return (words[at].low, False, at + 1) if words[at].low.isalpha() and not _is_small(words[at]) else None
        if low in BE:
            return self._of_be(words, at)
        if low in HAVE:
            return self._of_have(words, at)
        base = self._verbs.base(low, "third") or (self._verbs.base(low, "base") if bare else None)
        return (base, False, place + 1) if base else None

    def _of_be(self, words: Sequence[Word], at: int) -> tuple[str, bool, int] | None:
        if at >= len(words) or words[at].stop:
            return None
        participle = self._verbs.base(words[at].low, "participle")
        if participle and not words[at].capital:
            return participle, True, at + 1
        if words[at].low == "responsible":
            return "be responsible", False, at + 1
        return ("be", False, at) if words[at].low in DETERMINERS or words[at].capital else None

    def _of_have(self, words: Sequence[Word], at: int) -> tuple[str, bool, int] | None:
        if at >= len(words) or words[at].stop or words[at].low in {"to", "been"}:
            return None
        over = words[at].low in DONE or words[at].low.endswith("ed") or self._verbs.base(words[at].low, "participle")
        return None if over else ("have", False, at)

    def _next_predicate(self, words: Sequence[Word], place: int, *, bare: bool) -> int | None:
        """Where a further verb of the same subject stands: behind a comma, "and", "or" or "but"."""
        for later in range(place, min(len(words), place + _AHEAD)):
            if words[later].low in RELATIVES | SUBORDINATORS:
                return None
            joined = words[later].low in CONJUNCTIONS
            if not joined and words[later].sign != ",":
                continue
            at = later + 1 if joined else later
            if at < len(words) and not (joined and words[at].stop) and self._is_bare_verb(words, at, bare=bare):
                return at
        return None

    def _is_bare_verb(self, words: Sequence[Word], at: int, *, bare: bool) -> bool:
        low = words[at].low
        if low in MODALS | BE | {"has"}:
            return True
        if self._verbs.base(low, "third") and at + 1 < len(words) and not words[at].capital:
            following = words[at + 1]
            return not following.stop and low not in PREPOSITIONS
        following_determined = at + 1 < len(words) and words[at + 1].low in DETERMINERS
        return bare and self._verbs.base(low, "base") is not None and following_determined

    @staticmethod
    def _skip(words: Sequence[Word], place: int) -> tuple[bool, int]:
        """Whether "not" stands there, and the place behind it and adverbs."""
        negated = False
        while place < len(words) and not words[place].stop:
            low = words[place].low
            aside = next((it for it in ASIDES if reads(words, place, it)), ())
            place += max(0, len(aside) - 1)
            if low in NEGATIONS:
                negated = True
            elif aside:
                pass
            elif low not in ADVERBS and (not low.endswith("ly") or low in _LIKE_ADVERBS):
                break
            place += 1
        return negated, place


def _modality(low: str, *, negated: bool) -> Modality:
    if low in PERMISSIONS or low == "cannot":
        return "may not" if negated else "may"
    if low in _SHOULD:
        return "should not" if negated else "should"
    if low == "will":
        return "will not" if negated else "will"
    return "must not" if negated else "must"


def _is_small(word: Word) -> bool:
    return word.low in PREPOSITIONS | DETERMINERS | PRONOUNS | CONJUNCTIONS | SUBORDINATORS | BE | MODALS | DUTIES
