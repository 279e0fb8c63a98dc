"""Authors, year, subject and keywords as a PDF's information has them, what programs wrote into it left out."""

from collections.abc import Mapping

from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.readers.years import year_in

# What stands as the author where nobody said who it is: programs, their users' accounts, their makers.
_NO_AUTHORS = (
    *("unknown", "anonymous", "author", "user", "admin", "administrator", "owner", "default", "root", "none", "n/a"),
    *("microsoft", "adobe", "latex", "pdftex", "libreoffice", "openoffice", "acrobat", "quark", "indesign", "scan"),
)
_LONGEST = 1000


def pdf_metadata(told: Mapping[str, str]) -> dict[str, MetadataValue]:
    """The metadata of a document from `Author`, `CreationDate` and so on; names of programs are not authors."""
    values: dict[str, MetadataValue] = {}
    author = " ".join(told.get("Author", "").split())[:_LONGEST]
    if author and not _is_no_author(author):
        values["authors"] = author
    if year := year_in(told.get("CreationDate", "")) or year_in(told.get("ModDate", "")):
        values["year"] = year
    for key in ("Subject", "Keywords"):
        if text := " ".join(told.get(key, "").split())[:_LONGEST]:
            values[key.lower()] = text
    return values


def _is_no_author(author: str) -> bool:
    low = author.casefold()
    first = low.split(" ", 1)[0]
    return low in _NO_AUTHORS or first in _NO_AUTHORS or not any(map(str.isalpha, low))
