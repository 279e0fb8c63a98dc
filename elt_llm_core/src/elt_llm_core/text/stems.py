"""Turn a text into stems for keyword search. Stopwords are dropped, and codes and numbers are kept as they are."""

import hashlib
import re
from functools import cache
from threading import Lock

from elt_llm_core.text.languages import load_language
from elt_llm_core.text.normalise import fold, lower, split_words, without_diacritics

_MIN_STEM = 3  # letters before an ending


@cache
def stopwords_of(language: str) -> frozenset[str]:
    """Return a language's stopwords without diacritics, or an empty set if its file lists none."""
    from bm25s import stopwords

    record = load_language(language)
    listed = getattr(stopwords, record.bm25s_stopwords) if record.bm25s_stopwords else record.words("stopwords")
    return frozenset(map(fold, listed))


ALGORITHM_VERSION = 2  # increased whenever the same text could give other stems
CACHED_WORDS = 200_000
# Chinese and Japanese have no spaces between words, and Korean attaches particles, so character pairs are compared.
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED_RUN = re.compile(rf"{UNSPACED.pattern}+|[^{UNSPACED.pattern[1:]}+")
_VERSION_CODE = re.compile(r"v(\d{1,9}(?:\.\d{1,9}){1,9})")


class KeywordTokeniser:
    """A thread-safe tokeniser that returns Snowball stems, without stopwords. Unknown languages raise SettingsError."""

    def __init__(self, language: str = "en") -> None:
        import Stemmer

        record = load_language(language)
        self.language = language
        self._stopwords = stopwords_of(language)
        self._stemmer = Stemmer.Stemmer(record.snowball, maxCacheSize=0) if record.snowball else None
        self._letters = dict(pair.split() for pair in record.words("letter_pairs"))
        after = f"(?<![{record.no_letter_pair_after}])" if record.no_letter_pair_after else ""
        self._pair = re.compile(f"{after}(?:{'|'.join(self._letters)})") if self._letters else None
        self._endings = [tuple(pair.split()) for pair in record.words("endings")]
        self._stems: dict[str, tuple[str, ...]] = {}
        self._latest: tuple[str, tuple[str, ...]] = ("", ())
        self._lock = Lock()

    def stems(self, text: str) -> list[str]:
        """Return all stems in the order of the text, with repetitions: "the payments paid" -> ["payment", "paid"]."""
        latest_text, latest_stems = self._latest  # the same question is tokenised for each collection
        if text == latest_text:
            return list(latest_stems)
        cached = self._stems
        result: list[str] = []
        for word in split_words(lower(text)):
            stems = cached.get(word)
            if stems is None:
                stems = tuple(self._cut(word))
                if len(cached) < CACHED_WORDS:
                    cached[word] = stems
            result.extend(stems)
        self._latest = (text, tuple(result))
        return result

    def stems_of_guess(self, word: str) -> list[str]:
        """Return the stems of one lower-case word without caching them, for guesses such as spelling corrections."""
        cached = self._stems.get(word)
        return self._cut(word) if cached is None else list(cached)

    @property
    def fingerprint(self) -> str:
        """A SHA-256 (hex) of the algorithm, the language and the stopwords. It changes whenever stems could change."""
        import Stemmer

        stopwords = "\n".join(sorted(self._stopwords))
        parts = (str(ALGORITHM_VERSION), self.language, stopwords, Stemmer.version())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _cut(self, word: str) -> list[str]:
        bare = without_diacritics(word)
        if any(map(str.isdigit, word)) and not UNSPACED.search(word):
            return _code_forms(bare)
        # Pairs of letters are replaced by the letter that they represent, such as `aerzte` by `ärzte` in German.
        spelled = self._pair.sub(lambda match: self._letters[match.group()], word) if self._pair else word
        if bare in self._stopwords or without_diacritics(spelled) in self._stopwords:
            return []
        if UNSPACED.search(word):
            return [pair for run in _UNSPACED_RUN.findall(bare) for pair in _character_pairs(run)]
        # Snowball recognises endings by their diacritics, which questions often lack. If the stems with and without
        # diacritics differ, both are kept, so that either spelling matches the other.
        likely = self._stem(self._restore_ending(spelled))
        return list(dict.fromkeys((self._stem(spelled), _unsoften_stem(likely, self.language))))

    def _restore_ending(self, word: str) -> str:
        """Remove diacritics, but spell a known ending with its own, for the stemmer: Lithuanian "zeme" -> "zemė"."""
        bare = without_diacritics(word)
        for typed, spelled in self._endings:
            if bare.endswith(typed) and len(bare) >= len(typed) + _MIN_STEM:
                return bare[: -len(typed)] + spelled
        return bare

    def _stem(self, word: str) -> str:
        if self._stemmer is None:
            return without_diacritics(word)
        with self._lock:
            stem = str(self._stemmer.stemWord(word))
        return without_diacritics(stem) or without_diacritics(word)


def _unsoften_stem(stem: str, language: str) -> str:
    """Undo the softening of a Lithuanian stem that ends in `č` or `dž`, folded to `c` or `dz`: `medz` becomes `med`."""
    if language != "lt" or len(stem) <= _MIN_STEM:
        return stem
    if stem.endswith("dz"):
        return stem[:-1]
    return f"{stem[:-1]}t" if stem.endswith("c") else stem


def _code_forms(code: str) -> list[str]:
    """Return a code's spellings: for u-21 also u, 21 and u21, and for v1.2.3 also 1.2.3."""
    if "-" in code:
        return list(dict.fromkeys((code, *code.split("-"), code.replace("-", ""))))
    version = _VERSION_CODE.fullmatch(code)
    return [code, version.group(1)] if version else [code]


def _character_pairs(run: str) -> list[str]:
    is_split = UNSPACED.match(run) and len(run) > 1
    return [run[start : start + 2] for start in range(len(run) - 1)] if is_split else [run]
