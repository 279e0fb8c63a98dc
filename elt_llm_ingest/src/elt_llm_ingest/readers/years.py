"""The year in what a file gives as its date, however it writes it."""

import re

# A year on its own or at either end of a date: 2024, 2024-03-01, 20240301, D:20240301, 1 March 2024, 03/01/2024.
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)|(?<!\d)(1[5-9]\d\d|20\d\d)(?=[01]\d[0-3]\d)")
_LOOKED_AT = 100


def year_in(date: str) -> int | None:
    """The first year between 1500 and 2099 in a date, or None."""
    match = _YEAR.search(date[:_LOOKED_AT])
    return int(match.group(1) or match.group(2)) if match else None
