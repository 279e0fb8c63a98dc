"""Names that the words before them announce as organisations: "restaurants such as A, B & C", "acquired by D"."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.name_runs import CAPITALISED

_KINDS = (
    *("companies", "firms", "organisations", "organizations", "corporations", "agencies", "institutions", "charities"),
    *(
        "universities",
        "banks",
        "restaurants",
        "retailers",
        "suppliers",
        "vendors",
        "broadcasters",
        "airlines",
        "labels",
    ),
    *("manufacturers", "publishers", "museums", "associations", "regulators", "brands", "chains", "supermarkets"),
    *("nternehmen", "irmen", "onzerne", "marken", "rganisationen", "entreprises", "sociétés"),
)
_FOR_EXAMPLE = re.compile(r"(?:,? (?:such as|including|like|namely|for example|e\.g\.|wie|telles que))? (?:the )?")
_DEEDS = (
    *("acquired by ", "taken over by ", "employed by ", "manufactured by ", "published by ", "distributed by "),
    *("released by ", "broadcast by ", "subsidiary of ", "affiliate of ", "merged with ", "übernommen von "),
    *(
        "employees of ",
        "partnership with ",
        "joint venture with ",
        "merger with ",
        "customers of ",
        "acquisition of ",
        "founder of ",
        "founders of ",
    ),
    *("CEO of ", "chief executive of ", "shareholders of ", "headquarters of "),
    *("Tochter von ", "filiale de "),
)
# Somebody may do so too: only a name of three words or more is a body's.
_DEEDS_OF_ANYBODY = ("owned by ", "operated by ", "managed by ", "administered by ", "funded by ", "sponsored by ")
_LEAST_WORDS = 3
_CALLED = ("known as ", "called ", "named ", "renamed ")
_BODY_BEFORE = re.compile(
    r"\b(?:company|firm|agency|organi[sz]ation|publisher|publishing house|party|charity|association|institute|bank"
    r"|union|regulator|supplier)\b[^.;:\n]{0,25}$"
)
_REACH = 50  # characters before "called" that may say what is
_ITEM = re.compile(rf"(?:the )?(?P<name>{CAPITALISED}(?: (?:(?:of|the|&) ){{0,2}}{CAPITALISED}){{0,5}})")
_NEXT = re.compile(r",? (?:and|or|und|oder|et|ou) |, ")
# What follows makes "the Spemann organizer" of a name.
_NOUN = re.compile(
    r" (?!(?:in|on|and|or|for|at|as|by|from|to|with|which|who|under|through|during|before|after|since|was|is|were|has|had"
    r"|but|while|when|until|via|the|a|an|und|als|im|am|f\u00fcr|et|en|pour)\b)[a-z]{3,30}\b"
)
_PLURAL_NOUN = re.compile(r" [a-z]{3,30}s\b")
_LONGEST_LIST = 20


def announced_names(text: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    for kind in _KINDS:
        for place in _ends(text, kind):
            if example := _FOR_EXAMPLE.match(text, place):
                yield from _listed(text, example.end())
    for deed in _DEEDS:
        for place in _ends(text, deed):
            item = _ITEM.match(text, place)
            if item and (" " in item["name"] or (len(item["name"]) > 1 and not _NOUN.match(text, item.end()))):
                yield item.span("name")
    for deed in _DEEDS_OF_ANYBODY:
        for place in _ends(text, deed):
            if (item := _ITEM.match(text, place)) and len(item["name"].split()) >= _LEAST_WORDS:
                yield item.span("name")
    for called in _CALLED:
        for place in _ends(text, called):
            if _BODY_BEFORE.search(text[max(0, place - _REACH) : place - len(called)]):
                yield from _listed(text, place)


def _ends(text: str, words: str) -> Iterator[int]:
    place = text.find(words)
    while place >= 0:
        yield place + len(words)
        place = text.find(words, place + len(words))


def _listed(text: str, place: int) -> Iterator[tuple[int, int]]:
    for _ in range(_LONGEST_LIST):
        item = _ITEM.match(text, place)
        # "organisations such as Scottish churches" names a kind, not a body.
        if item is None or (" " not in item["name"] and _PLURAL_NOUN.match(text, item.end())):
            return
        yield item.span("name")
        following = _NEXT.match(text, item.end())
        if following is None:
            return
        place = following.end()
