"""What the headers of a table say of its columns: where its terms are, what they mean, and their short forms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from elt_llm_core.text.normalise import fold

from elt_llm_consumer.sections.glossary import GlossarySection

_MEANING: Final = re.compile(
    r"\b(?:meant|means?|meanings?|sense|explanations?|explained|descriptions?|definitions?|defined\sas|stands?\sfor"
    r"|understood|gemeint|bedeutung|bedeutet|sinn|erklärung|erläuterung|beschreibung|definition)\b"
)
# What a column beside the terms tells of them that is no meaning.
_OTHER: Final = re.compile(
    r"\b(?:pages?|seiten?|rules?|sections?|clauses?|articles?|paragraphs?|chapters?|references?|sources?|owners?|numbers?|no"
    r"|count|dates?|where|who|see|used|uses?|units?|symbols?|types?|status|cost|costs|price|prices|fees?|amounts?|begins?"
    r"|ends?|starts?|translations?|examples?|how\s(?:many|often|much)|quelle|regel|anzahl|datum|beispiel|siehe)\b"
)
_MOST_WORDS = 6


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; `abbreviation` is None where the table has none, `term` may be that of abbreviations."""

    count: int
    term: int
    meaning: int
    abbreviation: int | None
    short: bool


class TableHeaders:
    """Knows the headers that a job's settings name, and those that say the same in other words."""

    def __init__(self, settings: GlossarySection) -> None:
        self._terms = _folded(settings.term_headers)
        self._meanings = _folded(settings.meaning_headers)
        self._short = _folded(settings.abbreviation_headers)

    def columns(self, cells: Sequence[str]) -> Columns | None:
        """The columns under headers that are known; None if these cells are no such headers."""
        names = _names(cells)
        term = _first(names, self._terms)
        short = _first(names, self._short)
        meaning = next((place for place, name in enumerate(names) if name in self._meanings and place != term), None)
        if term is not None and meaning is not None:
            return Columns(len(names), term, meaning, short, short=False)
        if short is not None and meaning is not None:
            return Columns(len(names), short, meaning, None, short=True)
        if short is not None and term is not None:
            return Columns(len(names), short, term, None, short=True)
        return None

    def likely(self, cells: Sequence[str], *, announced: bool) -> Columns | None:
        """The columns of a first row whose first header is known, and whose second may say what the terms mean.

        `announced`: a heading above says that terms are defined, so that any second header counts that names nothing
        else, such as a page.
        """
        names = _names(cells)
        if len(names) < 2 or names[0] not in self._terms or names[1] in self._short:
            return None
        second = names[1]
        if not second or len(second.split()) > _MOST_WORDS or _OTHER.search(second):
            return None
        if not announced and _MEANING.search(second) is None:
            return None
        return Columns(len(names), 0, 1, _first(names, self._short), short=False)


def _names(cells: Sequence[str]) -> list[str]:
    return [fold(cell).strip(" .:*#") for cell in cells]


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(fold(name).strip(" .") for name in names)


def _first(names: Sequence[str], known: frozenset[str]) -> int | None:
    return next((place for place, name in enumerate(names) if name in known), None)
