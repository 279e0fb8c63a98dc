"""OpenDocument texts, read from their XML: what they show, in order, with the numbers they count."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.archive import Archive, guarded_archive
from elt_llm_ingest.readers.damage import damage_refused
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.odt_blocks import OdtWriter
from elt_llm_ingest.readers.odt_styles import OFFICE, TEXT, OdtStyles
from elt_llm_ingest.readers.office_properties import read_properties
from elt_llm_ingest.readers.xml_guard import parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_MANIFEST = "META-INF/manifest.xml"
_ENCRYPTION = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}encryption-data"


class OdtReader(DocumentReader):
    """Reads .odt. Headers, footers, annotations, deletions and tables of contents are left out.

    It has no pages: the format counts them only where a program was told to write them down.
    """

    name: ClassVar[str] = "odt"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if it is damaged, encrypted or no text document."""
        with damage_refused(), guarded_archive(path) as archive:
            _refuse_encrypted(archive)
            content = _part(archive, "content.xml")
            bodies = [] if content is None else content.findall(f"{OFFICE}body/{OFFICE}text")
            if content is None or not bodies:
                raise UnreadableDocument("is no OpenDocument text: it has no such body")
            writer = OdtWriter(
                OdtStyles(_part(archive, "styles.xml"), content),
                has_headings=any(True for _ in content.iter(f"{TEXT}h")),
            )
            for body in bodies:
                writer.write(body)
            writer.end()
            properties = read_properties(_part(archive, "meta.xml"))
        read = writer.builder.build("", properties.metadata(), tuple(sorted(writer.left_out)))
        first = read.sections[0].title if read.sections else path.stem
        return writer.builder.build(properties.title or writer.title or first, read.metadata, read.notes)


def _part(archive: Archive, name: str) -> "_Element | None":
    return parse_xml(archive.read_member(name)) if name in archive else None


def _refuse_encrypted(archive: Archive) -> None:
    if _MANIFEST in archive:
        # Older programs begin the manifest with a DOCTYPE that declares nothing.
        manifest = parse_xml(archive.read_member(_MANIFEST), plain_doctype=True)
        if any(True for _ in manifest.iter(_ENCRYPTION)):
            raise UnreadableDocument("is encrypted: a password is needed")
