"""How alike two names are whose words differ: by head noun, order and spelling, and not by shared words alone.

Measures that look at shared words, such as token_set_ratio, take "Data Owner" for "Data Steward". Names of one domain
differ in a single word that carries all the meaning: so every word of either name must have its counterpart, and the
head, which says what kind of thing it is, must stand at the head of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

How = Literal["same", "alias", "fuzzy", "none"]

TURNED = 0.95
"""Score of the same words in another order around a preposition: "Register of Interests", "Interests Register"."""
ABBREVIATED = 0.9
NARROWER = 0.8
"""Score where one name has a word more before the same two: it may be a kind of the other as well as the same."""
_TURNING = frozenset({"of", "for", "to", "on", "about", "from"})
_FILLING = frozenset({"the", "a", "an"})
_LIKELY = 0.85
_UNLIKELY = 0.6  # of how alike the letters are: two names that are none the same still have an order
_LEAST_LETTERS = 6
_TWO_SLIPS = 10  # letters of a word in which two may be wrong
_CODE_LETTERS = (2, 6)


@dataclass(frozen=True)
class Likeness:
    """How alike two names are: `score` 0 to 1, and whether they are the same, known as aliases, or merely similar.

    `fuzzy` means likely the same, to be shown with its score; `none` that they are two things, however alike.
    """

    score: float
    how: How


def fuzzy_likeness(left: Sequence[str], right: Sequence[str], written: tuple[str, str]) -> Likeness:
    """The likeness of two names by their compared words, which differ; symmetrical."""
    score = max(_by_words(_in_order(left), _in_order(right)), _by_letters(left, right, written))
    if score >= _LIKELY:
        return Likeness(round(score, 4), "fuzzy")
    letters = _UNLIKELY * fuzz.WRatio(*sorted((" ".join(left), " ".join(right)))) / 100
    return Likeness(round(max(score, letters), 4), "none")


def likely_keys(words: Sequence[str], written: str) -> frozenset[tuple[str, ...]]:
    """Names that are a likely match for each other have one of these in common: so not every pair is compared."""
    ordered, _ = _in_order(words)
    initials = "".join(word[0] for word in words if word not in _TURNING | _FILLING | {"and"})
    keys = {("all", *ordered), ("initials", written.lower() if written.isupper() else initials)}
    for position, word in enumerate(ordered):
        keys.add(("slip", str(position), word[0], *ordered[:position], *ordered[position + 1 :]))
    if len(ordered) > 1:
        keys |= {("narrower", *ordered), ("narrower", *ordered[1:])}
    return frozenset(keys)


def _in_order(words: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The words with the head last, fillers left out, and whether they were turned: "report of concern"."""
    kept = [word for word in words if word not in _FILLING]
    for position, word in enumerate(kept[1:-1], start=1):
        if word in _TURNING:
            rest = [one for one in kept[position + 1 :] if one not in _TURNING]
            return (*rest, *kept[:position]), True
    return tuple(kept), False


def _by_words(left: tuple[tuple[str, ...], bool], right: tuple[tuple[str, ...], bool]) -> float:
    (one, turned_one), (other, turned_other) = left, right
    if not one or not other:
        return 0.0
    if one == other:
        return TURNED if turned_one != turned_other else 1.0
    if len(one) == len(other):
        shares = [_same_word(a, b) for a, b in zip(one, other, strict=True)]
        slips = sum(share < 1 for share in shares)
        return min(shares) * (TURNED if turned_one != turned_other else 1.0) if slips == 1 else 0.0
    short, long = sorted((one, other), key=len)
    return NARROWER if len(short) > 1 and long[-len(short) :] == short and len(long) == len(short) + 1 else 0.0


def _same_word(one: str, other: str) -> float:
    """1 for equal words, less for a likely slip of the pen, else 0. Numbers and short words have no slips."""
    if one == other:
        return 1.0
    shorter = min(len(one), len(other))
    if shorter < _LEAST_LETTERS or one[0] != other[0] or not (one.isalpha() and other.isalpha()):
        return 0.0
    slips = OSA.distance(one, other)
    return 1 - slips / (shorter + slips) if slips == 1 or (slips == 2 and shorter >= _TWO_SLIPS) else 0.0


def _by_letters(left: Sequence[str], right: Sequence[str], written: tuple[str, str]) -> float:
    """An abbreviation in capitals against the first letters of the other name."""
    for short, long in ((written[0], right), (written[1], left)):
        initials = "".join(word[0] for word in long if word not in _TURNING | _FILLING | {"and"})
        if short.isupper() and _CODE_LETTERS[0] < len(short) <= _CODE_LETTERS[1] and short.lower() == initials:
            return ABBREVIATED
    return 0.0
