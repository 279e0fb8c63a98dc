"""Read noun phrases and clauses by rules. A clause has subjects, a verb, a modality such as "must", and objects."""
# ruff: noqa: SIM905 - word lists are easier to read as text.

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from elt_llm_core.text.languages import words as language_words

from elt_llm_consumer.sentences.words import (
    ADVERBS,
    BE,
    CONDITIONALS,
    DETERMINERS,
    DO,
    GERMAN_VERBS,
    HAVE,
    ING_NOUNS,
    MODALS,
    NAME_PREPOSITIONS,
    NEGATIONS,
    PLAIN_ADJECTIVES,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    SentenceWord,
    VerbLexicon,
    word_list,
)

_Rule = Literal["must", "must not", "need not", "may", "only may", "may not"]
Modality = Literal[_Rule, "should", "should not", "will", "will not", "does", "does not"]
_CONJUNCTIONS: Final = language_words("conjunctions") | {"&"}
_SUBORDINATORS: Final = language_words("subordinators")
_RELATIVES: Final = language_words("relatives")
_PERMISSIONS: Final = language_words("permissions")
_PERFECT_PARTICIPLES: Final = frozenset("come become gone done been begun left happened got grown fallen".split())
"""Participles that, after "has", form the perfect tense and are not an object of "has"."""
_DENYING_ASIDES: Final = [tuple(aside.split("-")) for aside in word_list("denying_asides")]
_ASIDES: Final = [*_DENYING_ASIDES, *(tuple(aside.split("-")) for aside in word_list("asides"))]
_CONDITIONS: Final = language_words("if") | {"whether", "provided", "ob"}
_CONDITION_NOUNS: Final = word_list("condition_nouns")
_ONLY = frozenset({"only", "nur"})
_DENIED_VERBS = frozenset({"need", "do", "does"})
_ORDERS: Final[Mapping[str, Modality]] = {
    **dict.fromkeys(word_list("required"), "must"),
    **dict.fromkeys(word_list("permitted"), "may"),
    **dict.fromkeys(word_list("prohibited"), "must not"),
}
_PRESENT_BE = frozenset({"is", "are"})
_DENIALS: Final = frozenset({"must not", "will not", "does not"})
_DENIED_ORDERS: Final[Mapping[str, Modality]] = {"must": "need not", "may": "may not", "must not": "may"}
_MAX_PHRASE_WORDS, _MAX_RELATIVE_WORDS, _MAX_TARGETS = 6, 30, 6
_AHEAD = 8  # maximum words between two verbs of the same subject
_NEVER_IN_PHRASE = (
    ADVERBS | BE | _CONJUNCTIONS | DO | HAVE | MODALS | NEGATIONS | PREPOSITIONS | PRONOUNS | _RELATIVES | CONDITIONALS
) | frozenset((*GERMAN_VERBS, *GERMAN_VERBS.values()))
_BOUNDS = _NEVER_IN_PHRASE | _SUBORDINATORS | DETERMINERS
_BEFORE_CLAUSES = _SUBORDINATORS - PREPOSITIONS - _RELATIVES
# A word that may be a noun or a verb is a noun if one of these words follows: "configuration files by".
_NO_OBJECT = PREPOSITIONS | _RELATIVES | _SUBORDINATORS | BE | _CONJUNCTIONS
_COUNTING: Final = [tuple(counting.split("-")) for counting in word_list("counting")]
_LY_NOUNS: Final = word_list("nouns_in_ly")
_LY_VERBS = frozenset(["apply", "supply", "reply", "comply", "rely", "fly", "imply"])
_ALSO_NOUNS: Final = word_list("also_nouns")
_ANAPHORIC_PRONOUNS, _PLURAL_PRONOUN = frozenset({"it", "they"}), "they"
_GERMAN_NEGATIONS = NEGATIONS | frozenset("kein keine keinen keinem keiner".split())
_GENITIVE = frozenset({"des", "der"})
_GERMAN_MODALS = language_words("modals", ["de"])
_GERMAN_PREPOSITIONS = PREPOSITIONS | {"an"}
_GERMAN_INFINITIVES = ("en", "ern", "eln")
_FUNCTION_WORDS = PREPOSITIONS | DETERMINERS | PRONOUNS | _CONJUNCTIONS | _SUBORDINATORS | BE | MODALS


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase without its article: the words[first:last] of a sentence."""

    words: tuple[SentenceWord, ...]
    first: int
    last: int
    count: str = ""
    """The quantity before the phrase: "each", "one or more", "nine"."""
    determined: bool = False
    owner: "NounPhrase | None" = field(default=None, repr=False)
    """The possessive phrase before this phrase: "the club's" in "the club's secretary"."""

    @property
    def head(self) -> str:
        """The last word of the phrase in lower case. It is the noun that the other words qualify."""
        return self.words[-1].low

    @property
    def written(self) -> str:
        """The phrase as written, with single spaces between its words."""
        return " ".join(word.written for word in self.words)


@dataclass(frozen=True)
class VerbTarget:
    """A phrase after a verb. `by` is the preposition before the phrase; empty if the phrase is a direct object."""

    phrase: NounPhrase
    by: str = ""


@dataclass(frozen=True)
class SentenceClause:
    """A clause: its subjects, its verb in the base form, and its targets (objects and prepositional phrases).

    The verb "be" means that the subject is the target, and "have" that the subject has the target.
    """

    subjects: tuple[NounPhrase, ...]
    verb: str
    modality: Modality
    passive: bool
    targets: tuple[VerbTarget, ...]
    again: bool = False
    """Whether the subject is "it" or "they" and so refers to the subject of the previous sentence."""
    conditional: bool = False
    """Whether the clause is a condition, as in "if the Clerk is a member", and so states no fact."""


class SentenceReader:
    """Reads noun phrases and clauses in sentences. `verbs` are the words that may be verbs."""

    def __init__(self, verbs: VerbLexicon) -> None:
        self._verbs = verbs

    def phrases(self, words: Sequence[SentenceWord]) -> Iterator[NounPhrase]:
        """Yield all noun phrases of a sentence, in order."""
        at = 0
        while at < len(words):
            phrase = self.phrase(words, at)
            if phrase is not None:
                yield phrase
            at = max(phrase.last, at + 1) if phrase else at + 1

    def clauses(self, words: Sequence[SentenceWord]) -> list[SentenceClause]:
        """Return, in order, those clauses of a sentence whose subject and verb are certain."""
        found: list[SentenceClause] = []
        words = self._without_inversion(words)
        at = 0
        while at < len(words):
            may_start = _may_start_clause(words, at, after_clause=bool(found))
            subject = self._subject(words, at) if may_start else None
            if subject is None:
                at += 1
                continue
            subjects, again, verb = subject
            conditional = _is_conditional(words, at)
            only = at > 0 and words[at - 1].low in _ONLY
            clauses, at = self._predicates(words, subjects, verb, again=again)
            for clause in clauses:
                modality: Modality = "only may" if only and clause.modality == "may" else clause.modality
                found.append(replace(clause, modality=modality, conditional=conditional))
        return found

    def _without_inversion(self, words: Sequence[SentenceWord]) -> Sequence[SentenceWord]:
        """Return "In no case may the Clerk show it" as "In case, the Clerk may not show it"; else the words."""
        aside = next((one for one in _DENYING_ASIDES if _words_match(words, 0, one)), ())
        modal = len(aside)
        if not aside or modal + 1 >= len(words) or words[modal].low not in MODALS:
            return words
        for verb in range(modal + 2, min(len(words), modal + 2 + _MAX_PHRASE_WORDS)):
            if words[verb].low == "be" or (
                words[verb].low.islower() and not words[verb].capital and self._verbs.base(words[verb].low, "base")
            ):
                no = next(number for number in range(modal) if words[number].low == "no")
                before = [word for number, word in enumerate(words[:modal]) if number != no]
                subject = [replace(words[modal + 1], separator=","), *words[modal + 2 : verb]]
                return [*before, *subject, words[modal], replace(words[no], low="not"), *words[verb:]]
        return words

    # Noun phrases.

    def phrase(self, words: Sequence[SentenceWord], at: int) -> NounPhrase | None:
        """Return the noun phrase that starts at word `at`, after its articles and quantities; None if there is none."""
        first, count, determined = _determiners(words, at)
        last = first
        while last < len(words) and last - first < _MAX_PHRASE_WORDS and self._continues_phrase(words, first, last):
            last += 1
            if words[last - 1].possessive:
                break
        if last == first:
            return None
        lone = words[first] if last == first + 1 == at + 1 else None
        if lone is not None and not lone.capital and self._verbs.base(lone.low, "participle", "past"):
            return None
        own = tuple(words[first:last])
        while own and own[0].low in PLAIN_ADJECTIVES and not (own[0].capital and own[0].start > words[0].start):
            own = own[1:]
        while len(own) > 1 and own[-1].low in PLAIN_ADJECTIVES and not own[-1].capital:
            own = own[:-1]
        if not own:
            return None
        phrase = NounPhrase(own, at, last, count, determined)
        if own[-1].possessive:
            owned = self.phrase(words, last) if last < len(words) and not words[last].separator else None
            if owned is not None:
                return NounPhrase(owned.words, at, owned.last, owned.count, True, owned.owner or phrase)
        return self._with_of(words, phrase)

    def _continues_phrase(self, words: Sequence[SentenceWord], first: int, at: int) -> bool:
        word, is_first = words[at], at == first
        if (word.separator and not is_first) or word.low in _BOUNDS or not any(map(str.isalpha, word.written)):
            return False
        if _is_denied(words, at):
            return False
        if word.low.endswith("ly") and word.low not in _LY_NOUNS and not (word.capital and not is_first):
            return False
        return is_first or word.capital or not self._is_verb_after_noun(words, at)

    def _is_verb_after_noun(self, words: Sequence[SentenceWord], at: int) -> bool:
        """Return whether the word at `at`, which may be a verb or a noun, is a verb, because an object follows."""
        low = words[at].low
        participle = self._verbs.base(low, "participle", "past")
        if self._verbs.base(low, "third") is None and participle is None:
            return False
        following = words[at + 1] if at + 1 < len(words) else None
        if following is None or following.separator:
            return participle is not None and low.endswith(("ed", "wn", "en", "ent", "pt", "ld", "id"))
        if participle is not None:
            return following.low in _BOUNDS
        return following.low in _BOUNDS - {"of"} or following.capital or following.low.isdigit()

    def _with_of(self, words: Sequence[SentenceWord], phrase: NounPhrase) -> NounPhrase:
        """Return the phrase extended by "of" or "for" and a capitalized phrase, such as "Register of Interests"."""
        at = phrase.last
        if not phrase.words[-1].capital or at + 1 >= len(words) or words[at].separator:
            return phrase
        nearest = words[at + 1]
        joined = words[at].low in NAME_PREPOSITIONS and not nearest.separator and nearest.capital
        other = self.phrase(words, at + 1) if joined and nearest.low not in _BOUNDS else None
        if other is None or other.owner is not None:
            return phrase
        own = (*phrase.words, words[at], *other.words)
        return NounPhrase(own, phrase.first, other.last, phrase.count, phrase.determined, phrase.owner)

    # Subjects.

    def _subject(self, words: Sequence[SentenceWord], at: int) -> tuple[tuple[NounPhrase, ...], bool, int] | None:
        """Return the subjects that start at a word, whether they are pronouns, and the position of their verb.

        Return None if no verb follows the subjects directly.
        """
        if words[at].low in _ANAPHORIC_PRONOUNS and at == 0 and len(words) > 1 and not words[1].separator:
            verb = words[at].low == _PLURAL_PRONOUN and self._verbs.base(words[1].low, "base")
            if verb or self._is_verb_at(words, 1):
                return (), True, 1
        subjects, at = self._listed_subjects(words, at)
        if not subjects or at >= len(words) or not self._is_verb_at(words, at):
            return None
        if self._is_verb_after_noun(words, at) and not self._is_verb_of(subjects, words, at):
            return None
        return tuple(subjects), False, at

    def _listed_subjects(self, words: Sequence[SentenceWord], at: int) -> tuple[list[NounPhrase], int]:
        """Return the subjects joined by commas or "and", and the position after the subjects and their details."""
        found: list[NounPhrase] = []
        details = False
        while at < len(words) and (phrase := self.phrase(words, at)) is not None:
            found += [] if details else [phrase]
            at = self._after_details(words, phrase.last)
            details = details or at > phrase.last
            if at < len(words) and words[at].low in _CONJUNCTIONS and self._starts_phrase(words, at + 1):
                at += 1
            elif not (at < len(words) and self._is_listed(words, at)):
                break
        return found, at

    def _after_details(self, words: Sequence[SentenceWord], at: int) -> int:
        """Return the position after the details of a subject, such as "of the Board" and "who owes a fine"."""
        if at + 1 < len(words) and not words[at].separator and words[at + 1].low in PREPOSITIONS:
            at += self._verbs.base(words[at].low, "participle") is not None
        while at + 1 < len(words) and words[at].low in PREPOSITIONS and not words[at].separator:
            phrase = self.phrase(words, at + 1)
            if phrase is None or words[at + 1].separator:
                return at
            at = phrase.last
        if at < len(words) and words[at].low in _RELATIVES and not words[at].separator:
            return _after_relative(words, at)
        return at

    def _is_verb_of(self, subjects: Sequence[NounPhrase], words: Sequence[SentenceWord], at: int) -> bool:
        """Return whether a word with the ending of the third person is a verb, given the subjects before it.

        There must be exactly one subject, in the singular. If the word may also be a noun, as in "configuration files
        by", an object must follow.
        """
        only = subjects[0]
        certain = only.determined or (only.words[0].capital and only.first > 0)
        plural = only.head.endswith("s") and not only.head.endswith(("ss", "us", "is", "ics"))
        following = words[at + 1] if at + 1 < len(words) else None
        plainly = following is not None and not following.separator and following.low not in _NO_OBJECT
        noun = self._verbs.base(words[at].low, "base") is not None or words[at].low in _ALSO_NOUNS
        return len(subjects) == 1 and certain and not plural and not words[at].capital and (plainly or not noun)

    # Coordination.

    def _is_verb_at(self, words: Sequence[SentenceWord], at: int) -> bool:
        if at >= len(words) or (words[at].separator and words[at - 1].low not in PRONOUNS):
            return False
        low = words[at].low
        if low in MODALS | BE | GERMAN_VERBS.keys() | {"has", "have"} or _is_denied(words, at):
            return True
        return self._verbs.base(low, "third") is not None

    def _starts_phrase(self, words: Sequence[SentenceWord], at: int) -> bool:
        if at >= len(words) or self._verbs.base(words[at].low, "third"):
            return False
        return self.phrase(words, at) is not None

    def _is_listed(self, words: Sequence[SentenceWord], at: int) -> bool:
        """Return whether the comma before a word separates phrases of a list such as "a Loan, a Card and a Key"."""
        while at < len(words) and words[at].separator == ",":
            if words[at].low in _CONJUNCTIONS:
                return self._starts_phrase(words, at + 1)
            phrase = self.phrase(words, at)
            if phrase is None or phrase.last >= len(words) or self._is_further_verb(words, at):
                return False
            at = phrase.last
            if words[at].low in _CONJUNCTIONS and not words[at].separator:
                return self.phrase(words, at + 1) is not None
        return False

    def _is_further_verb(self, words: Sequence[SentenceWord], at: int) -> bool:
        """Return whether a word after a comma is a verb, because an object follows."""
        following = words[at + 1] if at + 1 < len(words) else None
        object_follows = following is not None and not following.separator and following.low not in _NO_OBJECT
        return object_follows and self._verbs.base(words[at].low, "third") is not None

    # Verbs.

    def _predicates(
        self, words: Sequence[SentenceWord], subjects: tuple[NounPhrase, ...], at: int, *, again: bool
    ) -> tuple[list[SentenceClause], int]:
        """Return one clause for each verb with these subjects, and the position at which reading continues."""
        found: list[SentenceClause] = []
        modality: Modality | None = "does" if again and words[0].low == _PLURAL_PRONOUN else None
        while at < len(words):
            predicate = self._predicate(words, at, modality)
            if predicate is None:
                break
            clause, at, modality = predicate
            found.append(replace(clause, subjects=subjects, again=again))
            following = self._next_predicate(words, at, bare=modality is not None)
            if following is None:
                break
            at = following
        return found, max(at, 1)

    def _predicate(
        self, words: Sequence[SentenceWord], verb: int, before: Modality | None
    ) -> tuple[SentenceClause, int, Modality | None] | None:
        """Return a verb's clause, the position after it, and the modality that a next verb shares, or None.

        In "must read and sign", "sign" shares the modality "must". `before` is the modality of a verb before this one.
        """
        low = words[verb].low
        if low in _GERMAN_MODALS or low in GERMAN_VERBS:
            return self._german_predicate(words, verb)
        modal = low in MODALS or _is_denied(words, verb)
        negated, at = _skip_adverbs(words, verb + 1) if modal or low in BE | HAVE else (False, verb)
        negated = negated or low == "cannot"
        if modal:
            modality = _modality(low, negated=negated)
        else:
            modality = before if before and self._verbs.base(low, "base") else ("does not" if negated else "does")
        if at >= len(words) or (words[at].separator and at > verb):
            return None
        ordered = self._ordered(words, at, modality) if modal or low in _PRESENT_BE else None
        if ordered is not None:
            modality, main = ordered
        else:
            main = self._main_verb(words, verb, at, modal=modal, bare=before is not None)
        if main is None:
            return None
        base, passive, after = main
        targets, end = self._targets(words, after)
        kept = modality if modal or ordered or (before and modality == before) else None
        return SentenceClause((), base, modality, passive, targets), end, kept

    def _ordered(
        self, words: Sequence[SentenceWord], at: int, modality: Modality
    ) -> tuple[Modality, tuple[str, bool, int] | None] | None:
        """Return the modality and the main verb of "is (not) required to sign" or "is prohibited from signing".

        `at` is the position after "is" or after "shall". Return None for other predicates.
        """
        negated = modality in _DENIALS
        if words[at].low == "be" and modality in {"must", "must not", "will", "will not"}:
            denied, at = _skip_adverbs(words, at + 1)
            negated = negated or denied
        order = _ORDERS.get(words[at].low) if at + 2 < len(words) else None
        if order is None or words[at + 1].separator or words[at + 2].separator:
            return None
        if negated:
            order = _DENIED_ORDERS[order]
        if words[at + 1].low == "from" and (base := self._verbs.base(words[at + 2].low, "gerund")):
            return order, (base, False, at + 3)
        if words[at + 1].low != "to":
            return None
        _, verb = _skip_adverbs(words, at + 2)
        return order, self._main_verb(words, at + 1, verb, modal=True, bare=False) if verb < len(words) else None

    def _german_predicate(
        self, words: Sequence[SentenceWord], modal: int
    ) -> tuple[SentenceClause, int, Modality | None] | None:
        """Return the clause of a German verb, as in "muss die Gebühr zahlen" or "bestellt einen Prüfer", and its end.

        The third value is None, since no later verb shares the modality. Instead of the three values, return None if
        the clause of a modal verb does not end in an infinitive, for "muss nicht", which is not a rule, and for a verb
        with a second part, as in "wählt den Vorstand ab".
        """
        end = next((at for at in range(modal + 1, len(words)) if words[at].separator), len(words))
        low, last = words[modal].low, words[end - 1]
        negated = any(word.low in _GERMAN_NEGATIONS for word in words[modal:end])
        if low in GERMAN_VERBS:
            several = any(word.low in GERMAN_VERBS for word in words[modal + 1 : end])
            if several or not last.capital:
                return None
            targets = self._german_targets(words[:end], modal + 1)
            return SentenceClause((), GERMAN_VERBS[low], "does not" if negated else "does", False, targets), end, None
        if last.capital or not last.low.endswith(_GERMAN_INFINITIVES) or end - 1 == modal:
            return None
        if negated and low in {"muss", "müssen"}:
            return None
        targets = self._german_targets(words[: end - 1], modal + 1)
        return SentenceClause((), last.low, _modality(low, negated=negated), False, targets), end, None

    def _german_targets(self, words: Sequence[SentenceWord], at: int) -> tuple[VerbTarget, ...]:
        """Return the objects and prepositional phrases from word `at` on, without genitives such as "des Beirats"."""
        targets: list[VerbTarget] = []
        by = ""
        while at < len(words):
            phrase = self.phrase(words, at)
            if words[at].low in _GERMAN_PREPOSITIONS or phrase is None:
                by = words[at].low if words[at].low in _GERMAN_PREPOSITIONS else by
                at += 1
                continue
            is_target = phrase.words[-1].capital and (by or words[at].low not in _GENITIVE)
            targets += [VerbTarget(phrase, by)] if is_target else []
            by, at = "", phrase.last
        return tuple(targets)

    def _main_verb(
        self, words: Sequence[SentenceWord], verb: int, at: int, *, modal: bool, bare: bool
    ) -> tuple[str, bool, int] | None:
        """Return the base form of the verb, whether the verb is passive, and the position after the verb."""
        low = words[verb].low
        if modal and words[at].low in {"be", "have"}:
            _, after = _skip_adverbs(words, at + 1)
            return self._after_be(words, after) if words[at].low == "be" else self._after_have(words, after)
        if modal:
            plain = words[at].low.isalpha() and words[at].low not in _FUNCTION_WORDS
            return (words[at].low, False, at + 1) if plain else None
        if low in BE:
            return self._after_be(words, at)
        if low in HAVE:
            return self._after_have(words, at)
        base = self._verbs.base(low, "third") or (self._verbs.base(low, "base") if bare else None)
        return (base, False, verb + 1) if base else None

    def _after_be(self, words: Sequence[SentenceWord], at: int) -> tuple[str, bool, int] | None:
        if at >= len(words) or words[at].separator:
            return None
        participle = self._verbs.base(words[at].low, "participle")
        if participle and not words[at].capital:
            return participle, True, at + 1
        if words[at].low == "responsible":
            return "be responsible", False, at + 1
        return ("be", False, at) if words[at].low in DETERMINERS or words[at].capital else None

    def _after_have(self, words: Sequence[SentenceWord], at: int) -> tuple[str, bool, int] | None:
        if at >= len(words) or words[at].separator:
            return None
        low = words[at].low
        perfect = low in _PERFECT_PARTICIPLES | {"to"} or low.endswith("ed") or self._verbs.base(low, "participle")
        return None if perfect else ("have", False, at)

    def _next_predicate(self, words: Sequence[SentenceWord], at: int, *, bare: bool) -> int | None:
        """Return the position of the next verb with the same subject, after a comma or conjunction, or None."""
        for later in range(at, min(len(words), at + _AHEAD)):
            if words[later].low in _RELATIVES | _SUBORDINATORS:
                return None
            joined = words[later].low in _CONJUNCTIONS
            if not joined and words[later].separator != ",":
                continue
            verb = later + 1 if joined else later
            if (
                verb < len(words)
                and not (joined and words[verb].separator)
                and self._is_joined_verb(words, verb, bare=bare)
            ):
                return verb
        return None

    def _is_joined_verb(self, words: Sequence[SentenceWord], at: int, *, bare: bool) -> bool:
        low = words[at].low
        following = words[at + 1] if at + 1 < len(words) else None
        if low in MODALS | BE | {"has"}:
            return True
        if self._verbs.base(low, "third") and following is not None and not words[at].capital:
            return not following.separator and low not in PREPOSITIONS
        determined = following is not None and following.low in DETERMINERS
        return bare and self._verbs.base(low, "base") is not None and determined

    # Targets.

    def _targets(self, words: Sequence[SentenceWord], at: int) -> tuple[tuple[VerbTarget, ...], int]:
        """Return the objects and prepositional phrases after a verb, and the position after them."""
        found: list[VerbTarget] = []
        by = ""
        while at < len(words) and len(found) < _MAX_TARGETS:
            word = words[at]
            if word.separator and (not found or not self._is_listed(words, at)):
                break
            counts = any(_words_match(words, at, one) for one in (("up", "to"), ("at", "least"), ("at", "most")))
            if word.low in PREPOSITIONS and not word.separator and not counts:
                if at + 1 < len(words) and self._is_verbal(word, words[at + 1]):
                    break
                by = word.low
                at += 1
                continue
            # The phrase after "and" is a further object, unless it is the subject of another verb.
            further = self.phrase(words, at + 1) if word.low in _CONJUNCTIONS and found else None
            joins = further and self._starts_phrase(words, at + 1) and not self._is_verb_at(words, further.last)
            if joins or (word.low in ADVERBS and not by):
                at += 1
                continue
            phrase = self.phrase(words, at)
            apart = found and not by and not word.separator and words[at - 1].low not in _CONJUNCTIONS
            if phrase is None or apart:
                break
            found.append(VerbTarget(phrase, by))
            at = phrase.last
        return tuple(found), at

    def _is_verbal(self, preposition: SentenceWord, following: SentenceWord) -> bool:
        if following.capital:
            return False
        infinitive = preposition.low == "to" and self._verbs.base(following.low, "base") is not None
        return infinitive or (following.low.endswith("ing") and following.low not in ING_NOUNS)


def _determiners(words: Sequence[SentenceWord], at: int) -> tuple[int, str, bool]:
    """Return the position after determiners such as "at least two", their quantity, and whether there are any."""
    first, quantity = at, list[str]()
    while first < len(words) and (first == at or not words[first].separator):
        counting = next((one for one in _COUNTING if _words_match(words, first, one)), None)
        low = words[first].low
        if counting is not None:
            quantity.append(" ".join(counting))
            first += len(counting)
        elif low in DETERMINERS or low.isdigit():
            quantity += [low] if low in QUANTIFIERS or low.isdigit() else []
            first += 1
            if low in QUANTIFIERS and first < len(words) and words[first].low == "of":
                first += 1
        else:
            break
    return first, " ".join(quantity), first > at


def _may_start_clause(words: Sequence[SentenceWord], at: int, *, after_clause: bool) -> bool:
    """Return whether a clause may start at a word.

    `after_clause` means that the sentence has a clause before the word. Only then may a clause follow "and" without a
    comma: "the Clerk signs the form and the Reader pays", but not "the Clerk and the Reader pay".
    """
    if at == 0 or words[at].separator:
        return True
    before = words[at - 1]
    if before.low in ADVERBS and (at == 1 or before.separator):
        return True
    if before.low == "that":
        return at == 1 or words[at - 2].low not in PREPOSITIONS
    if before.low in _CONJUNCTIONS:
        return after_clause or bool(before.separator)
    return before.low in _BEFORE_CLAUSES


def _after_relative(words: Sequence[SentenceWord], at: int) -> int:
    """Return the position of the modal verb after the relative clause that starts at `at`.

    In "a Reader who owes a fine must pay", `at` is the position of "who", and that of "must" is returned. Return `at`
    if no modal verb follows, or if another clause starts first.
    """
    for later in range(at + 1, min(len(words), at + _MAX_RELATIVE_WORDS)):
        word = words[later]
        if word.separator.strip(",") or word.low in _SUBORDINATORS - _RELATIVES:
            return at
        if word.low in MODALS and later > at + 2 and words[later - 1].low not in _RELATIVES | PRONOUNS:
            return later
    return at


def _skip_adverbs(words: Sequence[SentenceWord], at: int) -> tuple[bool, int]:
    """Return whether "not" is among the adverbs that start at `at`, and the position after these adverbs."""
    negated = False
    while at < len(words) and not words[at].separator:
        low = words[at].low
        aside = next((one for one in _ASIDES if _words_match(words, at, one)), ())
        at += max(0, len(aside) - 1)
        if low in NEGATIONS or aside in _DENYING_ASIDES:
            negated = True
        elif not aside and low not in ADVERBS and (not low.endswith("ly") or low in _LY_VERBS):
            break
        at += 1
    return negated, at


def _modality(low: str, *, negated: bool) -> Modality:
    if low in _PERMISSIONS or low == "cannot":
        return "may not" if negated else "may"
    if low in {"should", "soll", "sollen"}:
        return "should not" if negated else "should"
    if low == "will":
        return "will not" if negated else "will"
    if low in {"do", "does"}:
        return "does not"
    if low == "need":
        return "need not"
    return "must not" if negated else "must"


def _is_denied(words: Sequence[SentenceWord], at: int) -> bool:
    """Return whether the word at `at` is an auxiliary before "not": "need not", "does not"."""
    return words[at].low in _DENIED_VERBS and at + 1 < len(words) and words[at + 1].low in NEGATIONS


def _is_conditional(words: Sequence[SentenceWord], at: int) -> bool:
    """Return whether the clause that starts at a word is a condition, or a further part of one.

    Examples are "if the Clerk is ill", "in the event that the Clerk is ill", and the second clause in "if the letter
    means that the Clerk is ill". A comma ends a condition.
    """
    for before in range(at - 1, -1, -1):
        low = words[before].low
        if words[before + 1].separator or (before == at - 2 and words[at - 1].low not in _CONJUNCTIONS | {"that"}):
            return False
        if low in _CONDITIONS or (low == "that" and before > 0 and words[before - 1].low in _CONDITION_NOUNS):
            return True
    return False


def _words_match(words: Sequence[SentenceWord], at: int, expected: Sequence[str]) -> bool:
    """Return whether the words at `at` are the expected ones; "*" matches any word."""
    found = words[at : at + len(expected)]
    return len(found) == len(expected) and all(
        wanted in {"*", word.low} for word, wanted in zip(found, expected, strict=True)
    )
