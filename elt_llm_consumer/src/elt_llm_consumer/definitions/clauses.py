"""Sentences that define several terms: "Gross" means one thing; "Tare" means another; and "Net" means a third."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from elt_llm_query.answer.pieces import Piece

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_VERB: Final = (
    r"(?:(?:shall\s+|will\s+)?means?|(?:is|are)\s+defined\s+as|(?:has|have|shall\s+have)\s+the\s+(?:same\s+)?meanings?"
    r"|refers?\s+to|denotes?|bedeutet|bezeichnet)(?![\w-])"
)
_QUOTED: Final = r"[\"“„«‘'*]{1,3}[^\"“”„«»‘*\n]{1,80}[\"”“»’'*]{1,3}"
_LEAD: Final = r"(?:(?:and|or|und)\s{1,9})?(?:the\s(?:term|word|expression)\s)?(?:an?\s|the\s)?"
_NEXT: Final = re.compile(
    rf"(?:;\s{{1,9}}{_LEAD}|,\s{{1,9}}(?:and|und)\s{{1,9}}|\s(?:and|und)\s{{1,9}}|,\s{{1,9}})(?P<quoted>{_QUOTED}\s{{1,9}}{_VERB})"
    rf"|;\s{{1,9}}{_LEAD}(?P<plain>(?-i:[A-Z])[\w'’-]{{0,30}}(?:\s[\w'’-]{{1,30}}){{0,5}}?\s{_VERB})",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(_VERB, re.IGNORECASE)


_GIVES: Final = re.compile(rf"{_QUOTED}\s{{1,9}}{_VERB}", re.IGNORECASE)


def gives_meaning(text: str) -> bool:
    """Whether a term in quotes or emphasis stands in a text right before a verb that defines it."""
    return _GIVES.search(text) is not None


def clauses_of(piece: Piece) -> Iterator[Piece]:
    """The parts of a sentence that define a term each, in order; the sentence itself if it defines one or none.

    Only what follows a verb that defines is parted: in "if a rule says "Fee" means" nothing is defined before it.
    """
    first = _FIRST.search(piece.text)
    found = list(_NEXT.finditer(piece.text, first.end())) if first else []
    if not found:
        yield piece
        return
    starts = [0, *(one.start(one.lastgroup or 0) for one in found)]
    ends = [*(one.start() for one in found), len(piece.text)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        yield replace(
            piece,
            start=piece.start + start,
            end=piece.start + end,
            text=piece.text[start:end],
            new_paragraph=piece.new_paragraph and not number,
        )
