"""What a heading looks like where the format does not say so: numbers, underlines."""

import re

# Every part is bounded, so that a hostile line costs no more than its length.
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


def numbered_level(line: str) -> int | None:
    """The level of a short line such as `3.2 Scope` (2), or None if it is no numbered heading."""
    line = line.strip()
    match = _NUMBERED.match(line)
    if not match or len(line) > _LONGEST_HEADING or line[-1] in ".,;:!?" or not line[match.end()].isupper():
        return None
    return match.group(1).count(".") + 1


def underline_of(line: str) -> str | None:
    """The character of a line that underlines a heading, or None."""
    line = line.strip()
    return line[0] if len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line) else None


def begins_rule(line: str) -> bool:
    """Whether a line opens a numbered rule, such as `12.3.1 The team ...`."""
    return bool(_RULE.match(line))


def begins_item(line: str) -> bool:
    """Whether a line opens a list item: a bullet, `1.`, `(a)`, `iv)`."""
    return bool(_ITEM.match(line))
