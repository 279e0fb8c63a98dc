"""Years and dates in a question, as ISO 8601 writes them."""

import re
from datetime import date

from elt_llm_core.text.normalise import fold

_MONTHS = {
    month: number
    for number, names in enumerate(
        (
            "january januar jan janvier",
            "february februar feb fevrier",
            "march marz mar mars",
            "april apr avril",
            "may mai",
            "june juni jun juin",
            "july juli jul juillet",
            "august aug aout",
            "september sep sept septembre",
            "october oktober oct okt octobre",
            "november nov novembre",
            "december dezember dec dez decembre",
        ),
        1,
    )
    for month in names.split()
}
_NAMED = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = re.compile(r"(?<![\w.,/-])(1[5-9]\d\d|20\d\d)(?![\w/]|[.,-]\d)")
_ISO = re.compile(r"(?<![\w.-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\w-])")
_POINTED = re.compile(r"(?<![\w.])(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})(?!\w)")
_DAY_FIRST = re.compile(rf"(?:(?<!\w)(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?)?\b({_NAMED})\.? (?:of )?(\d{{4}})(?!\w)")
_DAY_SECOND = re.compile(rf"\b({_NAMED})\.? (\d{{1,2}})(?:st|nd|rd|th)?, ?(\d{{4}})(?!\w)")


def years_of(text: str) -> tuple[str, ...]:
    """Years of four digits from 1500 to 2099 that stand alone, each once; not those of a date with a month."""
    bare = fold(text)
    for pattern in (_ISO, _POINTED, _DAY_SECOND, _DAY_FIRST):
        bare = pattern.sub(" ", bare)
    return tuple(dict.fromkeys(_YEAR.findall(bare)))


def dates_of(text: str) -> tuple[str, ...]:
    """Days and months: 2024-03-31 or 2024-03, in the order in which the ways to write them are tried."""
    folded = fold(text)
    found = [(year, month, day) for year, month, day in _ISO.findall(folded)]
    found += [(year, month, day) for day, month, year in _POINTED.findall(folded)]
    found += [(year, str(_MONTHS[month]), day) for month, day, year in _DAY_SECOND.findall(folded)]
    found += [(year, str(_MONTHS[month]), day) for day, month, year in _DAY_FIRST.findall(folded)]
    return tuple(dict.fromkeys(written for one in found if (written := _iso(*one))))


def _iso(year: str, month: str, day: str) -> str:
    try:
        written = date(int(year), int(month), int(day or 1)).isoformat()
    except ValueError:  # such as the 31st of February
        return ""
    return written if day else written[:7]
