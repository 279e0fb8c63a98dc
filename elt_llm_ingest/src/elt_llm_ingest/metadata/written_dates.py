"""Dates with the name of a month: 2 March 2024, March 2nd, 2024, 3. März 2024, 2024 m. kovo 2 d., 1-3 May 2024."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from elt_llm_ingest.metadata.calendar_dates import iso_day, iso_month
from elt_llm_ingest.metadata.month_names import LONGEST_MONTH, MONTHS, tells_a_month_alone

_WORD = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{3,{LONGEST_MONTH}}}(?![^\W_])")
_LETTERS = re.compile(rf"[^\W\d_]{{3,{LONGEST_MONTH}}}")
_SUFFIX = r"(?:st|nd|rd|th|er|\.)?"
_BETWEEN = r"(?:\s?[-\u2013\u2014/]\s?|,\s|,?\s(?:and|to|or|until|und|bis|oder|et|au|ou|ir|iki|&)\s)"
_DAYS = rf"\d{{1,2}}{_SUFFIX}(?:{_BETWEEN}\d{{1,2}}{_SUFFIX}){{0,5}}"
_BUT_JOINED = re.compile(r"[\d,.\s]|st|nd|rd|th|er")
_DAY = re.compile(r"\d{1,2}")
_YEAR = r"(?P<year>1\d{3}|2[01]\d\d)(?![\d%]|[.,/]\d|[-\u2013]\d{2}(?!\d))"
# What may stand before the month: days, or in Lithuanian the year.
_BEFORE = re.compile(rf"(?<![\w.,/:£$€%-])(?P<days>{_DAYS})(?:\sday)?(?:-|\s(?:of\s(?:the\s)?|de\s)?)?$")
_YEAR_BEFORE = re.compile(r"(?<![\w.,/-])(?P<year>1\d{3}|2[01]\d\d)(?:\s(?:m\.|metų))?\s$")
_YEAR_AFTER = re.compile(rf"(?:\.?,?\s(?:of\s|de\s|m\.\s)?|\.?-){_YEAR}")
_SHORT_YEAR_AFTER = re.compile(r"-(?P<year>\d\d)(?![\w./-])")
_DAYS_AFTER = re.compile(rf"\.?\s(?P<days>{_DAYS})(?!\d|[.,/:%]\d)(?!\s?[ap]\.?m\b)")
_FIRST_OF_TWO = re.compile(
    r",?\s?(?:[-\u2013\u2014/]|,|to|and|or|until|through|bis|und|oder|au|et|iki|ir)\s?(?:the\s)?(?:on\s)?"
)
_REACH = 60  # characters before a month that may hold its days


@dataclass(frozen=True)
class _Mention:
    """One month in the text with what belongs to it; text[start:end]."""

    start: int
    end: int
    spelling: str
    days: tuple[int, ...]
    year: int | None

    @property
    def month(self) -> int:
        return MONTHS[self.spelling]

    @property
    def dates(self) -> Iterator[str]:
        """Nothing without a year, or where one of its days does not exist."""
        if self.year is None:
            return
        if self.days:
            found = [iso_day(self.year, self.month, day) for day in self.days]
            yield from (iso for iso in found if iso)
        elif tells_a_month_alone(self.spelling) and (iso := iso_month(self.year, self.month)):
            yield iso


def written_dates(text: str) -> Iterator[str]:
    """Every valid date with the name of a month, as an ISO 8601 prefix, in no particular order."""
    if MONTHS.keys().isdisjoint(_LETTERS.findall(text)):
        return
    following: _Mention | None = None
    for mention in reversed(list(_mentions(text))):
        dated = _dated_by(text, mention, following)
        yield from dated.dates
        following = dated


def _mentions(text: str) -> Iterator[_Mention]:
    end = 0
    for word in _WORD.finditer(text):
        if word[0] in MONTHS:
            mention = _mention(text, word, end)
            yield mention
            end = mention.end


def _mention(text: str, word: re.Match[str], least: int) -> _Mention:
    """The month `word` with its days and year; what lies before `least` belongs to the month before."""
    start, end = word.span()
    before = text[max(least, start - _REACH) : start]
    days: tuple[int, ...] = ()
    year: int | None = None
    if found := _BEFORE.search(before):
        days, start = _days(found["days"]), start - len(found[0])
    elif found := _YEAR_BEFORE.search(before):
        year, start = int(found["year"]), start - len(found[0])
    if not days and (found := _DAYS_AFTER.match(text, end)):
        days, end = _days(found["days"]), found.end()
    if year is None:
        year, end = _year_after(text, end, hyphenated=text[word.start() - 1 : word.start()] == "-")
    return _Mention(start, end, word[0], days, year)


def _year_after(text: str, end: int, *, hyphenated: bool) -> tuple[int | None, int]:
    if found := _YEAR_AFTER.match(text, end):
        return int(found["year"]), found.end()
    if hyphenated and (found := _SHORT_YEAR_AFTER.match(text, end)):
        return (1900 if found["year"] >= "70" else 2000) + int(found["year"]), found.end()
    return None, end


def _days(written: str) -> tuple[int, ...]:
    """All days of "3 and 4" or "1-3"; only the last where nothing but commas joins them, as in "Rule 3, 4 May"."""
    days = tuple(map(int, _DAY.findall(written)))
    joined = _BUT_JOINED.sub("", written)
    return days if joined else days[-1:]


def _dated_by(text: str, mention: _Mention, following: _Mention | None) -> _Mention:
    """The first end of "1 July to 30 June 2024" takes its year from the second: 2023, as it comes before it."""
    if mention.year is not None or following is None or following.year is None:
        return mention
    if not _FIRST_OF_TWO.fullmatch(text, mention.end, following.start):
        return mention
    if bool(mention.days) != bool(following.days):
        return mention
    later = (mention.month, mention.days[:1]) > (following.month, following.days[:1])
    return replace(mention, year=following.year - later)
