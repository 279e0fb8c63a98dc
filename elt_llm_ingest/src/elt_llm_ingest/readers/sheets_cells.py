"""Cells as people see them: 1 rather than 1.0, dates as ISO, no digits that floating point made up."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

from elt_llm_ingest.readers.workbook import Cell

_PLAIN = (1e-9, 1e15)  # numbers between are written without an exponent


def shown(cell: Cell) -> str:
    """The text of a cell; empty if it is empty."""
    match cell:
        case str():
            text = cell
        case bool():
            text = "TRUE" if cell else "FALSE"
        case datetime():
            text = _moment(cell)
        case date():
            text = cell.isoformat()
        case time():
            text = _time(cell)
        case timedelta():
            text = _duration(cell)
        case _:
            text = _number(cell)
    return text


def _number(number: float) -> str:
    """A spreadsheet keeps 15 digits; what lies beyond them is rounding."""
    text = format(number, ".15g")
    if not number or not _PLAIN[0] <= abs(number) < _PLAIN[1]:
        return "0" if not number else text
    return format(Decimal(text), "f")


def _moment(moment: datetime) -> str:
    return moment.date().isoformat() if moment.time() == time() else f"{moment.date()} {_time(moment.time())}"


def _time(moment: time) -> str:
    return moment.isoformat("seconds" if moment.second else "minutes")


def _duration(duration: timedelta) -> str:
    """Hours, minutes and seconds, as a sheet shows them: 30:00:00 rather than a day and six hours."""
    seconds = round(duration.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
