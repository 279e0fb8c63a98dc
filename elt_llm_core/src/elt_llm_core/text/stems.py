"""Words as keyword search compares them: stopwords dropped, endings cut, codes and numbers untouched."""

import hashlib
import re
from threading import Lock
from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError
from elt_llm_core.text.endings import unsoftened, with_letters, with_likely_ending
from elt_llm_core.text.normalise import lower, without_diacritics, words_of
from elt_llm_core.text.stopwords import stopwords_of

if TYPE_CHECKING:
    from Stemmer import Stemmer

ALGORITHM_VERSION = 2  # to be raised whenever the same text could give other stems
CACHED_WORDS = 200_000
# Chinese, Japanese and Korean are written without spaces or with particles attached: pairs of characters are compared.
UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
VERSION = re.compile(r"v(\d{1,9}(?:\.\d{1,9}){1,9})")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Code of the language: the Snowball algorithm; empty where there is none.
LANGUAGES = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "ja": "",
    "ko": "",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
    "zh": "",
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
        self._stemmer = _open_stemmer(LANGUAGES[language])
        self._stems: dict[str, tuple[str, ...]] = {}
        self._latest: tuple[str, tuple[str, ...]] = ("", ())
        self._lock = Lock()

    def stems(self, text: str) -> list[str]:
        """The stems in the order of the text, repeated as often as they occur."""
        latest, stems_of_it = self._latest  # a question is cut once for each of many collections
        if text == latest:
            return list(stems_of_it)
        known = self._stems
        found: list[str] = []
        for word in words_of(lower(text)):
            stems = known.get(word)
            found.extend(self._learn(word) if stems is None else stems)
        self._latest = (text, tuple(found))
        return found

    def stems_of_guess(self, word: str) -> list[str]:
        """As `stems` of one word in lower case, which is not kept in memory: for words that are only tried."""
        known = self._stems.get(word)
        return self._cut(word) if known is None else list(known)

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
        if any(map(str.isdigit, word)) and not UNSPACED.search(word):
            return code_forms(bare)
        spelled = with_letters(word, self.language)
        if bare in self._stopwords or without_diacritics(spelled) in self._stopwords:
            return []
        if UNSPACED.search(word):
            return [stem for run in UNSPACED_RUN.findall(bare) for stem in self._cut_run(run)]
        # The algorithms know endings by their diacritics; a question is often typed without them. Both stems are kept
        # where they differ, so that either way of writing finds the other.
        likely = self._stem(with_likely_ending(spelled, self.language))
        return list(dict.fromkeys((self._stem(spelled), unsoftened(likely, self.language))))

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


def code_forms(code: str) -> list[str]:
    """The ways a designation is written and asked for: u-21 whole, in parts and as u21; v1.2.3 also as 1.2.3."""
    if "-" in code:
        return list(dict.fromkeys((code, *code.split("-"), code.replace("-", ""))))
    version = VERSION.fullmatch(code)
    return [code, version.group(1)] if version else [code]


def _open_stemmer(algorithm: str) -> "Stemmer | None":
    import Stemmer

    return Stemmer.Stemmer(algorithm, maxCacheSize=0) if algorithm else None
