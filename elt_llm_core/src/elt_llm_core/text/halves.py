"""Halves of surrogate pairs: JSON can say them, and no file, terminal or database takes them."""

import re

_HALF = re.compile("[\ud800-\udfff]")


def without_halves(text: str) -> str:
    """The text with a replacement character for each half of a surrogate pair."""
    return _HALF.sub("\ufffd", text)
