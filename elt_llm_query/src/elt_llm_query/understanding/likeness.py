"""How far a question is keywords: few words, codes and quoted phrases are meant letter by letter."""

import re

from elt_llm_query.understand import Question

_SHORT = {0: 1.0, 1: 1.0, 2: 0.8, 3: 0.4}  # by number of content words
_SYMBOL_TIMES = 1.5  # two of three words that are codes make keywords of the whole
_SYMBOLS = frozenset("_#+/\\&@")
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]{2,60}[\"”“»]")


def keyword_likeness(question: Question) -> float:
    """From 0, a question in words, to 1, keywords alone: the greater of how short and how full of symbols it is."""
    content = len(set(question.surfaces))
    short = _SHORT.get(content, 0.0)
    quoted = sum(len(found.split()) for found in _QUOTED.findall(question.text))
    plain = _QUOTED.sub(" ", question.text)
    coded = sum(_is_code(word.strip("?!,;:().")) for word in plain.split())
    symbols = _SYMBOL_TIMES * (coded + quoted) / max(1, content, coded + quoted)
    return round(min(1.0, max(short, symbols)), 2)


def _is_code(word: str) -> bool:
    """With digits, signs that words do not have, or capitals only."""
    if any(character.isdigit() or character in _SYMBOLS for character in word):
        return True
    return len(word) > 1 and word.isupper()
