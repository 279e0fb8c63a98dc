"""When a term is the term that was meant, and a text the text."""

from collections import Counter
from collections.abc import Sequence

from elt_llm_core.text.normalise import words

ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "ein", "eine"})
SAME_TEXT = 0.8
"""Share of words, 0 to 1, from which two texts are the same definition."""
_AFTER_ES = ("ses", "shes", "ches", "xes", "zes")


def term_key(term: str) -> tuple[str, ...]:
    """What two writings of a term have in common: its folded words in the singular, without an article before them."""
    folded = [part for word in words(term) for part in word.replace("'s", "").split("-") if part]
    if len(folded) > 1 and folded[0] in ARTICLES:
        folded = folded[1:]
    return tuple(_singular(word) for word in folded)


def words_of(text: str) -> list[str]:
    """Folded words of a text without what numbers its clauses: single letters and digits."""
    return [word for word in words(text) if len(word) > 1]


def share(gold: str, found: str) -> float:
    """Words that two texts share, each counted as often as both have it, over the words of the longer; 0 to 1."""
    one, other = words_of(gold), words_of(found)
    return _shared(one, other) / max(len(one), len(other), 1)


def holds(gold: str, quote: str, least: float = SAME_TEXT) -> bool:
    """Whether a quote, which may begin with the term, has that share of the words of `gold` in one stretch of it."""
    wanted, given = words_of(gold), words_of(quote)
    if not wanted:
        return False
    # The stretch is as long as what is looked for; half a length is a step small enough to miss no more than a word.
    step = max(1, len(wanted) // 8)
    starts = range(0, max(1, len(given) - len(wanted) + step), step)
    return any(_shared(wanted, given[start : start + len(wanted)]) >= least * len(wanted) for start in starts)


def says(text: str, wanted: str) -> bool:
    """Whether the words of `wanted` stand in `text` one after the other."""
    sought = words(wanted)
    return bool(sought) and f" {' '.join(sought)} " in f" {' '.join(words(text))} "


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return (Counter(one) & Counter(other)).total()


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(_AFTER_ES):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
