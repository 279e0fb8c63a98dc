"""Rules and numbers in a sentence: what is allowed, required, forbidden or limited, and by how much.

"No club may change its name more than once" and "a club may change its name at most once" are the same rule, because a
negation is read together with the limit, condition or time that it negates.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from elt_llm_core.text.languages import alternatives, load_language, month_names, word_pattern
from elt_llm_core.text.languages import numbers as number_words
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import fold

from elt_llm_query.understanding.patterns import PatternFile

_PLAIN: Final = str.maketrans("äöüß\u2019", "aous'")
_PATTERNS: Final = PatternFile(__file__)
# Phrases are tried in this order, so a longer phrase precedes any shorter phrase that it contains.
_MONTH: Final = alternatives(month_names(["en"]))
_WORDINGS: Final = _PATTERNS.rows("rule_words")
_MARK: Final = re.compile(
    "|".join(
        rf"(?P<{kind}_{number}>(?<!\w)(?:{words.replace('MONTHS', _MONTH)})(?!\w))"
        for number, (kind, words) in enumerate(_WORDINGS)
    )
)


@dataclass(frozen=True)
class RuleMark:
    """A rule word or phrase, such as "must" or "at most", at start:end of a text. `kind` is its function."""

    kind: str
    start: int
    end: int
    words: str


_SCALES = number_words("scales", folded=True)
_TABLES = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text(encoding="utf-8"))
_SPECIAL: Mapping[str, float] = _TABLES["special"]
_FIGURE = re.compile(
    r"(?<![\w.])(?:\d{1,18}(?:[.,]\d{1,18}){0,6})(?=(?:st|nd|rd|th|s|er|ers)?(?![^\W_]))"
    r"|(?<![^\W_])\d{1,18}(?=[a-z%°])"
)
_NUMBER_WORD = re.compile(r"[^\W\d_]+")
MEASURES: Mapping[str, str] = {
    word: measure for measure, words in _TABLES["measures"].items() for word in words.split()
}
_SIGNS = {"$": "dollar", "€": "euro", "£": "sterling"}
# For each unit, a smaller unit, and how many of the smaller one it contains.
_OF_SMALLER = {"week": ("day", 7.0), "year": ("month", 12.0), "hour": ("minute", 60.0)}
_VALUES = {**_SPECIAL, **number_words("ordinals", folded=True), **number_words("numbers", folded=True)}
_ONES, _TENS = (
    alternatives(word for word, value in load_language("en").numbers.items() if low <= value <= high)
    for low, high in ((2, 9), (20, 90))
)
# "twenty-four" is one number, not "twenty" and "four".
_COMPOUND = re.compile(rf"\b({_TENS})[- ](one|{_ONES})\b")
_ROUGH_ERROR = 0.06  # greatest difference between an approximate number and an exact one, as a share of the greater


@dataclass(frozen=True)
class NumberValue:
    """A number at text[start:end] with every value it may mean (1.000 is one or a thousand) and its unit, if known.

    `weak` is true if the word may have another meaning (second, both, half), `rough` if the text marks the number as
    approximate.
    """

    start: int
    end: int
    values: frozenset[float]
    measure: str = ""
    weak: bool = False
    rough: bool = False

    def agrees(self, other: "NumberValue") -> bool:
        """Whether both numbers may mean one amount. A rough one ("about 300") agrees with a precise one close to it."""
        if self.measure and other.measure and self.measure != other.measure:
            (unit, values), (other_unit, other_values) = _in_smaller_unit(self), _in_smaller_unit(other)
            return unit == other_unit and bool(values & other_values)
        if self.values & other.values:
            return True
        return self.rough and any(
            abs(rough - exact) <= _ROUGH_ERROR * max(rough, exact) and _digits(rough) < _digits(exact)
            for rough in self.values
            for exact in other.values
        )


def find_numbers(text: str) -> list[NumberValue]:
    """Find the numbers in a text, in digits or words, in order. "One" and "first" are ignored."""
    lowered = fold(text) if len(fold(text)) == len(text) else text.lower()
    figures = [NumberValue(*one.span(), _possible_values(one.group())) for one in _FIGURE.finditer(lowered)]
    figures += [
        NumberValue(*one.span(), frozenset({_VALUES[one[1]] + _VALUES.get(one[2], 1.0)}))
        for one in _COMPOUND.finditer(lowered)
    ]
    taken = {position for figure in figures for position in range(figure.start, figure.end)}
    for one in _NUMBER_WORD.finditer(lowered):
        word = one.group()
        if word in _VALUES and one.start() not in taken:
            is_weak = word in _SPECIAL or word == "second"
            figures.append(NumberValue(*one.span(), frozenset({_VALUES[word]}), weak=is_weak))
    numbers = [_scale(lowered, figure) for figure in figures]
    ones = re.finditer(r"\b(?:one|a|eine?) (hundred|thousand|million|billion|milliarde)\b", lowered)
    numbers += [NumberValue(*one.span(), frozenset({_SCALES[one[1]]})) for one in ones]
    return [_with_measure(lowered, number) for number in sorted(numbers, key=lambda number: number.start)]


def _in_smaller_unit(number: NumberValue) -> tuple[str, frozenset[float]]:
    """Return the next smaller unit (days for weeks), or else the number's own unit, and its possible values in it."""
    unit, count = _OF_SMALLER.get(number.measure, (number.measure, 1.0))
    return unit, frozenset(value * count for value in number.values)


def _digits(value: float) -> int:
    """Return how many significant digits a number has: 300 has one, 304 has three."""
    return len(f"{value:.15g}".replace(".", "").strip("0"))


def _possible_values(digits: str) -> frozenset[float]:
    plain = digits.replace(",", "").replace(".", "")
    values = set[float]()
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3}){1,6}", digits):
        values.add(float(plain))
    if digits.count(".") + digits.count(",") <= 1:
        values.add(float(digits.replace(",", ".")))
    return frozenset(values or {float(plain)})


def _scale(lowered: str, number: NumberValue) -> NumberValue:
    """Multiply a number by the scale word after it, such as "million". Without such a word, return the number."""
    after = re.match(r"[ -]{0,2}([a-z]+)\b", lowered[number.end : number.end + 16])
    scale = _SCALES.get(after[1]) if after else None
    has_sign = lowered[max(0, number.start - 1) : number.start] in _SIGNS
    if not after or not scale or (len(after[1]) == 1 and not has_sign):
        return number
    return NumberValue(number.start, number.end + after.end(), frozenset(value * scale for value in number.values))


def _with_measure(lowered: str, number: NumberValue) -> NumberValue:
    """Return the number with the unit beside it, and with `rough` set if the text marks it as approximate."""
    before = lowered[max(0, number.start - 14) : number.start]  # long enough for "approximately "
    after = re.match(r"[ -]?(%|[a-z]+)", lowered[number.end : number.end + 16])
    measure = _SIGNS.get(before[-1:], "") or (MEASURES.get(after[1], "") if after else "")
    values = number.values | {50.0} if number.values == {0.5} else number.values  # "half" agrees with 50 percent
    return replace(number, values=values, measure=measure, rough=bool(_PATTERNS["roughly"].search(before)))


_CLAUSE: Final = word_pattern(r"[;:] |, @between_rules@\b")
_WORD: Final = re.compile(r"\w+")
_UP: Final = frozenset({"over", "least", "from"})
_DOWN: Final = frozenset({"under", "most", "till"})
_TIMES: Final = frozenset({"till", "from"})
_HARD: Final = frozenset({"over", "under", "most", "least"})
_REACH: Final = 34  # characters between a limit and the number after it
_REACH_BACK: Final = 26  # characters from the start of a number to the limit after it ("five or more")
_LEAST_COMMON: Final = 0.34  # of the shorter clause's stems: the share that two compared clauses must have in common
_FOLLOWING: Final = 4  # words after a limit without a number: they name what is limited
_BARE_TIMES: Final = _PATTERNS.words("bare_times")
_NEED_NOT_IF_DENIED: Final = language_words("need_not_if_denied")


@dataclass(frozen=True)
class RuleLimit:
    """A limit ("at least 16") or a condition ("unless", "only if") of a rule.

    For a limit, `up` is true for "at least" and "from", and false for "at most" and "until"; a negation reverses it.
    For a condition, `up` is true for "only if" and for a negated "without" or "unless", else false. `numbers` contains
    the number of the limit (16), if any; `stems` are those of the words that follow. They decide which limits can be
    compared: those with the same number or, if one has none, a stem in common. `kind` is that of its words, before any
    negation: "over" for "no more than". `unit` is the measure of the number, or else the stem after it.
    """

    kind: str
    up: bool
    condition: bool
    numbers: tuple[NumberValue, ...]
    unit: str
    stems: frozenset[str]
    words: str

    @property
    def bounds(self) -> bool:
        """Whether the limit bounds an amount, as "at most" does, or a numbered time, as "until 18:00" does."""
        return not self.condition and (bool(self.numbers) or self.kind in _HARD)

    @property
    def strict(self) -> bool:
        """Whether the limit excludes its own number: "more than 5" does, "no more than 5" does not."""
        return self.kind in {"over", "under"} and self.up == (self.kind == "over")


@dataclass(frozen=True)
class RuleClause:
    """The rule in one clause: what its modal verb expresses (`force`), whether it is negated, and its limits.

    `force` is "must", "may", "neednot" or "". `denial` is the word that negates the rule.
    """

    force: str
    denied: bool
    denial: str
    limits: tuple[RuleLimit, ...]
    only: bool
    stems: frozenset[str]


@dataclass(frozen=True)
class RuleSet:
    """The clauses of a sentence that state a rule, such as "a player must register".

    `positions` are the offsets of all characters of the words that express the rules ("must", "may not", "at least").
    `inside` are the offsets of all characters of the clauses.
    """

    clauses: tuple[RuleClause, ...]
    positions: frozenset[int]
    inside: frozenset[int]


def read_rules(text: str, numbers: Sequence[NumberValue], stems: Callable[[str], Sequence[str]]) -> RuleSet:
    """Read the rules that a text states, such as "a player must be at least 16". The result may be empty.

    `numbers` are the numbers in the text (16). `stems` is a function that stems a text.
    """
    # Lower case without umlauts, provided that every character keeps its position.
    lowered = text.lower().translate(_PLAIN) if len(text.lower()) == len(text) else ""
    found = _MARK.finditer(lowered)
    marks = [RuleMark(str(one.lastgroup).partition("_")[0], *one.span(), one.group()) for one in found]
    clauses, positions, covered = [], set[int](), set[int]()
    for start, end in pairwise([0, *(one.start() for one in _CLAUSE.finditer(lowered)), len(lowered)]):
        inside = [mark for mark in marks if start <= mark.start < end]
        if _states_rule(inside):
            clause, of_words = _clause(lowered, start, end, inside, numbers, stems)
            clauses.append(clause)
            positions |= of_words
            covered.update(range(start, end))
    return RuleSet(tuple(clauses), frozenset(positions), frozenset(covered))


def compare_rules(claim: RuleSet, source: RuleSet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare each clause of a claim with the most similar clause of a source sentence.

    Return the words in which the claim contradicts a rule, and those that only change its force ("may" for "must").
    """
    contrary: list[str] = []
    other_force: list[str] = []
    for ours in claim.clauses:
        theirs = max(source.clauses, key=lambda one: (len(one.stems & ours.stems), one == ours))
        if len(theirs.stems & ours.stems) < _LEAST_COMMON * min(len(ours.stems), len(theirs.stems)):
            continue
        contrary.extend(_contradicting_words(ours, theirs))
        # "Must be at least 16 to row" equals "may row only from 16": with a limit both forces mean the same.
        bounded = ours.only or theirs.only or ours.limits or theirs.limits
        if not contrary and {ours.force, theirs.force} == {"may", "must"} and not bounded:
            other_force.append(ours.force)
    return tuple(dict.fromkeys(filter(None, contrary))), tuple(other_force)


def _contradicting_words(ours: RuleClause, theirs: RuleClause) -> Iterator[str]:
    forces = {ours.force, theirs.force}
    if ours.denied != theirs.denied:
        yield ours.denial or theirs.denial
    elif forces == {"must", "neednot"}:
        yield ours.force.replace("neednot", "need not")
    for limit in ours.limits:
        like = [other for other in theirs.limits if limits_same_subject(limit, other)]
        if like and all(other.up != limit.up for other in like):
            yield limit.words


def limits_same_subject(limit: RuleLimit, other: RuleLimit) -> bool:
    """Return whether two limits have the same number or, if one has none, a stem in common."""
    if limit.numbers and other.numbers:  # conditions have no numbers
        return any(one.agrees(two) for one in limit.numbers for two in other.numbers)
    return limit.condition == other.condition and bool(limit.stems & other.stems)


def _states_rule(inside: Sequence[RuleMark]) -> bool:
    kinds = {mark.kind for mark in inside}
    if kinds & {"may", "must", "neednot", "only"} or kinds & _HARD:
        return True
    if any(mark.kind in _TIMES and mark.words not in _BARE_TIMES for mark in inside):
        return True
    return "not" in kinds and bool(kinds & {"till", "from", "without"} or any(" " in mark.words for mark in inside))


def _clause(
    lowered: str,
    start: int,
    end: int,
    inside: Sequence[RuleMark],
    numbers: Sequence[NumberValue],
    stems: Callable[[str], Sequence[str]],
) -> tuple[RuleClause, frozenset[int]]:
    """Read the rule that one clause states. Return the rule, and the positions of the words that express it."""
    negations = [mark for mark in inside if mark.kind == "not"]
    force = _force(inside, negated=bool(negations))
    if force == "neednot":
        negations = []
    negated = _negated_bounds(negations, inside)
    limits = tuple(
        limit
        for mark in inside
        if (limit := _limit(mark, lowered[start:end], start, numbers, stems, negated=mark in negated))
    )
    left = [mark for mark in negations if mark not in negated]
    # Times without a negation are also compared as antonyms.
    used = [mark for mark in inside if mark.kind not in _TIMES or mark in negated or mark.words not in _BARE_TIMES]
    positions = frozenset(position for mark in used for position in range(mark.start, mark.end))
    bare = "".join(" " if position in positions else lowered[position] for position in range(start, end))
    only = any(mark.kind == "only" for mark in inside) or any(mark.kind == "without" for mark in negated)
    denial = left[-1].words if left else ""
    return RuleClause(force, len(left) % 2 == 1, denial, limits, only, frozenset(stems(bare))), positions


def _force(inside: Sequence[RuleMark], *, negated: bool) -> str:
    """Return "must", "may" or "neednot" (need not) for what the modal verbs of a clause express, or "" if it has none.

    Of "must" and "may", the first counts. In German, a negated "muss" or "braucht" means "need not".
    """
    limited = any(mark.kind in _HARD for mark in inside)
    for mark in inside:
        if mark.kind == "neednot" or (mark.words in _NEED_NOT_IF_DENIED and negated and not limited):
            return "neednot"
    return next((mark.kind for mark in inside if mark.kind in {"may", "must"}), "")


def _negated_bounds(negations: Sequence[RuleMark], inside: Sequence[RuleMark]) -> list[RuleMark]:
    """Return the negations that apply to a limit, time or condition. After each comes the word that it negates.

    "Not before noon" gives "not" and "before".
    """
    negated: list[RuleMark] = []
    bounds = [mark for mark in inside if mark.kind in {"over", "under", "till", "from", "without"}]
    for negation in negations:
        start = negation.start
        # Limits before times, following marks before preceding ones, the nearest first.
        free = [
            (mark.kind in _TIMES, mark.start < start, abs(mark.start - start), mark)
            for mark in bounds
            if mark not in negated
        ]
        if free:
            negated += [negation, min(free, key=lambda one: one[:3])[3]]
    return negated


def _limit(
    mark: RuleMark,
    clause: str,
    offset: int,
    numbers: Sequence[NumberValue],
    stems: Callable[[str], Sequence[str]],
    *,
    negated: bool,
) -> RuleLimit | None:
    kind = mark.kind
    if kind not in {*_UP, *_DOWN, "without"} and not (kind == "only" and " " in mark.words):
        return None
    condition = kind in {"without", "only"}
    up = (kind in _UP) != negated if kind in _HARD | _TIMES else kind == "only" or negated
    following = _WORD.findall(clause[mark.end - offset :][:120])[:_FOLLOWING]
    limiting = () if condition else _numbers(mark, numbers, offset + len(clause))
    after = _WORD.findall(clause[limiting[0].end - offset :])[:_FOLLOWING] if limiting else []
    unit = (limiting and limiting[0].measure) or next((stem for word in after for stem in stems(word)), "")
    return RuleLimit(kind, up, condition, limiting, unit, frozenset(stems(" ".join(following))), mark.words)


def _numbers(mark: RuleMark, numbers: Sequence[NumberValue], end: int) -> tuple[NumberValue, ...]:
    """Return the number that a limit applies to: the next one, or the one before, as in "five or more"."""
    trailing = mark.words.startswith(("or ", "and ", "oder ")) or mark.words.startswith("ubers")
    following = [one for one in numbers if mark.end <= one.start < min(end, mark.end + _REACH)]
    leading = [one for one in numbers if mark.start - _REACH_BACK <= one.start < mark.start]
    if trailing or (not following and mark.kind in _HARD):
        return tuple(leading[-1:])
    return tuple(replace(one, rough=False) for one in following[:1])
