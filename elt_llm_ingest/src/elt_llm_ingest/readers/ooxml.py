"""Office Open XML packages: parts, the relations between them, the properties of the document.

The ISO strict form differs by the names of its namespaces only; it is told in the names everybody uses.
"""

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.readers.archive import Archive, guarded_archive
from elt_llm_ingest.readers.damage import damage_refused
from elt_llm_ingest.readers.legacy_office import refuse_legacy_office
from elt_llm_ingest.readers.xml_guard import check_prolog, parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_BASE = "http://schemas.openxmlformats.org"
WORD = f"{{{_BASE}/wordprocessingml/2006/main}}"
SLIDE = f"{{{_BASE}/presentationml/2006/main}}"
DRAWING = f"{{{_BASE}/drawingml/2006/main}}"
CHART = f"{{{_BASE}/drawingml/2006/chart}}"
DIAGRAM = f"{{{_BASE}/drawingml/2006/diagram}}"
RELATION = f"{{{_BASE}/officeDocument/2006/relationships}}"
MATH = f"{{{_BASE}/officeDocument/2006/math}}"
COMPATIBILITY = f"{{{_BASE}/markup-compatibility/2006}}"
_RELATIONS = f"{{{_BASE}/package/2006/relationships}}"
_STRICT = re.compile(rb"((?:xmlns(?::[\w.-]{1,40})?|Type|uri)=[\"'])http://purl\.oclc\.org/ooxml/(\w{1,40})/")
_TRANSITIONAL = rb"\1" + _BASE.encode() + rb"/\2/2006/"


class Relation(NamedTuple):
    """What a part refers to: `kind` is the last word of its type, `target` the name of another part."""

    kind: str
    target: str


class Package:
    """The parts of an office file. `main` is the name of the part that holds the document."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._names = {name.casefold(): name for name in archive.names}
        self._relations: dict[str, dict[str, Relation]] = {}
        mains = self.related("", "officeDocument")
        if not mains:
            raise UnreadableDocument("is no office document: none is named in its package")
        self.main = mains[0]

    def part(self, name: str) -> "_Element":
        """The root element of a part; UnreadableDocument if it is missing or damaged."""
        known = self._names.get(name.casefold())
        if known is None:
            raise UnreadableDocument(f"is damaged: it has no part {name[:80]!a}")
        return parse_xml(_STRICT.sub(_TRANSITIONAL, check_prolog(self._archive.read_member(known))))

    def related(self, part: str, kind: str) -> list[str]:
        """The parts of one kind that a part refers to, those that are there."""
        return [relation.target for relation in self.relations(part).values() if relation.kind == kind]

    def related_part(self, part: str, kind: str) -> "_Element | None":
        """The first part of that kind, or None."""
        names = self.related(part, kind)
        return self.part(names[0]) if names else None

    def relations(self, part: str) -> dict[str, Relation]:
        """The relations of a part by id ("" for the package); what lies outside or is missing is left out."""
        if part not in self._relations:
            self._relations[part] = dict(self._read_relations(part))
        return self._relations[part]

    def _read_relations(self, part: str) -> Iterator[tuple[str, Relation]]:
        folder, name = posixpath.split(part)
        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations.casefold() not in self._names:
            return
        for element in self.part(relations).iter(f"{_RELATIONS}Relationship"):
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            if element.get("TargetMode") != "External" and target.casefold() in self._names:
                yield element.get("Id", ""), Relation(element.get("Type", "").rpartition("/")[2], target)


@contextmanager
def open_package(path: Path, root: str) -> Iterator[tuple[Package, "_Element"]]:
    """An office file and the root element of its document; UnreadableDocument with the reason if it is none.

    `root` is the element that kind of document begins with. Errors that damage raises meanwhile are told as such.
    """
    refuse_legacy_office(path)
    with damage_refused(), guarded_archive(path) as archive:
        package = Package(archive)
        document = package.part(package.main)
        if document.tag != root:
            raise UnreadableDocument(f"is another kind of document than its name says: {document.tag[-40:]!a}")
        yield package, document


def chosen(alternate: "_Element") -> "list[_Element]":
    """What of mc:AlternateContent is shown: the first choice that holds anything, else what older programs show."""
    for branch in (*alternate.findall(f"{COMPATIBILITY}Choice"), *alternate.findall(f"{COMPATIBILITY}Fallback")):
        if len(branch):
            return list(branch)
    return []
