"""Sentences in which the term stands after the verb, or around it: "By X is meant", "Unter X versteht man"."""

import re
from typing import Final

from elt_llm_consumer.definitions.defining import tells_apart
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.definitions.wording import NOT_FIRST

# ruff: noqa: RUF001 - the look-alike quotes and dashes are what this file is about.
_Q: Final = r"[\"“„«‘'*_]{1,3}"
_TERM: Final = (
    rf"(?:{_Q}(?P<%s>[^\"“”„«»‘*_\n]{{1,90}}?)[\"”“»’'*_]{{1,3}}|"
    r"(?P<%s>[A-ZÄÖÜ][\wäöüß-]{1,50}(?:\s[\w-]{2,40}){0,4}?))"
)


def _term(name: str) -> str:
    return _TERM.replace("%s", f"{name}1", 1).replace("%s", f"{name}2", 1)


_ARTICLE = r"(?:an?\s+|the\s+|the\s+(?:term|word|expression)\s+)?"
_ARTIKEL = r"(?:einem\s+|einer\s+|dem\s+|der\s+|den\s+)?"
_DOKUMENT = (
    r"(?:im\s+sinne\s+(?:dieser|dieses|der|des)\s+[A-ZÄÖÜ]\w{2,40}|in\s+(?:dieser|diesem|der|dem)\s+[A-ZÄÖÜ]\w{2,40}"
    r"|für\s+die\s+zwecke\s+(?:dieser|dieses)\s+[A-ZÄÖÜ]\w{2,40})"
)
_REFERENCES: Final = r"(?:an?\s+|any\s+|every\s+|all\s+)?references?\s+(?:in\s+[^,;:.\"“]{3,60}\s)?to\s+"
_PATTERNS: Final = (
    re.compile(
        rf"by\s+{_ARTICLE}{_term('a')}\s*,?\s+(?:(?:is|are)\s+(?:meant|understood)|we\s+(?:mean|understand))\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:when|where)\s+we\s+(?:say|use|write|speak\s+of|refer\s+to|talk\s+about)\s+{_ARTICLE}{_term('a')}\s*,?\s+"
        r"we\s+(?:mean|refer\s+to)\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_REFERENCES}{_ARTICLE}{_term('a')}\s+(?:is|are|shall\s+be)\s+(?:(?:an?\s+)?references?\s+)?to\s+"
        r"(?P<body>(?:an?|the|any|all|every|each|those|days?|persons?)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"mit\s+{_ARTIKEL}{_term('a')}\s+(?:ist|sind|wird|werden)\s+(?P<body>(?:ein|eine|der|die|das|jede|jeder|jedes|alle)\s)"
        r"(?=[^.]{1,300}\sgemeint\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"als\s+{_ARTIKEL}{_term('a')}\s+(?:wird|werden)\s+(?P<body>[^.]{{3,300}}\sbezeichnet\b)", re.IGNORECASE
    ),
    re.compile(
        rf"(?:[^,;:.]{{1,80}}?,?\s{{1,9}})?we\s+use\s+{_ARTICLE}{_term('a')}\s+to\s+(?:mean|refer\s+to|denote|describe)\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:[^,;:.]{{1,80}}?,?\s{{1,9}})?we\s+define\s+{_ARTICLE}{_term('a')}\s+as\s+(?P<body>\S)", re.IGNORECASE
    ),
    re.compile(
        rf"unter\s+{_ARTIKEL}{_term('a')}\s+(?:verst(?:eht|ehen)\s+(?:man|wir|(?:die|diese)\s+\w{{1,40}})(?:\s+{_DOKUMENT})?|(?:wird|werden|ist|sind)(?:\s+{_DOKUMENT})?(?=[^!?]{{1,300}}\s(?:verstanden|zu\s+verstehen)\b))"
        r"\s+(?P<body>(?:(?:ein|eine|einen|der|die|das|den|jede|alle)\w{0,3}|[A-ZÄÖÜ]\w{2,40},)\s|[^.,]{3,60},\sd(?:ie|er|as)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_DOKUMENT}\s+(?:ist|sind|bezeichnet|bezeichnen|bedeutet|heißt)\s+(?:(?:ein|eine|der|die|das)\s+)?{_term('a')}"
        r",?\s+(?P<body>(?:ein|eine|einen|der|die|das|den|jede|jeder|jedes|wer|alle)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"als\s+{_ARTIKEL}{_term('a')}\s+(?:gilt|gelten)\s+(?P<body>(?:ein|eine|der|die|das|jede|jeder|jedes|wer|alle|nur)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:(?:ein|eine|der|die|das)\s+)?{_term('a')}\s+{_DOKUMENT}\s+(?:ist|sind|bezeichnet|bedeutet)\s+"
        r"(?P<body>(?:ein|eine|einen|der|die|das|den|jede|jeder|jedes|wer|alle),?\s)",
        re.IGNORECASE,
    ),
)
_OF_TEXTS: Final = re.compile(
    r"(?:(?:this|that|these|those)\b|(?:statut|regulation|rule|section|clause|article|paragraph|schedule|part|annex|enactment"
    r"|law|legislation|masculine|feminine|singular|plural|gender|provision|act|appendi)\w{0,4}$)",
    re.IGNORECASE,
)


# "Every club names a Contact Person, which means the person who ..."
_BESIDE: Final = re.compile(
    r"\b(?:[Aa]n?|[Tt]he)\s+(?P<term>[A-Z][\w'’-]{1,40}(?:\s(?:of\s)?[A-Z][\w'’-]{1,40}){0,5}),\s+(?:which|who)\s+means?\s+"
    r"(?=(?:an?|the|any|every|each|all)\s)"
)


def beside(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """As `inverted`, where the sentence goes on after a term with "which means" and a kind of thing."""
    found = _BESIDE.search(text, start, end)
    return (found.span("term"), found.end()) if found and tells_apart(text[found.end() : end]) else None


def inverted(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """The span of the term and where its definition begins; None if the sentence is of another kind."""
    start = after_labels(text, start, end)
    for pattern in _PATTERNS:
        found = pattern.match(text, start, end)
        if found and (found["a1"] or _is_name(found["a2"])):
            name = "a1" if found["a1"] is not None else "a2"
            return found.span(name), found.start("body")
    return None


def _is_name(term: str) -> bool:
    """Whether words without quotes name a thing, and no part of a text."""
    words = term.casefold().split()
    return words[0] not in NOT_FIRST and _OF_TEXTS.match(words[-1]) is None
