"""A sentence as words, each with what stands before it."""

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:[-_\u2010\u2011/.][^\W_]+){0,6}(?:(?<=n)['\u2019]t(?!\w))?|&")
_NOT = re.compile(r"n['\u2019]t$")
_POSSESSIVE = re.compile(r"['\u2019]s(?!\w)|(?<=s)['\u2019](?!\w)")
_ADDRESS = re.compile(r"(?:\b[a-z]{2,8}://|\bwww\.)[^\s|]{1,500}")
_EMPHASIS = " \t\n\u00ad*_`\"'\u201c\u201d\u2018\u2019"


@dataclass(frozen=True)
class Word:
    """The word text[start:end] of a sentence. `stop`: a sign that parts clauses stands before it, such as a comma.

    `owner` if it has a possessive ending: "the club's". `sign` is what stands between it and the word before.
    """

    start: int
    end: int
    written: str
    low: str
    sign: str
    owner: bool

    @property
    def stop(self) -> bool:
        """Whether it does not belong together with the word before."""
        return bool(self.sign)

    @property
    def capital(self) -> bool:
        """Whether it is written with a capital."""
        return self.written[:1].isupper()


def words_of(text: str, begin: int = 0) -> list[Word]:
    """The words of a sentence from `begin` on; quotes and emphasis part nothing, all other signs do.

    Addresses of web pages are no words.
    """
    found: list[Word] = []
    place = begin
    text = _ADDRESS.sub(lambda address: "|" * len(address.group()), text)
    while match := _WORD.search(text, place):
        sign = text[place : match.start()].strip(_EMPHASIS)
        quoted = text[max(0, match.start() - 1) : match.start()] in {"'", "\u2018"}
        owned = None if quoted else _POSSESSIVE.match(text, match.end())
        place = owned.end() if owned else match.end()
        written = match.group()
        found.append(Word(match.start(), match.end(), written, _low(written), sign, owned is not None))
    return found


def _low(written: str) -> str:
    """In lower case; of "can't" the full form, and of its like only that something is not so."""
    low = written.casefold()
    if not _NOT.search(low):
        return low
    return "cannot" if low.startswith("ca") else "not"
