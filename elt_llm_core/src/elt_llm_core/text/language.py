"""Guessing the language of a text by the share of its stopwords."""

from collections import Counter
from functools import cache

from elt_llm_core.text.normalise import words
from elt_llm_core.text.stems import LANGUAGES, UNSPACED, stopwords_of

SAMPLE_CHARACTERS = 20_000
LEAST_SHARE = 0.15  # of all words; running text has between a third and a half
LEAST_WORDS = 10


def detect_language(text: str) -> str:
    """The code of the language with the most stopwords in the first part of the text; "en" when unsure."""
    sample = text[:SAMPLE_CHARACTERS]
    unspaced = UNSPACED.findall(sample)
    if len(unspaced) * 4 > len(sample):
        return _unspaced_language(unspaced)
    counts = Counter(words(sample))
    total = counts.total()
    if total < LEAST_WORDS:
        return "en"
    shares = {code: _share(counts, total, stopwords) for code, stopwords in _lists().items()}
    best = max(shares, key=lambda code: (shares[code], code == "en"))
    return best if shares[best] >= LEAST_SHARE else "en"


def _share(counts: Counter[str], total: int, stopwords: frozenset[str]) -> float:
    return sum(counts[word] for word in counts.keys() & stopwords) / total


def _unspaced_language(characters: list[str]) -> str:
    scripts = Counter(
        "ja" if character < "\u3400" else "ko" if character >= "\uac00" else "zh" for character in characters
    )
    # Japanese mixes its syllables with Chinese characters.
    return "ja" if scripts["ja"] * 5 > len(characters) else scripts.most_common(1)[0][0]


@cache
def _lists() -> dict[str, frozenset[str]]:
    return {code: stopwords_of(code) for code, (_, name) in LANGUAGES.items() if name}
