"""draw.io files: a model of fact sheets where one is drawn, else shapes and connectors as text."""

from pathlib import Path

from elt_llm_ingest.leanix.model_reader import holds_fact_sheets, read_model
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.drawio_cells import Diagram
from elt_llm_ingest.readers.drawio_file import read_diagrams
from elt_llm_ingest.readers.drawio_text import write_diagram


class DrawioReader(DocumentReader):
    """Every diagram is a page. A file whose shapes are fact sheets becomes an enterprise model."""

    name = "drawio"
    version = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is no draw.io file, damaged, or not to be trusted."""
        diagrams = read_diagrams(path)
        return read_model(diagrams, path.stem) if holds_fact_sheets(diagrams) else read_drawing(diagrams, path.stem)


def read_drawing(diagrams: list[Diagram], title: str) -> ParsedDocument:
    """Diagrams of any kind as text, one page a diagram; `title` where the only diagram has no name."""
    builder = DocumentBuilder()
    for diagram in diagrams:
        write_diagram(builder, diagram)
    notes = tuple(note for diagram in diagrams for note in diagram.notes)
    named = diagrams[0].name if len(diagrams) == 1 else ""
    return builder.build(named or title, {"page_unit": "diagram"}, notes)
