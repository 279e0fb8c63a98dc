"""A term and its meaning on either side of a colon, within running text: "Site": the land named in it."""

import re
from typing import Final

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.defining import is_phrase, tells_apart
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.definitions.wording import TELLING_APART

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_GLOSS: Final = re.compile(
    r"(?:[\"“„](?P<quoted>[^\"“”„\n]{2,60})[\"”“]|(?P<short>[^\W\d_][\w&.-]{1,10})"
    r"|(?P<plain>[A-Z][\w'’ -]{1,50}))\s{0,3}:\s{1,9}(?=\S)"
)
_PLAIN: Final = re.compile(r"[^\W\d_][\w'’ -]{1,60}$")
_SEE: Final = re.compile(r"(?:see|siehe)\s{1,9}(?:also\s)?[\"“„][^\"“”„\n]{2,60}[\"”“]\W{0,3}$", re.IGNORECASE)


def gloss(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """The span of the term and where its meaning begins; None if what stands there defines nothing."""
    found = _GLOSS.match(text, after_labels(text, start, end), end)
    if found is None:
        return None
    body = text[found.end() : end]
    name = found.lastgroup or ""
    short = found[name]
    bare = " ".join(body.split()).rstrip(" .;")
    spelt = is_short_form(short) and (long_form(short, bare) == (0, len(bare)) or _is_word_of(short, bare))
    told = (
        name == "quoted"
        and _PLAIN.match(short)
        and is_phrase(body)
        and (tells_apart(body) or (body[0].islower() and TELLING_APART.search(body) is not None))
    )
    return (found.span(name), found.end()) if spelt or told or _SEE.match(body) else None


def _is_word_of(short: str, long: str) -> bool:
    """Whether all letters of a short form follow in one long word: MV, Mitgliederversammlung."""
    letters = iter(long.casefold())
    same = " " not in long and long[:1].casefold() == short[:1].casefold() and len(long) > 3 * len(short)
    return same and all(letter in letters for letter in short.casefold())
