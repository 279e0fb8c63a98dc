"""Numbers as values: 3,000 and 3000, seven and 7, 2 million and 2,000,000, 18th and 18, with their units."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from elt_llm_core.text.normalise import fold

_UNITS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_EINHEITEN = (
    "zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn"
    " achtzehn neunzehn"
)
_ORDINALS = (
    "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
)
_MORE_ORDINALS = "sixteenth seventeenth eighteenth nineteenth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ZEHNER = "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig"
_SCALES = {
    "hundred": 1e2, "hundert": 1e2, "thousand": 1e3, "tausend": 1e3, "million": 1e6, "millions": 1e6,
    "millionen": 1e6, "billion": 1e9, "billions": 1e9, "milliarde": 1e9, "milliarden": 1e9, "trillion": 1e12,
    "bn": 1e9, "m": 1e6, "k": 1e3, "mio": 1e6, "mrd": 1e9,
}  # fmt: skip
_SPECIAL = {
    "once": 1.0, "einmal": 1.0, "fortnight": 14.0, "fortnights": 14.0, "halfte": 0.5,
    "half": 0.5, "noon": 12.0, "midday": 12.0, "midnight": 24.0, "twice": 2.0, "dozen": 12.0, "both": 2.0,
    "zweimal": 2.0, "dutzend": 12.0, "twentieth": 20.0, "thirtieth": 30.0, "zero": 0.0, "null": 0.0,
}  # fmt: skip
_ROUGHLY = re.compile(
    r"\b(?:about|around|nearly|almost|roughly|approximately|some|circa|ca|over|more than"
    r"|etwa|rund|fast|uber|mehr als)\W+$"
)
_FIGURE = re.compile(
    r"(?<![\w.])(?:\d{1,18}(?:[.,]\d{1,18}){0,6})(?=(?:st|nd|rd|th|s|er|ers)?(?![^\W_]))"
    r"|(?<![^\W_])\d{1,18}(?=[a-z%°])"
)
_WORD = re.compile(r"[^\W\d_]+")
_MEASURES = {
    "percent": ("%", "percent", "prozent"),
    "kilometre": ("km", "kilometre", "kilometer", "kilometres", "kilometers", "kilometern"),
    "mile": ("mile", "miles", "meilen"), "metre": ("m", "metre", "metres", "meter", "meters", "metern"),
    "foot": ("ft", "foot", "feet"), "kilogram": ("kg", "kilogram", "kilograms", "kilogramm"), "pound": ("lb", "lbs"),
    "day": ("day", "days", "tag", "tage", "tagen"), "week": ("week", "weeks", "woche", "wochen"),
    "month": ("month", "months", "monat", "monate", "monaten"), "year": ("year", "years", "jahr", "jahre", "jahren"),
    "hour": ("hour", "hours", "stunde", "stunden"), "minute": ("minute", "minutes", "minuten"),
    "second": ("seconds", "sekunden"), "euro": ("euro", "euros"), "dollar": ("dollar", "dollars"),
    "time": ("time", "times", "mal"),
}  # fmt: skip
MEASURES = {word: measure for measure, words in _MEASURES.items() for word in words}
_SIGNS = {"$": "dollar", "€": "euro", "£": "sterling"}
# Measures that are so many of a smaller one.
_OF_SMALLER = {"week": ("day", 7.0), "year": ("month", 12.0), "hour": ("minute", 60.0)}
_NEAR = 0.06
# "twenty-four" is one number, and no twenty beside a four.
_COMPOUND = re.compile(rf"\b({'|'.join(_TENS.split())})[- ](one|{'|'.join(_UNITS.split()[:8])})\b")


@cache
def _values() -> Mapping[str, float]:
    words: dict[str, float] = dict(_SPECIAL)
    for listed in (_UNITS, _EINHEITEN, f"{_ORDINALS} {_MORE_ORDINALS}"):
        words.update({word: float(value) for value, word in enumerate(listed.split(), 2)})
    for listed in (_TENS, _ZEHNER):
        words.update({word: float(value * 10) for value, word in enumerate(listed.split(), 2)})
    return words


@dataclass(frozen=True)
class Number:
    """A number at text[start:end]: every value it may mean (1.000 is one or a thousand), its unit if it is a known one.

    `weak` if the words may be no count at all (second, both, half); `rough` if the text says that it is not exact.
    """

    start: int
    end: int
    values: frozenset[float]
    measure: str = ""
    weak: bool = False
    rough: bool = False

    def agrees(self, other: "Number") -> bool:
        """Whether both may mean the same amount; a rough number also agrees with what it is the rounding of."""
        if self.measure and other.measure and self.measure != other.measure:
            (unit, values), (other_unit, other_values) = _in_smaller(self), _in_smaller(other)
            return unit == other_unit and bool(values & other_values)
        if self.values & other.values:
            return True
        return self.rough and any(_rounds(one, two) for one in self.values for two in other.values)


def numbers_in(text: str) -> list[Number]:
    """The numbers of a text in order; "one" and "first" are none. Positions are those of `text`."""
    lowered = fold(text) if len(fold(text)) == len(text) else text.lower()
    words = _values()
    figures = [(one.start(), one.end(), _readings(one.group()), False) for one in _FIGURE.finditer(lowered)]
    figures += [(*one.span(), _sum(one[1], one[2]), False) for one in _COMPOUND.finditer(lowered)]
    taken = {place for start, end, _, _ in figures for place in range(start, end)}
    spelled = [
        (one.start(), one.end(), frozenset({words[one.group()]}), one.group() in _SPECIAL or one.group() == "second")
        for one in _WORD.finditer(lowered)
        if one.group() in words and one.start() not in taken
    ]
    found = _scaled(lowered, sorted([*figures, *spelled], key=lambda one: one[0]))
    return [_number(lowered, start, end, values, weak=weak) for start, end, values, weak in found]


def _sum(tens: str, ones: str) -> frozenset[float]:
    return frozenset({_values()[tens] + _values().get(ones, 1.0)})


def _in_smaller(number: Number) -> tuple[str, frozenset[float]]:
    """The unit that a number is counted in, weeks in days, and its values in that."""
    unit, count = _OF_SMALLER.get(number.measure, (number.measure, 1.0))
    return unit, frozenset(value * count for value in number.values)


def _rounds(rough: float, exact: float) -> bool:
    return abs(rough - exact) <= _NEAR * max(rough, exact) and _digits(rough) < _digits(exact)


def _digits(value: float) -> int:
    """How many digits of a number are significant: 1 of 300, 3 of 304."""
    return len(f"{value:.15g}".replace(".", "").strip("0"))


def _readings(digits: str) -> frozenset[float]:
    plain = digits.replace(",", "").replace(".", "")
    values = set[float]()
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3}){1,6}", digits):
        values.add(float(plain))
    if digits.count(".") + digits.count(",") <= 1:
        values.add(float(digits.replace(",", ".")))
    return frozenset(values or {float(plain)})


def _scaled(
    lowered: str, found: list[tuple[int, int, frozenset[float], bool]]
) -> list[tuple[int, int, frozenset[float], bool]]:
    """Numbers with the word for a scale after them multiplied by it; "one million" counts as one."""
    scaled = []
    for start, end, values, weak in found:
        after = re.match(r"[ -]{0,2}([a-z]+)\b", lowered[end : end + 16])
        scale = _SCALES.get(after.group(1)) if after else None
        if after and scale and (len(after.group(1)) > 1 or lowered[max(0, start - 1) : start] in _SIGNS):
            scaled.append((start, end + after.end(), frozenset(value * scale for value in values), False))
        else:
            scaled.append((start, end, values, weak))
    ones = re.finditer(r"\b(?:one|a|eine?) (hundred|thousand|million|billion|milliarde)\b", lowered)
    scaled.extend((one.start(), one.end(), frozenset({_SCALES[one.group(1)]}), False) for one in ones)
    return sorted(scaled, key=lambda one: one[0])


def _number(lowered: str, start: int, end: int, values: frozenset[float], *, weak: bool) -> Number:
    sign = _SIGNS.get(lowered[max(0, start - 1) : start], "")
    after = re.match(r"[ -]?(%|[a-z]+)", lowered[end : end + 16])
    if values == {0.5}:  # of a hundred
        values |= {50.0}
    measure = sign or (MEASURES.get(after.group(1), "") if after else "")
    return Number(start, end, values, measure, weak, bool(_ROUGHLY.search(lowered[max(0, start - 14) : start])))
