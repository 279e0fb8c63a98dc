"""The words of a name as they are compared: folded, without plural, possessive or leading article."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from elt_llm_core.text.normalise import CHARACTER, fold

# Invisible characters may stand within a word; scripts without spaces are compared sign by sign.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_TOKEN = re.compile(
    rf"{_UNSPACED}|(?:(?!{_UNSPACED}){CHARACTER}|(?<=\w)[\u00ad\u200b-\u200d\u2060])+(?:['\u2019]s(?!\w))?|&"
)
_ARTICLES = frozenset({"the", "a", "an", "der", "die", "das", "dem", "den", "des", "ein", "eine", "einer", "eines"})
_AND = {"&": "and", "und": "and"}
_IRREGULAR = {
    "children": "child", "people": "person", "persons": "person", "men": "man", "women": "woman", "feet": "foot",
    "teeth": "tooth", "mice": "mouse", "geese": "goose", "criteria": "criterion", "phenomena": "phenomenon",
    "indices": "index", "indexes": "index", "matrices": "matrix", "appendices": "appendix", "vertices": "vertex",
    "analyses": "analysis", "bases": "basis", "crises": "crisis", "theses": "thesis", "hypotheses": "hypothesis",
    "lives": "life", "wives": "wife", "knives": "knife", "leaves": "leaf", "halves": "half", "shelves": "shelf",
    "wolves": "wolf", "selves": "self", "loaves": "loaf", "thieves": "thief", "series": "series",
    "species": "species", "news": "news", "schemata": "schema", "formulae": "formula", "memoranda": "memorandum",
    "addenda": "addendum", "curricula": "curriculum", "oxen": "ox", "data": "data", "datum": "data",
    "premises": "premises", "goods": "goods", "buses": "bus", "gases": "gas", "statuses": "status",
    "quizzes": "quiz", "movies": "movie", "ties": "tie", "dies": "die",
}  # fmt: skip
_SIBILANTS = ("sses", "shes", "ches", "xes", "zzes")
_NO_PLURAL = ("ss", "us", "is", "ics")
# German plurals in -er are told by the end of a compound; elsewhere -er makes another noun of it.
_GERMAN_ER = ("glied", "kind", "bild", "buch", "haus", "land", "blatt", "wort", "amt", "band", "fach", "feld", "geld")
_GERMAN_MARKS = re.compile(r"[äöüß]|(?:ung|heit|keit|schaft|tät|lich|isch)(?:en|e|er|es)?$", re.IGNORECASE)
_GERMAN_SHARE = 0.2
_SHORT = 3


@dataclass(frozen=True)
class Token:
    """The word text[start:end], as written, and what it is compared by."""

    start: int
    end: int
    written: str
    key: str


def tokens(text: str, *, german: bool = False) -> list[Token]:
    """The words of a text in order, '&' among them."""
    return [
        Token(match.start(), match.end(), match.group(), word_key(match.group(), german=german))
        for match in _TOKEN.finditer(text)
    ]


def name_key(name: str, *, german: bool = False) -> tuple[str, ...]:
    """The words of a name that count, without a leading article; a name of articles only keeps them."""
    keys = tuple(token.key for token in tokens(name, german=german))
    while len(keys) > 1 and keys[0] in _ARTICLES:
        keys = keys[1:]
    return keys


@lru_cache(maxsize=100_000)
def word_key(word: str, *, german: bool = False) -> str:
    """One word in lower case without diacritics, possessive and plural."""
    folded = fold(word).removesuffix("'s")
    folded = _AND.get(folded, folded)
    if word.endswith("s") and word[:-1].isupper() and len(word) >= _SHORT:
        return folded[:-1]  # "IDs" and "APIs" are plurals of short forms in capitals
    if len(folded) <= _SHORT or not folded.isalpha():
        return folded
    return _german_singular(folded) if german else _singular(folded)


def is_german(names: Sequence[str]) -> bool:
    """Whether a fifth of the names or more look German by their letters and endings."""
    marked = sum(any(_GERMAN_MARKS.search(word) for word in name.split()) for name in names)
    return bool(names) and marked >= _GERMAN_SHARE * len(names)


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_SIBILANTS):
        return word[:-2]
    if word.endswith("s") and not word.endswith(_NO_PLURAL):
        return _IRREGULAR.get(word[:-1], word[:-1])
    return word


def _german_singular(word: str) -> str:
    if word.endswith("innen"):
        return word[:-3]
    if word.endswith("er") and word[:-2].endswith(_GERMAN_ER):
        return word[:-2]
    if word.endswith(("ern", "eln")):
        return _german_singular(word[:-1])
    for ending in ("en", "es", "e", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT and not word.endswith(("ss", "us", "is")):
            return word[: -len(ending)]
    return word
