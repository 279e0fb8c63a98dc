"""Cuts a prompt into pieces so short that no server cuts them, for counting."""

import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"\s{0,1000}\S{1,1000}|\s{1,1000}")
_CHARACTERS = 64  # of a word that is longer than a piece may be


def pieces_of(text: str, most: int, count: Callable[[str], int]) -> list[str]:
    """The text in pieces of at most `most` tokens as `count` tells them, parted at line ends where there are any.

    Joined they are the text again. Pieces of lines cost as many tokens as the text they are of, give or take one each.
    """
    pieces: list[str] = []
    piece, size = "", 0
    for part in _parts(text, most, count):
        tokens = count(part)
        if piece and size + tokens > most:
            pieces.append(piece)
            piece, size = "", 0
        piece, size = piece + part, size + tokens
    return [*pieces, piece] if piece else pieces


def _parts(text: str, most: int, count: Callable[[str], int]) -> Iterator[str]:
    """Lines; words of a line that is too long; stretches of a word that is too long."""
    for line in text.splitlines(keepends=True):
        if count(line) <= most:
            yield line
            continue
        for word in _WORD.findall(line):
            if count(word) <= most:
                yield word
            else:
                yield from (word[at : at + _CHARACTERS] for at in range(0, len(word), _CHARACTERS))
