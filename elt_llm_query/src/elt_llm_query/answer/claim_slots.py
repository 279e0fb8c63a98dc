"""Words of a claim that stand where the source sentence has other words, the words around them being the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from elt_llm_query.answer.claim_tokens import Sentence, Token
from elt_llm_query.answer.term_weights import match

_LONGEST = 9
_FEWEST_SHARED = 0.45
_NEARLY_ALL = 0.7
_FEW = 3
_BY = frozenset("by von durch vom".split())  # noqa: SIM905
REFERRING = frozenset(
    """it he she they his her its their him them this these that those both such es er sie sein seine seinen ihr ihre
    ihren dieser diese dieses diesem deren dessen ihm ihn""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Slot:
    """`ours` of the claim, lacking in the source, in the place of `theirs`, lacking in the claim."""

    ours: tuple[Token, ...]
    theirs: tuple[Token, ...]

    @property
    def proper(self) -> bool:
        """Whether a name or number stands for another word, or another word for a name or number."""
        return any(token.name or token.number for token in (*self.ours, *self.theirs))

    @property
    def nouns(self) -> bool:
        """Whether a capitalised word stands for another within the sentence: in German, one thing for another."""
        return all(any(_capital(token) for token in side) for side in (self.ours, self.theirs))

    @property
    def phrases(self) -> tuple[str, str]:
        """Both sides as text."""
        return " ".join(token.text for token in self.ours), " ".join(token.text for token in self.theirs)


@dataclass(frozen=True)
class Alignment:
    """What a claim has in the places of a source sentence, both read from the beginning.

    `slots` are the places with other words, `pairs` those of one word against one, `crossed` is true if two names or
    numbers stand in each other's place, `denied` if a negation stands on one side only.
    """

    slots: tuple[Slot, ...]
    pairs: tuple[tuple[Token, Token], ...]
    crossed: bool
    denied: bool


def align(claim: Sentence, source: Sentence) -> Alignment:
    """Lay a claim beside a sentence; nothing is found between texts that have too little in common."""
    ours, theirs = _keys(claim.tokens), _keys(source.tokens)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    shared = sum(block.size for block in matcher.get_matching_blocks())
    if shared < _FEWEST_SHARED * len(ours):
        return Alignment((), (), crossed=False, denied=False)
    apart = [
        (claim.tokens[start:end], source.tokens[other_start:other_end])
        for kind, start, end, other_start, other_end in matcher.get_opcodes()
        if kind != "equal" and max(end - start, other_end - other_start) <= _LONGEST
    ]
    found = (_slot(claim, source, mine, other) for mine, other in apart if mine and other)
    same_voice = bool(_BY & claim.words) == bool(_BY & source.words)
    near = shared >= _NEARLY_ALL * len(ours)
    return Alignment(
        tuple(slot for slot in found if slot),
        tuple((mine[0], other[0]) for mine, other in apart if len(mine) == len(other) == 1),
        crossed=near and same_voice and _crossed(apart),
        denied=near and _denied(apart),
    )


def _crossed(apart: Sequence[tuple[Sequence[Token], Sequence[Token]]]) -> bool:
    """Whether some name or number left one place for another whose own word came to the first."""
    moved = [(_proper(mine) - _proper(other), _proper(other) - _proper(mine)) for mine, other in apart]
    return any(
        one & other_gone and gone & other
        for position, (one, gone) in enumerate(moved)
        for other, other_gone in moved[position + 1 :]
    )


def _proper(tokens: Sequence[Token]) -> set[str]:
    """Names and numbers, and the nouns of German: whatever begins with a capital within the sentence."""
    return {token.word for token in tokens if token.number or _capital(token)}


def _capital(token: Token) -> bool:
    return bool(token.stems) and token.start > 0 and token.text[0].isupper()


def _denied(apart: Sequence[tuple[Sequence[Token], Sequence[Token]]]) -> bool:
    counts = [
        sum(token.denies for token in (*mine, *other)) for mine, other in apart if max(len(mine), len(other)) <= _FEW
    ]
    return sum(counts) % 2 == 1


def _keys(tokens: Sequence[Token]) -> list[str]:
    return [token.stems[0] if token.stems else token.word for token in tokens]


def _slot(claim: Sentence, source: Sentence, ours: Sequence[Token], theirs: Sequence[Token]) -> Slot | None:
    other = tuple(token for token in theirs if token.stems and _lacks(claim, source, token))
    mine = tuple(token for token in ours if token.stems and _lacks(source, claim, token))
    # A name may stand in the sentence elsewhere and yet be wrong in the place of another, which the claim lacks.
    if not mine and any(token.name for token in other):
        mine = tuple(token for token in ours if token.name)
    if not mine or not other or (any(token.word in REFERRING for token in theirs) and not any(t.name for t in other)):
        return None
    return Slot(mine, other)


def _lacks(sentence: Sentence, own: Sentence, token: Token) -> bool:
    """Whether a sentence has neither the word nor, if it is part of a number, the amount."""
    for number in own.numbers:
        if number.start <= token.start < number.end:
            return not any(number.agrees(other) for other in sentence.numbers)
    return not any(match(stem, sentence.stems) for stem in token.stems)
