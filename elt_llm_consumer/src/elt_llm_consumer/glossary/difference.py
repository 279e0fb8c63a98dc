"""What differs between two definitions of a term, as a sentence that names their places."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from elt_llm_query.answer.claim_numbers import numbers_in

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_FIGURE: Final = re.compile(r"[\d.,]{1,20}%?")
_COMPOUND: Final = re.compile(r"[a-zäöü]{2,9}ty-[a-z]{3,5}\Z", re.IGNORECASE)
_DENIAL: Final = re.compile(r"\b(?:not?|nor|never|neither|without|cannot|nicht|nie|kein\w{0,2}|ohne)\b", re.IGNORECASE)
_EDGES: Final = ".,;:!?()\"'“”„‘’"
_LEAST_ALIKE = 0.4  # share of equal words, from which on the others are set side by side
_MOST_PARTS = 3
_LONGEST = 8  # words of a part
_NEAR = 1  # equal words between two parts that are told as one
_MOST_PLACES = 3


@dataclass(frozen=True)
class Told:
    """The text of a definition, and where it stands, such as "handbook.pdf, page 9"."""

    text: str
    places: tuple[str, ...]


def difference(one: Told, other: Told) -> str:
    """A sentence: which places say what; each pair of numbers or words once."""
    parts = _parts(one.text, other.text) or _numbers(one.text, other.text)
    here, there = _named(one.places), _named(other.places)
    says, they_say = (_verb(told, "say", "says") for told in (one, other))
    if parts is None:
        if here == there:
            return f"{here} {says} two different things."
        return f"{here} and {there} say different things."
    ours, theirs = (_listed(side) for side in parts)
    if here == there:
        return f"{here} {says} {' and also '.join(filter(None, (ours, theirs)))}."
    if not ours or not theirs:
        if ours:
            return f"{here} {says} {ours}, {there} {_verb(other, 'do', 'does')} not."
        return f"{there} {they_say} {theirs}, {here} {_verb(one, 'do', 'does')} not."
    return f"{here} {says} {ours}, {there} {they_say} {theirs}."


def _parts(one: str, other: str) -> tuple[list[str], list[str]] | None:
    """The words of either text that stand in place of others; None where the texts have little in common."""
    ours, theirs = _words(one), _words(other)
    left, right = ([word.casefold() for word in side] for side in (ours, theirs))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return None
    blocks = _joined([code[1:] for code in matcher.get_opcodes() if code[0] != "equal"])
    if not blocks or len(blocks) > _MOST_PARTS:
        return None
    if any(max(block[1] - block[0], block[3] - block[2]) > _LONGEST for block in blocks):
        return None
    told = [(" ".join(ours[a:b]), " ".join(theirs[c:d])) for a, b, c, d in blocks]
    if any(numbers_in(here) and numbers_in(there) for here, there in told):
        told = [pair for pair in told if any(numbers_in(side) or _DENIAL.search(side) for side in pair)]
    return _once([here for here, _ in told]), _once([there for _, there in told])


def _joined(blocks: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Parts that only a word keeps apart as one."""
    found: list[tuple[int, int, int, int]] = []
    for block in blocks:
        if found and block[0] - found[-1][1] <= _NEAR and block[2] - found[-1][3] <= _NEAR:
            found[-1] = (found[-1][0], block[1], found[-1][2], block[3])
        else:
            found.append(block)
    return found


def _numbers(one: str, other: str) -> tuple[list[str], list[str]] | None:
    """The numbers that only one of the texts has; None if there are none."""
    ours, theirs = numbers_in(one), numbers_in(other)
    left = [one[it.start : it.end] for it in ours if not it.weak and not any(it.agrees(two) for two in theirs)]
    right = [other[it.start : it.end] for it in theirs if not it.weak and not any(it.agrees(two) for two in ours)]
    return (_whole(one, left), _whole(other, right)) if left or right else None


def _whole(text: str, numbers: Sequence[str]) -> list[str]:
    """Numbers as they are written: "twenty-eight" where "twenty" and "eight" are of one word."""
    compounds = [word for word in _words(text) if _COMPOUND.match(word)]
    return _once([next((word for word in compounds if number in word.split("-")), number) for number in numbers])


def _words(text: str) -> list[str]:
    return [bare for word in text.split() if (bare := word.strip(_EDGES))]


def _once(phrases: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


def _verb(told: Told, several: str, one: str) -> str:
    return several if len(set(told.places)) > 1 else one


def _listed(phrases: Sequence[str]) -> str:
    told = [phrase if _FIGURE.fullmatch(phrase) else f'"{phrase}"' for phrase in phrases]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def _named(places: Sequence[str]) -> str:
    named = list(dict.fromkeys(places))
    more = [f"{len(named) - _MOST_PLACES} more"] if len(named) > _MOST_PLACES else []
    named = [*named[:_MOST_PLACES], *more]
    return " and ".join(filter(None, ("; ".join(named[:-1]), *named[-1:])))
