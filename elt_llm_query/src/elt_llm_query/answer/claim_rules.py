"""What the clauses of a rule allow, demand, forbid and limit, however it is worded, and where two rules differ.

"No club may change its name more than once" and "a club may change its name at most once" are the same here: a
negation and the limit, condition or time that it falls on are read together.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from elt_llm_query.answer.claim_numbers import Number
from elt_llm_query.answer.rule_words import Kind, Mark, marks, plain

Force = Literal["may", "must", "neednot", ""]

_CLAUSE: Final = re.compile(r"[;:] |, (?:but|and|while|whereas|however|aber|und|sondern|wahrend)\b")
_WORD: Final = re.compile(r"\w+")
_UP: Final = frozenset({"over", "least", "from"})
_DOWN: Final = frozenset({"under", "most", "till"})
_TIMES: Final = frozenset({"till", "from"})
_HARD: Final = frozenset({"over", "under", "most", "least"})
_REACH: Final = 34  # characters from a limit to its number
_BEFORE: Final = 26
_FOLLOWING: Final = 4  # words after a limit without a number that say what it is
_BARE_TIMES: Final = frozenset(
    "before after until till from by vor nach ab bis bevor".split()  # noqa: SIM905
)
_NEED_NOT_IF_DENIED: Final = frozenset(
    {"muss", "mussen", "mus", "braucht", "brauchen", "ist verpflichtet", "sind verpflichtet"}
)
_ALIKE: Final = 0.34


@dataclass(frozen=True)
class Limit:
    """A bound: `up` for at least and from, not for at most and until. `numbers` or else `stems` say of what.

    A condition (without, unless) is a bound too: not `up` as it stands, `up` once a negation has been read with it.
    """

    up: bool
    condition: bool
    numbers: tuple[Number, ...]
    stems: frozenset[str]
    words: str


@dataclass(frozen=True)
class Clause:
    """What one clause lays down: whether something may, must or need not be; whether that is denied; its limits."""

    force: Force
    denied: bool
    denial: str
    limits: tuple[Limit, ...]
    only: bool
    stems: frozenset[str]


@dataclass(frozen=True)
class Rules:
    """The clauses of a sentence that lay something down, where the words do that, and where the clauses are."""

    clauses: tuple[Clause, ...]
    places: frozenset[int]
    inside: frozenset[int]


@dataclass(frozen=True)
class Difference:
    """Words of a claim that contradict the rule, and those that only say more or less than it."""

    contrary: tuple[str, ...] = ()
    other_force: tuple[str, ...] = ()


def read_rules(text: str, numbers: Sequence[Number], stems: Callable[[str], Sequence[str]]) -> Rules:
    """What the clauses of a text lay down; `stems` are those of some words of it. Empty for a text without rules."""
    lowered = plain(text)
    laying = [(start, end, inside) for start, end, inside in _clauses(lowered) if _lays_down(inside)]
    found = [_clause(lowered, start, end, inside, numbers, stems) for start, end, inside in laying]
    return Rules(
        tuple(clause for clause, _ in found),
        frozenset[int]().union(*(places for _, places in found)),
        frozenset[int]().union(*(range(start, end) for start, end, _ in laying)),
    )


def compare_rules(claim: Rules, source: Rules) -> Difference:
    """How each clause of a claim differs from the clause of a source sentence that is most like it."""
    contrary: list[str] = []
    other_force: list[str] = []
    for ours in claim.clauses:
        theirs = max(source.clauses, key=lambda one: (len(one.stems & ours.stems), one == ours))
        if len(theirs.stems & ours.stems) < _ALIKE * min(len(ours.stems), len(theirs.stems)):
            continue
        contrary.extend(_contradicting(ours, theirs))
        # "Must be at least 16 to row" is "may row only from 16": a limit makes either of the other.
        bounded = ours.only or theirs.only or ours.limits or theirs.limits
        if not contrary and {ours.force, theirs.force} == {"may", "must"} and not bounded:
            other_force.append(ours.force)
    return Difference(tuple(dict.fromkeys(filter(None, contrary))), tuple(other_force))


def _contradicting(ours: Clause, theirs: Clause) -> Iterator[str]:
    forces = {ours.force, theirs.force}
    if ours.denied != theirs.denied:
        yield ours.denial or theirs.denial
    elif forces == {"must", "neednot"}:
        yield ours.force.replace("neednot", "need not")
    for limit in ours.limits:
        like = [other for other in theirs.limits if _same_thing(limit, other)]
        if like and all(other.up != limit.up for other in like):
            yield limit.words


def _same_thing(limit: Limit, other: Limit) -> bool:
    if limit.condition or other.condition:
        return limit.condition and other.condition and bool(limit.stems & other.stems)
    if limit.numbers and other.numbers:
        return any(one.agrees(two) for one in limit.numbers for two in other.numbers)
    return bool(limit.stems & other.stems)


def _clauses(lowered: str) -> Iterator[tuple[int, int, list[Mark]]]:
    found = marks(lowered)
    cuts = [0, *(place.start() for place in _CLAUSE.finditer(lowered)), len(lowered)]
    for start, end in pairwise(cuts):
        yield start, end, [mark for mark in found if start <= mark.start < end]


def _lays_down(inside: Sequence[Mark]) -> bool:
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
    inside: Sequence[Mark],
    numbers: Sequence[Number],
    stems: Callable[[str], Sequence[str]],
) -> tuple[Clause, frozenset[int]]:
    """One clause, and the places of the words whose sense is taken up in it."""
    negations = [mark for mark in inside if mark.kind == "not"]
    force = _force(inside, negated=bool(negations))
    if force == "neednot":
        negations = []
    turned = _turned(negations, inside)
    limits = tuple(
        limit
        for mark in inside
        if (limit := _limit(mark, lowered[start:end], start, numbers, stems, turned=mark in turned))
    )
    left = [mark for mark in negations if mark not in turned]
    # Times that no negation falls on are left to the comparison of contraries as well.
    used = [mark for mark in inside if mark.kind not in _TIMES or mark in turned or mark.words not in _BARE_TIMES]
    places = frozenset(place for mark in used for place in range(mark.start, mark.end))
    bare = "".join(" " if place in places else lowered[place] for place in range(start, end))
    only = any(mark.kind == "only" for mark in inside) or any(mark.kind == "without" for mark in turned)
    denial = left[-1].words if left else ""
    return Clause(force, len(left) % 2 == 1, denial, limits, only, frozenset(stems(bare))), places


def _force(inside: Sequence[Mark], *, negated: bool) -> Force:
    """What the first modal says: German turns "muss" and "braucht" into "need not" by a negation alone."""
    for mark in inside:
        if mark.kind == "neednot":
            return "neednot"
        limited = any(one.kind in _HARD for one in inside)
        german = mark.words in _NEED_NOT_IF_DENIED
        if mark.kind in {"may", "must"} and german and negated and not limited:
            return "neednot"
    first = next((mark.kind for mark in inside if mark.kind in {"may", "must"}), "")
    return "may" if first == "may" else "must" if first == "must" else ""


def _turned(negations: Sequence[Mark], inside: Sequence[Mark]) -> list[Mark]:
    """The negations that fall on a limit, time or condition, each with the one that it turns round."""
    turned: list[Mark] = []
    bounds = [mark for mark in inside if mark.kind in {"over", "under", "till", "from", "without"}]
    for negation in negations:
        free = [mark for mark in bounds if mark not in turned]
        chosen = min(free, key=lambda mark: _preference(negation, mark), default=None)
        if chosen:
            turned += [negation, chosen]
    return turned


def _preference(negation: Mark, bound: Mark) -> tuple[bool, bool, int]:
    """Limits before times, what follows before what stands in front, the nearest first."""
    return bound.kind in _TIMES, bound.start < negation.start, abs(bound.start - negation.start)


def _limit(
    mark: Mark,
    clause: str,
    offset: int,
    numbers: Sequence[Number],
    stems: Callable[[str], Sequence[str]],
    *,
    turned: bool,
) -> Limit | None:
    kind: Kind = mark.kind
    if kind not in _UP and kind not in _DOWN and kind != "without" and not (kind == "only" and " " in mark.words):
        return None
    condition = kind in {"without", "only"}
    up = (kind in _UP) != turned if kind in _HARD | _TIMES else kind == "only" or turned
    after = clause[mark.end - offset :]
    following = " ".join(one.group() for one in _WORD.finditer(after[:120]))
    named = frozenset(stems(" ".join(following.split()[:_FOLLOWING])))
    return Limit(up, condition, () if condition else _numbers(mark, numbers, offset + len(clause)), named, mark.words)


def _numbers(mark: Mark, numbers: Sequence[Number], end: int) -> tuple[Number, ...]:
    """The number that a limit is about: the next one, or else the one just before ("five or more")."""
    trailing = mark.words.startswith(("or ", "and ", "oder ")) or mark.words.startswith("ubers")
    following = [one for one in numbers if mark.end <= one.start < min(end, mark.end + _REACH)]
    leading = [one for one in numbers if mark.start - _BEFORE <= one.start < mark.start]
    if trailing or (not following and mark.kind in _HARD):
        return tuple(leading[-1:])
    return tuple(replace(one, rough=False) for one in following[:1])
