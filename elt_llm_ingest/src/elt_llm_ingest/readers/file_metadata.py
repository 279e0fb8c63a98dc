"""Read title, authors and year from the properties of Office files, and find a year or web address in values."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.parsed_document import known_values

if TYPE_CHECKING:
    from lxml.etree import _Element

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
# The date of the last change is first, since the creation date is often that of the template.
_DATES = (f"{_TERMS}modified", f"{_DUBLIN_CORE}date", f"{_TERMS}created", f"{_META}creation-date")
_AUTHORS = (f"{_META}initial-creator", f"{_DUBLIN_CORE}creator")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-)")
# Titles that a program writes by default.
_PROGRAM_TITLES = ("microsoft word", "powerpoint presentation", "untitled", "slide 1")
# A year on its own or at either end of a date: 2024, 2024-03-01, 20240301, D:20240301, 1 March 2024, 03/01/2024.
_YEAR_IN_DATE = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)|(?<!\d)(1[5-9]\d\d|20\d\d)(?=[01]\d[0-3]\d)")
_SEARCHED_LENGTH = 100


def read_properties(root: "_Element | None") -> tuple[str, dict[str, MetadataValue]]:
    """Return the title (or "") and the metadata from core.xml of OOXML or meta.xml of OpenDocument."""
    if root is None:
        return "", {}
    title = _first_value(root, (f"{_DUBLIN_CORE}title",))
    year = _YEAR.match(_first_value(root, _DATES))
    authors = "; ".join(author.strip() for author in _first_value(root, _AUTHORS).split(";") if author.strip())
    metadata = known_values(authors=authors, year=int(year.group()) if year else None)
    return "" if title.casefold().startswith(_PROGRAM_TITLES) else title, metadata


def _first_value(root: "_Element", tags: tuple[str, ...]) -> str:
    texts = (" ".join((element.text or "").split()) for tag in tags for element in root.iter(tag))
    return next(filter(None, texts), "")


def find_year(*dates: str) -> int | None:
    """Return the first year between 1500 and 2099 in the dates, or None."""
    matches = (_YEAR_IN_DATE.search(date[:_SEARCHED_LENGTH]) for date in dates)
    return next((int(match.group(1) or match.group(2)) for match in matches if match), None)


def find_web_address(values: Iterable[str]) -> str:
    """Return the first value that is a web address, or ""."""
    return next((value for value in values if value.startswith(("https://", "http://"))), "")
