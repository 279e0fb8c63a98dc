"""Find dates in text, written in digits or with month names, and return them in ISO 8601."""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace

from elt_llm_core.text.languages import alternatives, languages, month_numbers, words

DATES_VERSION = 1  # increase this number whenever the same text could yield other dates
_EARLIEST_YEAR, _LATEST_YEAR = 1000, 2199
_DIGIT = re.compile(r"\d")


def dates_in(text: str) -> list[str]:
    """Return ISO 8601 days ("2024-03-02") and months ("2024-03"), ascending, each once.

    Years alone, seasons and quarters are not dates. A range yields both of its ends.
    """
    if not _DIGIT.search(text):
        return []
    return sorted({*_numeric_dates(text), *_written_dates(text)})


def _days(year: int, month: int, day: int) -> list[str]:
    """Return a list of one day such as "2024-03-02"; empty if the day does not exist or its year is out of range."""
    exists = bool(_months(year, month)) and 1 <= day <= monthrange(year, month)[1]
    return [f"{year}-{month:02}-{day:02}"] if exists else []


def _months(year: int, month: int) -> list[str]:
    """Return a list of one month such as "2024-03"; empty if there is no such month or its year is out of range."""
    return [f"{year}-{month:02}"] if _EARLIEST_YEAR <= year <= _LATEST_YEAR and 1 <= month <= 12 else []


def _full_year(digits: str) -> int:
    return (1900 if digits >= "70" else 2000) + int(digits)  # 70 to 99 are in the 20th century


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
# After these words comes the number of a section, version or address, not a date.
_NUMBERED = re.compile(
    r"(?:§|\b(?:v|ver|version|release|rule|section|sec|clause|article|art|chapter|table|figure|schedule|annex"
    r"|ip|isbn|no|nr|tel|phone|policy|abschnitt|kapitel|punkt|skyrius))\.? ?$",
    re.IGNORECASE,
)
_NUMBER_PREFIX = 12
_EARLIEST, _LATEST = 1800, 2100  # accepted years after a day and a month


def _numeric_dates(text: str) -> Iterator[str]:
    for match in _MONTH_ONLY.finditer(text):
        year, month = int(match[1]), int(match[2])
        # 2011-12 is a season or a financial year far more often than a December.
        if month != (year + 1) % 100:
            yield from _months(year, month)
    if not _THREE_NUMBERS.search(text):
        return
    for match in _YEAR_FIRST.finditer(text):
        yield from _days(int(match[1]), int(match[3]), int(match[4]))
    day_first = [
        match
        for match in _DAY_FIRST.finditer(text)
        if not _NUMBERED.search(text[max(0, match.start() - _NUMBER_PREFIX) : match.start()])
    ]
    # 12/31/2024 shows that this text puts the month first.
    month_first = any(match[4] == "/" and int(match[3]) <= 12 < int(match[5]) <= 31 for match in day_first)
    for match in day_first:
        yield from _day_first(match, month_first=month_first)


def _day_first(match: re.Match[str], *, month_first: bool) -> Iterator[str]:
    separator, day, month = match[4], int(match[3]), int(match[5])
    if len(match[6]) == 4:
        year = int(match[6])
        if not _EARLIEST <= year <= _LATEST:
            return
    elif separator == "/" and len(match[3] + match[5]) == 4:
        year = _full_year(match[6])
    else:
        return  # a two-digit year needs slashes and a two-digit day and month
    if separator == "/" and month_first:
        day, month = month, day
    dates = _days(year, month, day)
    yield from dates
    if dates and match[1] and separator == ".":
        yield from _days(year, int(match[2] or month), int(match[1]))


# Without a day, these spellings of months are usually other words.
_ALSO_WORDS = frozenset({"march", "may", "august", "mar", "sep", "dec", "jan", "Mars", "Avril"})
# The number of each month, 1 to 12, by its spellings.
_MONTHS = {form: number for name, number in month_numbers().items() for form in (name, name.capitalize(), name.upper())}
_LONGEST_MONTH = max(map(len, _MONTHS))
_WORD = re.compile(rf"(?<![^\W\d_])[^\W\d_]{{3,{_LONGEST_MONTH}}}(?![^\W_])")
_LETTERS = re.compile(rf"[^\W\d_]{{3,{_LONGEST_MONTH}}}")
_SUFFIX = r"(?:st|nd|rd|th|er|\.)?"
_JOINING = alternatives(words("between_dates", languages()))
_BETWEEN = rf"(?:\s?[-\u2013\u2014/]\s?|,\s|,?\s(?:{_JOINING}|ou|&)\s)"
_DAY_LIST = rf"\d{{1,2}}{_SUFFIX}(?:{_BETWEEN}\d{{1,2}}{_SUFFIX}){{0,5}}"
_BUT_JOINED = re.compile(r"[\d,.\s]|st|nd|rd|th|er")
_DAY = re.compile(r"\d{1,2}")
_YEAR = r"(?P<year>1\d{3}|2[01]\d\d)(?![\d%]|[.,/]\d|[-\u2013]\d{2}(?!\d))"
# The days, or in Lithuanian the year, may precede the month.
_DAYS_BEFORE = re.compile(rf"(?<![\w.,/:£$€%-])(?P<days>{_DAY_LIST})(?:\sday)?(?:-|\s(?:of\s(?:the\s)?|de\s)?)?$")
_YEAR_BEFORE = re.compile(r"(?<![\w.,/-])(?P<year>1\d{3}|2[01]\d\d)(?:\s(?:m\.|metų))?\s$")
_YEAR_AFTER = re.compile(rf"(?:\.?,?\s(?:of\s|de\s|m\.\s)?|\.?-){_YEAR}")
_SHORT_YEAR_AFTER = re.compile(r"-(?P<year>\d\d)(?![\w./-])")
_DAYS_AFTER = re.compile(rf"\.?\s(?P<days>{_DAY_LIST})(?!\d|[.,/:%]\d)(?!\s?[ap]\.?m\b)")
_FIRST_OF_TWO = re.compile(rf",?\s?(?:[-\u2013\u2014/]|,|{_JOINING}|through)\s?(?:the\s)?(?:on\s)?")
_REACH = 60  # characters before the name of a month that are searched for its days


@dataclass(frozen=True)
class _MonthMention:
    """A mention of a month at text[start:end], with its days and year."""

    start: int
    end: int
    spelling: str
    days: tuple[int, ...]
    year: int | None

    @property
    def month(self) -> int:
        return _MONTHS[self.spelling]

    @property
    def dates(self) -> list[str]:
        """The mentioned days, or the month if there is no day. Empty without a year."""
        if self.year is None:
            return []
        if self.days:
            return [iso for day in self.days for iso in _days(self.year, self.month, day)]
        return _months(self.year, self.month) if self.spelling not in _ALSO_WORDS else []


def _written_dates(text: str) -> Iterator[str]:
    if _MONTHS.keys().isdisjoint(_LETTERS.findall(text)):
        return
    mentions: list[_MonthMention] = []
    for word in _WORD.finditer(text):
        if word[0] in _MONTHS:
            mentions.append(_read_mention(text, word, mentions[-1].end if mentions else 0))
    following: _MonthMention | None = None
    for mention in reversed(mentions):
        dated = _borrow_year(text, mention, following)
        yield from dated.dates
        following = dated


def _read_mention(text: str, word: re.Match[str], previous_end: int) -> _MonthMention:
    """Return the mention of the month `word` with its days and year. Text before `previous_end` is not searched."""
    start, end = word.span()
    before = text[max(previous_end, start - _REACH) : start]
    days: tuple[int, ...] = ()
    year: int | None = None
    if match := _DAYS_BEFORE.search(before):
        days, start = _listed_days(match["days"]), start - len(match[0])
    elif match := _YEAR_BEFORE.search(before):
        year, start = int(match["year"]), start - len(match[0])
    if not days and (match := _DAYS_AFTER.match(text, end)):
        days, end = _listed_days(match["days"]), match.end()
    if year is None and (match := _YEAR_AFTER.match(text, end)):
        year, end = int(match["year"]), match.end()
    elif (
        year is None and text[word.start() - 1 : word.start()] == "-" and (match := _SHORT_YEAR_AFTER.match(text, end))
    ):
        year, end = _full_year(match["year"]), match.end()
    return _MonthMention(start, end, word[0], days, year)


def _listed_days(written: str) -> tuple[int, ...]:
    """Return the days: "3 and 4" -> (3, 4), "1-3" -> (1, 3), but "3, 4" -> (4,), since "Rule 3, 4 May" has one day."""
    days = tuple(map(int, _DAY.findall(written)))
    return days if _BUT_JOINED.sub("", written) else days[-1:]


def _borrow_year(text: str, mention: _MonthMention, following: _MonthMention | None) -> _MonthMention:
    """Return the mention, with a year if it lacks one and starts a range: "1 July to 30 June 2024" -> July 2023."""
    if mention.year is not None or following is None or following.year is None:
        return mention
    if bool(mention.days) != bool(following.days) or not _FIRST_OF_TWO.fullmatch(text, mention.end, following.start):
        return mention
    later = (mention.month, mention.days[:1]) > (following.month, following.days[:1])
    return replace(mention, year=following.year - later)
