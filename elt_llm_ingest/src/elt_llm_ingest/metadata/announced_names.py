"""Names that the words before them announce as organisations: "restaurants such as A, B & C", "acquired by D"."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.name_runs import CAPITALISED

_KINDS = (
    "companies|firms|organi[sz]ations|corporations|agencies|institutions|charities|universities|banks|restaurants"
    "|retailers|suppliers|vendors|broadcasters|airlines|manufacturers|publishers|museums|associations|regulators"
    "|brands|chains|supermarkets|shops|bodies|Unternehmen|Firmen|Organisationen|entreprises|sociétés|organisations"
)
_LIST = re.compile(rf"\b(?:{_KINDS})\b,? (?:such as|including|like|namely|for example|e\.g\.|wie|telles que) ")
_DEED = re.compile(
    r"\b(?:(?:acquired|taken over|employed|headquartered|manufactured) by|(?:a|an|the) (?:subsidiary|affiliate) of"
    r"|merged with|übernommen von|Tochter von|filiale de) "
)
_ITEM = re.compile(rf"(?:the )?(?P<name>{CAPITALISED}(?: (?:(?:of|the|&) ){{0,2}}{CAPITALISED}){{0,5}})")
_NEXT = re.compile(r",? (?:and|or|und|oder|et|ou) |, ")
_LONGEST_LIST = 20


def announced_names(text: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end."""
    for announced in _LIST.finditer(text):
        place = announced.end()
        for _ in range(_LONGEST_LIST):
            item = _ITEM.match(text, place)
            if item is None:
                break
            yield item.span("name")
            following = _NEXT.match(text, item.end())
            if following is None:
                break
            place = following.end()
    for announced in _DEED.finditer(text):
        if item := _ITEM.match(text, announced.end()):
            yield item.span("name")
