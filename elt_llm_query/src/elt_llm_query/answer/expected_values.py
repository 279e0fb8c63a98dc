"""Whether a sentence holds the kind of value a question asks for: a number, a date, an amount, a person."""

import re
from collections.abc import Callable

from elt_llm_core.text.normalise import fold

from elt_llm_query.understand import Question, numbers_of

_NUMBER_WORDS = (
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen "
    "once twice half "
    "third quarter both none neither no several single "
    "null zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn zwanzig dreissig vierzig "
    "funfzig hundert "
    "tausend million millionen milliarden dutzend einmal zweimal dreimal halbe drittel viertel beide "
    "mehrere kein keine keiner "
    "erste zweite dritte first second third fourth fifth tenth twentieth"
)
_ONE = r"(?:(?:one|1|a single|only one|eine?[nmr]?)\b)"
_UNIT_OF_TIME = (
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|fortnights?|months?|years?|decades?|centur(?:y|ies)"
    r"|seasons?|weekends?"
    r"|sekunden?|minuten?|stunden?|tagen?|tage|tag|wochen?|monate?n?|jahre?n?|jahrhunderte?)"
)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar"
    r"|apr|jun|jul|aug|sept?"
    r"|oct|nov|dec|januar|februar|marz|mai|juni|juli|oktober|dezember)"
)
_WEEKDAY = (
    r"(?:mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|weekdays?|weekends?"
    r"|montags?|dienstags?"
    r"|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?)"
)
_PERIODIC = (
    r"(?:hourly|daily|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?|taglich|wochentlich"
    r"|monatlich|jahrlich)"
)

_FIGURE = re.compile(rf"\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b")
_LETTERS = re.compile(r"[^\W\d]+")
_COLUMN = re.compile(r"([^\W\d][^\W\d ]{0,60}(?: [^\W\d]{1,60})?): \W?\d")
_OWN_NUMBER = re.compile(r"^\W*(?:\d+(?:\.\d+)+[.)]?|\d+[.)]|\(\w{1,3}\))\**\s+")
_REFERENCE = re.compile(
    r"\b(?:rules?|sections?|clauses?|articles?|appendix|chapters?|pages?|tables?|figures?|forms?|schedules?"
    r"|paragraphs?|parts?|steps?"
    r"|annex|law|regel|abschnitt|artikel|seite|tabelle|kapitel|anhang)\s+\d+(?:\.\d+)*(?:(?:,| and| or| to"
    r"|-) \d+(?:\.\d+)*)*",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\w£$€])[^\W\d_]+[-/.]?\d[\w.-]*")
_SINGLE = re.compile(rf"\b{_ONE}")
_DATE = re.compile(
    rf"\b{_MONTH}\b(?: \d|\.? )|\b\d{{1,2}}\.? {_MONTH}\b|\b(?:1\d|20)\d\d(?:s|er[nsm]?)?\b"
    rf"|\b\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}\b"
    rf"|\b{_WEEKDAY}\b|\b\d{{1,2}}[:.]\d\d\b|\b\d{{1,2}} ?(?:am|pm|uhr|o'clock)\b|\b(?:noon|midnight|midday"
    rf"|mittags|mitternacht)\b"
    rf"|\b(?:\d+(?:st|nd|rd|th)|\d+\.|\w+th|first|second|third|\w+te[nsrm]?) (?:century|jahrhunderts?)"
    rf"|\b(?:ad|bc|bce|ce|v\. chr)\b|\b(?:in|by|before|after|since|until) {_MONTH}\b"
)
_WHEN = re.compile(
    rf"\b(?:before|after|during|until|till|once|while|when|if|wenn|falls|whenever|immediately|as soon as"
    rf"|at the (?:end|start|beginning)|within|"
    rf"by the (?:end|start)|prior to|following|every|each|upon|vor|nach|wahrend|bis|sobald|sofort|innerhalb"
    rf"|jede[nrms]?)\b|\b{_PERIODIC}\b"
    rf"|\b{_UNIT_OF_TIME}\b|\b(?:century|centuries|era|age|period|today|now|tomorrow)\b"
)
_DURATION = re.compile(
    rf"(?:\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')}|an?|one|each|every|per|eine[nmr]?"
    rf"|jede[nrms]?)\b)[\w.,()-]{{0,40}}(?: [\w()-]{{1,40}})? ?-?{_UNIT_OF_TIME}\b"
    rf"|\b{_PERIODIC}\b|\b(?:once|twice|einmal|zweimal)\b|\b(?:immediately|indefinitely|permanently|forever"
    rf"|for life|lifetime|seconds|minutes|hours|never|always|selten|nie|immer)\b"
    r"|\b(?:since|until|bis|seit)\b.{0,200}\d"
)
_MONEY = re.compile(
    r"[$£€¥]|\b(?:pounds?|pence|dollars?|cents?|euros?|francs?|eur|usd|gbp|marks?|pfund|lira|kronen|yen"
    r"|rupees?|free of charge|(?:is|are) free|unentgeltlich|gratis|no charge|no fee|for free|kostenlos)\b"
)
_PERCENT = re.compile(
    r"%|\bper ?cent\b|\bprozent\b|\b(?:half|halves|quarters?|(?:simple |absolute )?majority)\b"
    r"|\b(?:halfte|drittel|viertel|funftel|zehntel|zwanzigstel|mehrheit)\b"
    r"|\b(?:an?|one|two|three|four|five|seven|eight|nine)[ -](?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|twelfth|twentieth|fiftieth|hundredth)s?\b|\b\d+/\d+\b(?!/)"
    r"|\b(?:one|two|three|\d+) (?:in|out of) (?:every )?(?:\d+|ten|three|four|five|hundred)\b"
)
_ROLE = re.compile(
    r"\b(?:secretary|committee|board|chair(?:man|woman|person)?|president|treasurer|council|panel|team"
    r"|department|staff|authority"
    r"|authorities|organi[sz]ation|agency|office|commission|company|government|group|members?|parents?"
    r"|guardians?|people|person"
    r"|everyone|anyone|nobody|king|queen|emperor|pope|vorstand|ausschuss|abteilung|behorde|leitung|kommission)\b"
    r"|\b(?:the|an?|each|every|any|der|die|ein|eine) (?:[\w-]+ )?\w{3,}(?:er|or|ist|ee|ian|ant)s?\b"
)
_PROPER = re.compile(r"(?<=[\w,;:(] )[\"\u201c(]?[A-ZÀ-Þ][\w'\u2019.-]+|^[A-ZÀ-Þ][\w'\u2019.-]+ [A-ZÀ-Þ]")
_PLACE = re.compile(
    r"(?<=\b[Ii]n )(?:the )?[A-ZÀ-Þ]|(?<=\b[Aa]t )(?:the )?[A-ZÀ-Þ]|\b(?:in|at|on|near|from|to|inside"
    r"|within|beside|behind|outside|under|into)\b|[\w.]/\w"
    r"|\b(?:im|am|auf|bei|aus|nach|neben)\b"
)
_REASON = re.compile(
    r"\b(?:because|since|due to|as a result|so that|in order to|therefore|thus|hence|reasons?|caused?"
    r"|owing to|to (?:ensure|avoid|prevent|protect"
    r"|allow|make|keep|help|give)|means that|weil|da|denn|deshalb|daher|grund|um|damit)\b"
)


def support(question: Question, sentence: str) -> float:
    """How well `sentence` holds a value of the expected kind that the question does not itself name.

    1: it does; 0.5: something near it; 0: nothing. Questions that expect no particular value get 1.
    """
    measure = _MEASURES.get(question.expects)
    return measure(question, without_numbering(sentence)) if measure else 1.0


def without_numbering(sentence: str) -> str:
    """The sentence without its own number, numbers that name rules and pages, and codes such as U-14."""
    return _CODE.sub(" ", _REFERENCE.sub(" ", _OWN_NUMBER.sub("", sentence)))


def counted_phrases(sentence: str) -> list[str]:
    """What is counted: the words either side of each number, three at most, or the name of its column."""
    folded = fold(without_numbering(sentence))
    phrases = _COLUMN.findall(folded)
    for found in _NUMBER.finditer(folded):
        phrases.append(" ".join(_LETTERS.findall(folded[found.end() : found.end() + 60])[:3]))
        phrases.append(" ".join(_LETTERS.findall(folded[max(0, found.start() - 60) : found.start()])[-3:]))
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


def figures(question: Question, sentence: str) -> bool:
    """Whether a number, in digits or words, stands in the sentence that the question does not name."""
    new_digits = set(numbers_of(sentence)) - set(question.numbers)
    in_words = _FIGURE.findall(re.sub(r"\d+", " ", fold(sentence)))
    return bool(new_digits) or any(word not in fold(question.text).split() for word in in_words)


def _number(question: Question, sentence: str) -> float:
    unit = _UNITS.get(question.measure)
    if unit is not None and not unit.search(fold(sentence)):
        return 0.0
    if not figures(question, sentence):
        return 0.5 if _SINGLE.search(fold(sentence)) else 0.0
    return 1.0


def _money(question: Question, sentence: str) -> float:
    folded = fold(sentence)
    if _MONEY.search(folded):
        return 1.0
    return 0.3 if figures(question, sentence) else 0.0


def _percentage(question: Question, sentence: str) -> float:
    if _PERCENT.search(fold(sentence)):
        return 1.0
    return 0.3 if figures(question, sentence) else 0.0


def _date(question: Question, sentence: str) -> float:
    folded = fold(sentence)
    dates = {found.group() for found in _DATE.finditer(folded)} - {
        found.group() for found in _DATE.finditer(fold(question.text))
    }
    if dates:
        return 1.0
    if question.kind == "when" and not _asks_for_calendar(question):
        return 0.7 if _WHEN.search(folded) else 0.0
    return 0.3 if _WHEN.search(folded) and figures(question, sentence) else 0.0


def _duration(question: Question, sentence: str) -> float:
    folded = fold(sentence)
    if _DURATION.search(folded):
        return 1.0
    if _DATE.search(folded):
        return 0.7
    return 0.4 if figures(question, sentence) or _WHEN.search(folded) else 0.0


def _person(question: Question, sentence: str) -> float:
    asked = set(fold(question.text).split())
    proper = [fold(found.group()).strip('"\u201c( ') for found in _PROPER.finditer(sentence)]
    roles = [found.group() for found in _ROLE.finditer(fold(sentence))]
    if any(not set(name.split()) <= asked for name in proper):
        return 1.0
    return 1.0 if any(not set(role.split()) <= asked for role in roles) else 0.0


def _definition(question: Question, sentence: str) -> float:
    subject = "|".join(re.escape(fold(word)) for word in question.surfaces[-3:])
    if not subject:
        return 0.5
    pattern = (
        rf"(?:{subject})\w*\W{{1,3}}(?:\([^)]*\) ?)?(?:is|are|was|were|means?|refers? to|denotes?"
        rf"|stands? for|describes?|ist|sind|bedeutet|bezeichnet|:|\||=|\u2013|-|,? an? )"
    )
    return 1.0 if re.search(pattern, fold(sentence)) else 0.4


def _asks_for_calendar(question: Question) -> bool:
    return bool(
        re.search(r"\b(?:year|date|day|month|century|decade|jahr|datum|tag|monat|jahrhundert)\b", fold(question.text))
    )


def _found(pattern: re.Pattern[str]) -> Callable[[Question, str], float]:
    return lambda _, sentence: 1.0 if pattern.search(sentence) else 0.3


_UNITS: dict[str, re.Pattern[str]] = {
    "weight": re.compile(
        r"\b(?:\d[\d.,]{0,40} ?)?(?:kg|kilo(?:gram)?s?|grams?|g|lbs?|pounds?|ounces?|oz|tonnes?|tons?|stone"
        r"|gramm|tonnen?)\b"
    ),
    "length": re.compile(
        r"\d ?(?:m|cm|mm|km|ft|in)\b|\b(?:(?:centi|milli|kilo)?met(?:re|er)s?|feet|foot|inch(?:es)?|yards?"
        r"|miles?|metern?|zoll|meilen)\b|\d['\"]|\bin \d"
    ),
    "age": re.compile(r"\d|\b(?:years?|aged?|older|younger|birthday|jahren?|alter)\b|\b(?:teen|teenth|ty)\b"),
    "speed": re.compile(r"\b(?:km/h|mph|knots?|kmh|per (?:hour|second|minute)|an hour|m/s|kn)\b"),
    "temperature": re.compile(r"°|\b(?:degrees?|celsius|fahrenheit|grad|kelvin)\b"),
    "telephone": re.compile(r"(?<![\d-])(?!\d{4}-\d\d-\d\d\b)(?!\d\d?/\d\d?/\d{4}\b)\+?\d[\d ()/-]{5,}\d"),
}
_NUMBER = re.compile(rf"[\d.,]{{0,40}}\d|\b(?:{_NUMBER_WORDS.replace(' ', '|')}|one)\b")
_MEASURES: dict[str, Callable[[Question, str], float]] = {
    "number": _number,
    "money": _money,
    "percentage": _percentage,
    "date": _date,
    "duration": _duration,
    "person": _person,
    "definition": _definition,
    "place": _found(_PLACE),
    "reason": _found(_REASON),
}
