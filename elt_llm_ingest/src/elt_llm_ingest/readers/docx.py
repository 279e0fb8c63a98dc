"""Word files, read from their XML: what they show, in order, with the numbers they count and the notes they name."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.docx_blocks import BodyWriter, Look
from elt_llm_ingest.readers.docx_notes import Notes
from elt_llm_ingest.readers.docx_numbering import Numbering
from elt_llm_ingest.readers.docx_pages import trusted_pages
from elt_llm_ingest.readers.docx_styles import Styles
from elt_llm_ingest.readers.office_properties import read_properties
from elt_llm_ingest.readers.ooxml import WORD, Package, open_package

if TYPE_CHECKING:
    from lxml.etree import _Element


class DocxReader(DocumentReader):
    """Reads .docx and its kin. Headers, footers, comments, deletions and tables of contents are left out."""

    name: ClassVar[str] = "docx"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if it is damaged, encrypted or no Word file."""
        with open_package(path, f"{WORD}document") as (package, document):
            pages = trusted_pages(package, document)
            writer = _writer(package, document, paged=pages is not None)
            for body in document.findall(f"{WORD}body"):
                writer.write(body)
            writer.end()
            properties = read_properties(package.related_part("", "core-properties"))
        title = properties.title or writer.title
        read = writer.builder.build(title, properties.metadata(), tuple(sorted(writer.left_out)))
        first = read.sections[0].title if read.sections else path.stem
        # A break in what is left out, such as a deletion, would shift all pages after it.
        return replace(read, title=title or first, pages=read.pages if len(read.pages) == pages else ())


def _writer(package: Package, document: "_Element", *, paged: bool) -> BodyWriter:
    main = package.main
    styles = Styles(package.related_part(main, "styles"))
    numbering = Numbering(package.related_part(main, "numbering"), styles)
    notes = Notes({kind: package.related_part(main, f"{kind}s") for kind in ("footnote", "endnote")})
    has_headings = any(styles.heading_level(paragraph) for paragraph in document.iter(f"{WORD}p"))
    return BodyWriter(Look(styles, numbering, paged, has_headings), notes)
