"""Parse a question: language, kind, expected value, intent, names, numbers and keyword likeness."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from elt_llm_core.text.languages import load_language
from elt_llm_core.text.normalise import fold, lower
from elt_llm_core.text.stems import KeywordTokeniser

QuestionKind = Literal[
    "who", "when", "where", "how_many", "how_much", "what_is", "how", "why", "yes_no", "which", "list", "other"
]
Expected = Literal[
    "person", "date", "duration", "number", "money", "percentage", "place", "definition", "reason", "any"
]

_MONEY = (
    r"(?:fees?|prices?|costs?|fines?|charges?|salary|salaries|wages?|budget|amount|sum|revenue|deposit"
    r"|subscription)(?! of (?:time|people|members))"
)
_FIGURE = (
    r"(?:number|limit|maximum|minimum|max|min|length|size|width|height|weight|distance|diameter|depth|speed"
    r"|rate|ratio"
    r"|age|score|total|population|temperature|quorum|count|quota|capacity|version)"
)
_POINT = (
    r"(?:(?<!present )(?<!modern )(?:date|day|year|month|decade|century|time|deadline|season|hour"
    r"|weekdays?|weekends?|days))"
)
_SPAN = r"(?:duration|interval|(?:notice |waiting |retention |cooling-off )?period|(?:amount|length) of time)"
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|will|would|has|have|had)"
    r"|(?:ist|sind|war|waren|darf|durfen|kann|konnen|muss|mussen|soll|sollen|wird|werden|wurde|hat|haben|gibt|gab)"
)


def _pattern(expression: str, kind: QuestionKind, expects: Expected) -> tuple[re.Pattern[str], QuestionKind, Expected]:
    return re.compile(expression), kind, expects


# The earliest match in the question decides; of several that start at the same word, the one listed first.
PATTERNS: Final = (
    _pattern(r"\bhow (?:many|few)\b|\bwie ?viele\b", "how_many", "number"),
    _pattern(
        r"\bhow much (?:money|(?:would|will) it cost|(?:does|do|did) .*\bcost)\b",
        "how_much",
        "money",
    ),
    _pattern(
        r"\bhow much\b(?=.*\b(?:cost|pay|paid|charge|charged|fined?|worth|fee|price|spen[dt])\b)", "how_much", "money"
    ),
    _pattern(r"\bhow much time\b", "how_much", "duration"),
    _pattern(r"\bhow much\b|\bwie ?viel\b", "how_much", "number"),
    _pattern(r"\bhow (?:long|soon|quickly|late|early)\b|\bwie (?:lange|schnell)\b", "how_many", "duration"),
    _pattern(r"\bhow (?:often|frequently)\b|\bwie (?:oft|haufig)\b", "when", "duration"),
    _pattern(
        r"\bhow (?:old|young|far|tall|high|wide|big|large|small|short|heavy|deep|thick|fast|hot|cold)\b"
        r"|\bwie (?:alt|weit|hoch|gross|breit|schwer|tief|viel prozent)\b",
        "how_many",
        "number",
    ),
    _pattern(
        r"\b(?:what|which) (?:\w+ )?(?:percentage|percent|proportion|share|fraction|cut)\b"
        r"|\b(?:what|which) (?:is the |is )?(?:\w+ )?majority\b|\b(?:what|which) part of (?:the |a |an |its |their )?"
        rf"{_MONEY}\b|\bwelcher (?:prozentsatz|anteil)\b",
        "how_much",
        "percentage",
    ),
    _pattern(
        rf"\b(?:in |on |at |by |during |until |from |since )?(?:what|which) (?:\w+ )?{_POINT}\b(?! of\b)",
        "when",
        "date",
    ),
    _pattern(
        r"\b(?:in |an |zu |ab |bis )?welche[rmsn]? (?:\w+ )?(?:jahr|tag|datum|monat|jahrhundert|zeit"
        r"|uhrzeit|saison)\b",
        "when",
        "date",
    ),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_POINT}\b", "when", "date"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_SPAN}\b", "how_many", "duration"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_MONEY}\b", "how_much", "money"),
    _pattern(rf"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:\w+ ){{0,2}}{_FIGURE}\b", "how_many", "number"),
    _pattern(rf"\b(?:what|which) (?:\w+ )?{_MONEY} (?:is|are|was|were|do|does|did|must|will)\b", "how_much", "money"),
    _pattern(rf"\b(?:what|which) (?:\w+ )?{_FIGURE}\b(?! of\b)", "how_many", "number"),
    _pattern(
        r"\bwhat(?: is| was| are|\'s) the (?:biggest|smallest|shortest|longest|highest|lowest|latest"
        r"|earliest|youngest|oldest|heaviest"
        r"|least|most|maximum|minimum|largest|furthest|cheapest) (?!(?:part|reason|problem|city|river"
        r"|company|group|type|kind)\b)",
        "how_many",
        "number",
    ),
    _pattern(r"\bwhen\b|\bwann\b|\bseit wann\b|\bbis wann\b", "when", "date"),
    _pattern(r"\b(?:who|whom|whose)\b|\b(?:wer|wem|wen|wessen)\b", "who", "person"),
    _pattern(r"\b(?:to|by|of|from|with) whom\b", "who", "person"),
    _pattern(r"\b(?:what|which) (?:person|people|man|woman|officer|body|committee|official)\b", "who", "person"),
    _pattern(r"\bwhere\b|\bwo(?:her|hin)?\b", "where", "place"),
    _pattern(
        r"\bwhy\b|\bwhat (?:is|was|are) the reasons?\b|\bfor what reason\b|\b(?:warum|weshalb|wieso|wozu)\b",
        "why",
        "reason",
    ),
    _pattern(
        r"\b(?:what (?:does|do|did) .* (?:mean|stand for)\b|define\b|what is meant by\b)", "what_is", "definition"
    ),
    _pattern(r"\bwas (?:bedeutet|versteht man|heisst|ist mit)\b", "what_is", "definition"),
    _pattern(r"\b(?:what|who) (?:is|was) (?:an? |the )?(?:[\w.+#/'-]+ ?){1,3}\??$", "what_is", "definition"),
    _pattern(r"\bwas (?:ist|sind) (?:ein|eine|der|die|das)?\s?(?:[\w.+#/'-]+ ?){1,3}\??$", "what_is", "definition"),
    _pattern(r"\bwhat (?:are|were)\b|^(?:list|name|enumerate)\b|\bwas (?:sind|waren)\b|^nenne\b", "list", "any"),
    _pattern(r"\bwhich\b|\bwelche[rsmn]?\b", "which", "any"),
    _pattern(r"\bhow\b|\bwie\b|\bwodurch\b|\bwomit\b", "how", "any"),
    _pattern(rf"^(?:{_AUXILIARY})\b", "yes_no", "any"),
)

Measure = Literal["", "weight", "length", "age", "speed", "temperature", "telephone"]
MEASURED: Final[tuple[tuple[re.Pattern[str], Measure], ...]] = (
    (re.compile(r"\bhow heavy\b|\bhow much .*\bweigh|\bwie schwer\b|\bweight\b|\bgewicht\b"), "weight"),
    (
        re.compile(
            r"\bhow (?:tall|high|wide|deep|thick|far)\b|\b(?:height|width|depth|diameter|distance) of\b"
            r"|\bwie (?:hoch|breit|tief|weit)(?= (?:ist|sind|war|muss|darf) (?:der|die|das) \w+ (?:von|entfernt))"
        ),
        "length",
    ),
    (re.compile(r"\bhow (?:old|young)\b|\b(?:what|which) age\b|\bwie alt\b"), "age"),
    (re.compile(r"\bhow fast\b"), "speed"),
    (re.compile(r"\bhow (?:hot|cold|warm)\b|\btemperature\b"), "temperature"),
    (re.compile(r"\b(?:tele)?(?:phone|fax) number\b|\btelefonnummer\b"), "telephone"),
)

# "When a player is sent off, how long ...": the question starts after the clause.
OPENING_CLAUSE: Final = re.compile(
    r"^(?:when|where|if|while|after|before|wenn|falls|nachdem)\b[^,?]*,\s*(?=(?:\w+ ){0,2}(?:who|what|when"
    r"|where|which|how|why|wer|was|wann|wo|wie|welche)\b)"
)

# "What is the fee, and when is it due?": the second question starts at its question word.
SECOND_QUESTION: Final = re.compile(
    r",? (?:and|und) ((?:(?:in|at|on|by|to|for|from) )?(?:how|when|what|which|who|whom|where|why|wie|wann|was|wer|wo"
    r"|warum)\b"
    rf"|(?<=, and )(?:{_AUXILIARY})\b)",
    re.IGNORECASE,
)

# The noun that is counted: "how many players", "wie viele Tage", "what percentage of clubs".
COUNTED: Final = re.compile(
    r"\b(?:how (?:many|much|few)|wie ?viele?|(?:percentage|percent|proportion|share|number) of)\s+(?:of\s+"
    r"|the\s+|other\s+|more\s+|different\s+)*"
    r"([\w'-]+(?: (?!(?:can|may|are|is|do|does|did|must|should|has|have|had|will|were|was|in|of|at|to|on"
    r"|per|for|until|a|an|the|i|we"
    r"|you|he|she|it|they|darf|hat|haben|ist|sind|muss|kann|wurden|werden|gibt|gab|im|in|von|bei)\b)[\w'-]+)?)"
)

# A named quantity: "what salary", "what is the fee", "welche Gebühr".
NAMED_QUANTITY: Final = re.compile(
    rf"\b(?:what|which) (?:(?:is|was|are|were|would be) )?(?:the |an? )?((?:\w+ )?(?:{_MONEY}|{_FIGURE}))\b"
)

_ENGLISH, _GERMAN = load_language("en"), load_language("de")
# 2: a word that only German has; 1: a word that is sometimes English.
GERMAN_WORDS: Final[Mapping[str, int]] = dict.fromkeys(_GERMAN.lists["detection_words"], 2) | dict.fromkeys(
    _GERMAN.lists["ambiguous_detection_words"], 1
)
ENGLISH_WORDS: Final = frozenset(_ENGLISH.lists["detection_words"])
MONTHS: Final = frozenset(fold(names[0]) for names in (*_ENGLISH.months, *_GERMAN.months))
ASKING_WORDS: Final = frozenset((*_ENGLISH.lists["asking_words"], *_GERMAN.lists["asking_words"]))

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
class ParsedQuestion:
    """A parsed question. `terms` are the stems of its content words, `surfaces` the same words as written.

    `parts` are the actual questions if they are less than the text: the last question of several sentences, or each
    question of "what ..., and how ...?"; else empty.
    `counted` is the noun after "how many" or the requested quantity (salary), `measure` that of the word after "how"
    (heavy: weight); either may be empty.
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
        """Whether the question is for two things: two questions in one, or "this and that"."""
        return len(self.parts) > 1 or bool(re.search(r"\b(?:and|und|both|beide)\b", _last_question(self.text)))

    @property
    def expects_figure(self) -> bool:
        """Whether only a number, an amount or a point in time answers it."""
        return self.expects in {"number", "money", "percentage", "duration", "date"}


def parse_question(question: str, tokeniser: KeywordTokeniser | None = None) -> ParsedQuestion:
    """Parse a question; `tokeniser` is that of the collection, by default that of the question's language."""
    text = " ".join(question.split())
    folded = fold(text)
    language = question_language(text)
    tokeniser = tokeniser or KeywordTokeniser(language)
    kind, expects = _kind(folded)
    terms, surfaces = _content_words(text, tokeniser)
    counted = COUNTED.search(folded) or NAMED_QUANTITY.search(folded)
    measured: Measure = next((measure for pattern, measure in MEASURED if pattern.search(folded)), "")
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


class QuestionReader:
    """Parses questions, each in its language; the tokenisers are built once. Safe to share between threads."""

    def __init__(self) -> None:
        self._tokenisers: dict[Language, KeywordTokeniser] = {
            "en": KeywordTokeniser("en"),
            "de": KeywordTokeniser("de"),
        }

    def read(self, text: str) -> ParsedQuestion:
        """Parse a question in its own language."""
        return parse_question(text, self._tokenisers[question_language(text)])


def question_language(text: str) -> Language:
    """German if the German function words outweigh the English ones; words of both languages do not count."""
    words = re.findall(r"\w+", text.lower())
    german = sum(GERMAN_WORDS.get(word, 0) for word in words)
    return "de" if german > 2 * sum(word in ENGLISH_WORDS for word in words) else "en"


def numbers_of(text: str) -> tuple[str, ...]:
    """The numbers in digits, without thousands separators, in order and without repeats."""
    numbers = (re.sub(r"(?<=\d),(?=\d{3}\b)", "", number) for number in _NUMBER.findall(text))
    return tuple(dict.fromkeys(numbers))


def _last_question(text: str) -> str:
    """The last question among several sentences; the text if there is none."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return next((sentence for sentence in reversed(sentences) if sentence.endswith("?")), text)


def _parts(text: str) -> tuple[str, ...]:
    last = _last_question(text)
    second = SECOND_QUESTION.search(last)
    if second and len(last[: second.start()].split()) >= _FEWEST_PART_WORDS:
        return last[: second.start()].rstrip(" ,") + "?", last[second.start(1) :]
    return (last,) if last != text and len(last.split()) >= _FEWEST_PART_WORDS else ()


def _kind(folded: str) -> tuple[QuestionKind, Expected]:
    last = _last_question(folded)
    last = OPENING_CLAUSE.sub("", re.sub(r"\b(what|who|when|where|how|which)'s\b", r"\1 is", last))
    matches = ((pattern.search(last), kind, expects) for pattern, kind, expects in PATTERNS)
    starts = [(match.start(), kind, expects) for match, kind, expects in matches if match]
    _, kind, expects = min(starts, key=lambda one: one[0], default=(0, "other", "any"))
    return kind, expects


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
    """Quoted words, codes and, in languages that capitalise only names, capitalised words within a sentence."""
    names = [match.group(1).strip() for match in _QUOTED.finditer(text)]
    names += [match.group() for match in _CODE.finditer(text)]
    if language == "en":
        lowered = _OPENING.sub(lambda match: match.group().lower(), text)
        names += [match.group() for match in _CAPITALISED.finditer(lowered)]
    return tuple(dict.fromkeys(name for name in names if _is_name(name, tokeniser)))


def _is_name(name: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether it is none of a lone stopword, a month, and an abbreviation that the text may spell out."""
    return (
        bool(tokeniser.stems(name))
        and not (name.isalpha() and len(name) < 5)
        and not name.startswith("I'")
        and fold(name) not in MONTHS
    )


Intent = Literal[
    "definition", "how_to", "who", "when", "where", "how_many", "list", "compare", "why", "yes_no", "other"
]


_BY_KIND: Final[dict[QuestionKind, Intent]] = {
    "who": "who",
    "when": "when",
    "where": "where",
    "how_many": "how_many",
    "how_much": "how_many",
    "what_is": "definition",
    "how": "how_to",
    "why": "why",
    "yes_no": "yes_no",
    "list": "list",
    "which": "other",
    "other": "other",
}
_COMPARES = re.compile(
    r"\bcompar(?:e|es|ed|ing|ison)\b|\bdiffer(?:s|ence|ences)?\b|\bversus\b|\bvs\b|\bverglich\w{0,4}\b|\bvergleich\w{0,4}\b"
    r"|\bunterschied\w{0,4}\b|\bunterscheid\w{0,4}\b"
)
# For folded text; the first row that matches decides. French "où" without its accent means "or".
_ROWS_FR: Final[tuple[tuple[str, Intent], ...]] = (
    (r"\bdifferences?\b|\bcompar", "compare"),
    (r"\bcombien\b", "how_many"),
    (r"\bpourquoi\b", "why"),
    (r"\bquand\b|\b(?:en|a) quel(?:le)? (?:annee|date|jour|mois|heure)\b", "when"),
    (r"\bcomment\b", "how_to"),
    (r"^(?:d')?ou (?:est|sont|se|peut|trouver|dois|doit|puis)\b", "where"),
    (r"^(?:a |de |par |avec |pour )?qui\b", "who"),
    (r"^(?:qu'est-ce qu|c'est quoi|definition\b|que signifie\b)", "definition"),
    (r"^quel(?:le)?s (?:sont|etaient)\b|^liste", "list"),
    (r"^est-ce qu", "yes_no"),
)
_ROWS_LT: Final[tuple[tuple[str, Intent], ...]] = (
    (r"\bskiriasi\b|\bskirtum|\bpalygin", "compare"),
    (r"\bkiek\b", "how_many"),
    (r"\bkodel\b", "why"),
    (r"\bkada\b|\bkuriais metais\b|\bkuriuo metu\b", "when"),
    (r"\bkaip\b", "how_to"),
    (r"\bkur\b", "where"),
    (r"^(?:kas yra|ka reiskia)\b", "definition"),
    (r"^(?:kas|kam|kuo|su kuo|is ko)\b", "who"),
    (r"^(?:kokie|kokios|kurie|kurios|isvardi)", "list"),
    (r"^ar\b", "yes_no"),
)
_INTENT_PATTERNS = {
    "fr": tuple((re.compile(pattern), intent) for pattern, intent in _ROWS_FR),
    "lt": tuple((re.compile(pattern), intent) for pattern, intent in _ROWS_LT),
}
# A question has few words, so letters count as well.
_DISTINCTIVE = {code: load_language(code).lists["detection_words"] for code in ("fr", "lt")}
_LETTERS = {"fr": frozenset("èêçîôûœ"), "lt": frozenset("ąčęėįšųūž")}


def asked_language(text: str, guess: str) -> str:
    """French or Lithuanian by its function words and letters, else `guess`, which is English or German."""
    words = re.findall(r"[^\W\d_]+", fold(text))
    spelled = frozenset(lower(text))
    for language, distinctive in _DISTINCTIVE.items():
        count = sum(word in distinctive for word in words) + bool(spelled & _LETTERS[language])
        if count >= 2 and 4 * count >= len(words):
            return language
    return guess


def intent_of(question: ParsedQuestion, language: str) -> Intent:
    """The intent of a question; "other" if no word shows it, as for keywords."""
    folded = fold(question.text)
    rows = _INTENT_PATTERNS.get(language)
    if rows is not None:
        return next((intent for pattern, intent in rows if pattern.search(folded)), "other")
    return "compare" if _COMPARES.search(folded) else _BY_KIND[question.kind]


_SHORT = {0: 1.0, 1: 1.0, 2: 0.8, 3: 0.4}  # by number of content words
_SYMBOL_FACTOR = 1.5  # with two codes in three words the whole counts as keywords
_SYMBOLS = frozenset("_#+/\\&@")
_QUOTED_PHRASE = re.compile(r"[\"“„«][^\"“”„«»]{2,60}[\"”“»]")


def keyword_likeness(question: ParsedQuestion) -> float:
    """From 0, a question in words, to 1, keywords alone: the greater of how short and how symbolic it is."""
    content = len(set(question.surfaces))
    short = _SHORT.get(content, 0.0)
    quoted = sum(len(phrase.split()) for phrase in _QUOTED_PHRASE.findall(question.text))
    plain = _QUOTED_PHRASE.sub(" ", question.text)
    coded = sum(_is_code(word.strip("?!,;:().")) for word in plain.split())
    symbols = _SYMBOL_FACTOR * (coded + quoted) / max(1, content, coded + quoted)
    return round(min(1.0, max(short, symbols)), 2)


def _is_code(word: str) -> bool:
    """Whether a word has digits, symbols, or capitals only."""
    if any(character.isdigit() or character in _SYMBOLS for character in word):
        return True
    return len(word) > 1 and word.isupper()
