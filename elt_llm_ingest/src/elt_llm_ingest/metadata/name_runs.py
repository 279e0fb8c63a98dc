"""Runs of capitalised words, within which names are looked for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽ"
CAPITALISED = (
    rf"(?:(?:[{_UPPER}]\.){{2,5}}|(?:St|Bros|Dr)\.|[{_UPPER}][\w&'\u2019]{{0,40}}(?:[-\u2010\u2011]\w{{1,40}}){{0,3}})"
)
_LINK = r"(?:of|the|for|and|&|de|des|der|du|la|le|les|für|und|et|\d{1,3})"
_SPACE = r"(?: |[ ]?\r?\n[ ]{0,8})"
_RUN = re.compile(rf"(?<![\w@/.#$\\-]){CAPITALISED}(?:{_SPACE}(?:{_LINK}{_SPACE}){{0,2}}{CAPITALISED}){{0,14}}")
_WORD = re.compile(r"[^\s]+")
_SENTENCE_END = ".!?:;|\n\u2022*#"
_SHORTEST_WRAPPED_LINE = 45  # characters; a shorter line ended because its author wanted it to


@dataclass(frozen=True)
class Word:
    """One word of a run; text[start:end] without a possessive ending."""

    start: int
    end: int
    text: str
    possessive: bool

    @property
    def capitalised(self) -> bool:
        """Whether it is part of a name rather than a word between its parts."""
        return self.text[0].isupper()


@dataclass(frozen=True)
class Run:
    """Capitalised words with the small words between them; `opens` if a sentence, line or cell begins with it."""

    words: tuple[Word, ...]
    opens: bool


def name_runs(text: str) -> Iterator[Run]:
    """All runs of the text in order; a run goes on over the end of a line only where a paragraph was wrapped."""
    for found in _RUN.finditer(text):
        words = tuple(_word(piece, found.start()) for piece in _WORD.finditer(found[0]))
        opens = _opens(text, found.start())
        if "\n" in found[0]:
            yield from _lines(text, words, opens=opens)
        else:
            yield Run(words, opens)


def _word(piece: re.Match[str], offset: int) -> Word:
    text = piece[0]
    bare = text[:-2] if text.endswith(("'s", "\u2019s")) else text
    return Word(offset + piece.start(), offset + piece.start() + len(bare), bare, possessive=bare != text)


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \t\"'(\u201c\u201e\u00ab")
    return not before or before[-1] in _SENTENCE_END


def _lines(text: str, words: tuple[Word, ...], *, opens: bool) -> Iterator[Run]:
    first = 0
    for place in range(1, len(words)):
        gap = text.find("\n", words[place - 1].end, words[place].start)
        if gap >= 0 and not _is_wrapped(text, gap):
            yield Run(words[first:place], opens)
            first, opens = place, True
    yield Run(words[first:], opens)


def _is_wrapped(text: str, newline: int) -> bool:
    start = max(text.rfind("\n", max(0, newline - 400), newline) + 1, newline - 400)
    return newline - start >= _SHORTEST_WRAPPED_LINE and "|" not in text[start:newline]
