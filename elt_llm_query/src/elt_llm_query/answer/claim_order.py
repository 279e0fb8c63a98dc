"""Whether two things have changed places between a claim and the sentence it is held against."""

from collections.abc import Sequence
from itertools import combinations

from elt_llm_query.answer.claim_tokens import Sentence, Token

_REACH = 4
_BE = frozenset("is are was were be been being wurde wurden wird werden worden".split())  # noqa: SIM905
_BY = frozenset("by von durch vom".split())  # noqa: SIM905
_MOST = 7
_ENOUGH = 0.75
_BEFORE_DOER = 4


def exchanged(claim: Sentence, source: Sentence) -> float:
    """How much better two names or numbers fit each other's place than their own: 0 for not at all, 1 for clearly."""
    things = [thing for thing in _things(claim) if _places(source, thing)][:_MOST]
    return max((_exchange(claim, source, left, right) for left, right in combinations(things, 2)), default=0.0)


def roles_swapped(claim: Sentence, source: Sentence) -> bool:
    """Whether a verb that stands between two names has them the other way round, the voice being the same.

    "France declared war on England" against "England declared war on France"; and with another voice, whether they
    stand as before: "A wrote B" against "A was written by B".
    """
    things = [thing for thing in _things(claim) if thing.name and len(_places(source, thing)) == 1][:_MOST]
    for left, right in combinations(things, 2):
        ours = sorted((claim.tokens.index(left), claim.tokens.index(right)))
        theirs = (_places(source, left)[0], _places(source, right)[0])
        said = _verbs(claim.tokens[ours[0] + 1 : ours[1]])
        shared = said & _verbs(source.tokens[min(theirs) + 1 : max(theirs)])
        if not shared or len(shared) < _ENOUGH * len(said):
            continue
        same_voice = _passive(claim, *ours) == _passive(source, min(theirs), max(theirs))
        same_order = (claim.tokens.index(left) < claim.tokens.index(right)) == (theirs[0] < theirs[1])
        if same_voice != same_order:
            return True
    return False


def _things(sentence: Sentence) -> list[Token]:
    """Names and numbers that stand once; of a name of several words, its last."""
    tokens = sentence.tokens
    heads = [
        token
        for position, token in enumerate(tokens)
        if (token.name and not (position + 1 < len(tokens) and tokens[position + 1].name)) or token.number
    ]
    return [token for token in heads if sum(other.word == token.word for other in tokens) == 1]


def _places(sentence: Sentence, thing: Token) -> list[int]:
    return [place for place, token in enumerate(sentence.tokens) if _same(token, thing)]


def _same(left: Token, right: Token) -> bool:
    return left.word == right.word or bool(set(left.stems) & set(right.stems))


def _exchange(claim: Sentence, source: Sentence, left: Token, right: Token) -> float:
    if left.number != right.number or _same(left, right):
        return 0.0
    ours = (claim.tokens.index(left), claim.tokens.index(right))
    theirs = (_places(source, left), _places(source, right))
    own = [
        max(_likeness(claim, our, source, place) for place in there) for our, there in zip(ours, theirs, strict=True)
    ]
    other = [
        max(_likeness(claim, our, source, place) for place in there)
        for our, there in zip(ours, reversed(theirs), strict=True)
    ]
    return max(0.0, min(1.0, (min(other[0] - own[0], other[1] - own[1]) + (sum(other) - sum(own)) / 2) / 2))


def _likeness(claim: Sentence, place: int, source: Sentence, other: int) -> float:
    """How alike the words beside two places are, 0 to 1: the nearer they stand, the more they count."""
    total = shared = 0.0
    for step in (-1, 1):
        for distance in range(1, _REACH + 1):
            word = _at(claim.tokens, place + step * distance)
            weight = 1.0 / distance
            total += weight
            gaps = (
                abs(distance - gap) for gap in range(1, _REACH + 2) if _at(source.tokens, other + step * gap) == word
            )
            nearest = min(gaps, default=None)
            shared += 0.0 if nearest is None else weight / (1 + nearest)
    return shared / total


def _at(tokens: Sequence[Token], place: int) -> str:
    if not 0 <= place < len(tokens):
        return "^" if place < 0 else "$"
    return tokens[place].stems[0] if tokens[place].stems else tokens[place].word


def _verbs(tokens: Sequence[Token]) -> set[str]:
    return {stem for token in tokens if not token.name and not token.number for stem in token.stems}


def _passive(sentence: Sentence, first: int, last: int) -> bool:
    between = [token.word for token in sentence.tokens[first + 1 : last]]
    before = [token.word for token in sentence.tokens[max(0, first - 3) : first + 1]]
    return bool(_BY.intersection(between[-_BEFORE_DOER:])) and bool(
        _BE.intersection([*between, *before]) or len(between) <= _REACH
    )
