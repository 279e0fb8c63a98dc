"""How many words a text has."""

import re

WORDS_VERSION = 1
_WORD = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*")


def count_words(text: str) -> int:
    """Runs of letters and digits; "don't", "3.5" and "well-kept" are one word each."""
    return len(_WORD.findall(text))
