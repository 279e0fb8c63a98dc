"""The reader of models: diagrams whose shapes are fact sheets."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.leanix.diagram import is_fact_sheet
from elt_llm_ingest.leanix.documents import model_document
from elt_llm_ingest.leanix.drawio import build_model
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.drawio_cells import Diagram
from elt_llm_ingest.readers.drawio_file import read_diagrams


class LeanixModelReader(DocumentReader):
    """Reads a draw.io file as a model, and refuses one in which nothing is a fact sheet."""

    name = "leanix_model"
    version = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if it holds no model."""
        diagrams = read_diagrams(path)
        if not holds_fact_sheets(diagrams):
            raise UnreadableDocument("holds no fact sheets: no shape in it has a factSheetId")
        return read_model(diagrams, path.stem)


def holds_fact_sheets(diagrams: Sequence[Diagram]) -> bool:
    """Whether any shape or line of the diagrams is a fact sheet."""
    return any(is_fact_sheet(cell) for diagram in diagrams for cell in diagram.cells)


def read_model(diagrams: Sequence[Diagram], title: str) -> ParsedDocument:
    """The document of a model, called `title`."""
    return model_document(build_model(diagrams), title)
