"""Detect the language of a text by its script, its stopwords, and letters that occur in no other language."""

from collections import Counter
from functools import cache

from elt_llm_core.text.languages import languages, load_language
from elt_llm_core.text.normalise import lower, split_words, without_diacritics
from elt_llm_core.text.stems import UNSPACED, stopwords_of

SAMPLE_CHARACTERS = 20_000
MIN_SHARE = 0.15  # the minimum share of stopwords; in running text, it is between a third and a half
MIN_WORDS = 10  # with fewer words, the language is not detected


def detect_language(text: str) -> str:
    """Return the code, such as "de", of the language with the most stopwords in the text's start, or "en" if unsure."""
    sample = text[:SAMPLE_CHARACTERS]
    unspaced = UNSPACED.findall(sample)
    if len(unspaced) * 4 > len(sample):  # more than a quarter
        scripts = Counter("ja" if one < "\u3400" else "ko" if one >= "\uac00" else "zh" for one in unspaced)
        # Japanese mixes syllables with Chinese characters, so a fifth of syllables is enough.
        return "ja" if scripts["ja"] * 5 > len(unspaced) else scripts.most_common(1)[0][0]
    counts = Counter(split_words(lower(sample)))
    total = counts.total()
    if total < MIN_WORDS:
        return "en"
    shares = {code: _evidence(counts, code) / total for code in _candidates()}
    best = max(shares, key=lambda code: (shares[code], code == "en"))
    return best if shares[best] >= MIN_SHARE else "en"


def _evidence(counts: Counter[str], code: str) -> int:
    """Count a language's stopwords, and words with letters that only this language has, in a text's word counts."""
    stopwords, letters = stopwords_of(code), frozenset(load_language(code).distinctive_letters)
    listed = sum(count for word, count in counts.items() if without_diacritics(word) in stopwords)
    return listed + sum(count for word, count in counts.items() if not letters.isdisjoint(word))


@cache
def _candidates() -> tuple[str, ...]:
    """Return the codes of the languages with stopwords. Languages with a list in bm25s come first and win ties."""
    codes = filter(stopwords_of, languages())
    return tuple(sorted(codes, key=lambda code: (not load_language(code).bm25s_stopwords, code)))
