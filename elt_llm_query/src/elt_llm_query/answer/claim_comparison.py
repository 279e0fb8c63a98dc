"""What agrees and what does not between a claim and one or two sentences of the sources, in numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.claim_order import exchanged, roles_swapped
from elt_llm_query.answer.claim_rules import Difference, compare_rules
from elt_llm_query.answer.claim_slots import Alignment, Slot, align
from elt_llm_query.answer.claim_sources import Sources, SourceSentence
from elt_llm_query.answer.claim_tokens import Sentence, Token
from elt_llm_query.answer.term_weights import match

_REACH = 6
_PRONOUNS = frozenset(
    """it he she they his her its their him them this these that those es er sie sein seine ihr ihre dieser diese
    dieses deren dessen""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Comparison:
    """A claim against sentences: the share of its weight they hold, and each kind of disagreement found."""

    sentences: tuple[SourceSentence, ...]
    coverage: float
    """Share of the weight of the claim's words, names and numbers left out, that the sentences have."""
    strange: float
    """Share of the same weight that no passage has at all."""
    elsewhere: float
    """Share of the same weight that only other sentences have."""
    numbers: tuple[str, ...]
    """Numbers of the claim that the sentences lack."""
    names: tuple[str, ...]
    """Names of the claim that the sentences, and what they refer to, lack."""
    borrowed: tuple[str, ...]
    """Names that only the sentences before or the headings have."""
    contrary: tuple[str, ...]
    """Words whose contrary the sentences have, and words denied on one side only."""
    other_force: tuple[str, ...]
    """"May" where the sentences say "must", or the other way round."""
    exchanged: float
    swapped: bool
    replaced: tuple[Slot, ...]
    """Where the first of the sentences has another name, number or thing in the same place."""
    traded: int
    """How many of the claim's names the first sentence lacks while it has as many that the claim lacks."""


class Comparer:
    """Holds one claim against sentences of the sources."""

    def __init__(self, sources: Sources, contraries: ContraryFinder) -> None:
        self._sources = sources
        self._contraries = contraries

    def coverage(self, claim: Sentence, stems: frozenset[str]) -> float:
        """Share of the weight of all the claim's words that `stems` has."""
        weights = {stem: self._sources.weight(stem) for stem in claim.stems}
        total = sum(weights.values())
        return sum(weight * match(stem, stems) for stem, weight in weights.items()) / total if total else 0.0

    def compare(self, claim: Sentence, sentences: Sequence[SourceSentence]) -> Comparison:
        """Everything that speaks for and against the sentences holding the claim."""
        stems = frozenset[str]().union(*(one.sentence.stems for one in sentences))
        differing = self._differing(claim, sentences)
        if differing is not None:
            claim, sentences = claim.without_rules, [_without_rules(one) for one in sentences]
        terms = self._terms(claim)
        total = sum(terms.values()) or 1.0
        lacking = {stem: weight * (1.0 - match(stem, stems)) for stem, weight in terms.items()}
        strange = sum(weight for stem, weight in lacking.items() if not match(stem, self._sources.stems))
        aligned = [align(claim, one.sentence) for one in sentences]
        apart = [self._name(token, claim, sentences) for token in claim.names]
        return Comparison(
            sentences=tuple(sentences),
            coverage=1.0 - sum(lacking.values()) / total if terms else 1.0,
            strange=strange / total,
            elsewhere=(sum(lacking.values()) - strange) / total,
            numbers=self._numbers(claim, sentences),
            names=tuple(token.text for token, place in zip(claim.names, apart, strict=True) if place == "apart"),
            borrowed=tuple(token.text for token, place in zip(claim.names, apart, strict=True) if place == "beside"),
            contrary=(*(differing.contrary if differing else ()), *self._contrary(claim, sentences, aligned)),
            other_force=differing.other_force if differing else (),
            exchanged=max(exchanged(claim, one.sentence) for one in sentences),
            swapped=any(one.crossed for one in aligned) or any(roles_swapped(claim, one.sentence) for one in sentences),
            replaced=tuple(slot for slot in aligned[0].slots if slot.proper or self._is_other_noun(slot)),
            traded=self._traded(claim, sentences[0].sentence),
        )

    def _differing(self, claim: Sentence, sentences: Sequence[SourceSentence]) -> Difference | None:
        """How the claim differs from the sentence most like it as a rule; None if either lays nothing down."""
        laying = [one.sentence for one in sentences if one.sentence.rules.clauses]
        if not claim.rules.clauses or not laying:
            return None
        nearest = max(laying, key=lambda one: self.coverage(claim, one.stems))
        return compare_rules(claim.rules, nearest.rules)

    def _terms(self, claim: Sentence) -> dict[str, float]:
        tokens = (token for token in claim.tokens if not token.name and not token.number)
        return {stem: self._sources.weight(stem) for token in tokens for stem in token.stems}

    def _numbers(self, claim: Sentence, sentences: Sequence[SourceSentence]) -> tuple[str, ...]:
        there = [(one, number) for one in sentences for number in one.sentence.numbers]
        missing = []
        for number in claim.numbers:
            around = self._around(claim, number.start)
            agreeing = [one for one, other in there if number.agrees(other)]
            if agreeing and (len(sentences) == 1 or any(around & one.sentence.stems for one in agreeing)):
                continue
            if number.weak and not agreeing:
                continue
            missing.append(claim.text[number.start : number.end])
        return tuple(missing)

    def _around(self, claim: Sentence, start: int) -> frozenset[str]:
        """The stems of the words that stand next to a place."""
        near = sorted((token for token in claim.tokens if token.stems), key=lambda token: abs(token.start - start))
        return frozenset(stem for token in near[1 : _REACH + 1] if not token.number for stem in token.stems)

    def _name(self, token: Token, claim: Sentence, sentences: Sequence[SourceSentence]) -> str:
        """Where a name stands: "there", only "beside" (before, in a heading), or "apart"."""
        if any(self._has(one.sentence.words, one.sentence.stems, token) for one in sentences):
            return "there"
        if (
            token.text.isupper()
            and len(token.text) > 1
            and any(_spelled_out(token, one.sentence.text) for one in sentences)
        ):
            return "there"
        if any(_abbreviated(token, claim, one.sentence) for one in sentences):
            return "there"
        if any(self._has(one.over, frozenset(), token) for one in sentences):
            return "beside"
        refers = any(_PRONOUNS & one.sentence.words or _says_the(one.sentence) for one in sentences)
        return "beside" if refers and any(self._has(one.before, frozenset(), token) for one in sentences) else "apart"

    def _has(self, words: frozenset[str], stems: frozenset[str], token: Token) -> bool:
        if token.word in words or any(match(stem, stems) for stem in token.stems):
            return True
        return any(_same_root(token.word, word) for word in words)

    def _is_other_noun(self, slot: Slot) -> bool:
        """Whether a noun that the passages use elsewhere stands for another; one they never use may mean the same."""
        return slot.nouns and any(match(stem, self._sources.stems) for token in slot.ours for stem in token.stems)

    def _traded(self, claim: Sentence, source: Sentence) -> int:
        ours = sum(not self._has(source.words, source.stems, token) for token in claim.names)
        theirs = sum(not self._has(claim.words, claim.stems, token) for token in source.names)
        return min(ours, theirs)

    def _contrary(
        self, claim: Sentence, sentences: Sequence[SourceSentence], aligned: Sequence[Alignment]
    ) -> tuple[str, ...]:
        """Contraries and one-sided denials; one of each takes the other back ("not simple" for "complicated")."""
        best: tuple[str, ...] | None = None
        for one, alignment in zip(sentences, aligned, strict=True):
            found = self._contraries.find(claim, one.sentence, alignment)
            relevant = self.coverage(claim, one.sentence.stems) > 0.25
            if relevant and (best is None or len(found) > len(best)):
                best = found
        return best or ()


def _without_rules(one: SourceSentence) -> SourceSentence:
    return replace(one, sentence=one.sentence.without_rules) if one.sentence.rules.clauses else one


def _says_the(sentence: Sentence) -> bool:
    return bool(sentence.tokens) and sentence.tokens[0].word in {"the", "der", "die", "das", "both", "this", "such"}


def _same_root(left: str, right: str) -> bool:
    shorter, longer = sorted((left, right), key=len)
    needed = max(4, len(shorter) - 3)
    return len(shorter) >= 4 and longer[:needed] == shorter[:needed] and len(longer) - len(shorter) <= 4


def _spelled_out(token: Token, text: str) -> bool:
    letters = r"\w*\W{1,3}(?:of |the |and )?".join(re.escape(letter) for letter in token.word if letter.isalpha())
    return bool(letters) and len(token.word) <= 6 and bool(re.search(rf"\b{letters}", fold(text)))


def _abbreviated(token: Token, claim: Sentence, source: Sentence) -> bool:
    """Whether the run of names that the token belongs to stands in the source as its first letters."""
    tokens = claim.tokens
    place = tokens.index(token)
    first, last = place, place
    while first > 0 and tokens[first - 1].name:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].name:
        last += 1
    initials = "".join(one.word[0] for one in tokens[first : last + 1])
    return len(initials) > 1 and any(one.word.replace(".", "") == initials for one in source.tokens)
