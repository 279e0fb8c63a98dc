"""Parse a question: its language, kind, expected value, intent, names and numbers.

Also measures how much a question looks like a list of keywords.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from elt_llm_core.text.languages import languages, load_language, word_pattern
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import fold, lower
from elt_llm_core.text.stems import KeywordTokeniser
from pydantic import TypeAdapter

from elt_llm_query.understanding.patterns import PatternFile

QuestionKind = Literal[
    "who", "when", "where", "how_many", "how_much", "what_is", "how", "why", "yes_no", "which", "list", "other"
]
Expected = Literal[
    "person", "name", "date", "duration", "number", "money", "percentage", "place", "definition", "reason", "any"
]

Measure = Literal["", "weight", "length", "age", "speed", "temperature", "data", "telephone"]
Intent = Literal[
    "definition", "how_to", "who", "when", "where", "how_many", "list", "compare", "why", "yes_no", "other"
]

_PATTERNS: Final = PatternFile(__file__)
_KINDS: Final = TypeAdapter(tuple[tuple[QuestionKind, Expected, re.Pattern[str]], ...]).validate_python(
    _PATTERNS.rows("kinds")
)
_MEASURES: Final = TypeAdapter(tuple[tuple[Measure, re.Pattern[str]], ...]).validate_python(_PATTERNS.rows("measures"))
_INTENT_BY_KIND: Final = TypeAdapter(dict[QuestionKind, Intent]).validate_python(dict(_PATTERNS.rows("intent_by_kind")))
_INTENTS: Final = {
    code: TypeAdapter(tuple[tuple[Intent, re.Pattern[str]], ...]).validate_python(_PATTERNS.rows(name))
    for code, name in (("es", "spanish_intents"), ("fr", "french_intents"), ("lt", "lithuanian_intents"))
}
_MISTYPED: Final = [(re.compile(pattern), meant) for pattern, meant in _PATTERNS.rows("mistyped")]

_ENGLISH, _GERMAN = load_language("en"), load_language("de")
# Weight 2 is for words that occur only in German, weight 1 for words that also occur in English.
GERMAN_WORDS: Final[Mapping[str, int]] = dict.fromkeys(_GERMAN.lists["detection_words"], 2) | dict.fromkeys(
    _GERMAN.lists["ambiguous_detection_words"], 1
)
ENGLISH_WORDS: Final = frozenset(_ENGLISH.lists["detection_words"])
MONTHS: Final = frozenset(fold(names[0]) for names in (*_ENGLISH.months, *_GERMAN.months))
ASKING_WORDS: Final = language_words("asking_words", languages())

Language = Literal["en", "de"]

_QUOTED = re.compile(r"[\"“„«\u2018`]([^\"“”„«»\u2019`]{2,60})[\"”“»\u2019`]")
_CODE = re.compile(
    r"\b(?=[\w.+#/-]{0,60}\d)(?=[\w.+#/-]{0,60}[A-Za-z])\w[\w.+#/-]{0,60}\w|\b[A-Z][A-Z0-9&]{1,60}\b|\b\w{1,60}(?:\+\+|#)"
)
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][\w'\u2019-]*(?:\s+(?:of\s+|the\s+|de\s+|von\s+)?[A-ZÀ-Þ][\w'\u2019-]*)*")
_POSSESSIVE = re.compile(r"(?:['\u2019]s?)$")
_BOTH = word_pattern(r"\b@both@\b")
_OPENING = re.compile(r"(?:^|(?<=[.?!]))[\s¿¡]*[^\W\d][\w'\u2019]*")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3}\b)")
_WORD = re.compile(r"\w[\w.+#/-]*")
_FEWEST_PART_WORDS = 3


@dataclass(frozen=True)
class ParsedQuestion:
    """A parsed question. `terms` are the stems of its content words, and `surfaces` are these words as written.

    `parts` is empty if the whole text is one question. Otherwise `parts` contains the last question of a text with
    several sentences, or both questions of "what ..., and how ...?".
    `counted` is the noun after "how many" or the requested quantity (salary). `measure` is the quantity that the
    adjective after "how" refers to (weight for heavy). Either may be empty.
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
        """Whether the question has two parts or contains a word such as "and" or "both"."""
        return len(self.parts) > 1 or bool(_BOTH.search(_last_question(self.text)))

    @property
    def wants_list(self) -> bool:
        """Whether the question asks for the steps of a procedure or for several things."""
        folded = fold(_last_question(self.text))
        if self.kind == "what_is" or self.asks_documents or _PATTERNS["comparison"].search(folded):
            return False
        return self.kind == "how" or bool(_PATTERNS["several_asked"].search(folded))

    @property
    def asks_documents(self) -> bool:
        """Whether the question asks for documents on a topic, rather than for a fact."""
        return bool(_PATTERNS["documents_asked"].search(fold(self.text)))

    @property
    def expects_figure(self) -> bool:
        """Whether the expected value is a number, an amount, a duration or a date."""
        return self.expects in {"number", "money", "percentage", "duration", "date"}


_tokeniser_of = cache(KeywordTokeniser)


def asks_for_relations(question: str) -> bool:
    """Return whether a question is about entities of an enterprise model, such as what an entity is related to."""
    return bool(_PATTERNS["relations_asked"].search(fold(question)))


def parse_question(question: str, tokeniser: KeywordTokeniser | None = None) -> ParsedQuestion:
    """Parse a question. `tokeniser` is the collection's; by default, it is that of the question's language."""
    text = " ".join(question.split())
    language = question_language(text)
    for mistyped, meant in _MISTYPED if language == "en" else ():
        text = mistyped.sub(meant, text)
    folded = fold(text)
    tokeniser = tokeniser or _tokeniser_of(language)
    last = re.sub(r"\b(what|who|when|where|how|which)'s\b", r"\1 is", _last_question(folded))
    last = _PATTERNS["opening_clause"].sub("", last)
    matches = ((pattern.search(last), kind, expects) for kind, expects, pattern in _KINDS)
    starts = [(match.start(), kind, expects) for match, kind, expects in matches if match]
    _, kind, expects = min(starts, key=lambda one: one[0], default=(0, "other", "any"))
    if kind in ("when", "where", "what_is") and _PATTERNS["difference_asked"].search(folded):
        kind, expects = "other", "any"
    terms, surfaces = _content_words(_PATTERNS["asking_phrase"].sub(" ", text), tokeniser)
    counted = _PATTERNS["counted"].search(folded) or _PATTERNS["named_quantity"].search(folded)
    measured: Measure = next((measure for measure, pattern in _MEASURES if pattern.search(folded)), "")
    return ParsedQuestion(
        text=text,
        parts=_parts(text),
        language=language,
        kind=kind,
        expects=expects,
        terms=terms,
        surfaces=surfaces,
        names=_names(text, language, tokeniser),
        numbers=numbers_of(text),
        counted=counted.group(1) if counted and expects in {"number", "money", "percentage"} else "",
        measure=measured if expects == "number" else "",
    )


def question_language(text: str) -> Language:
    """Return "de" if German function words outweigh English function words, else "en"."""
    words = re.findall(r"\w+", text.lower())
    german = sum(GERMAN_WORDS.get(word, 0) for word in words)
    return "de" if german > 2 * sum(word in ENGLISH_WORDS for word in words) else "en"


def numbers_of(text: str) -> tuple[str, ...]:
    """Return the distinct numbers in digits, in order and without thousands separators."""
    return tuple(dict.fromkeys(map(without_separators, _NUMBER.findall(text))))


def without_separators(text: str) -> str:
    """Return the text with 150,000 as 150000."""
    return _SEPARATOR.sub("", text)


def _last_question(text: str) -> str:
    """Return the last sentence that ends with a question mark, or the whole text without such a sentence."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next((sentence for sentence in reversed(sentences) if sentence.endswith("?")), text)


def _parts(text: str) -> tuple[str, ...]:
    last = _last_question(text)
    second = _PATTERNS["second_question"].search(last)
    if second and len(last[: second.start()].split()) >= _FEWEST_PART_WORDS:
        return last[: second.start()].rstrip(" ,") + "?", last[second.start(1) :]
    return (last,) if last != text and len(last.split()) >= _FEWEST_PART_WORDS else ()


def _content_words(text: str, tokeniser: KeywordTokeniser) -> tuple[tuple[str, ...], tuple[str, ...]]:
    surfaces: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match.group().rstrip(".-/")
        if word in ASKING_WORDS or (not surfaces and word.lower() in ASKING_WORDS):
            continue
        for stem in tokeniser.stems(word):
            surfaces.setdefault(stem, word)
    return tuple(surfaces), tuple(surfaces.values())


def _names(text: str, language: Language, tokeniser: KeywordTokeniser) -> tuple[str, ...]:
    """Return quoted words, codes and, in English, capitalised words that do not start a sentence."""
    names = [match.group(1).strip() for match in _QUOTED.finditer(text)]
    names += [match.group() for match in _CODE.finditer(text)]
    if language == "en":
        lowered = _OPENING.sub(lambda match: match.group().lower(), text)
        capitalised = (match.group() for match in _CAPITALISED.finditer(lowered))
        names += [_POSSESSIVE.sub("", name) for name in capitalised]
    # A shorter word of letters alone, such as IT or FAQ, is rarely a name.
    long = (name for name in names if len(name) >= 5 or not name.isalpha())
    proper = (name for name in long if not name.startswith("I'") and fold(name) not in MONTHS)
    return tuple(dict.fromkeys(name for name in proper if tokeniser.stems(name)))


# A question contains few words, so distinctive letters count as well.
_DISTINCTIVE = {code: frozenset(map(fold, load_language(code).lists["detection_words"])) for code in ("es", "fr", "lt")}
_LETTERS = {"es": frozenset("ñ¿¡"), "fr": frozenset("èêçîôûœ"), "lt": frozenset("ąčęėįšųūž")}


def asked_language(text: str, guess: str) -> str:
    """Return "es", "fr" or "lt" if the text's function words and letters indicate it, else `guess` ("en" or "de")."""
    words = re.findall(r"[^\W\d_]+", fold(text))
    spelled = frozenset(lower(text))
    counts = {
        language: sum(word in distinctive for word in words) + bool(spelled & _LETTERS[language])
        for language, distinctive in _DISTINCTIVE.items()
    }
    language = max(counts, key=lambda code: counts[code])  # at least two signs are needed, and one for every four words
    return language if counts[language] >= 2 and 4 * counts[language] >= len(words) else guess


def shown_language(text: str) -> str:
    """Return the language that the question's words indicate, or "" if none of them is a known function word."""
    language = asked_language(text, question_language(text))
    english = language == "en" and not ENGLISH_WORDS & set(re.findall(r"[^\W\d_]+", text.lower()))
    return "" if english else language


def intent_of(question: ParsedQuestion, language: str) -> Intent:
    """Return the intent of a question; "other" if no pattern matches."""
    folded = fold(question.text)
    rows = _INTENTS.get(language)
    if rows is not None:
        return next((intent for intent, pattern in rows if pattern.search(folded)), "other")
    return "compare" if _PATTERNS["comparison"].search(folded) else _INTENT_BY_KIND[question.kind]


_SHORT = {0: 1.0, 1: 1.0, 2: 0.8, 3: 0.4}  # keyword likeness by number of content words; 0 for more words
_SYMBOL_FACTOR = 1.5  # two codes among three words suffice for a likeness of 1
_SYMBOLS = frozenset("_#+/\\&@")
_QUOTED_PHRASE = re.compile(r"[\"“„«][^\"“”„«»]{2,60}[\"”“»]")


def keyword_likeness(question: ParsedQuestion) -> float:
    """Return how much the question looks like keywords, from 0 (a sentence) to 1 (only keywords).

    Few words, codes such as "AB-12" and quoted phrases raise the value.
    """
    content = len(set(question.surfaces))
    short = _SHORT.get(content, 0.0)
    quoted = sum(len(phrase.split()) for phrase in _QUOTED_PHRASE.findall(question.text))
    plain = _QUOTED_PHRASE.sub(" ", question.text)
    coded = sum(
        any(letter.isdigit() or letter in _SYMBOLS for letter in word) or (len(word) > 1 and word.isupper())
        for word in (word.strip("?!,;:().") for word in plain.split())
    )
    symbols = _SYMBOL_FACTOR * (coded + quoted) / max(1, content, coded + quoted)
    return round(min(1.0, max(short, symbols)), 2)
