"""Words as keyword search compares them: stopwords dropped, endings cut, codes and numbers untouched."""

import hashlib
import re
from threading import Lock
from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError
from elt_llm_core.text.normalise import fold, lower, without_diacritics, words_of

if TYPE_CHECKING:
    from Stemmer import Stemmer

ALGORITHM_VERSION = 1  # to be raised whenever the same text could give other stems
CACHED_WORDS = 200_000
# Chinese, Japanese and Korean are written without spaces or with particles attached: pairs of characters are compared.
UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Code of the language: the Snowball algorithm, and the list of stopwords in bm25s; empty where there is none.
LANGUAGES = {
    "ar": ("arabic", ""),
    "ca": ("catalan", ""),
    "da": ("danish", "STOPWORDS_DANISH"),
    "de": ("german", "STOPWORDS_GERMAN"),
    "el": ("greek", ""),
    "en": ("english", "STOPWORDS_EN_PLUS"),
    "es": ("spanish", "STOPWORDS_SPANISH"),
    "eu": ("basque", ""),
    "fi": ("finnish", ""),
    "fr": ("french", "STOPWORDS_FRENCH"),
    "ga": ("irish", ""),
    "hi": ("hindi", ""),
    "hu": ("hungarian", ""),
    "hy": ("armenian", ""),
    "id": ("indonesian", ""),
    "it": ("italian", "STOPWORDS_ITALIAN"),
    "ja": ("", ""),
    "ko": ("", "STOPWORDS_KOREAN"),
    "lt": ("lithuanian", ""),
    "ne": ("nepali", ""),
    "nl": ("dutch", "STOPWORDS_DUTCH"),
    "no": ("norwegian", "STOPWORDS_NORWEGIAN"),
    "pt": ("portuguese", "STOPWORDS_PORTUGUESE"),
    "ro": ("romanian", ""),
    "ru": ("russian", "STOPWORDS_RUSSIAN"),
    "sr": ("serbian", ""),
    "sv": ("swedish", "STOPWORDS_SWEDISH"),
    "ta": ("tamil", ""),
    "tr": ("turkish", "STOPWORDS_TURKISH"),
    "yi": ("yiddish", ""),
    "zh": ("", "STOPWORDS_CHINESE"),
}


class KeywordTokeniser:
    """Cuts text into stems by the Snowball algorithm of one language; safe to share between threads.

    Raises SettingsError for a language that has no algorithm here.
    """

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise SettingsError(f"There is no stemmer for language '{language}'", hint=f"Use {', '.join(LANGUAGES)}")
        self.language = language
        self._stopwords = stopwords_of(language)
        self._stemmer = _open_stemmer(LANGUAGES[language][0])
        self._stems: dict[str, tuple[str, ...]] = {}
        self._lock = Lock()

    def stems(self, text: str) -> list[str]:
        """The stems in the order of the text, repeated as often as they occur."""
        known = self._stems
        found: list[str] = []
        for word in words_of(lower(text)):
            stems = known.get(word)
            found.extend(self._learn(word) if stems is None else stems)
        return found

    @property
    def fingerprint(self) -> str:
        """A sha256 in hex that changes whenever the stems of some text could."""
        import Stemmer

        stopwords = "\n".join(sorted(self._stopwords))
        parts = (str(ALGORITHM_VERSION), self.language, stopwords, Stemmer.version())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _learn(self, word: str) -> tuple[str, ...]:
        stems = tuple(self._cut(word))
        if len(self._stems) < CACHED_WORDS:
            self._stems[word] = stems
        return stems

    def _cut(self, word: str) -> list[str]:
        bare = without_diacritics(word)
        if bare in self._stopwords:
            return []
        if UNSPACED.search(word):
            return [stem for run in UNSPACED_RUN.findall(bare) for stem in self._cut_run(run)]
        if any(map(str.isdigit, word)):
            # A designation is found whole, and by its parts: u-21 as u-21, u and 21.
            return [bare, *bare.split("-")] if "-" in bare else [bare]
        # The algorithms know endings by their diacritics; a question is often typed without them. Both stems are kept
        # where they differ, so that either way of writing finds the other.
        return list(dict.fromkeys((self._stem(word), self._stem(bare))))

    def _cut_run(self, run: str) -> list[str]:
        if UNSPACED.match(run) and len(run) > 1:
            return [run[start : start + 2] for start in range(len(run) - 1)]
        return [run]

    def _stem(self, word: str) -> str:
        if self._stemmer is None:
            return without_diacritics(word)
        with self._lock:
            stem = str(self._stemmer.stemWord(word))
        return without_diacritics(stem) or without_diacritics(word)


def stopwords_of(language: str) -> frozenset[str]:
    """The folded stopwords of a language; none where no list is known."""
    from bm25s import stopwords

    name = LANGUAGES[language][1]
    return frozenset(fold(word) for word in getattr(stopwords, name)) if name else frozenset()


def _open_stemmer(algorithm: str) -> "Stemmer | None":
    import Stemmer

    return Stemmer.Stemmer(algorithm, maxCacheSize=0) if algorithm else None
