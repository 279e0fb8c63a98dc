"""Entries of glossaries whose bold print is lost: "Bidder A firm that ...", a number with a term and its meaning."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.defining import tells_apart
from elt_llm_consumer.definitions.layout import Line
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.definitions.wording import NOT_FIRST, NOT_WITHIN

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_TERM: Final = r"(?P<term>[^\W\d_][\w'’/&()-]{0,40}(?:\s[\w'’/&()-]{1,30}){0,4}?)\s"
_CAPITAL: Final = re.compile(
    rf"{_TERM}(?P<body>(?:An?|The|Any|All|Each|Every|Those|One|Someone|Anyone|Ein|Eine|Der|Die|Das|Jede[rs]?)\s[^\W_].*)"
)
_SMALL: Final = re.compile(rf"{_TERM}(?P<body>(?:an?|the|any|all|each|every|those)\s[^\W_].*)")
_LABEL: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,4}\.?(?:\s{1,9}|$)")
_NOTE: Final = re.compile(r"(?:note|example|anmerkung|beispiel)s?\b|\[?(?:source|quelle)\b", re.IGNORECASE)
_JOINING: Final = frozenset(("of", "for", "to", "by", "with", "from", "in", "on", "at", "and", "or", "as", "not"))
_MOST_LINES = 12


@dataclass(frozen=True)
class Numbered:
    """Where a term stands that a number introduces, its other names, where its meaning begins, and the line after."""

    term: tuple[int, int]
    aliases: tuple[str, ...]
    begin: int
    end: int
    following: int


def run_in(line: Line, *, small: bool) -> tuple[int, int] | None:
    """Where in a line a term ends and its definition begins; `small`: also where it begins with a small letter."""
    text = line.text
    start = after_labels(text, 0, len(text))
    first, _, rest = text[start:].partition(" ")
    if is_short_form(first) and long_form(first, rest.rstrip(" .")) == (0, len(rest.rstrip(" ."))):
        return start + len(first), start + len(first) + 1
    found = _CAPITAL.match(text, start) or (_SMALL.match(text, start) if small else None)
    if found is None or not _is_name(found["term"]) or not tells_apart(found["body"]):
        return None
    return found.end("term"), found.start("body")


def is_small_run_in(line: Line) -> bool:
    """Whether a line reads like an entry, but as well like a sentence whose verb nobody told us."""
    return run_in(line, small=True) is not None


def numbered(lines: Sequence[Line], number: int) -> Numbered | None:
    """The entry under a number such as "3.1": a term, perhaps further names, then what it means and notes on it."""
    label = _LABEL.match(lines[number].text)
    if label is None:
        return None
    entry = list(lines[number + 1 : number + 1 + _MOST_LINES])
    stop = next((place for place, line in enumerate(entry) if _LABEL.match(line.text)), len(entry))
    told = next((place for place, line in enumerate(entry[:stop]) if _NOTE.match(line.text)), stop)
    names = [(line.start, line.text) for line in entry[:told]]
    if rest := lines[number].text[label.end() :]:
        names.insert(0, (lines[number].start + label.end(), rest))
    if len(names) < 2 or not all(_is_plain(text) for _, text in names[:1]):
        return None
    body = next((place for place, (_, text) in enumerate(names) if place and not _is_plain(text)), len(names) - 1)
    if not names[body][1][:1].islower() or any(text[:1].isupper() for _, text in names[body + 1 :]):
        return None
    start, term = names[0]
    return Numbered(
        (start, start + len(term)),
        tuple(text for _, text in names[1:body]),
        names[body][0],
        entry[told - 1].end,
        number + 1 + told,
    )


def is_note(text: str) -> bool:
    """Whether a line is a note, an example or a source that stands under an entry."""
    return _NOTE.match(text) is not None


def _is_plain(text: str) -> bool:
    words = text.split()
    return len(words) <= 6 and not any(sign in text for sign in ".,;:|") and _is_name(text)


def _is_name(term: str) -> bool:
    words = [word.strip("'’()").casefold() for word in term.split()]
    if not words or words[0] in NOT_FIRST or any(word in NOT_WITHIN for word in words):
        return False
    return words[-1] not in _JOINING and words[0] not in ("a", "an", "the")
