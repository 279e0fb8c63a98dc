"""The words of some collections that a mistyped one may be meant as, likeliest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_query.retrieve.masks import Mask
from elt_llm_query.understanding.edits import distance, is_swapped, one_mistake_away
from elt_llm_query.understanding.vocabulary import Vocabulary

SHORTEST_OF_TWO = 8  # letters of a word that may have two mistakes
TIMES_AS_FREQUENT = 3  # else two words are as likely to be meant, and neither is taken
_MOST_READ = 8  # stems that are looked at closely; the others are rarer


@dataclass(frozen=True)
class Neighbour:
    """A word of the documents near to one that was typed. `frequency`: in how many nodes its stem stands."""

    stem: str
    written: str
    rank: int
    """0: two letters are swapped; 1: one mistake of another kind; 2: two mistakes."""
    frequency: int


def outstanding(neighbours: Sequence[Neighbour]) -> Neighbour | None:
    """The nearest, if no other that is as near is nearly as frequent."""
    ordered = sorted(neighbours, key=lambda one: (one.rank, -one.frequency, one.stem))
    if len(ordered) > 1 and ordered[1].rank == ordered[0].rank:
        return ordered[0] if ordered[0].frequency >= TIMES_AS_FREQUENT * ordered[1].frequency else None
    return ordered[0] if ordered else None


def neighbours_of(
    typed: str,
    vocabularies: Sequence[Vocabulary],
    masks: Sequence[Mask | None],
    is_real: Callable[[str], bool],
    *,
    two: bool = True,
) -> list[Neighbour]:
    """Words one mistake away from `typed`, in lower case; if there are none and it is long, those two away.

    Only words of nodes that the masks allow. `two`: whether two mistakes may be.
    """
    guesses: dict[str, list[str]] = {}
    for each in vocabularies:
        for stem, words in _one_away(typed, each).items():
            guesses.setdefault(stem, []).extend(words)
    near = _with_frequency(dict.fromkeys(guesses, 1), vocabularies, masks)
    if not near and two and len(typed) >= SHORTEST_OF_TWO:
        apart = {stem: most for each in vocabularies for stem, most in each.near(each.stems(typed)[0], 2)}
        near = _with_frequency(apart, vocabularies, masks)
    spelled = ((stem, _spelling(stem, typed, guesses.get(stem, ()), vocabularies, masks, is_real)) for stem in near)
    return [
        Neighbour(stem, written, 0 if is_swapped(typed, written) else distance(typed, written, 2), near[stem])
        for stem, written in spelled
        if written
    ]


def _one_away(typed: str, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The stems of words one mistake away that some node has, with those words."""
    found: dict[str, list[str]] = {}
    for word in one_mistake_away(typed):
        if vocabulary.may_begin(word):
            for stem in vocabulary.guessed(word):
                if vocabulary.has(stem):
                    found.setdefault(stem, []).append(word)
    return found


def _with_frequency(
    stems: dict[str, int], vocabularies: Sequence[Vocabulary], masks: Sequence[Mask | None]
) -> dict[str, int]:
    """How often each stem stands in what is allowed, the nearest and most frequent few only."""
    counted = {
        stem: sum(each.frequency(stem, mask) for each, mask in zip(vocabularies, masks, strict=True)) for stem in stems
    }
    order = sorted((stem for stem in counted if counted[stem]), key=lambda stem: (stems[stem], -counted[stem], stem))
    return {stem: counted[stem] for stem in order[:_MOST_READ]}


def _spelling(
    stem: str,
    typed: str,
    guesses: Sequence[str],
    vocabularies: Sequence[Vocabulary],
    masks: Sequence[Mask | None],
    is_real: Callable[[str], bool],
) -> str:
    """A real word among the guesses, else the word of a passage if it is at most two mistakes away, else empty."""
    real = next((guess for guess in guesses if is_real(guess)), "")
    if real:
        return real
    for vocabulary, mask in zip(vocabularies, masks, strict=True):
        written = vocabulary.written(stem, typed, mask)
        if written:
            return written if distance(typed, written, 2) <= (1 if guesses else 2) else ""
    return ""
