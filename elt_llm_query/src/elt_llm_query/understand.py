"""What a question asks for, read from its words alone: its kind, the value expected, its names and numbers."""

import re
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.question_patterns import (
    ASKING_WORDS,
    COUNTED,
    ENGLISH_WORDS,
    GERMAN_WORDS,
    MEASURED,
    MONTHS,
    NAMED_QUANTITY,
    OPENING_CLAUSE,
    PATTERNS,
    SECOND_QUESTION,
    Expected,
    Measure,
    QuestionKind,
)

Language = Literal["en", "de"]

_QUOTED = re.compile(r"[\"“„«\u2018`]([^\"“”„«»\u2019`]{2,60})[\"”“»\u2019`]")
_CODE = re.compile(
    r"\b(?=[\w.+#/-]{0,60}\d)(?=[\w.+#/-]{0,60}[A-Za-z])\w[\w.+#/-]{0,60}\w|\b[A-Z][A-Z0-9&]{1,60}\b|\b\w{1,60}(?:\+\+|#)"
)
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][\w'\u2019-]*(?:\s+(?:of\s+|the\s+|de\s+|von\s+)?[A-ZÀ-Þ][\w'\u2019-]*)*")
_OPENING = re.compile(r"(?:^|(?<=[.?!]))\s*[^\W\d][\w'\u2019]*")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_WORD = re.compile(r"\w[\w.+#/-]*")
_FEWEST_PART_WORDS = 3


@dataclass(frozen=True)
class Question:
    """A question taken apart. `terms` are the stems of its content words, `surfaces` the same words as written.

    `parts` is what is really asked where that is less than the text: the last question of several sentences, each
    question of "what ..., and how ...?"; else empty.
    `counted` is the noun after "how many" or the quantity asked for (salary), `measure` that after "how" (heavy:
    weight); either may be empty.
    """

    text: str
    parts: tuple[str, ...]
    language: Language
    kind: QuestionKind
    expects: Expected
    terms: tuple[str, ...]
    surfaces: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    counted: str
    measure: Measure

    @property
    def twofold(self) -> bool:
        """Whether two things are asked for: two questions in one, or "this and that"."""
        return len(self.parts) > 1 or bool(re.search(r"\b(?:and|und|both|beide)\b", _asked(self.text)))

    @property
    def expects_figure(self) -> bool:
        """Whether only a number, an amount or a point in time answers it."""
        return self.expects in {"number", "money", "percentage", "duration", "date"}


def understand(question: str, tokeniser: KeywordTokeniser | None = None) -> Question:
    """Take a question apart; `tokeniser` is the collection's, by default that of the question's language."""
    text = " ".join(question.split())
    folded = fold(text)
    language = question_language(text)
    tokeniser = tokeniser or KeywordTokeniser(language)
    kind, expects = _kind(folded)
    terms, surfaces = _content_words(text, tokeniser)
    counted = _counted(folded) if expects in {"number", "money", "percentage"} else ""
    measured: Measure = next((measure for pattern, measure in MEASURED if pattern.search(folded)), "")
    return Question(
        text=text,
        parts=_parts(text),
        language=language,
        kind=kind,
        expects=expects,
        terms=terms,
        surfaces=surfaces,
        names=_names(text, language, tokeniser),
        numbers=numbers_of(text),
        counted=counted,
        measure=measured if expects == "number" else "",
    )


class QuestionReader:
    """Takes questions apart, each in its language; the tokenisers are made once. Safe to share between threads."""

    def __init__(self) -> None:
        self._tokenisers: dict[Language, KeywordTokeniser] = {
            "en": KeywordTokeniser("en"),
            "de": KeywordTokeniser("de"),
        }

    def read(self, text: str) -> Question:
        """A question as `understand` takes it apart."""
        return understand(text, self._tokenisers[question_language(text)])


def question_language(text: str) -> Language:
    """German if its German function words outweigh the English ones; words of both languages count for neither."""
    found = re.findall(r"\w+", text.lower())
    german = sum(GERMAN_WORDS.get(word, 0) for word in found)
    return "de" if german > 2 * sum(word in ENGLISH_WORDS for word in found) else "en"


def numbers_of(text: str) -> tuple[str, ...]:
    """The numbers written in digits, thousands separators dropped, in order and without repeats."""
    found = (re.sub(r"(?<=\d),(?=\d{3}\b)", "", number) for number in _NUMBER.findall(text))
    return tuple(dict.fromkeys(found))


def _asked(text: str) -> str:
    """The last question among several sentences; the text if there is none."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next((sentence for sentence in reversed(sentences) if sentence.endswith("?")), text)


def _parts(text: str) -> tuple[str, ...]:
    asked = _asked(text)
    second = SECOND_QUESTION.search(asked)
    if second and len(asked[: second.start()].split()) >= _FEWEST_PART_WORDS:
        return asked[: second.start()].rstrip(" ,") + "?", asked[second.start(1) :]
    return (asked,) if asked != text and len(asked.split()) >= _FEWEST_PART_WORDS else ()


def _kind(folded: str) -> tuple[QuestionKind, Expected]:
    asked = _asked(folded)
    asked = OPENING_CLAUSE.sub("", re.sub(r"\b(what|who|when|where|how|which)'s\b", r"\1 is", asked))
    best: tuple[int, int, QuestionKind, Expected] | None = None
    for order, (pattern, kind, expects) in enumerate(PATTERNS):
        found = pattern.search(asked)
        if found and (best is None or (found.start(), order) < best[:2]):
            best = (found.start(), order, kind, expects)
    return (best[2], best[3]) if best else ("other", "any")


def _counted(folded: str) -> str:
    found = COUNTED.search(folded) or NAMED_QUANTITY.search(folded)
    return found.group(1) if found else ""


def _content_words(text: str, tokeniser: KeywordTokeniser) -> tuple[tuple[str, ...], tuple[str, ...]]:
    surfaces: dict[str, str] = {}
    for found in _WORD.finditer(text):
        word = found.group().rstrip(".-/")
        if word in ASKING_WORDS or (not surfaces and word.lower() in ASKING_WORDS):
            continue
        for stem in tokeniser.stems(word):
            surfaces.setdefault(stem, word)
    return tuple(surfaces), tuple(surfaces.values())


def _names(text: str, language: Language, tokeniser: KeywordTokeniser) -> tuple[str, ...]:
    """Quoted words, codes and, where only names are capitalised, capitalised words within a sentence."""
    names = [found.group(1).strip() for found in _QUOTED.finditer(text)]
    names += [found.group() for found in _CODE.finditer(text)]
    if language == "en":
        names += [found.group() for found in _CAPITALISED.finditer(_OPENING.sub(_lowered, text))]
    return tuple(dict.fromkeys(name for name in names if _names_something(name, tokeniser)))


def _lowered(found: re.Match[str]) -> str:
    return found.group().lower()


def _names_something(name: str, tokeniser: KeywordTokeniser) -> bool:
    """Not a lone stopword, a month, or an abbreviation that the text may well spell out."""
    return (
        bool(tokeniser.stems(name))
        and not (name.isalpha() and len(name) < 5)
        and not name.startswith("I'")
        and fold(name) not in MONTHS
    )
