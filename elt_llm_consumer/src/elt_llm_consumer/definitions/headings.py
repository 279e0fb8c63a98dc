"""Which headings announce definitions."""

import re
from collections.abc import Sequence

from elt_llm_core.text.normalise import fold

# ruff: noqa: RUF001 - the look-alike dashes are what this file is about.
_LABEL = re.compile(
    r"^(?:(?:part|section|chapter|appendix|annex|anhang|teil|abschnitt|kapitel|§)\s{0,9}\w{1,5}[:.]?\s+(?:[-–—]\s+)?)?(?:[a-z]?\d{0,3}(?:\.\d{1,3}){0,4}[.:)]?\s+)?(?:[ivx]{1,5}\.\s+|[a-z][.:)]\s+)?"
)
_HERE = re.compile(r"\bin (?:this|these|our) \w{1,20}$")
_JOINING = frozenset(
    """
    and of the in this these used key list common general for a to main important rules policy document handbook words
    phrases expressions concepts other our manual standard und der die das in dieser diesem verwendete wichtige liste
    with their meanings meaning table index first symbols
    """.split()  # noqa: SIM905
)


class Headings:
    """Knows the headings under which lists are definitions."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = sorted((tuple(_words(name)) for name in names), key=len, reverse=True)

    def announce(self, title: str) -> bool:
        """Whether a title is one of those names, but for its number and words that only join."""
        words = _words(_HERE.sub("", _LABEL.sub("", fold(title), count=1)))
        found = False
        for name in self._names:
            for start in range(len(words) - len(name) + 1):
                if tuple(words[start : start + len(name)]) == name:
                    words[start : start + len(name)] = []
                    found = True
                    break
        return found and all(word in _JOINING for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))
