"""Title, authors and year that a document's properties tell."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_core.store.records import MetadataValue

if TYPE_CHECKING:
    from lxml.etree import _Element

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
# The last change counts: what was created is often the template.
_DATES = (f"{_TERMS}modified", f"{_DUBLIN_CORE}date", f"{_TERMS}created", f"{_META}creation-date")
_AUTHORS = (f"{_META}initial-creator", f"{_DUBLIN_CORE}creator")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-)")
# Titles that a program wrote, rather than an author.
_PROGRAM_TITLES = ("microsoft word", "powerpoint presentation", "untitled", "slide 1")


@dataclass(frozen=True)
class Properties:
    """What a file says of itself; each is empty where it says nothing. `authors` is joined by "; "."""

    title: str = ""
    authors: str = ""
    year: int | None = None

    def metadata(self) -> dict[str, MetadataValue]:
        """In the keys of a document's metadata."""
        found: dict[str, MetadataValue] = {"authors": self.authors} if self.authors else {}
        return found | ({"year": self.year} if self.year else {})


def read_properties(root: "_Element | None") -> Properties:
    """The properties in core.xml of OOXML or meta.xml of OpenDocument."""
    if root is None:
        return Properties()
    title = _first(root, (f"{_DUBLIN_CORE}title",))
    year = _YEAR.match(_first(root, _DATES))
    return Properties(
        "" if title.casefold().startswith(_PROGRAM_TITLES) else title,
        "; ".join(author.strip() for author in _first(root, _AUTHORS).split(";") if author.strip()),
        int(year.group()) if year else None,
    )


def _first(root: "_Element", tags: tuple[str, ...]) -> str:
    for tag in tags:
        for element in root.iter(tag):
            if text := " ".join((element.text or "").split()):
                return text
    return ""
