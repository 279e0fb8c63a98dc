"""Which reader PDFs get."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.options import ReaderOptions

if TYPE_CHECKING:
    from elt_llm_ingest.readers.document_reader import DocumentReader


def create_pdf_reader(options: ReaderOptions | None = None) -> "DocumentReader":
    """The reader that the options ask for."""
    from elt_llm_ingest.readers.pdf import PdfReader

    _ = options
    return PdfReader()
