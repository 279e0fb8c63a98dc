"""Dictionaries that tell a real word from a mistyped one; each is read when its language is first asked for."""

from collections.abc import Iterable, Mapping
from threading import Lock

# simplemma's code where it differs from ours.
_CODES = {"no": "nb", "sr": "hbs"}
SHORTEST_PART = 4  # letters of a part of a compound
_JOINTS = ("s", "es", "n", "en")
_JOINING = frozenset({"da", "de", "fi", "hu", "nl", "no", "sv"})  # languages that write compounds as one word


class Dictionaries:
    """Word forms of many languages, from simplemma; safe to share between threads.

    English takes 3 MB and a tenth of a second to read, German 15 MB and half a second.
    """

    def __init__(self) -> None:
        self._read: dict[str, Mapping[str, str]] = {}
        self._lock = Lock()

    def know(self, word: str, languages: Iterable[str]) -> bool:
        """Whether a word is one of a language, however capitalised, or joined of two where the language joins words."""
        return self.hold(word, languages) or any(
            _is_joined(self._of(language), word) for language in dict.fromkeys(languages) if language in _JOINING
        )

    def hold(self, word: str, languages: Iterable[str]) -> bool:
        """Whether a word stands in the dictionary of a language as it is, however capitalised."""
        return any(_has_form(self._of(language), word) for language in dict.fromkeys(languages))

    def _of(self, language: str) -> Mapping[str, str]:
        with self._lock:
            if language not in self._read:
                self._read[language] = _read(_CODES.get(language, language))
            return self._read[language]


def _read(code: str) -> Mapping[str, str]:
    """Read so that a word is found in the packed file, which takes a tenth of the memory."""
    from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory

    try:
        return StreamDictionaryFactory(cache_max_size=1).get_dictionary(code)
    except ValueError:  # no dictionary of this language
        return {}


def _is_joined(forms: Mapping[str, str], word: str) -> bool:
    return any(
        _has_form(forms, word[:place]) and _is_second_part(forms, word[place:])
        for place in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
    )


def _is_second_part(forms: Mapping[str, str], rest: str) -> bool:
    parts = [rest, *(rest.removeprefix(joint) for joint in _JOINTS if rest.startswith(joint))]
    return any(len(part) >= SHORTEST_PART and _has_form(forms, part) for part in parts)


def _has_form(forms: Mapping[str, str], word: str) -> bool:
    return any(forms.get(form) is not None for form in (word, word.lower(), word.capitalize()))
