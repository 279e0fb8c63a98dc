"""The many ways in which models name a source, as the one that is asked for: "(Source 1)" and "【1】" are [1]."""

import re

_LIST = r"\d{1,3}(?:(?:\s?[,;&]\s?|\s(?:and|und)\s)(?:(?:sources?|quellen?)\s)?\d{1,3}){0,8}"
_BRACKETS = re.compile(rf"【\s?({_LIST})(?:†[^】\n]{{0,80}})?】|\[({_LIST})\]")
_NAMED = re.compile(
    rf"(\b(?:in|to|by|per|from|of|laut|nach)\s)?[\[(](?:see\s|siehe\s)?((?:sources?|quellen?)\s?[:#]?\s?({_LIST}))[\])]",
    re.IGNORECASE,
)
_TAG = re.compile(r"\s?</?source(?:\snumber=[\"'](\d{1,3})[\"'])?[^<>\n]{0,200}>", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


def as_marks(text: str) -> str:
    """The text with [n] for every way in which it names source n but in words, such as "according to source 1".

    A number in brackets that does not speak of a source is none: "rule 3 (1)" stays as it is.
    """
    text = _TAG.sub(lambda found: f" [{found[1]}]" if found[1] else "", text)
    text = _NAMED.sub(lambda found: found[1] + found[2] if found[1] else _each(found[3]), text)
    return _BRACKETS.sub(lambda found: _each(found[1] or found[2]), text)


def _each(numbers: str) -> str:
    return "".join(f"[{number}]" for number in _DIGITS.findall(numbers))
