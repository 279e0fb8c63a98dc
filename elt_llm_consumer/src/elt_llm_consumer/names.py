"""Names of things: when two are the same, how alike others are, and where a text speaks of one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from elt_llm_core.text.normalise import words
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases

How = Literal["same", "alias", "fuzzy", "none"]


@dataclass(frozen=True)
class Likeness:
    """How alike two names are: `score` 0 to 1, and whether they are the same, known as aliases, or merely similar."""

    score: float
    how: How


@dataclass(frozen=True)
class Mention:
    """The words text[start:end] stand for `name`; `written` is how it was written."""

    start: int
    end: int
    name: str
    written: str


class Names:
    """Knows a set of names with their other names; finds them in texts and compares them with others."""

    def __init__(self, names: Iterable[str], aliases: Aliases = NO_ALIASES) -> None:
        self.names = tuple(dict.fromkeys(names))
        self._aliases = aliases

    def forms(self, name: str) -> tuple[str, ...]:
        """The name itself and its other names, each once."""
        folded = words(name)
        others = [it for group in self._aliases.groups if folded in [words(one) for one in group] for it in group]
        return tuple(dict.fromkeys([name, *others]))

    def mentions(self, text: str) -> list[Mention]:
        """Where `text` speaks of one of the names, in order; of two that overlap the longer counts."""
        found: list[Mention] = []
        for match in self._pattern.finditer(text) if self.names else ():
            written = match.group()
            found.append(Mention(match.start(), match.end(), self._by_form[tuple(words(written))], written))
        return found

    @cached_property
    def _by_form(self) -> dict[tuple[str, ...], str]:
        known: dict[tuple[str, ...], str] = {}
        for name in self.names:
            for form in self.forms(name):
                known.setdefault(tuple(words(form)), name)
        return known

    @cached_property
    def _pattern(self) -> "re.Pattern[str]":
        forms: Sequence[str] = sorted((form for name in self.names for form in self.forms(name)), key=len, reverse=True)
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, forms)) + r")(?!\w)", re.IGNORECASE)
