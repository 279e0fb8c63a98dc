"""Sentences that say first what a thing is and then what it is called: "A plot that lies empty is called a gap"."""

import re
from typing import Final

from elt_llm_consumer.definitions.defining import tells_apart
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.definitions.wording import DOCUMENTS, NOT_FIRST, NOT_WITHIN, PRAISING

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_REST: Final = r"[\w'’/-]{0,30}(?:\s{1,9}(?!(?:if|when|where|by|and|or)\b)[\w'’/-]{1,30}){0,5}"
_WORDS: Final = rf"[^\W\d_]{_REST}"
_QUOTED: Final = r"(?:[\"“„«‘'`]|\*{1,3})(?P<%s>[^\"“”„«»‘’*`\n]{2,60})(?:[\"”“»’'`]|\*{1,3})"
_CONDITION: Final = r"(?:only\s)?(?:if|when|where|wherever|whenever)\s"
_CALLED: Final = r"(?:called|known\sas|termed|named|referred\sto\sas|described\sas)"
# What is called so is any of a kind: "An error", "Every plot", not "The office".
_ANY: Final = r"(?:an?|any|every|each|all|those|where|if|when|ein|eine|jede[rs]?)\s"
_HERE: Final = (
    rf"(?:(?:for|in|under|within|throughout)\s(?:the\spurposes?\sof\s)?(?:(?:these|this|our)\s(?:\w{{1,20}}\s)?{DOCUMENTS}"
    r"|(?:rule|section|article|clause|part|regulation|paragraph)\s[\w.()]{1,8}),?\s)"
)
_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<body>{_ANY}[^.;:]{{8,200}}?)\s(?:is|are|shall\sbe)\s{_CALLED}\s(?:an?|the)\s(?P<a>{_WORDS})(?=[.;]|$)",
        rf"(?P<body>(?:the|[A-Z][\w-]{{2,30}}s)\s[^.;:]{{2,120}}?(?:that|which|who|whose|whom)\s[^.;:]{{3,200}}?)\s(?:is|are)\s"
        rf"{_CALLED}\s(?:an?\s|the\s)?(?P<a>(?-i:[a-z]){_REST})(?=[.;]|$)",
        rf"(?P<whole>{_ANY}[^.;:]{{3,200}}?\s(?:is|are|shall\sbe)\s{_CALLED}\s(?:an?|the)\s(?P<a>{_WORDS})\s{_CONDITION})",
        rf"(?P<body>{_ANY}[^.;:]{{2,200}}?\s(?:that|which|who)\s[^.;:]{{3,200}}?)\s(?:is|are)\ssaid\sto\sbe\s(?P<a>{_WORDS})(?=[.;]|$)",
        rf"(?P<body>{_ANY}[^.;:\"“„]{{12,200}}?)\s(?:is|are)\s(?:an?\s)?{_QUOTED % 'a'}(?=[.;]|$)",
        rf"(?P<whole>{_ANY}[^.;:\"“„]{{3,200}}?\s(?:is|are)\s(?:an?\s)?{_QUOTED % 'a'}\s{_CONDITION})",
        rf"{_HERE}(?P<whole>(?:an?|any|every|each)\s(?:\w{{1,30}}\s){{1,4}}?(?:is|are|counts?\sas|shall\sbe)\s(?:an?\s)?"
        rf"(?P<a>{_WORDS})\s{_CONDITION})",
        rf"(?P<whole>(?:an?|any|every|each)\s(?:\w{{1,30}}\s){{1,3}}?(?:is|counts\sas)\san?\s(?P<a>{_WORDS})\s(?:only\s)?"
        r"(?:if|when)\s(?:it|he|she|they)\s)",
        r"(?:we\s(?:call|say\sthat|describe)\s)(?P<body>[^.;:*\"“„]{3,120}?)\s(?:is\s|are\s|as\s)?"
        rf"{_QUOTED % 'a'}(?:\s{_CONDITION})?",
        r"(?P<body>(?:an?|the|any|each|every)\s[^.;:,]{8,160}),\s(?:also\s)?known\s(?:here\s)?as\s(?:an?|the)\s(?P<a>(?-i:[a-z])[\w\s-]{2,50}),",
    )
)
_LATER: Final = re.compile(r"\s(?:if|when|where)\s$", re.IGNORECASE)


def naming(text: str, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The spans of the term and of what it is the name for; None if the sentence is of another kind."""
    start = after_labels(text, start, end)
    for pattern in _PATTERNS:
        found = pattern.match(text, start, end)
        if found is None or not _is_name(found["a"]):
            continue
        whole = "whole" in pattern.groupindex or _LATER.search(found[0]) is not None
        begin = found.start("whole" if "whole" in pattern.groupindex else "body")
        span = (begin, end if whole else found.end("body"))
        if whole or len(text[slice(*span)].split()) > 3 or tells_apart(text[slice(*span)]):
            return found.span("a"), span
    return None


def _is_name(term: str) -> bool:
    words = [word.strip("'’").casefold() for word in term.split()]
    judged = PRAISING.match(f"a {term}")
    return bool(words) and not judged and words[0] not in NOT_FIRST and not any(word in NOT_WITHIN for word in words)
