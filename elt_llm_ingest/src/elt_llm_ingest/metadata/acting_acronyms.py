"""Acronyms that do what only somebody can do; unlike a person's name, they are written in capitals."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_ingest.metadata.name_runs import Run, Word

_ACTS_AFTER = re.compile(
    r",? (?:announced|said|says|reported|stated|argued|recommends|recommended|requires|required|published|publishes"
    r"|issued|issues|decided|agreed|adopted|launched|appointed|approved|proposed|ruled|founded|acquired|bought"
    r"|sold|signed|broadcast|aired|began|claimed|called|voted|won|members|officials|staff|guidance"
    r"|commissioner|president|regime|government|party|leader|took|overall majority|seats)\b"
    r"|['\u2019]s [A-Z][a-z]"
)
_ACTS_BEFORE = re.compile(
    r"\b(?:according to|(?:published|issued|endorsed|approved|regulated|accredited|certified|funded|maintained"
    r"|developed|acquired|broadcast|aired|adopted|set|run) (?:by|on)|(?:employees?|members?|director"
    r"|president|chair|head"
    r"|website)"
    r" of|join(?:ed|s)?|contact|televised on) (?:the )?\Z",
    re.IGNORECASE,
)
_ROLES = ("Pr\u00e4sident", "Chef", "Vorstand", "Mitarbeiter", "Sprecher", "Mitglied", "Vorsitzende", "Kommission")
_JOINED = re.compile(r" (?:and|und|et|or|oder) (?:the )?")
_REACH = 40  # characters before an acronym
_SHORTEST_ACRONYM, _LONGEST_ACRONYM = 2, 6  # letters
NO_ACRONYMS = frozenset(
    {
        *(
            "API",
            "APIS",
            "URL",
            "URI",
            "HTTP",
            "HTTPS",
            "HTML",
            "XML",
            "JSON",
            "CSV",
            "PDF",
            "SQL",
            "RFC",
            "USA",
            "UK",
            "US",
        ),
        *(
            "IT",
            "HR",
            "PR",
            "AI",
            "TV",
            "PC",
            "CEO",
            "CFO",
            "CTO",
            "MP",
            "MPS",
            "MEP",
            "GDPR",
            "TLS",
            "SSL",
            "DNS",
            "OS",
            "ID",
        ),
        *(
            "THE",
            "AND",
            "NOT",
            "MUST",
            "MAY",
            "SHALL",
            "USSR",
            "DNA",
            "RNA",
            "HIV",
            "GP",
            "QA",
            "II",
            "III",
            "IV",
            "VI",
            "XI",
        ),
        *("DPO", "CCTV", "VAT", "CD", "DVD", "DJ", "GDR", "NOTE", "PHD", "BA", "MA", "AD", "BC", "CE", "BCE", "DDR"),
    }
)


def acting_acronyms(text: str, runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Where they begin and end."""
    acronyms = [word for run in runs for word in run.words if _is_acronym(word)]
    acting = {place for place, word in enumerate(acronyms) if _acts(text, word)}
    for place, word in enumerate(acronyms):
        if place in acting or _joined(text, acronyms, place, acting):
            yield word.start, word.start + len(word.text.partition("-")[0])


def _is_acronym(word: Word) -> bool:
    short = word.text.partition("-")[0]
    return (
        short.isupper()
        and _SHORTEST_ACRONYM <= len(short) <= _LONGEST_ACRONYM
        and short not in NO_ACRONYMS
        and short.isalpha()
    )


def _acts(text: str, word: Word) -> bool:
    compound = word.text.partition("-")[2]
    if compound:
        return compound.startswith(_ROLES)
    if _ACTS_AFTER.match(text, word.end):
        return True
    return _ACTS_BEFORE.search(text, max(0, word.start - _REACH), word.start) is not None


def _joined(text: str, acronyms: Sequence[Word], place: int, acting: set[int]) -> bool:
    """Whether an "and" joins it to one that acts."""
    return any(
        second in acting and _JOINED.fullmatch(text, acronyms[first].end, acronyms[first + 1].start)
        for first, second in ((place, place + 1), (place - 1, place - 1))
        if 0 <= first < len(acronyms) - 1
    )
