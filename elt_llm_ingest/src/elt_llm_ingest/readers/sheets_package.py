"""The package of an XLSX or ODS file: checked, its sheets' extents by name, and what it says of its author and year."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.readers.archive import Archive, guarded_archive
from elt_llm_ingest.readers.sheets_extent import Extent, ods_extents, xlsx_extent
from elt_llm_ingest.readers.xml_guard import check_xml_members, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_PROPERTIES = ("docProps/core.xml", "meta.xml")
_CONTENT = "content.xml"
_PIECE = 65_536
_WITH_CELLS = re.compile(r"xl/(?:worksheets/)?[^/]{1,200}\.xml|xl/(?:worksheets/)?_rels/[^/]{1,200}\.rels")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-|$)")
# Names that a program or a library writes where nobody said who the author is.
_NO_AUTHOR = ("openpyxl", "xlsxwriter", "apache poi", "microsoft office user", "unknown", "user", "author")


@dataclass(frozen=True)
class Package:
    """`extents` by the name of the sheet, or by its number from 0 where the name is not told; metadata of the file."""

    extents: Mapping[str | int, Extent] = field(default_factory=dict)
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)

    def extent(self, number: int, name: str) -> Extent:
        """The extent of a sheet by its number from 0 and its name."""
        return self.extents.get(name) or self.extents.get(number) or Extent()


def check_package(path: Path) -> Package:
    """Check a zip package before a library sees it; UnreadableDocument if it is damaged, hostile or too large."""
    with guarded_archive(path) as archive:
        archive.check_members()
        check_xml_members(archive)
        for name in archive.names:
            if name == _CONTENT or _WITH_CELLS.fullmatch(name):
                _check_well_formed(archive, name)
        return Package(_extents(archive), _metadata(archive))


def _check_well_formed(archive: Archive, name: str) -> None:
    """Read XML to its end without keeping it: on XML that breaks off the library may wait for ever."""
    from lxml import etree

    nothing: Any = _Nothing()
    parser = etree.XMLParser(target=nothing, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        data = archive.read_member(name)
        # Piece by piece: given tens of megabytes at once the parser takes its own buffer for an attack.
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableDocument(f"holds damaged XML, in {name[:80]!a}: {error}") from error


class _Nothing:
    """What a parser builds here."""

    def close(self) -> None:
        """There is nothing to finish."""


def _extents(archive: Archive) -> dict[str | int, Extent]:
    if _CONTENT in archive:
        return _open_document_extents(archive.read_member(_CONTENT))
    if _WORKBOOK not in archive or _RELATIONS not in archive:
        return {}
    targets = {part.get("Id"): part.get("Target", "") for part in parse_xml(archive.read_member(_RELATIONS))}
    extents: dict[str | int, Extent] = {}
    for sheet in parse_xml(archive.read_member(_WORKBOOK)).iterfind("{*}sheets/{*}sheet"):
        relation = next((str(value) for key, value in sheet.items() if str(key).endswith("}id")), "")
        part = normpath(join("/xl", targets.get(relation, ""))).lstrip("/")
        if part in archive:
            extents[sheet.get("name", "")] = xlsx_extent(archive.read_member(part))
    return extents


def _open_document_extents(content: bytes) -> dict[str | int, Extent]:
    """By number from 0. One sheet beyond the limit refuses the file, as the library lays all out when it opens it."""
    extents = ods_extents(content)
    for number, extent in enumerate(extents, 1):
        if extent.is_too_large:
            raise UnreadableDocument(f"cannot be laid out: sheet {number} {extent.told()}")
    return dict(enumerate(extents))


def _metadata(archive: Archive) -> dict[str, MetadataValue]:
    """Author, year and title as the file's properties have them."""
    name = next((name for name in _PROPERTIES if name in archive), None)
    if name is None:
        return {}
    root = parse_xml(archive.read_member(name))
    author = _first(root, "initial-creator") or _first(root, "creator")
    year = _YEAR.match(_first(root, "created") or _first(root, "creation-date") or _first(root, "date"))
    values: dict[str, MetadataValue] = {}
    if author and author.casefold() not in _NO_AUTHOR:
        values["authors"] = author[:300]
    if year:
        values["year"] = int(year.group())
    if title := _first(root, "title"):
        values["title"] = title[:300]
    return values


def _first(root: "_Element", name: str) -> str:
    """The text of the first element of that local name, in one line."""
    found = next(root.iterfind(f".//{{*}}{name}"), None)
    return " ".join((found.text or "").split()) if found is not None else ""
