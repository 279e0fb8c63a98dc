"""Words that tell a field or a rule in a sentence, as the settings list them."""

import re
from collections.abc import Iterable
from functools import cache

_ENDING = r"\w{0,20}"
# Before one of these stands what a sentence is about, in most sentences.
_VERBS = (
    *("is", "are", "was", "were", "be", "has", "have", "had", "do", "does", "must", "may", "shall", "should", "can"),
    *("cannot", "will", "would", "need", "needs", "not", "ist", "sind", "hat", "haben", "muss", "darf", "soll", "kann"),
    *("wird", "werden", "dürfen", "müssen", "können", "sollen"),
)


class Cues:
    """Finds listed words; * at the end of one stands for up to twenty letters more.

    Words in small letters are met in any case, one with a capital only so: an Act is no act.
    """

    def __init__(self, listed: Iterable[str]) -> None:
        self.listed = tuple(dict.fromkeys(cue.strip() for cue in listed if cue.strip(" *")))
        by_length = sorted(self.listed, key=lambda cue: (-len(cue), cue))
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(_as_pattern, by_length))})(?!\w)")

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand, in order."""
        return [match.span() for match in self._pattern.finditer(text)] if self.listed else []


@cache
def verbs() -> Cues:
    """Words that say what is done, by which the subject of a sentence is told; English and German."""
    return Cues(_VERBS)


def _as_pattern(cue: str) -> str:
    escaped = re.sub(r"(?:\\\s|\s)+", r"\\s{1,3}", re.escape(cue.rstrip("*")))
    pattern = escaped + (_ENDING if cue.endswith("*") else "")
    return f"(?i:{pattern})" if cue == cue.lower() else pattern
