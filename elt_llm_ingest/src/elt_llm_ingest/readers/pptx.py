"""Presentations, read from their XML: a page a slide, in the order they are shown."""

from pathlib import Path
from typing import ClassVar

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.office_properties import read_properties
from elt_llm_ingest.readers.ooxml import RELATION, SLIDE, open_package
from elt_llm_ingest.readers.pptx_slides import SlideWriter


class PptxReader(DocumentReader):
    """Reads .pptx and its kin. Hidden slides are read and named in the notes; footers and comments are left out."""

    name: ClassVar[str] = "pptx"
    version: ClassVar[int] = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if it is damaged, encrypted or no presentation."""
        notes = []
        with open_package(path, f"{SLIDE}presentation") as (package, presentation):
            writer = SlideWriter(package)
            relations = package.relations(package.main)
            for number, entry in enumerate(presentation.iter(f"{SLIDE}sldId"), 1):
                relation = relations.get(entry.get(f"{RELATION}id", ""))
                if relation is None:
                    writer.builder.begin_page()
                    notes.append(f"slide {number} is missing")
                    continue
                slide = package.part(relation.target)
                if slide.get("show") in {"0", "false"}:
                    notes.append(f"slide {number} is hidden")
                writer.write(relation.target, slide, number)
            properties = read_properties(package.related_part("", "core-properties"))
        title = properties.title or writer.title or path.stem
        return writer.builder.build(title, {**properties.metadata(), "page_unit": "slide"}, tuple(notes))
