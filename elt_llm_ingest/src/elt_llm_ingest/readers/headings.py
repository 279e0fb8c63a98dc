"""Recognise headings and list items that a file's format does not mark, and format their numbers."""

import re

from elt_llm_ingest.parsing.parsed_document import BlockKind

# Every repetition is bounded, so that the time is linear in the length of a hostile line.
_NUMBERED = re.compile(
    r"(?:(?:chapter|section|part|article|appendix|annex)\s{1,3})?"
    r"(\d{1,3}(?:\.\d{1,3}){0,5}|[A-Z](?:\.\d{1,3}){1,5})\.?\s{1,8}(?=\w)",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"(?:(?:rule|article|clause|law)\s{1,3})?"
    r"(?:\d{1,3}(?:\.\d{1,3}){1,5}|[A-Z]\d{0,2}(?:\.\d{1,3}){1,5})[.):]?\s{1,8}\w",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?:[-*+\u2022\u2023\u25aa\u25cf\u25e6\u2013\uf0b7]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s{1,8}\S"
)
_UNDERLINES = "=-~^\"'*+#`:."
_LONGEST_HEADING = 100
_LONGEST_TERM = 60
_DEFINES = (":", "means ", "\u2013 ", "\u2014 ", "- ", "= ")
_BULLETS = "\u2022\u25e6\u25aa"
_ROMANS = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def numbered_level(line: str) -> int | None:
    """Return the level of a short line such as `3.2 Scope` (here 2), or None for other lines."""
    line = line.strip()
    match = _NUMBERED.match(line)
    if not match or len(line) > _LONGEST_HEADING or line[-1] in ".,;:!?" or not line[match.end()].isupper():
        return None
    return match.group(1).count(".") + 1


def underline_character(line: str) -> str | None:
    """Return the repeated character of a line such as `-----` that underlines a heading, or None for other lines."""
    line = line.strip()
    return line[0] if len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line) else None


def starts_rule(line: str) -> bool:
    """Return whether a line starts a numbered rule, such as `12.3.1 The team shall meet`."""
    return bool(_RULE.match(line))


def starts_item(line: str) -> bool:
    """Return whether a line starts a list item, with a bullet, `1.`, `(a)` or `iv)`."""
    return bool(_ITEM.match(line))


def kind_of_line(line: str, *, is_item: bool = False) -> BlockKind:
    """Return "rule" for a line such as `12.3 The team`, "list" for `(a) a player` or if `is_item`, else "prose"."""
    return "rule" if starts_rule(line) else "list" if is_item or starts_item(line) else "prose"


def bold_heading_level(text: str, *, bold: bool) -> int | None:
    """Return the heading level of a short line in bold type, or None if the line is not a heading."""
    if not bold or not text or "\n" in text or len(text) > _LONGEST_HEADING or text[-1] in ".,;:!?":
        return None
    if not any(letter.isalpha() for letter in text):
        return None
    return numbered_level(text) or (None if starts_item(text) else 1)


def is_bold_definition(term: str, text: str) -> bool:
    """Return whether a paragraph defines the bold words `term` at its start, as in "**Member** means a person who"."""
    term = " ".join(term.split())
    rest = text[len(term) :].strip()
    if not term or not rest or len(term) > _LONGEST_TERM:
        return False
    return term.endswith(":") or rest.startswith(_DEFINES)


def bullet_of_level(level: int) -> str:
    """Return the bullet of a list level, counted from 0. All levels from the third on have the same bullet."""
    return _BULLETS[min(max(level, 0), len(_BULLETS) - 1)]


def to_letters(value: int) -> str:
    """Format 1 as a, 26 as z, 27 as aa and 28 as bb, as word processors do."""
    turns, letter = divmod(value - 1, 26)
    return chr(ord("a") + letter) * min(turns + 1, 20) if value > 0 else str(value)


def to_roman(value: int) -> str:
    """Format 1 as i, 2 as ii and so on. Numbers without a Roman form stay in digits."""
    if not 0 < value < 4000:
        return str(value)
    numeral = ""
    for worth, sign in _ROMANS:
        count, value = divmod(value, worth)
        numeral += sign * count
    return numeral


def format_number(count: int, number_format: str) -> str:
    """Format a number in a format of Word (`lowerRoman`) or OpenDocument (`i`). Unknown formats give digits."""
    match number_format:
        case "none" | "bullet" | "":
            return ""
        case "lowerLetter" | "a" | "upperLetter" | "A":
            text = to_letters(count)
        case "lowerRoman" | "i" | "upperRoman" | "I":
            text = to_roman(count)
        case "decimalZero":
            text = f"{count:02}"
        case _:
            text = str(count)
    return text.upper() if number_format.startswith(("upper", "A", "I")) else text
