"""The texts of the page, with one file for each language in the folder `languages`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("languages")
DEFAULT_LANGUAGE = "en"
_PLACEHOLDER = re.compile(r"\\{(\w+)\\}")  # in an escaped pattern
_WORDS, _WORDS_OF_ONE_SENTENCE = r"(?P<\1>.+?)", r"(?P<\1>(?:(?![.!?] [A-Z']).)+?)"  # that a placeholder matches
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z'])")
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+")
_MOST_SENTENCES = 3  # of a message with a translation


class Texts:
    """The texts of one language by their keys, such as `ask.stop`."""

    def __init__(self, language: str, texts: Mapping[str, str], messages: Mapping[str, str]) -> None:
        """Set the texts, and translations of English server messages, in which a `{name}` matches any words."""
        self.language = language
        self.messages = messages
        self._texts = texts
        self._strict, self._loose = (
            [(re.compile(_PLACEHOLDER.sub(words, re.escape(english))), own) for english, own in messages.items()]
            for words in (_WORDS_OF_ONE_SENTENCE, _WORDS)
        )

    def __call__(self, key: str, **values: object) -> str:
        """Return a text, with the values filled in. Raises KeyError for an unknown key."""
        return self._texts[key].format(**values) if values else self._texts[key]

    def count(self, key: str, number: int, **values: object) -> str:
        """Return the singular or the plural of a text that counts something."""
        return self(f"{key}.{'one' if number == 1 else 'many'}", count=self.figure(f"{number:,}"), **values)

    def figure(self, formatted: str) -> str:
        """Return a number with the separators of this language. In German, "1,234.5" -> "1.234,5"."""
        return formatted.translate(str.maketrans(",.", self("page.separators")))

    def find(self, key: str, default: str) -> str:
        """Return a text, or the default for an unknown key."""
        return self._texts.get(key, default)

    def say(self, message: str) -> str:
        """Return messages of the server in this language; sentences without a translation stay in English.

        If no sentence has one, values may contain the end of a sentence, such as a file named "Dr. Hill.pdf". If it has
        none even so, notes separated by semicolons are translated one by one.
        """
        sentences, own = _BETWEEN_SENTENCES.split(message), []
        while sentences:
            counts = range(min(len(sentences), _MOST_SENTENCES), 0, -1)
            found = ((count, self._translation(" ".join(sentences[:count]), self._strict)) for count in counts)
            count, text = next((one for one in found if one[1]), (1, sentences[0]))
            own.append(text)
            del sentences[:count]
        translated = " ".join(own)
        if translated != message:
            return translated
        return self._translation(message, self._loose) or "; ".join(map(self._say_note, message.split("; ")))

    def _say_note(self, note: str) -> str:
        return self._translation(note, self._strict) or note

    def _translation(self, message: str, patterns: Sequence[tuple[re.Pattern[str], str]]) -> str:
        """Return the translation of one message; "" if there is none."""
        for pattern, own in patterns:
            if found := pattern.fullmatch(message):
                return own.format(**{name: self._say_value(words) for name, words in found.groupdict().items()})
        return ""

    def _say_value(self, words: str) -> str:
        return self.figure(words) if _FIGURE.fullmatch(words) else self.say(words)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all texts."""
        return frozenset(self._texts)


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that have texts."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def load_texts(language: str = DEFAULT_LANGUAGE) -> Texts:
    """Read the texts of a language."""
    tables = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    messages = tables.pop("messages", {})
    return Texts(language, dict(_flatten(tables)), messages)


def preferred_language(accept_language: str) -> str:
    """Return the language that an Accept-Language header ranks highest among those with texts, or else English."""
    ranked = []
    for place, part in enumerate(accept_language.split(",")[:20]):
        code, _, quality = part.strip().partition(";q=")
        try:
            ranked.append((-float(quality or 1), place, code.partition("-")[0].lower()))
        except ValueError:
            continue
    known = languages()
    return next((code for weight, _, code in sorted(ranked) if weight < 0 and code in known), DEFAULT_LANGUAGE)


def _flatten(table: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        pairs += _flatten(value, f"{key}.") if isinstance(value, Mapping) else [(key, str(value))]
    return pairs
