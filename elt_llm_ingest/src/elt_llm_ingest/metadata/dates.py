"""The dates a text mentions, in digits or in words."""

import re

from elt_llm_ingest.metadata.numeric_dates import numeric_dates
from elt_llm_ingest.metadata.written_dates import written_dates

DATES_VERSION = 1  # to be raised whenever the same text could give other dates
_DIGIT = re.compile(r"\d")


def dates_in(text: str) -> list[str]:
    """ISO 8601 days ("2024-03-02") and months ("2024-03"), ascending, each once.

    Years alone, seasons and quarters are no dates; of a range both ends are given.
    """
    if not _DIGIT.search(text):
        return []
    return sorted({*numeric_dates(text), *written_dates(text)})
