"""Short forms beside what they stand for: "Annual General Meeting (AGM)", "AGM (Annual General Meeting)".

The letters are compared as in A. Schwartz and M. Hearst, "A simple algorithm for identifying abbreviation definitions
in biomedical text", Pacific Symposium on Biocomputing 2003: from the right, each letter of the short form must stand
in the long form, the first at the beginning of a word.
"""

import re
from collections.abc import Iterator

from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout

# ruff: noqa: RUF001 - the look-alike quotes and dashes are what this file is about.
_BRACKET = re.compile(
    r"\(\s*(?:(?:the|hereinafter|abbreviated|short|kurz|or|also|hereafter)\s+(?:to\s+)?)?[\"“„'‘*_]{0,3}([^()\"“”„'‘’*_\n]{2,80})[\"”“'’*_]{0,3}\s*\)"
)
_ABBREVIATED = re.compile(
    r",\s(?:abbreviated|shortened)\s(?:hereafter\s|below\s|here\s)?(?:to|as)\s[\"“'‘]?([^\W\d_][\w&/.-]{1,12})",
    re.IGNORECASE,
)
_SHORT = re.compile(r"[^\W\d_](?:[\w&/+-]{0,10}[\w+]|(?:\.[^\W\d_]){1,8}\.?)$")
_WORD = re.compile(r"\S+")
_BEFORE = re.compile(r"(?<![\w&-])([^\W\d_][\w&/-]{1,10})[\"”'’*_]{0,3}\s*$")
_PART = re.compile(r"[^\W_][^\s/-]{0,40}")
_REACH = 200  # characters before a bracket that are looked at
_LONGEST = 10
_ARTICLES = frozenset(("a", "an", "the", "der", "die", "das", "and", "of", "for", "to", "in", "or", "by", "with"))
_SENTENCE = re.compile(r"[.;:!?|]\s|\n\s*\n")


def abbreviations(layout: Layout) -> Iterator[Draft]:
    """Each short form with what it stands for, in order: the short form is the term."""
    text = layout.text
    yield from _abbreviated(text)
    for bracket in _BRACKET.finditer(text):
        if layout.is_contents(text[bracket.start() : bracket.end() + 8]):
            continue
        inner, begin = bracket[1].strip(), bracket.start(1)
        if is_short_form(inner):
            left = max(0, bracket.start() - _REACH)
            breaks = [found.end() for found in _SENTENCE.finditer(text, left, bracket.start())]
            left = breaks[-1] if breaks else left
            long = long_form(inner, _without_address(text[left : bracket.start()]))
            if long is not None:
                yield _draft((begin, begin + len(inner)), (left + long[0], left + long[1]))
        elif " " in inner:
            before = _BEFORE.search(text, max(0, bracket.start() - 40), bracket.start())
            if before and is_short_form(before[1]):
                long = long_form(before[1], inner)
                if long == (0, len(inner)):
                    yield _draft(before.span(1), (begin, begin + len(inner)))


def _abbreviated(text: str) -> Iterator[Draft]:
    """Short forms that a sentence gives without brackets: "the site controller, abbreviated to SC, tells"."""
    for found in _ABBREVIATED.finditer(text):
        short = found[1].rstrip(".,")
        breaks = [one.end() for one in _SENTENCE.finditer(text, max(0, found.start() - _REACH), found.start())]
        left = breaks[-1] if breaks else max(0, found.start() - _REACH)
        long = long_form(short, text[left : found.start()]) if is_short_form(short) else None
        if long is not None:
            yield _draft((found.start(1), found.start(1) + len(short)), (left + long[0], left + long[1]))


def is_short_form(word: str) -> bool:
    """Whether a word is written as an abbreviation: up to ten signs, a letter first, two capitals or more."""
    if not _SHORT.match(word) or len(word) > _LONGEST or not word[0].isalpha():
        return False
    capitals = sum(map(str.isupper, word))
    letters = sum(map(str.isalpha, word))
    return capitals >= 2 and capitals * 2 > letters - 1


def long_form(short: str, before: str) -> tuple[int, int] | None:
    """Where in the words before it (or in brackets after it) a short form is spelt out: the shortest that fits."""
    letters = [sign.casefold() for sign in short.removesuffix("s") if sign.isalnum()]
    text = before.rstrip(" \t\n\"“”*_,'’‘")
    words = list(_WORD.finditer(text))
    most = min(len(letters) + 5, len(letters) * 2)
    words = words[-most:]
    if not words:
        return None
    initials = _by_initials(text, words, letters)
    if initials is not None:
        return initials, len(text)
    place, lowest = len(text), words[0].start()
    folded = text.casefold()
    if len(folded) != len(text):
        return None
    for number in range(len(letters) - 1, -1, -1):
        place -= 1
        while place >= lowest and not (folded[place] == letters[number] and (number or _begins_word(text, place))):
            place -= 1
        if place < lowest:
            return None
    return _checked(text, place, letters)


def _by_initials(text: str, words: list["re.Match[str]"], letters: list[str]) -> int | None:
    """Where the longest run of words begins whose initials, those of articles left out, follow in the short form."""
    parts = [part for word in words for part in _PART.finditer(text, word.start(), word.end())]
    best = None
    for part in reversed(parts):
        if part.group()[0].casefold() == letters[0] and part.start() + len(letters) < len(text):
            bearing = [one.group() for one in parts if one.start() >= part.start()]
            initials = [one[0].casefold() for one in bearing if one.casefold() not in _ARTICLES]
            all_initials = [one[0].casefold() for one in bearing]
            if part.group().casefold() in _ARTICLES and letters != all_initials:
                continue
            exact = letters in (initials, all_initials)
            inner = len(initials) > 1 and len(initials) + 1 >= len(letters) and _follow(initials, letters)
            if exact or (inner and _follow(letters, list(text[part.start() :].casefold()))):
                best = part.start()
    return best if best is not None and "\n\n" not in text[best:] else None


def _follow(wanted: list[str], signs: list[str]) -> bool:
    """Whether all of `wanted` stand in `signs` in that order."""
    left = iter(signs)
    return all(one in left for one in wanted)


def _without_address(before: str) -> str:
    """The text without the address of a Markdown link at its end."""
    text = before.rstrip()
    begin = text.rfind("](")
    return text[:begin] if text.endswith(")") and begin > 0 and " " not in text[begin:] else before


def _begins_word(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()


def _checked(text: str, start: int, letters: list[str]) -> tuple[int, int] | None:
    """The long form, unless it is one word, holds the short form, or has too many words or too few of its letters."""
    long = text[start:]
    words = [word for word in re.split(r"[\s/-]+", long) if word]
    bearing = [word for word in words if word.casefold() not in _ARTICLES]
    initials = "".join(word.strip("\"“*_('")[:1].casefold() for word in bearing)
    hits = sum(letter in initials for letter in letters)
    joined = "".join(letters)
    if (
        len(long) <= len(joined)
        or joined in [word.casefold().strip("()") for word in words]
        or "\n\n" in long
        or "/" in long
        or ")" in long
    ):
        return None
    if len(bearing) < 2 or len(bearing) > len(letters) + 1 or hits * 2 < len(letters):
        return None
    return start, len(text)


def _draft(short: tuple[int, int], long: tuple[int, int]) -> Draft:
    return Draft(short, long, "abbreviation", 0.9)
