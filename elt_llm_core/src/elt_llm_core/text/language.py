"""Guessing the language of a text by its script, the share of its stopwords and letters that no other language has."""

from collections import Counter
from functools import cache

from elt_llm_core.text.normalise import lower, without_diacritics, words_of
from elt_llm_core.text.stems import UNSPACED
from elt_llm_core.text.stopwords import LISTS_OF_BM25S, OWN_LISTS, stopwords_of

SAMPLE_CHARACTERS = 20_000
LEAST_SHARE = 0.15  # of all words; running text has between a third and a half
LEAST_WORDS = 10
# Lithuanian says with endings what others say with small words: a rule may hold none. Words with these letters tell it.
TELLING_LETTERS = {"lt": frozenset("ėįų"), "hu": frozenset("őű"), "ro": frozenset("țţă"), "tr": frozenset("ğı")}


def detect_language(text: str) -> str:
    """The code of the language with the most stopwords in the first part of the text; "en" when unsure."""
    sample = text[:SAMPLE_CHARACTERS]
    unspaced = UNSPACED.findall(sample)
    if len(unspaced) * 4 > len(sample):
        return _unspaced_language(unspaced)
    spelled = Counter(words_of(lower(sample)))
    total = spelled.total()
    if total < LEAST_WORDS:
        return "en"
    shares = {code: _share(spelled, stopwords) / total for code, stopwords in _lists().items()}
    for code, letters in TELLING_LETTERS.items():
        shares[code] += sum(count for word, count in spelled.items() if not letters.isdisjoint(word)) / total
    best = max(shares, key=lambda code: (shares[code], code == "en"))
    return best if shares[best] >= LEAST_SHARE else "en"


def _share(counts: Counter[str], stopwords: frozenset[str]) -> int:
    return sum(count for word, count in counts.items() if without_diacritics(word) in stopwords)


def _unspaced_language(characters: list[str]) -> str:
    scripts = Counter(
        "ja" if character < "\u3400" else "ko" if character >= "\uac00" else "zh" for character in characters
    )
    # Japanese mixes its syllables with Chinese characters.
    return "ja" if scripts["ja"] * 5 > len(characters) else scripts.most_common(1)[0][0]


@cache
def _lists() -> dict[str, frozenset[str]]:
    return {code: stopwords_of(code) for code in (*LISTS_OF_BM25S, *OWN_LISTS)}
