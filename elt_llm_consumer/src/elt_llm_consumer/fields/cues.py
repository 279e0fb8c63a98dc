"""Words that tell a field or a rule in a sentence, as the settings list them."""

import re
from collections.abc import Iterable
from functools import cache

_ENDING = r"\w{0,20}"
_WORDS_BETWEEN = r"(?:[^\s.;]{1,30}\s{1,3}){0,6}"
_YEAR, _NUMBER = r"(?:1[5-9]|20)\d\d", r"\d{1,4}[a-zA-Z]{0,2}(?:\([a-z0-9]{1,4}\)){0,3}"
_IN_NAME = re.compile(r"[ -][A-Z][a-z]")
# Before one of these stands what a sentence is about, in most sentences.
_VERBS = (
    *("is", "are", "was", "were", "be", "has", "have", "had", "do", "does", "must", "may", "shall", "should", "can"),
    *("cannot", "will", "would", "need", "needs", "not", "ist", "sind", "hat", "haben", "muss", "darf", "soll", "kann"),
    *("wird", "werden", "dürfen", "müssen", "können", "sollen"),
)


class Cues:
    """Finds listed words. `*` at the end of one stands for any ending, ` ... ` between two for up to six words.

    `#` stands for a number such as 12 or 4(a), `####` for a year. Words in small letters are met in any case, one
    with a capital only so: an Act is no act.
    """

    def __init__(self, listed: Iterable[str]) -> None:
        self.listed = tuple(dict.fromkeys(cue.strip() for cue in listed if cue.strip(" *")))
        self._whole = frozenset(cue.casefold() for cue in self.listed if not cue.endswith("*"))
        by_length = sorted(self.listed, key=lambda cue: (-len(cue), cue))
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(_as_pattern, by_length))})(?!\w)")

    def outside_names(self, text: str, begins: int) -> list[tuple[int, int]]:
        """Those where a whole word does not begin a longer name: a "Registration Authority Manager" is no authority.

        A word with `*` counts in names too: an "Appointments Officer" appoints. The first word of the sentence, which
        begins at `begins`, has its capital anyway.
        """
        return [
            (start, end)
            for start, end in self.spans(text)
            if start == begins
            or not (text[start].isupper() and _IN_NAME.match(text, end) and text[start:end].casefold() in self._whole)
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand, in order."""
        return [match.span() for match in self._pattern.finditer(text)] if self.listed else []


@cache
def verbs() -> Cues:
    """Words that say what is done, by which the subject of a sentence is told; English and German."""
    return Cues(_VERBS)


def _as_pattern(cue: str) -> str:
    parts = [r"\s{1,3}".join(map(_with_numbers, part.split())) for part in cue.rstrip("*").split(" ... ")]
    pattern = (r"\s{1,3}" + _WORDS_BETWEEN).join(parts) + (_ENDING if cue.endswith("*") else "")
    return f"(?i:{pattern})" if cue == cue.lower() else pattern


def _with_numbers(word: str) -> str:
    sign = re.escape("#")
    return re.escape(word).replace(sign * 4, _YEAR).replace(sign, _NUMBER)
