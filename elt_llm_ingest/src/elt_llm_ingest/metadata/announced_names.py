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
# What a body alone does or has, by the word that links it to the name: "acquired by", "CEO of".
_DEEDS = {
    " by ": frozenset(
        {
            *("acquired", "over", "employed", "manufactured", "published", "distributed", "released", "broadcast"),
            *("regulated", "accredited"),
        }
    ),
    " of ": frozenset(
        {
            *("subsidiary", "affiliate", "employees", "customers", "acquisition", "founder", "founders", "CEO"),
            *("executive", "shareholders", "headquarters", "filiale"),
        }
    ),
    " de ": frozenset({"filiale"}),
    " with ": frozenset({"merged", "partnership", "venture", "merger"}),
    " von ": frozenset({"übernommen", "Tochter"}),
}
# Somebody may do so too: only a name of three words or more is a body's.
_DEEDS_OF_ANYBODY = frozenset({"owned", "operated", "managed", "administered", "funded", "sponsored"})
_LONGEST_DEED = 20  # characters
_LEAST_WORDS = 3
_CALLED = ("known as ", "called ", "named ", "renamed ")
_BODY_BEFORE = re.compile(
    r"\b(?:company|firm|agency|organi[sz]ation|publisher|publishing house|party|charity|association|institute|bank"
    r"|union|regulator|supplier)\b[^.;:\n]{0,25}$"
)
_REACH = 50  # characters before "called" that may say what is
_ITEM = re.compile(rf"(?:[Tt]he )?(?P<name>{CAPITALISED}(?: (?:(?:of|the|&) ){{0,2}}{CAPITALISED}){{0,5}})")
_NEXT = re.compile(r",? (?:and|or|und|oder|et|ou) |, ")
# What follows makes "the Spemann organizer" of a name.
_NOUN = re.compile(
    r" (?!(?:in|on|and|or|for|at|as|by|from|to|with|which|who|under|through|during|before|after|since|was|is|were"
    r"|has|had|but|while|when|until|via|the|a|an|und|als|im|am|f\u00fcr|et|en|pour)\b)[a-z]{3,30}\b"
)
_PLURAL_NOUN = re.compile(r" [a-z]{3,30}s\b")
_LONGEST_LIST = 20


def announced_names(text: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    for kind in _KINDS:
        for place in _ends(text, kind):
            if example := _FOR_EXAMPLE.match(text, place):
                yield from _listed(text, example.end())
    yield from _doing(text)
    for called in _CALLED:
        for place in _ends(text, called):
            if _BODY_BEFORE.search(text[max(0, place - _REACH) : place - len(called)]):
                yield from _listed(text, place)


def _doing(text: str) -> Iterator[tuple[int, int]]:
    for link, deeds in _DEEDS.items():
        for place in _ends(text, link):
            before = place - len(link)
            deed = text[max(0, before - _LONGEST_DEED) : before].replace("\n", " ").rpartition(" ")[2].lstrip("(\"'[")
            if deed not in deeds and (link != " by " or deed not in _DEEDS_OF_ANYBODY):
                continue
            item = _ITEM.match(text, place)
            if item and _may_be_a_body(text, item, surely=deed in deeds):
                yield item.span("name")


def _may_be_a_body(text: str, item: re.Match[str], *, surely: bool) -> bool:
    words = item["name"].count(" ") + 1
    if not surely:
        return words >= _LEAST_WORDS
    return words > 1 or (len(item["name"]) > 1 and not _NOUN.match(text, item.end()))


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
