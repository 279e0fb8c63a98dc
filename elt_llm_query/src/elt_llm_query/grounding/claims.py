"""Compare a claim with a source sentence: tokens, alignment, exchanged roles, antonyms and negations."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from typing import Final

from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.grounding.rules import MEASURES, NumberValue, RuleSet, find_numbers, read_rules
from elt_llm_query.grounding.sentences import match_term
from elt_llm_query.understanding.patterns import PatternFile

_PATTERNS: Final = PatternFile(__file__)
_BE, _BY, _DENYING, _LIMITS, _REFERRING = map(_PATTERNS.words, ("be", "by", "denying", "limits", "referring"))
_NEGATORS: Final = language_words("negators", folded=True) | _DENYING
_PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis", "non")  # negate a stem of four or more characters
_SCOPE: Final = 5  # words after a negation that it may negate

_WORD = re.compile(r"[^\W_](?:[\w'\u2019]|[.&+#/-](?=\w)){0,60}|[%$€£]")
_CLAUSE_END = re.compile(r"[,;:.!?()\u2013\u2014]")
_POSSESSIVE = re.compile(r"['\u2019]s?$")


@dataclass(frozen=True)
class SentenceToken:
    """A word of a sentence: as written, folded to plain lower case, and its stems (none for a stopword).

    `denies` is true for a negation, and `denied` for a word to which a negation applies.
    """

    text: str
    word: str
    stems: tuple[str, ...]
    start: int
    end: int
    name: bool
    number: bool
    denied: bool
    denies: bool


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence with its tokens in order, its numbers, and the sets of its stems and words.

    `rules` are the rules that it states, such as "a player must register".
    """

    text: str
    tokens: tuple[SentenceToken, ...]
    numbers: tuple[NumberValue, ...]
    stems: frozenset[str]
    words: frozenset[str]
    rules: RuleSet

    @cached_property
    def denied(self) -> frozenset[str]:
        """The stems of the negated words."""
        return frozenset(stem for token in self.tokens if token.denied for stem in token.stems)

    @property
    def without_rules(self) -> "ParsedSentence":
        """The sentence without rule words such as "must not", because rules are compared separately."""
        tokens = tuple(
            replace(token, denied=False, denies=False) if token.start in self.rules.inside else token
            for token in self.tokens
            if token.start not in self.rules.positions
        )
        return replace(self, tokens=tokens)

    @property
    def names(self) -> list[SentenceToken]:
        """The tokens that are names."""
        return [token for token in self.tokens if token.name]


def parse_sentence(text: str, tokeniser: KeywordTokeniser, is_name: Callable[[str, bool], bool]) -> ParsedSentence:
    """Parse a text; `is_name(word, at_start)` decides whether a capitalised word is a name."""
    numbers = tuple(find_numbers(text))
    covered = {position for number in numbers for position in range(number.start, number.end)}
    denied, denying = _negation_scopes(text)
    tokens: list[SentenceToken] = []
    opens = True
    for found in _WORD.finditer(text):
        surface = _POSSESSIVE.sub("", found.group().rstrip(".")) or found.group()
        is_number = found.start() in covered or surface[0].isdigit()
        name = not is_number and surface[0].isupper() and fold(surface) not in MEASURES and is_name(surface, opens)
        stems, start = tuple(tokeniser.stems(surface)), found.start()
        flags = (name, is_number, start in denied, start in denying)
        tokens.append(SentenceToken(surface, fold(surface), stems, start, found.end(), *flags))
        opens = text[found.end() : found.end() + 2].strip()[:1] in (".", "!", "?", ":") and not surface.isupper()
    return ParsedSentence(
        text,
        tuple(tokens),
        numbers,
        frozenset(stem for token in tokens for stem in token.stems),
        frozenset(token.word for token in tokens),
        read_rules(text, numbers, tokeniser.stems),
    )


def _negation_scopes(text: str) -> tuple[set[int], set[int]]:
    """Return two sets of start positions: those of the words that are negated, and those of the negations."""
    denied, denying = set[int](), set[int]()
    found = list(_WORD.finditer(text))
    for position, one in enumerate(found):
        word = fold(one.group())
        if word not in _NEGATORS and not word.endswith("n't"):
            continue
        following = found[position + 1 : position + 1 + _SCOPE]
        if following and fold(following[0].group()) in _LIMITS:
            continue
        denying.add(one.start())
        last = one.end()
        for other in following:
            if _CLAUSE_END.search(text[last : other.start()]):
                break
            denied.add(other.start())
            last = other.end()
        if fold(one.group()) == "nicht":  # "nicht" often follows the words that it negates
            denied |= {other.start() for other in found[max(0, position - 2) : position]}
    return denied, denying


@dataclass(frozen=True)
class AlignmentSlot:
    """A difference at one position: `ours` are the words only in the claim, `theirs` the words only in the source."""

    ours: tuple[SentenceToken, ...]
    theirs: tuple[SentenceToken, ...]

    @property
    def proper(self) -> bool:
        """Whether the claim's words or the source's words at this position include a name or number."""
        return any(token.name or token.number for token in (*self.ours, *self.theirs))

    @property
    def single(self) -> bool:
        """Whether one content word is in place of one other: "landlord" of "tenant"."""
        return len(self.ours) == len(self.theirs) == 1

    @property
    def nouns(self) -> bool:
        """Whether both the claim and the source have a capitalised word here that does not start the sentence.

        In German, where all nouns are capitalised, the two have different nouns at this position.
        """
        return all(any(_capital(token) for token in side) for side in (self.ours, self.theirs))


@dataclass(frozen=True)
class Alignment:
    """The differences between a claim and a source sentence, aligned word by word.

    `slots` are the positions where each has content words that the other lacks. `pairs` are all positions where a
    single word is in place of another single word: ("before", "after"). `crossed` is true if two names, numbers or
    words have exchanged positions, `denied` if only one of claim and source contains a negation, and `near` if most
    words are the same in the same order.
    """

    slots: tuple[AlignmentSlot, ...]
    pairs: tuple[tuple[SentenceToken, SentenceToken], ...]
    crossed: bool
    denied: bool
    near: bool = False


def align_claim(claim: ParsedSentence, source: ParsedSentence) -> Alignment:
    """Align a claim with a source sentence, word by word. Return no differences if they share too few words."""
    ours, theirs = list(map(_key, claim.tokens)), list(map(_key, source.tokens))
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    shared = sum(block.size for block in matcher.get_matching_blocks())
    if shared < 0.45 * len(ours):  # too few words in common
        return Alignment((), (), crossed=False, denied=False)
    apart = [
        (claim.tokens[start:end], source.tokens[other_start:other_end])
        for kind, start, end, other_start, other_end in matcher.get_opcodes()
        if kind != "equal" and max(end - start, other_end - other_start) <= 9  # words; longer parts differ entirely
    ]
    slots = (_slot(claim, source, mine, other) for mine, other in apart if mine and other)
    same_voice = bool(_BY & claim.words) == bool(_BY & source.words)
    near = shared >= 0.7 * len(ours)  # enough words in common to compare names and negations
    few = [(*mine, *other) for mine, other in apart if max(len(mine), len(other)) <= 3]  # words
    return Alignment(
        tuple(filter(None, slots)),
        tuple((mine[0], other[0]) for mine, other in apart if len(mine) == len(other) == 1),
        crossed=near and same_voice and _has_crossed(apart),
        denied=near and sum(token.denies for tokens in few for token in tokens) % 2 == 1,
        near=near,
    )


def _has_crossed(apart: Sequence[tuple[Sequence[SentenceToken], Sequence[SentenceToken]]]) -> bool:
    """Whether two names, numbers or other content words have exchanged places."""
    sides = [({_key(token) for token in side if token.stems or token.number} for side in pair) for pair in apart]
    moved = [(mine - other, other - mine) for mine, other in sides]
    return any(
        one & other_gone and gone & other
        for position, (one, gone) in enumerate(moved)
        for other, other_gone in moved[position + 1 :]
    )


def _capital(token: SentenceToken) -> bool:
    return bool(token.stems) and token.start > 0 and token.text[0].isupper()


def _key(token: SentenceToken) -> str:
    return token.stems[0] if token.stems else token.word


def _slot(
    claim: ParsedSentence, source: ParsedSentence, ours: Sequence[SentenceToken], theirs: Sequence[SentenceToken]
) -> AlignmentSlot | None:
    other = tuple(token for token in theirs if token.stems and _lacks(claim, source, token))
    mine = tuple(token for token in ours if token.stems and _lacks(source, claim, token))
    # A name in place of another is wrong even if the source contains it elsewhere, unless the claim contains both.
    if not mine and any(token.name for token in other):
        mine = tuple(token for token in ours if token.name)
    if not mine or not other or (any(token.word in _REFERRING for token in theirs) and not any(t.name for t in other)):
        return None
    return AlignmentSlot(mine, other)


def _lacks(sentence: ParsedSentence, own: ParsedSentence, token: SentenceToken) -> bool:
    """Return whether `sentence` lacks a token of the sentence `own`. Numbers are compared by amount, words by stem."""
    for number in own.numbers:
        if number.start <= token.start < number.end:
            return not any(number.agrees(other) for other in sentence.numbers)
    return not any(match_term(stem, sentence.stems) for stem in token.stems)


_REACH = 4  # words on either side of a name that are compared
_MOST = 7  # names and numbers of a claim that are compared in pairs
_COMMON_VERBS = 0.75  # share of the words between two names that claim and source must have in common


def exchange_score(claim: ParsedSentence, source: ParsedSentence) -> float:
    """Return how much better the source would match if two names or numbers in the claim were exchanged, 0 to 1."""
    names = [name for name in _unique_names(claim) if _positions(source, name)][:_MOST]
    return max((_exchange(claim, source, left, right) for left, right in combinations(names, 2)), default=0.0)


def roles_swapped(claim: ParsedSentence, source: ParsedSentence) -> bool:
    """Whether two names around a verb have changed roles.

    If claim and source are both active or both passive, the order then differs: "France declared war on England",
    "England declared war on France". Otherwise, the order is the same: "A wrote B", "A was written by B".
    """
    names = [name for name in _unique_names(claim) if name.name and len(_positions(source, name)) == 1][:_MOST]
    for left, right in combinations(names, 2):
        ours = (claim.tokens.index(left), claim.tokens.index(right))
        theirs = (_positions(source, left)[0], _positions(source, right)[0])
        verbs = _verbs(claim.tokens[min(ours) + 1 : max(ours)])
        shared = verbs & _verbs(source.tokens[min(theirs) + 1 : max(theirs)])
        if not shared or len(shared) < _COMMON_VERBS * len(verbs):
            continue
        same_voice = _passive(claim, min(ours), max(ours)) == _passive(source, min(theirs), max(theirs))
        same_order = (ours[0] < ours[1]) == (theirs[0] < theirs[1])
        if same_voice != same_order:
            return True
    return False


def _unique_names(sentence: ParsedSentence) -> list[SentenceToken]:
    """Return the names and numbers that occur only once. A name of several words is represented by its last word."""
    tokens = sentence.tokens
    heads = [
        token
        for position, token in enumerate(tokens)
        if (token.name and not (position + 1 < len(tokens) and tokens[position + 1].name)) or token.number
    ]
    return [token for token in heads if sum(other.word == token.word for other in tokens) == 1]


def _positions(sentence: ParsedSentence, name: SentenceToken) -> list[int]:
    return [position for position, token in enumerate(sentence.tokens) if _same_name(token, name)]


def _same_name(left: SentenceToken, right: SentenceToken) -> bool:
    return left.word == right.word or bool(set(left.stems) & set(right.stems))


def _exchange(claim: ParsedSentence, source: ParsedSentence, left: SentenceToken, right: SentenceToken) -> float:
    if left.number != right.number or _same_name(left, right):
        return 0.0
    ours = (claim.tokens.index(left), claim.tokens.index(right))
    theirs = (_positions(source, left), _positions(source, right))
    own, other = (
        [max(_likeness(claim, our, source, one) for one in there) for our, there in zip(ours, positions, strict=True)]
        for positions in (theirs, theirs[::-1])
    )
    return max(0.0, min(1.0, (min(other[0] - own[0], other[1] - own[1]) + (sum(other) - sum(own)) / 2) / 2))


def _likeness(claim: ParsedSentence, position: int, source: ParsedSentence, other: int) -> float:
    """Return how similar the words around two positions are, 0 to 1. Nearer words count more."""
    total = shared = 0.0
    for step in (-1, 1):
        for distance in range(1, _REACH + 1):
            word = _token_at(claim.tokens, position + step * distance)
            weight = 1.0 / distance
            total += weight
            gaps = (
                abs(distance - gap)
                for gap in range(1, _REACH + 2)
                if _token_at(source.tokens, other + step * gap) == word
            )
            nearest = min(gaps, default=None)
            shared += 0.0 if nearest is None else weight / (1 + nearest)
    return shared / total


def _token_at(tokens: Sequence[SentenceToken], position: int) -> str:
    if not 0 <= position < len(tokens):
        return "^" if position < 0 else "$"
    return _key(tokens[position])


def _verbs(tokens: Sequence[SentenceToken]) -> set[str]:
    return {stem for token in tokens if not token.name and not token.number for stem in token.stems}


def _passive(sentence: ParsedSentence, first: int, last: int) -> bool:
    """Return whether the verb between two names is passive: "by" before the second name, as in "was written by"."""
    between = [token.word for token in sentence.tokens[first + 1 : last]]
    before = [token.word for token in sentence.tokens[max(0, first - 3) : first + 1]]  # may contain "was"
    return bool(_BY.intersection(between[-4:])) and bool(  # "by" at most four words before the second name
        _BE.intersection([*between, *before]) or len(between) <= _REACH
    )


class ContradictionFinder:
    """Finds contradictions between a claim and a source sentence: antonyms, and negations in only one of them.

    Antonyms are compared by their stems, so that "increased" is an antonym of "decreases". `tokeniser` stems both
    texts.
    """

    def __init__(self, tokeniser: KeywordTokeniser) -> None:
        self._tokeniser = tokeniser
        self._antonyms: dict[str, set[str]] = {}
        for pair in files(__package__).joinpath("antonyms.txt").read_text(encoding="utf-8").splitlines():
            left, right = map(self._key, pair.split())
            self._antonyms.setdefault(left, set()).add(right)
            self._antonyms.setdefault(right, set()).add(left)

    def find(self, claim: ParsedSentence, source: ParsedSentence, alignment: Alignment) -> tuple[str, ...]:
        """Return the claim's antonyms of words in the source, and the words negated in only one of them.

        One antonym and one negation cancel each other out, as in "hard" and "not easy".
        """
        pairs = ((ours.text, self._key(ours.word), self._key(theirs.word)) for ours, theirs in alignment.pairs)
        # At aligned positions, antonyms count even if both words also occur elsewhere.
        aligned = [text for text, own, other in pairs if other in self._antonyms.get(own, ())]
        opposed = tuple(dict.fromkeys([*self._opposed(claim, source), *aligned]))
        denied = tuple(dict.fromkeys([*_negated_only_in(claim, source), *_negated_only_in(source, claim)]))
        found = () if len(opposed) == len(denied) == 1 else (*opposed, *denied)
        if alignment.denied and not denied:
            negation = next((one.text for sentence in (claim, source) for one in sentence.tokens if one.denies), "")
            return (*found, negation)
        return found

    def _key(self, word: str) -> str:
        """Return the stem of a folded word, or the word itself if it is a stopword."""
        return next(iter(self._tokeniser.stems(word)), word)

    def _opposed(self, claim: ParsedSentence, source: ParsedSentence) -> tuple[str, ...]:
        """Return words of the claim whose opposite ("big" for "small", "unable" for "able") is only in the source."""
        keys = {self._key(token.word): token.text for token in claim.tokens if not token.name}
        theirs = {self._key(token.word) for token in source.tokens}
        ours, others = {key: text for key, text in keys.items() if key not in theirs}, theirs - keys.keys()
        found = [text for key, text in ours.items() if others & self._antonyms.get(key, set())]
        prefixed = [
            text
            for key, text in ours.items()
            for one in others
            if min(len(key), len(one)) >= 4 and any(key == prefix + one or one == prefix + key for prefix in _PREFIXES)
        ]
        return (*found, *prefixed)


def _negated_only_in(one: ParsedSentence, other: ParsedSentence) -> list[str]:
    """Return words that `one` negates but `other` contains without a negation, at most one word for each negation."""
    shared_words = []
    is_open = False
    for token in one.tokens:
        is_open = token.denies or (is_open and token.denied)
        if is_open and not token.denies and (shared := [stem for stem in token.stems if match_term(stem, other.stems)]):
            shared_words.append(shared[0])
            is_open = False
    return [word for word in shared_words if word not in other.denied]
