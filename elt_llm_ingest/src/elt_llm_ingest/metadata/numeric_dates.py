"""Dates written in digits: 2024-03-02, 2024/03/02, 02.03.2024, 2/3/2024 and the ranges made of them."""

import re
from collections.abc import Iterator

from elt_llm_ingest.metadata.calendar_dates import iso_day, iso_month

_THREE_NUMBERS = re.compile(r"\d[./-] ?\d{1,2}[./-] ?\d\d")
_YEAR_FIRST = re.compile(r"([12](?<![\w./-][12])\d{3})([-/.])(\d{2})\2(\d{2})(?!\d|[./-]\d)(?![A-SU-Za-su-z_-])")
_MONTH_ONLY = re.compile(r"([12](?<![\w./:-][12])(?:9[7-9]|0\d)\d)-(\d{2})(?![\w/-]|\.\d)")
_DAY_FIRST = re.compile(
    r"""
    (?: (?<![\w./-]) | (?<=\.\d{4}[-\u2013]) )
    (?: (\d{1,2}) \.? (?:(?<=\.) (\d{1,2}) \.)? [ ]? [-\u2013] [ ]? )?      # 1.-3.5.2024, 28.02.-03.03.2024
    (\d{1,2}) ([./-]) [ ]? (\d{1,2}) \4 [ ]? (\d{4}|\d{2})
    (?! \w | [./]\d | -\d(?!\d?\.) )
    """,
    re.VERBOSE,
)
# What stands right before the number of a section, version or address.
_NUMBERED = re.compile(
    r"(?:§|\b(?:v|ver|version|release|rule|section|sec|clause|article|art|chapter|table|figure|schedule|annex"
    r"|ip|isbn|no|nr|tel|phone|policy|abschnitt|kapitel|punkt|skyrius))\.? ?$",
    re.IGNORECASE,
)
_BEFORE = 12
_EARLIEST, _LATEST = 1800, 2100  # a fourth group of digits beyond these is no year


def numeric_dates(text: str) -> Iterator[str]:
    """Every valid date written in digits, as an ISO 8601 prefix, in no particular order."""
    for found in _MONTH_ONLY.finditer(text):
        yield from _month(int(found[1]), int(found[2]))
    if not _THREE_NUMBERS.search(text):
        return
    for found in _YEAR_FIRST.finditer(text):
        yield from _valid(int(found[1]), int(found[3]), int(found[4]))
    day_first = [found for found in _DAY_FIRST.finditer(text) if not _is_number_of_something(text, found.start())]
    month_first = any(_only_month_first(found) for found in day_first)
    for found in day_first:
        yield from _day_first(found, month_first=month_first)


def _is_number_of_something(text: str, start: int) -> bool:
    return _NUMBERED.search(text[max(0, start - _BEFORE) : start]) is not None


def _only_month_first(found: re.Match[str]) -> bool:
    """Whether 12/31/2024 shows that this text puts the month first."""
    return found[4] == "/" and int(found[3]) <= 12 < int(found[5]) <= 31


def _month(year: int, month: int) -> Iterator[str]:
    # 2011-12 is a season or a financial year far more often than a December.
    if month != (year + 1) % 100 and (iso := iso_month(year, month)):
        yield iso


def _day_first(found: re.Match[str], *, month_first: bool) -> Iterator[str]:
    separator, day, month = found[4], int(found[3]), int(found[5])
    year = _year(found[6], separator, found[3] + found[5])
    if year is None:
        return
    if separator == "/" and month_first:
        day, month = month, day
    if not any(_valid(year, month, day)):
        return
    yield from _valid(year, month, day)
    if found[1] and separator == ".":
        yield from _valid(year, int(found[2] or month), int(found[1]))


def _year(digits: str, separator: str, day_and_month: str) -> int | None:
    """Two digits count between slashes only, where day and month have two digits as well."""
    if len(digits) == 4:
        year = int(digits)
        return year if _EARLIEST <= year <= _LATEST else None
    if separator != "/" or len(day_and_month) != 4:
        return None
    return (1900 if digits >= "70" else 2000) + int(digits)


def _valid(year: int, month: int, day: int) -> Iterator[str]:
    if iso := iso_day(year, month, day):
        yield iso
