"""Runs of capitalised words, within which names are looked for."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_UPPER = "[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽ]"
# What may follow the first letter: U.S., St., or the rest of a word.
_WORD_REST = r"[\w&'\u2019]{0,40}(?:[-\u2010\u2011]\w{1,40}|\u2013[A-Z]\w{1,40}){0,3}"
_REST = rf"(?:\.(?:{_UPPER}\.){{1,4}}|(?<=S)t\.|(?<=D)r\.|(?<=M)r\.|(?<=B)ros\.|{_WORD_REST})"
CAPITALISED = rf"(?:(?:anti-|non-|inter-)?{_UPPER}{_REST})"
_LINK = r"(?:of|the|for|and|&|de|des|der|du|la|le|les|an?|für|und|et|\d{1,3})"
_SPACE = r"(?: |[ ]?\r?\n[ ]{0,8})"
# It begins with the letter itself, by which the search skips what cannot begin a run.
_RUN = re.compile(
    rf"{_UPPER}(?<![\w@/.#$\\-]{_UPPER}){_REST}(?:{_SPACE}(?:{_LINK}{_SPACE}){{0,2}}{CAPITALISED}){{0,14}}"
)
_WORD = re.compile(r"[^\s]{1,200}")
_OFFICE = re.compile(
    r"\b(?:president|members?|chair|chairman|director|founder|leader|secretary|treasurer|branch|employees)"
    r" (?:of|in) (?:the )?$"
)
_REACH = 40  # characters before a run that tell of it
_SENTENCE_END = ".!?:;|\n\u2022*#"
_SHORTEST_WRAPPED_LINE = 45  # characters; a shorter line ended because its author wanted it to


class Word(NamedTuple):
    """One word of a run; text[start:end] without a possessive ending."""

    start: int
    end: int
    text: str
    possessive: bool

    @property
    def capitalised(self) -> bool:
        """Whether it is part of a name rather than a word between its parts."""
        return not self.text.islower() and not self.text.isdigit() and self.text != "&"


class Run(NamedTuple):
    """Capitalised words with the small words between them; `before` is the text just before the first."""

    words: tuple[Word, ...]
    before: str

    @property
    def opens(self) -> bool:
        """Whether a sentence, line or cell begins with it."""
        before = self.before.rstrip(" \t\"'(\u201c\u201e\u00ab")
        return not before or before[-1] in _SENTENCE_END

    @property
    def in_office(self) -> bool:
        """Whether somebody's office precedes it, as in "president of the ..."."""
        return _OFFICE.search(self.before) is not None


def name_runs(text: str) -> Iterator[Run]:
    """All runs of the text in order; a run goes on over the end of a line only where a paragraph was wrapped."""
    for found in _RUN.finditer(text):
        start, run = found.start(), found[0]
        words = tuple(_word(piece, start) for piece in _WORD.finditer(run))
        before = text[max(0, start - _REACH) : start]
        if "\n" in run:
            yield from _lines(text, words, before)
        else:
            yield Run(words, before)


def _word(piece: re.Match[str], offset: int) -> Word:
    text = piece[0]
    start = offset + piece.start()
    if text.endswith(("'s", "\u2019s")):
        return Word(start, start + len(text) - 2, text[:-2], possessive=True)
    return Word(start, start + len(text), text, possessive=False)


def _lines(text: str, words: tuple[Word, ...], before: str) -> Iterator[Run]:
    first = 0
    for place in range(1, len(words)):
        gap = text.find("\n", words[place - 1].end, words[place].start)
        if gap >= 0 and not _is_wrapped(text, gap):
            yield Run(words[first:place], before)
            first, before = place, "\n"
    yield Run(words[first:], before)


def _is_wrapped(text: str, newline: int) -> bool:
    """Whether the line that ends here is a full line of prose."""
    start = max(text.rfind("\n", max(0, newline - 400), newline) + 1, newline - 400)
    return newline - start >= _SHORTEST_WRAPPED_LINE and "|" not in text[start:newline]
