"""Days and months that exist, as ISO 8601 prefixes."""

from calendar import monthrange

EARLIEST_YEAR = 1000
LATEST_YEAR = 2199


def iso_day(year: int, month: int, day: int) -> str | None:
    """A day such as "2024-03-02"; None where there is no such day, or the year is before 1000 or after 2199."""
    if iso_month(year, month) is None or not 1 <= day <= monthrange(year, month)[1]:
        return None
    return f"{year}-{month:02}-{day:02}"


def iso_month(year: int, month: int) -> str | None:
    """A month such as "2024-03"; None where there is no such month, or the year is before 1000 or after 2199."""
    if EARLIEST_YEAR <= year <= LATEST_YEAR and 1 <= month <= 12:
        return f"{year}-{month:02}"
    return None
